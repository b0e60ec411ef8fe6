//! Rules about the target's own telemetry during the measurement.

use crate::judge::shares::rejected_ops;
use crate::telemetry::{OverTime, TimeRange, mean, measured, named, rejected};
use highwater_model::display::{bytes, count, percent, plain};
use highwater_model::numbers::{len_to_f64, round_to_u64};
use highwater_model::record::{OWN_SETTING, PhaseRecord, RunRecord, TABLE_SETTING};
use highwater_model::target_telemetry::{TelemetrySeries, names};

use super::{RuleFinding, RuleInput};

/// A disk this busy is at its limit if the CPU is not busier.
const DISK_BUSY: f64 = 0.9;
const CPU_FREE: f64 = 0.7;
/// A node that is this many times as busy as the average, and at least this busy.
const UNEQUAL: f64 = 1.5;
const NODE_BUSY: f64 = 0.5;
/// This fraction of the sessions waits for locks, and at least one session.
const LOCKED: f64 = 0.1;
/// The setting for the number of parts per partition from which on the target delays inserts.
const PARTS_LIMIT: &str = "parts_to_delay_insert";
/// Throughput in samples with a checkpoint is lower by this fraction than in the others, with at least this many
/// samples of each kind.
const CHECKPOINT_COST: f64 = 0.2;
const CHECKPOINT_SAMPLES: usize = 5;
/// The queue in the last third of the measured time is this many times that of the first, and holds at least this many
/// tasks.
const BACKLOG: f64 = 2.0;
const BACKLOG_PIECES: f64 = 10.0;
/// The hypervisor took this fraction of the CPU time.
const STOLEN: f64 = 0.05;
/// A closed load has too few sessions if nothing in the target is busier than this.
const IDLE: f64 = 0.5;
const IDLE_QUEUE: f64 = 0.1;

fn inside<'a>(read: &RuleInput<'a>) -> Option<OverTime<'a>> {
    OverTime::within(read.record, measured(read.record)?)
}

fn of_node(series: &TelemetrySeries) -> String {
    series.node.clone().unwrap_or_else(|| series.source.clone())
}

/// A disk is always busy while CPU is left.
pub(super) fn disk_limits(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let (series, busy) = inside.greatest(names::DISK_BUSY)?;
    let cpu = inside.cpu()?;
    (busy >= DISK_BUSY && cpu <= CPU_FREE).then(|| RuleFinding {
        code: "disk_limits",
        sentence: "a disk was at its limit while CPU was left".to_owned(),
        evidence: format!("{} {} busy, cpu {}", of_node(series), percent(busy), percent(cpu)),
        hint: "larger batches and fewer indexes write less; a disk with more throughput, or more of \
               them, moves the limit",
    })
}

/// One node works much more than the others.
pub(super) fn unequal_nodes(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let (series, busiest) = inside.greatest(names::CPU_BUSY)?;
    let (mean, nodes) = (inside.cpu()?, inside.means(names::CPU_BUSY).len());
    let is_unequal = nodes > 1 && busiest >= NODE_BUSY && busiest > UNEQUAL * mean;
    let ([busiest, mean], node) = ([busiest, mean].map(percent), of_node(series));
    is_unequal.then(|| RuleFinding {
        code: "unequal_nodes",
        sentence: "one node worked more than its share".to_owned(),
        evidence: format!("{node} {busiest} busy, all {nodes} nodes {mean} on average"),
        hint: "look at how shards and their primaries are spread, and at keys that all rows share",
    })
}

/// Sessions wait for locks.
pub(super) fn locks(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let waiting = inside.sum(names::LOCK_WAITS);
    let sessions: u32 = read.measured.iter().map(|m| m.stream.sessions).max()?;
    let (most, hint) = lock_kind(&inside, waiting);
    (waiting >= 1.0 && waiting >= LOCKED * f64::from(sessions)).then(|| RuleFinding {
        code: "locks",
        sentence: "sessions waited for locks".to_owned(),
        evidence: format!("{} on average, {sessions} sessions{most}", plain(waiting)),
        hint,
    })
}

/// The kind of lock that most of these sessions wait for, worded for the evidence, and the hint.
fn lock_kind(inside: &OverTime<'_>, waiting: f64) -> (String, &'static str) {
    const ROWS: &str = "ops that write the same rows take turns: more keys (--set), fewer sessions (-c), or \
                        shorter transactions";
    const TABLE: &str = "something locks the whole table, such as a change of the schema or maintenance during the load; \
                         fewer sessions (-c) if it is the load's own statements";
    const EXTEND: &str = "inserts take turns to make the table's file larger: fewer sessions (-c) with larger batches, or \
                          several partitions; more keys do not help";
    const UNKNOWN: &str = "ask the target which locks they wait for; fewer sessions (-c), shorter transactions or \
                           larger batches hold fewer of them";
    let kinds = [
        (names::LOCK_WAITS_ROW, "rows", ROWS),
        (names::LOCK_WAITS_TABLE, "a whole table", TABLE),
        (names::LOCK_WAITS_EXTEND, "a table's file to be made larger", EXTEND),
    ];
    let most = kinds
        .map(|(name, what, hint)| (inside.sum(name), what, hint))
        .into_iter()
        .find(|(of_kind, ..)| 2.0 * of_kind > waiting);
    most.map_or_else(
        || (String::new(), UNKNOWN),
        |(of_kind, what, hint)| (format!("; {} waited for {what}", plain(of_kind)), hint),
    )
}

/// Each insert is a separate part until it is merged, and merging does not keep up.
pub(super) fn too_many_parts(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let most = inside.highest(names::PARTS_OF_PARTITION)?;
    let delayed = inside.highest(names::DELAYED_INSERTS).unwrap_or(0.0);
    let setting = |name| read.record.target.setting(name)?.parse::<f64>().ok();
    let limit = setting(PARTS_LIMIT).filter(|limit| most >= *limit);
    let parts = format!("{} in the fullest partition", plain(most));
    let evidence = match limit {
        Some(limit) => format!("{parts}; {PARTS_LIMIT} is {}", plain(limit)),
        None => format!("{parts}; up to {} inserts held up at a time", plain(delayed)),
    };
    (limit.is_some() || delayed >= 1.0).then(|| RuleFinding {
        code: "too_many_parts",
        sentence: "inserts made parts faster than the target merges them, so it held inserts up"
            .to_owned(),
        evidence,
        hint: "larger batches (--set batch=…) and fewer sessions (-c) make fewer parts of the same rows",
    })
}

/// Throughput was lower during checkpoints.
pub(super) fn checkpoints(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let telemetry = inside.telemetry;
    let written = named(telemetry, "checkpoint_blocks").next();
    let series = written.or_else(|| named(telemetry, names::CHECKPOINTS).next())?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let times = telemetry.times_ns.windows(2).zip(series.values.iter().skip(1));
    for (span, value) in times {
        let &[from, to] = span else { continue };
        if from < inside.range.from_ns || to > inside.range.to_ns {
            continue;
        }
        let (Some(value), Some(rate)) = (value, rate_between(read.record, from, to)) else {
            continue;
        };
        if *value > 0.0 {
            with.push(rate);
        } else {
            without.push(rate);
        }
    }
    if with.len().min(without.len()) < CHECKPOINT_SAMPLES {
        return None;
    }
    let mean = |rates: &Vec<f64>| rates.iter().sum::<f64>() / len_to_f64(rates.len());
    let [during, else_] = [&with, &without].map(mean);
    (during < (1.0 - CHECKPOINT_COST) * else_).then(|| RuleFinding {
        code: "checkpoints_slow",
        sentence: "less was acknowledged while the target wrote a checkpoint".to_owned(),
        evidence: format!(
            "{} less, in {} of {} samples",
            percent(1.0 - during / else_),
            with.len(),
            with.len() + without.len()
        ),
        hint: "checkpoints at greater distances, or spread over more of it; measure over several",
    })
}

/// Ops acknowledged per second between two times.
fn rate_between(record: &RunRecord, from: u64, to: u64) -> Option<f64> {
    const SECOND_NS: u64 = 1_000_000_000;
    let half = SECOND_NS / 2;
    let (first, last) = ((from + half) / SECOND_NS, (to + half) / SECOND_NS);
    let seconds = last.checked_sub(first).filter(|seconds| *seconds > 0)?;
    let loads = |phase: &str| PhaseRecord::is_load(&record.phases, phase);
    let acknowledged: u64 = record
        .intervals
        .iter()
        .filter(|interval| (first..last).contains(&interval.second) && !loads(&interval.phase))
        .map(|interval| interval.acknowledged)
        .sum();
    Some(highwater_model::display::ratio(acknowledged, seconds))
}

/// A network transfers as much as its speed allows.
pub(super) fn network_limits(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let (series, carried, speed) = inside.full_network()?;
    let (node, gbit) = (of_node(series), plain(speed * 8.0 / 1e9));
    let [carried, most] = [carried, speed].map(|per_s| bytes(round_to_u64(per_s)));
    Some(RuleFinding {
        code: "network_limits",
        sentence: "a network carried about all that one of its speed can".to_owned(),
        evidence: format!("{carried}/s at {node}, {gbit} Gbit/s carry {most}/s"),
        hint: "more nodes or a faster network; an --insert mode or a compression that sends less",
    })
}

/// The queue inside the target keeps growing.
pub(super) fn growing_queue(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let TimeRange { from_ns: from, to_ns: to } = inside.range;
    let third = to.saturating_sub(from) / 3;
    let over = |from_ns, to_ns| -> f64 {
        let range = TimeRange { from_ns, to_ns };
        let queues = named(inside.telemetry, names::QUEUE);
        let held_back = [names::ADMISSION_WAITS, names::ADMISSION_STORE_WAITS];
        let held_back = held_back.into_iter().flat_map(|name| named(inside.telemetry, name));
        queues.chain(held_back).filter_map(|series| mean(inside.telemetry, series, range)).sum()
    };
    let (first, last) = (over(from, from + third), over(to - third, to));
    (last >= BACKLOG_PIECES && last >= BACKLOG * first).then(|| RuleFinding {
        code: "growing_queue",
        sentence: "the amount of work waiting inside the target kept growing".to_owned(),
        evidence: format!(
            "{} pieces in the first third of the measured time, {} in the last",
            plain(first),
            plain(last)
        ),
        hint: "lower --rate: more was sent than the target finishes, and what it acknowledged was not \
               sustained yet",
    })
}

/// The target rejected work internally, without its clients receiving a rejection.
pub(super) fn rejected_inside(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let pieces = rejected(read.record).filter(|pieces| *pieces > 0)?;
    let client_rejections: u64 = read
        .measured
        .iter()
        .flat_map(|stream| &stream.results)
        .map(|result| rejected_ops(result))
        .sum();
    (client_rejections == 0).then(|| RuleFinding {
        code: "rejected_inside",
        sentence: "the target rejected work for lack of capacity and tried it again itself"
            .to_owned(),
        evidence: format!("{} tasks by its own count, no op", count(pieces)),
        hint: "it is at its limit: fewer sessions (-c) or a lower rate; --rejected 0 counts these, too",
    })
}

/// Another machine used the CPU.
pub(super) fn cpu_stolen(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let (_, stolen) = inside(read)?.greatest(names::CPU_STEAL)?;
    (stolen >= STOLEN).then(|| RuleFinding {
        code: "cpu_stolen",
        sentence: "the hypervisor gave CPU of the target's machine to others".to_owned(),
        evidence: format!("{} of its time", percent(stolen)),
        hint: "a machine of its own, or one without credits; compare runs only at equal steal",
    })
}

/// A closed load that leaves every resource idle.
pub(super) fn few_sessions(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let inside = inside(read)?;
    let closed = read.measured.iter().all(|stream| !stream.is_open());
    let sessions: u32 = read.measured.iter().map(|m| m.stream.sessions).max()?;
    let cpu = inside.greatest(names::CPU_BUSY)?.1;
    let disk = inside.greatest(names::DISK_BUSY).map_or(0.0, |(_, busy)| busy);
    let idle = cpu < IDLE && disk < IDLE && inside.sum(names::QUEUE) < IDLE_QUEUE;
    let locked = inside.sum(names::LOCK_WAITS) + inside.sum(names::DISK_WAITS) >= IDLE_QUEUE;
    let mut clients = read.record.clients.iter();
    let client = clients.all(|client| client.cpu_fraction < IDLE);
    (closed && idle && !locked && client).then(|| RuleFinding {
        code: "few_sessions",
        sentence: "the target was mostly idle: its sessions are too few to load it".to_owned(),
        evidence: format!("CPU {}, no queue, {sessions} sessions", percent(cpu)),
        hint: "add sessions (-c); `highwater find` shows how many",
    })
}

/// Acknowledged rows may be lost.
pub(super) fn durability_relaxed(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let settings = &read.record.target.settings;
    // A table's own setting overrides the server's.
    let is_in_force = |stated: &&str| {
        let own = stated
            .split_once('=')
            .and_then(|(name, value)| Some((read.record.target.of_tables(name)?, value)));
        own.is_none_or(|(own, value)| own == value)
    };
    let stated = settings.get("durability.relaxed").map_or("", String::as_str);
    let stated: String =
        stated.split_inclusive(' ').filter(|part| is_in_force(&part.trim_end())).collect();
    let mut of_tables = settings.iter().filter_map(|(name, value)| {
        let of_table = name.strip_prefix(OWN_SETTING).or_else(|| name.strip_prefix(TABLE_SETTING));
        let name = of_table?;
        let is_relaxed = name.contains("durability") && value.eq_ignore_ascii_case("async");
        is_relaxed.then(|| format!("{name}={value}"))
    });
    let evidence = Some(stated.trim_end().to_owned())
        .filter(|stated| !stated.is_empty())
        .or_else(|| of_tables.next())?;
    Some(RuleFinding {
        code: "durability_relaxed",
        sentence: "acknowledged rows may be lost if the machine crashes".to_owned(),
        evidence,
        hint: "compare only with runs at the same durability, and state the setting with the result",
    })
}

#[cfg(test)]
mod tests;
