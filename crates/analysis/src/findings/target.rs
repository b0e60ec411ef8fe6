//! Rules about the target itself: its layout, its hosts, its memory, its throughput over time, and how it handled the
//! load.

use highwater_model::display::{bytes, count, duration, percent, plain, rate, ratio};
use highwater_model::plan::Unit;
use highwater_model::record::Steadiness;
use highwater_model::search::{ProbeRecord, SearchAxis, SearchRecord};

use super::{RuleFinding, RuleInput};
use crate::judge::shares::rejected_ops;
use crate::memory::data_in_memory;

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
            // From an earlier record.
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

/// Data that fit in memory at first no longer do: the figures mix both.
pub(super) fn outgrew_memory(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let data = data_in_memory(read.record)?;
    let cache = data.outgrew()?;
    let [before, after, most] = [data.before, data.after, cache.bytes].map(bytes);
    Some(RuleFinding {
        code: "outgrew_memory",
        sentence: format!("the data outgrew {} during the run", cache.name),
        evidence: format!("{before} before, {after} at the end; it holds {most}"),
        hint: "its figures are of both: preload more rows (--set rows=…) to measure what does not fit, or write fewer",
    })
}

/// Reads come from memory, as they would not with more data.
pub(super) fn fits_in_memory(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let reads = |unit: Unit, answered: u64| unit != Unit::Rows && answered > 0;
    let mut streams = read.measured.iter();
    let is_read = streams.any(|of| reads(of.stream.unit, of.answered()));
    let data = data_in_memory(read.record).filter(|_| is_read)?;
    let cache = data.held_by()?;
    let [all, most] = [data.before.max(data.after), cache.bytes].map(bytes);
    Some(RuleFinding {
        code: "fits_in_memory",
        sentence: "all data fit in memory, so reads need no disk".to_owned(),
        evidence: format!("{all} of data; {} holds {most}", cache.name),
        hint: "where production has more data than memory, load as much as it has for its memory (--set rows=…); \
               else state the size of the data with the result",
    })
}

/// Fewer rejected ops, or a smaller fraction, are not a pattern.
const REJECTED_OPS: u64 = 10;
const REJECTED_SHARE: f64 = 0.001;
/// With more sessions, throughput has fallen if it is below this fraction of its best.
const FALLEN: f64 = 0.95;

/// The target refuses work for lack of capacity.
pub(super) fn rejected_writes(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let results = read.measured.iter().flat_map(|stream| &stream.results);
    let (mut rejected, mut offered) = (0_u64, 0_u64);
    for result in results {
        rejected += rejected_ops(result);
        offered += result.offered;
    }
    let share = ratio(rejected, offered);
    let is_reported = rejected >= REJECTED_OPS && share >= REJECTED_SHARE;
    let ([rejected, all], share) = ([rejected, offered].map(count), percent(share));
    is_reported.then(|| RuleFinding {
        code: "rejected_ops",
        sentence: "the target rejected ops for lack of capacity".to_owned(),
        evidence: format!("{rejected} of {all} ops, {share}"),
        hint: "use fewer sessions (-c), lower --rate, or lengthen the target's queue; `highwater find` \
               finds the highest rate without rejections",
    })
}

/// Ops of open load wait longer for an idle session than for the response.
pub(super) fn sessions_busy(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let mut waiting = read.measured.iter().filter(|stream| stream.is_open()).flat_map(|stream| {
        let sessions = stream.stream.sessions;
        stream.results.iter().filter_map(move |result| {
            let (door, service) = (result.session_wait_ns.p50?, result.service_ns.p50?);
            (door > service).then_some((sessions, door, service))
        })
    });
    let (sessions, door, service) = waiting.next()?;
    let [door, service] = [door, service].map(duration);
    Some(RuleFinding {
        code: "sessions_busy",
        sentence: "ops waited longer for a session than for the response".to_owned(),
        evidence: format!("medians {door} and {service}, with {sessions} sessions"),
        hint: "add sessions (-c); if responses only get slower, the target is at its limit",
    })
}

/// In a search over sessions, throughput fell with more sessions.
pub fn more_sessions_less(search: &SearchRecord) -> Option<RuleFinding> {
    if search.axis != SearchAxis::Sessions {
        return None;
    }
    let reached = |probe: &&ProbeRecord| probe.acknowledged_per_s > 0.0;
    let probes = search.probes.iter().filter(reached);
    let best =
        probes.clone().max_by(|a, b| a.acknowledged_per_s.total_cmp(&b.acknowledged_per_s))?;
    let most = probes.max_by(|a, b| a.at.total_cmp(&b.at))?;
    let fell = most.acknowledged_per_s < best.acknowledged_per_s * FALLEN;
    let figures = [best, most].map(|probe| [probe.acknowledged_per_s, probe.at].map(rate));
    let ([[best, best_at], [reached, at]], unit) = (figures, search.unit.name());
    fell.then(|| RuleFinding {
        code: "too_many_sessions",
        sentence: "throughput fell as sessions became more".to_owned(),
        evidence: format!("{best} {unit}/s at {best_at} sessions, {reached} at {at}"),
        hint: "no more sessions than where throughput was highest",
    })
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use crate::fixture;
    use highwater_model::record::RunRecord;

    const MEMORY: [&str; 2] = ["outgrew_memory", "fits_in_memory"];

    /// The codes of these rules for a size of the data in megabytes before and after, and a cache of 128 MB.
    fn codes(mut record: RunRecord, before: u64, after: u64) -> Vec<&'static str> {
        let target = &mut record.target;
        target.bytes_before = Some(before * 1_000_000);
        target.bytes_after = Some(after * 1_000_000);
        let cache = ("shared_buffers".to_owned(), 128_000_000);
        target.memory.caches.extend([cache]);
        findings(&record)
            .into_iter()
            .map(|of| of.code)
            .filter(|code| MEMORY.contains(code))
            .collect()
    }

    #[test]
    fn data_that_outgrew_a_cache_are_reported_and_those_that_were_larger_before_are_not() {
        let of = |before, after| codes(fixture::closed(), before, after);
        assert_eq!(of(100, 300), ["outgrew_memory"]);
        assert_eq!(of(0, 129), ["outgrew_memory"], "new tables, too");
        assert!(of(100, 128).is_empty());
        assert!(of(129, 300).is_empty());
    }

    #[test]
    fn data_that_fit_are_reported_if_they_are_read() {
        assert!(codes(fixture::closed(), 50, 100).is_empty(), "only written");
        let reads = || fixture::open_steps();
        assert_eq!(codes(reads(), 100, 100), ["fits_in_memory"]);
        assert_eq!(codes(reads(), 100, 128), ["fits_in_memory"]);
        assert!(codes(reads(), 200, 200).is_empty(), "more than memory");
        let mut model = reads();
        model.target.simulated = true;
        assert!(codes(model, 100, 100).is_empty(), "no database");
    }

    #[test]
    fn a_target_that_reports_no_cache_has_no_cache_finding() {
        let mut record = fixture::open_steps();
        record.target.bytes_before = Some(1_000_000);
        record.target.bytes_after = Some(1_000_000_000);
        let found = findings(&record);
        assert!(found.iter().all(|of| !MEMORY.contains(&of.code)), "{found:?}");
    }
}
