//! TPC-C's ceiling: the specified waits of terminals limit their rate.
//!
//! 12.86 new orders per minute and warehouse follow from the keying and think times of TPC-C revision 5.11, clause
//! 5.2.5.7.

use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, names, number_text};

/// Maximum new orders per minute and warehouse.
const CEILING: f64 = 12.86;
/// Two decimals of the ceiling are known, and figures are rounded.
const TOLERANCE: f64 = 0.002;
/// A series that stays above this fraction of the ceiling never reached the database's limit.
const AT_CEILING: f64 = 0.97;

pub(super) fn ceiling(point: &Point) -> Option<PlausibilityWarning> {
    let (tpmc, warehouses) = figures(point)?;
    let most = CEILING * warehouses;
    if tpmc <= most * (1.0 + TOLERANCE) {
        return None;
    }
    let figures = [tpmc, warehouses, tpmc / warehouses, most];
    let [tpmc, warehouses, each, most] = figures.map(number_text);
    let message = format!(
        "{tpmc} tpmC from {warehouses} warehouses are {each} each; with the waiting times of the \
         specification they cannot make more than 12.86 each, {most} in all"
    );
    let check = "is the number of warehouses right? Without keying and think times the result must \
                 not be called tpmC.";
    Some(Rule::TpmcPerWarehouse.warning(Weight::Contradiction, &[point], message, check))
}

/// At least three sizes, all at the ceiling.
pub(super) fn limited_by_load(points: &[&Point]) -> Option<PlausibilityWarning> {
    let at_ceiling = |point: &&Point| {
        figures(point).is_some_and(|(tpmc, warehouses)| {
            let share = tpmc / (CEILING * warehouses);
            (AT_CEILING..=1.0 + TOLERANCE).contains(&share)
        })
    };
    if points.len() < 3 || !points.iter().all(at_ceiling) {
        return None;
    }
    let message = format!(
        "all {} points are within 3% of 12.86 tpmC per warehouse: they show how many warehouses \
         were loaded, not how many the cluster could serve",
        points.len()
    );
    let check = "raise the warehouses at each size until efficiency falls; do not fit a scaling \
                 model to these.";
    Some(Rule::TpmcPerWarehouse.warning(Weight::Doubt, points, message, check))
}

fn figures(point: &Point) -> Option<(f64, f64)> {
    let warehouses = point.number(names::WAREHOUSES).filter(|w| *w > 0.0)?;
    let is_tpmc = point.unit.to_lowercase().starts_with("tpm");
    is_tpmc.then_some((point.throughput, warehouses))
}
