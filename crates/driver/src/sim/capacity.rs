//! The truth about a model: how many ops per second it can do, from its parameters alone.
//!
//! Searches and size estimates are tested against these numbers, so nothing here may depend on a
//! run.

use highwater_model::units::Nanos;

use super::parameters::SimParameters;

/// The highest rate, in ops per second, at which no node's work grows without bound: one over the
/// mean core time per op on the busiest node, divided by its cores.
///
/// `rows_per_op` is the batch size and counts only for `inserts`; otherwise ops are queries. An
/// op's first shard is uniformly random, so each shard gets `parts / shards` requests and `rows /
/// shards` rows per op on average, `parts` being the smaller of rows (at least 1) and shards. All
/// service laws keep the mean. Infinite for infinitely many cores and for work that takes no time.
/// A disk bounds inserts to its rate, divided by the rows of an op on its node; its credit is for a
/// while only and not part of it. Stalls, warm-up and faults are not either, nor is the bound of
/// the queue: a short queue refuses work before this rate is reached.
pub fn capacity(parameters: &SimParameters, rows_per_op: u64, inserts: bool) -> f64 {
    let of_cores = of_cores(parameters, rows_per_op, inserts);
    if inserts {
        of_cores.min(of_disks(parameters, rows_per_op))
    } else {
        of_cores
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "batches and rates are far below 2⁵³ rows, and the result is a mean"
)]
fn of_disks(parameters: &SimParameters, rows_per_op: u64) -> f64 {
    let Some(rate) = parameters.disk else {
        return f64::INFINITY;
    };
    let copies = |node: u32| {
        let all = (0..parameters.shards)
            .flat_map(|shard| (0..=parameters.replicas).map(move |copy| (shard, copy)));
        all.filter(|(shard, copy)| parameters.node_of(*shard, *copy) == node)
            .count()
    };
    let most = (0..parameters.nodes).map(copies).max().unwrap_or(0);
    let rows = rows_per_op as f64 * most as f64 / f64::from(parameters.shards);
    if rows > 0.0 {
        rate as f64 / rows
    } else {
        f64::INFINITY
    }
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
    if busiest > 0.0 {
        f64::from(cores) / busiest
    } else {
        f64::INFINITY
    }
}

/// Mean core seconds per insert op on one node at speed 1, copies included.
#[expect(
    clippy::cast_precision_loss,
    reason = "batches are far below 2⁵³ rows, and the result is a mean"
)]
fn insert_work(parameters: &SimParameters, node: u32, rows: u64) -> f64 {
    let shards = f64::from(parameters.shards);
    let parts = rows.clamp(1, parameters.shards.into()) as f64 / shards;
    let per_shard =
        parts * seconds(parameters.request) + rows as f64 / shards * seconds(parameters.row);
    let copies: f64 = (0..parameters.shards)
        .flat_map(|shard| (0..=parameters.replicas).map(move |copy| (shard, copy)))
        .filter(|(shard, copy)| parameters.node_of(*shard, *copy) == node)
        .map(|(_, copy)| parameters.cost_of_copy(copy))
        .sum();
    copies * per_shard
}

fn seconds(span: Nanos) -> f64 {
    span.as_secs_f64()
}
