//! Growths of simulated clusters with known capacity at each size: the mark and the limit of every size, the prediction
//! of every next one before it is measured, a drifting machine, a saturated load generator, and the end and resumption
//! of growths.
//!
//! A seed determines a cluster: how its capacity grows, its first size, and its other sizes. A few run every day, all
//! of them with the long tests. Every size is a separate search, as exact as searches are: see `marks.rs`.

mod accuracy;
mod cluster;
mod endings;

use highwater_model::record::ExperimentRecord;

/// The nodes of each measured size.
fn order(record: &ExperimentRecord) -> Vec<u32> {
    record.scale().unwrap().trials.iter().map(|trial| trial.size.nodes).collect()
}
