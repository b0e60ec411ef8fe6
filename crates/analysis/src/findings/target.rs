//! Rules about the target itself: its layout, its hosts, and its throughput over time.

use highwater_model::display::{count, percent, plain, ratio};
use highwater_model::record::Steadiness;

use super::rule::{RuleFinding, RuleInput};

/// This many primary shards per core are far too many: each costs memory and merges.
const MANY_PER_CORE: u64 = 20;
/// Above this many times its fair share of the work, a host is overloaded.
const UNEQUAL: f64 = 1.5;
/// Fewer acknowledged ops on a host are not a pattern.
const OPS_OF_A_HOST: u64 = 1_000;
/// This many dips are periodic if their distances scatter by at most this fraction of the mean.
const DIPS: usize = 4;
const SCATTER: f64 = 0.15;
/// Throughput fell by at least this much over the phase while the tables grew.
const FALL_PERCENT: f64 = 10.0;

/// Cores of the whole target, primary shards, and copies of each, if the target reports them.
fn layout(read: &RuleInput<'_>) -> Option<(u64, u64, u64)> {
    let settings = &read.record.target.settings;
    let parameters = &read.record.workload.parameters;
    let number = |name: &str| {
        // The target's report is more reliable: it may ignore the parameter.
        let stated = settings.get(name).or_else(|| parameters.get(name));
        stated.and_then(|text| text.parse::<u64>().ok())
    };
    let per_node = number("cores").or_else(|| number("processors"))?;
    let cores = per_node.checked_mul(number("nodes")?)?;
    let copies = number("replicas").unwrap_or(0).saturating_add(1);
    Some((cores, number("shards")?, copies)).filter(|_| writes(read))
}

fn writes(read: &RuleInput<'_>) -> bool {
    let mut results = read.measured.iter().flat_map(|stream| &stream.results);
    results.any(|result| result.rows.acknowledged > 0)
}

/// There are fewer shards than cores to write to.
pub(super) fn few_shards(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let (cores, shards, copies) = layout(read)?;
    let written = shards.saturating_mul(copies);
    (written < cores).then(|| RuleFinding {
        code: "few_shards",
        sentence: "there are fewer shards than cores, so some cores have none to write to"
            .to_owned(),
        evidence: format!("{shards} shards in {copies} copies, {cores} cores"),
        hint: "more shards, up to one for each core",
    })
}

/// Far more shards than cores.
pub(super) fn many_shards(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let (cores, shards, _) = layout(read)?;
    (shards > cores.saturating_mul(MANY_PER_CORE)).then(|| RuleFinding {
        code: "many_shards",
        sentence: "there are far more shards than cores; each costs memory and work of its own"
            .to_owned(),
        evidence: format!("{shards} shards, {cores} cores"),
        hint: "fewer shards; highwater table shows what runs with other numbers reached",
    })
}

/// One host does much more of the work than the others.
pub(super) fn unequal_hosts(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let hosts = &read.record.target.hosts;
    let all: u64 = hosts.iter().map(|host| host.acknowledged).sum();
    let busiest = hosts.iter().max_by_key(|host| host.acknowledged)?;
    let of = u64::try_from(hosts.len()).ok()?;
    let share = ratio(busiest.acknowledged, all);
    let enough = all >= OPS_OF_A_HOST.saturating_mul(of);
    (of > 1 && enough && share > UNEQUAL / ratio(of, 1)).then(|| RuleFinding {
        code: "unequal_hosts",
        sentence: "one host did more than its share of the work".to_owned(),
        evidence: format!("{} did {} of {of} hosts' ops", busiest.url, percent(share)),
        hint: "a number of sessions that the hosts divide; look at why the others answer slower",
    })
}

/// Throughput breaks down at regular distances.
pub(super) fn periodic_stalls(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let series = &read.record.availability.acknowledged_per_s;
    let mut sorted = series.clone();
    sorted.sort_unstable();
    let half = sorted.get(sorted.len() / 2)? / 2;
    let begins: Vec<usize> = (1..series.len())
        .filter(|second| series[*second] < half && series[second - 1] >= half)
        .collect();
    if begins.len() < DIPS {
        return None;
    }
    let distances: Vec<f64> = begins
        .windows(2)
        .map(|pair| ratio(u64::try_from(pair[1] - pair[0]).unwrap_or(0), 1))
        .collect();
    let n = ratio(u64::try_from(distances.len()).ok()?, 1);
    let mean = distances.iter().sum::<f64>() / n;
    let variance = distances.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
    (variance.sqrt() <= SCATTER * mean).then(|| RuleFinding {
        code: "periodic_stalls",
        sentence: format!(
            "throughput broke down about every {} s",
            plain((mean * 10.0).round() / 10.0)
        ),
        evidence: format!("{} times in {} s", begins.len(), series.len()),
        hint: "look at what the target does at that interval: checkpoints, merges, collecting \
               garbage, backups",
    })
}

/// Closed load slows down while rows come in.
pub(super) fn slows_with_data(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let mut closed = read.measured.iter().filter(|stream| !stream.is_open());
    let fell = |drift: &f64| *drift <= -FALL_PERCENT;
    let (stream, rows) = closed.find_map(|stream| {
        stream.stream.drift_percent.filter(fell)?;
        let tested = match stream.stream.drift_ci95 {
            Some([_, most]) => most < 0.0,
            // Of an earlier record.
            None => stream.stream.steadiness == Steadiness::NotSteady,
        };
        let rows = stream.results.iter().map(|r| r.rows.acknowledged).sum();
        (tested && rows > 0).then_some((stream, rows))
    })?;
    let how = stream.stream.change();
    // Earlier records have no thirds.
    let how = how.unwrap_or_else(|| match stream.stream.drift_percent {
        Some(drift) if drift > -100.0 => format!("by {}", percent(-drift / 100.0)),
        _ => "by more than half".to_owned(),
    });
    Some(RuleFinding {
        code: "slows_with_data",
        sentence: format!("throughput fell {how} while rows were added"),
        evidence: format!("{} rows", count(rows)),
        hint: "rerun with these rows preloaded (--set rows=…): if it starts where this run ended, data \
               volume is the cause; if not, check merges, caches, and disk credits",
    })
}
