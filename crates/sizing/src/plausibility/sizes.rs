//! Too few sizes for the model that is asked for.

use super::points::by_nodes;
use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::scaling::ScalingModel;
use crate::series::Point;

/// A model that somebody wants to fit, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// Its name in sentences.
    pub name: String,
    /// Figures that the fit has to find; with as few sizes it has no error to show.
    pub parameters: usize,
    /// Sizes that it is advised to have.
    pub advised: usize,
}

impl ModelRequest {
    /// A scaling model. Twice as many sizes as parameters are advised; for the universal
    /// scalability law that is the half dozen of Gunther 2007.
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
