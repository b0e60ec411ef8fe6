//! Too few sizes for the requested model.

use super::points::by_nodes;
use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::scaling::ScalingModel;
use crate::series::Point;

/// A requested model and its requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// Its name in sentences.
    pub name: String,
    /// Number of fitted parameters; with as many sizes the fit has no error estimate.
    pub parameters: usize,
    /// Recommended number of sizes.
    pub advised: usize,
}

impl ModelRequest {
    /// A scaling model. Twice as many sizes as parameters are recommended; for the universal scalability law that is
    /// the half dozen of Gunther 2007.
    pub fn of(model: ScalingModel) -> Self {
        Self {
            name: format!("the model `{}`", model.name()),
            parameters: model.parameters(),
            advised: 2 * model.parameters(),
        }
    }
}

pub(super) fn too_few(points: &[&Point], request: &ModelRequest) -> Option<PlausibilityWarning> {
    let sizes = by_nodes(points).len();
    let ModelRequest { name, parameters, advised } = request;
    if sizes >= *advised {
        return None;
    }
    let (weight, message) = if sizes <= *parameters {
        let message = format!(
            "{name} has {parameters} parameters, and {sizes} sizes were measured: it fits them \
             whatever they are"
        );
        (Weight::Contradiction, message)
    } else {
        let message = format!("{name} is fitted to {sizes} sizes; {advised} are advised");
        (Weight::Doubt, message)
    };
    let check = "measure more sizes, or choose a model with fewer parameters.";
    Some(Rule::TooFewSizes.warning(weight, points, message, check))
}
