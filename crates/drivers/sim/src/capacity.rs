//! The true capacity of a model: its maximum ops per second, from its parameters alone.
//!
//! Searches and size estimates are tested against these numbers, so nothing here may depend on a run.

use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;

use super::parameters::SimParameters;

/// The highest rate, in ops per second, at which no node's work grows without bound: one over the mean core time per op
/// on the busiest node, divided by its cores.
///
/// `rows_per_op` is the batch size and counts only for `inserts`; otherwise ops are queries. An op's first shard is
/// uniformly random, so without a hot shard each shard gets `parts / shards` requests and `rows / shards` rows per op
/// on average, with `parts` the smaller of rows (at least 1) and shards. All service distributions keep the mean.
/// Infinite for infinitely many cores, and for work that takes no time. A lock limits inserts to one over the time that
/// each holds it. A disk limits them to its rate, divided by the rows of an op on its node; its credit is temporary and
/// not included. Also not included are stalls, warm-up, faults, and the queue limit: a short queue rejects work below
/// this rate.
/// the queue: a short queue refuses work before this rate is reached.
pub fn capacity(parameters: &SimParameters, rows_per_op: u64, inserts: bool) -> f64 {
    let of_cores = of_cores(parameters, rows_per_op, inserts);
    if inserts {
        let of_disks = of_disks(parameters, rows_per_op);
        // One over zero is infinite.
        of_cores.min(of_disks).min(1.0 / seconds(parameters.lock))
    } else {
        of_cores
    }
}

fn of_disks(parameters: &SimParameters, rows_per_op: u64) -> f64 {
    let Some(rate) = parameters.disk else {
        return f64::INFINITY;
    };
    let rows_on = |node: u32| -> f64 {
        let here = copies_on(parameters, node);
        here.map(|(shard, _)| dealt(parameters, shard, rows_per_op).1).sum()
    };
    let rows = (0..parameters.nodes).map(rows_on).fold(0.0, f64::max);
    if rows > 0.0 { to_f64(rate) / rows } else { f64::INFINITY }
}

fn of_cores(parameters: &SimParameters, rows_per_op: u64, inserts: bool) -> f64 {
    let Some(cores) = parameters.cores else {
        return f64::INFINITY;
    };
    let busiest = (0..parameters.nodes)
        .map(|node| {
            let work = if inserts {
                insert_work(parameters, node, rows_per_op)
            } else {
                seconds(parameters.query) / f64::from(parameters.nodes)
            };
            work / parameters.speed_of(node)
        })
        .fold(0.0, f64::max);
    if busiest > 0.0 { f64::from(cores) / busiest } else { f64::INFINITY }
}

/// Mean core seconds per insert op on one node at speed 1, replicas included.
fn insert_work(parameters: &SimParameters, node: u32, rows: u64) -> f64 {
    let here = copies_on(parameters, node);
    here.map(|(shard, copy)| {
        let (parts, rows) = dealt(parameters, shard, rows);
        let work = parts * seconds(parameters.request) + rows * seconds(parameters.row);
        parameters.cost_of_copy(copy) * work
    })
    .sum()
}

/// The shards and copies on a node.
fn copies_on(parameters: &SimParameters, node: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    let all = (0..parameters.shards)
        .flat_map(|shard| (0..=parameters.replicas).map(move |copy| (shard, copy)));
    all.filter(move |(shard, copy)| parameters.node_of(*shard, *copy) == node)
}

/// Pieces and rows of an insert op for a shard, on average.
fn dealt(parameters: &SimParameters, shard: u32, rows: u64) -> (f64, f64) {
    let shards = f64::from(parameters.shards);
    let (hot, others) = parameters.hot_and_other(rows);
    let touched = others.clamp(u64::from(hot == 0), parameters.shards.into());
    let (parts, rows) = (to_f64(touched) / shards, to_f64(others) / shards);
    match (shard, hot) {
        (0, 1..) => (1.0, rows + to_f64(hot)),
        _ => (parts, rows),
    }
}

fn seconds(span: Nanos) -> f64 {
    span.as_secs_f64()
}
