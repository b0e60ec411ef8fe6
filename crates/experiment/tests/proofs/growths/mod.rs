//! Growths of simulated clusters whose capacity at each size is known: the mark of every size and its limit, the
//! prediction of every next one before it is measured, a machine that drifts, a load generator that gives out, and how
//! growths end and go on.
//!
//! A seed names a cluster: how its capacity grows, where it begins, and its sizes. A few run every day, all of them
//! with the long tests. Every size is a search of its own, as exact as searches are: see `marks.rs`.

mod accuracy;
mod cluster;
mod endings;

use highwater_model::record::ExperimentRecord;

/// The nodes of each measured size.
fn order(record: &ExperimentRecord) -> Vec<u32> {
    record.scale().unwrap().trials.iter().map(|trial| trial.size.nodes).collect()
}
