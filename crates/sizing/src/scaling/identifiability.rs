//! What a sweep can tell of contention and crosstalk, and what it cannot.
//!
//! Profile likelihood: a value is possible where some curve that has it comes nearly as close to
//! the points as the best one does. No value is chosen here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::average::Average;
use super::curve::{Curve, ScalingModel};
use super::posterior::ModelPosterior;

/// A sum of squares may be above the least by so much: the square of the normal quantile of 0.95,
/// which bounds an interval that holds nine of ten truths (Wilks 1938).
const MARGIN: f64 = 2.706;

/// Values that a parameter may have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// From.
    pub low: f64,
    /// To; absent where nothing bounds it.
    pub high: Option<f64>,
}

/// What a sweep shows of the universal scalability law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identifiability {
    /// Contention σ. It cannot be distinguished from 0 where `low` is 0.
    pub contention: Range,
    /// Crosstalk κ. It cannot be distinguished from 0 where `low` is 0.
    pub crosstalk: Range,
    /// Size of the peak; where `high` is absent there may be none.
    pub peak_size: Range,
    /// The same in sentences, one a parameter.
    pub sentences: Vec<String>,
}

impl Average {
    /// What the sweep tells of contention, crosstalk and the peak; absent for a single size.
    pub fn identifiability(&self) -> Option<Identifiability> {
        let posterior = |model| {
            let mut members = self.members().iter();
            members.find(|member| member.model() == model).map(|member| &member.posterior)
        };
        let linear = posterior(ScalingModel::Linear)?;
        let amdahl = posterior(ScalingModel::Amdahl)?;
        let usl = posterior(ScalingModel::Usl)?;
        let mut contention = hull(usl, |_, contention, _| contention)?;
        let mut crosstalk = hull(usl, |_, _, crosstalk| crosstalk)?;
        let least = usl.least_chi_squared;
        if linear.least_chi_squared <= least + MARGIN {
            contention.0 = 0.0;
        }
        let may_have_none =
            amdahl.least_chi_squared.min(linear.least_chi_squared) <= least + MARGIN;
        if may_have_none {
            crosstalk.0 = 0.0;
        }
        let peak = hull(usl, |curve, _, _| curve.peak().map_or(f64::INFINITY, |peak| peak.size))?;
        let range = |(low, high): (f64, f64)| Range { low, high: Some(high) };
        let peak_size = Range { low: peak.0, high: (!may_have_none).then_some(peak.1) };
        let (contention, crosstalk) = (range(contention), range(crosstalk));
        Some(Identifiability {
            sentences: sentences(contention, crosstalk, peak_size, self.largest),
            contention,
            crosstalk,
            peak_size,
        })
    }
}

/// Least and greatest value over the curves that come near enough.
fn hull(usl: &ModelPosterior, value: impl Fn(&Curve, f64, f64) -> f64) -> Option<(f64, f64)> {
    usl.within(MARGIN)
        .filter_map(|shape| match shape.shape {
            Curve::Usl { contention, crosstalk, .. } => {
                Some(value(&shape.shape, contention, crosstalk))
            }
            _ => None,
        })
        .fold(None, |hull, value| match hull {
            None => Some((value, value)),
            Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
        })
}

fn sentences(contention: Range, crosstalk: Range, peak: Range, largest: f64) -> Vec<String> {
    let upper = |range: Range| small(range.high.unwrap_or(f64::INFINITY));
    let mut sentences = Vec::new();
    sentences.push(if contention.low > 0.0 {
        let low = small(contention.low);
        format!("σ (contention) lies between {low} and {}.", upper(contention))
    } else {
        let high = upper(contention);
        format!("σ (contention) cannot be identified from this range: 0 to {high} fit it.")
    });
    match peak.high {
        Some(high) => {
            let (low, upper) = (small(crosstalk.low), upper(crosstalk));
            sentences.push(format!("κ (crosstalk) lies between {low} and {upper}."));
            let side = if high <= largest {
                "within"
            } else {
                "around or beyond"
            };
            sentences.push(format!(
                "The peak lies between {:.1} and {high:.1}, {side} the known sizes.",
                peak.low
            ));
        }
        None => sentences.push(format!(
            "κ (crosstalk) cannot be identified from this range: 0 to {} fit it. A peak, if there is \
             one, lies at {:.0} or beyond.",
            upper(crosstalk),
            peak.low.ceil()
        )),
    }
    sentences
}

/// Two significant digits, however small.
fn small(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm")]
    let decimals = 1 - value.log10().floor() as i32;
    format!("{value:.*}", usize::try_from(decimals.max(0)).unwrap_or(0))
}
