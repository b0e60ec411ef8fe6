//! The figures per phase, stream and op, over all shares.

use std::collections::BTreeMap;

use highwater_model::histogram::{LatencyHistogram, LatencySummary};
use highwater_model::numbers::to_f64;
use highwater_model::plan::Pace;
use highwater_model::record::{
    InterventionRecord, MeetingRecord, PhaseRecord, ResultRecord, RunRecord, StreamRecord,
    TargetRecord, TelemetrySample, ThroughputRecord, WINDOW_NS, Windows,
};
use highwater_model::units::Nanos;

use super::timeline::{MergeError, add_each};

/// The same phase, stream and op in every share that has it.
type Group<'a> = Vec<(&'a RunRecord, &'a ResultRecord)>;

/// Results of the same phase, stream and op as one, in the order of their first appearance.
pub(super) fn results(
    shares: &[&RunRecord],
    phases: &[PhaseRecord],
) -> Result<Vec<ResultRecord>, MergeError> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for share in shares {
        for result in &share.results {
            let same = |group: &&mut Group<'_>| {
                let (_, merged_one) = group[0];
                (&merged_one.phase, &merged_one.stream, &merged_one.op)
                    == (&result.phase, &result.stream, &result.op)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push((share, result)),
                None => groups.push(vec![(share, result)]),
            }
        }
    }
    groups.iter().map(|group| one(group, phases)).collect()
}

fn one(group: &Group<'_>, phases: &[PhaseRecord]) -> Result<ResultRecord, MergeError> {
    let (_, first) = group[0];
    let mut merged = first.clone();
    for (_, other) in &group[1..] {
        merged.offered += other.offered;
        merged.sent += other.sent;
        merged.acknowledged += other.acknowledged;
        merged.rolled_back += other.rolled_back;
        merged.dropped += other.dropped;
        merged.answered.ops += other.answered.ops;
        merged.answered.rows += other.answered.rows;
        merged.retries += other.retries;
        add_classes(&mut merged.errors, &other.errors);
        add_classes(&mut merged.partial, &other.partial);
        for (class, example) in &other.error_examples {
            let merged_one = merged.error_examples.entry(class.clone());
            merged_one.or_insert_with(|| example.clone());
        }
        for failure in &other.failures {
            match merged.failures.iter_mut().find(|one| one.is_as(failure)) {
                Some(one) => one.count += failure.count,
                None => merged.failures.push(failure.clone()),
            }
        }
        merged.rows.sent += other.rows.sent;
        merged.rows.acknowledged += other.rows.acknowledged;
        merged.rows.refused += other.rows.refused;
        merged.rows.unknown += other.rows.unknown;
        merged.response_bytes += other.response_bytes;
        merged.response_rows += other.response_rows;
        merged.backlog |= other.backlog;
        add_windows(&mut merged.windows, &other.windows);
    }
    // A killed share's journal has whole seconds only: windows without its part would show another load.
    let journaled =
        |result: &ResultRecord| result.acknowledged > 0 && result.windows.acknowledged.is_empty();
    if group.iter().any(|(_, result)| journaled(result)) {
        merged.windows = Windows::default();
    }
    merged.throughput = throughput(&merged, phases);
    distributions(&mut merged, group)?;
    Ok(merged)
}

fn add_classes(sum: &mut BTreeMap<String, u64>, other: &BTreeMap<String, u64>) {
    for (class, number) in other {
        *sum.entry(class.clone()).or_default() += number;
    }
}

fn add_windows(sum: &mut Windows, other: &Windows) {
    add_each(&mut sum.acknowledged, &other.acknowledged);
    add_each(&mut sum.missing, &other.missing);
    add_reported(&mut sum.offered, &other.offered);
    add_reported(&mut sum.failed, &other.failed);
    add_each(&mut sum.ended, &other.ended);
    if sum.over.len() < other.over.len() {
        sum.over.resize(other.over.len(), Vec::new());
    }
    for (sum, other) in sum.over.iter_mut().zip(&other.over) {
        add_each(sum, other);
    }
}

/// Clears the sum if a share does not report: without its part the sum would show another load.
fn add_reported(sum: &mut Vec<u64>, other: &[u64]) {
    if sum.is_empty() || other.is_empty() {
        sum.clear();
    }
    if !sum.is_empty() {
        add_each(sum, other);
    }
}

/// Acknowledged ops by the time of their response, over the whole windows of the phase; in rows, with the acknowledged
/// ops' rows.
fn throughput(merged: &ResultRecord, phases: &[PhaseRecord]) -> ThroughputRecord {
    let windows = &merged.windows.acknowledged;
    let (ops, nanos) = if windows.is_empty() {
        let phase = phases.iter().find(|phase| phase.name == merged.phase);
        (merged.acknowledged, phase.map_or(0, |phase| phase.duration_ns))
    } else {
        let length = u64::try_from(windows.len()).unwrap_or(u64::MAX);
        (windows.iter().sum(), length.saturating_mul(WINDOW_NS))
    };
    if nanos == 0 {
        return ThroughputRecord::default();
    }
    let ops_per_s = to_f64(ops) / Nanos(nanos).as_secs_f64();
    ThroughputRecord {
        ops_per_s,
        rows_per_s: ops_per_s * merged.answered.rows_per_op(),
        ci95: None,
    }
}

/// The meeting of all shares, with the largest deviations of any; absent if they did not meet.
pub(super) fn meeting(shares: &[&RunRecord]) -> Option<MeetingRecord> {
    let mut meetings = shares.iter().map(|share| share.meeting.as_ref());
    let first = meetings.next()??.clone();
    meetings.try_fold(first, |all, other| {
        let other = other.filter(|other| other.id == all.id)?;
        let (late_ns, error_ns) =
            (all.late_ns.max(other.late_ns), all.error_ns.max(other.error_ns));
        Some(MeetingRecord { late_ns, error_ns, ..all })
    })
}

/// One encoded distribution of a result, and its summary.
type Part = for<'a> fn(&'a ResultRecord) -> Option<(&'a str, &'a LatencySummary)>;

/// Merges every distribution and recomputes its summary.
fn distributions(merged: &mut ResultRecord, group: &Group<'_>) -> Result<(), MergeError> {
    let texts = &mut merged.histograms;
    let all = |part: Part| over_all(group, part).map(Option::unwrap_or_default);
    (texts.latency, merged.latency_ns) = all(|r| Some((&r.histograms.latency, &r.latency_ns)))?;
    (texts.service, merged.service_ns) = all(|r| Some((&r.histograms.service, &r.service_ns)))?;
    (texts.session_wait, merged.session_wait_ns) =
        all(|r| Some((&r.histograms.session_wait, &r.session_wait_ns)))?;
    (texts.client_lag, merged.client_lag_ns) =
        all(|r| Some((&r.histograms.client_lag, &r.client_lag_ns)))?;
    (texts.error_latency, merged.error_latency_ns) =
        all(|r| Some((&r.histograms.error_latency, &r.error_latency_ns)))?;
    let undelayed: Part = |r| {
        let text = r.histograms.undelayed.as_deref().unwrap_or_default();
        Some((text, r.undelayed_ns.as_ref()?))
    };
    (texts.undelayed, merged.undelayed_ns) = over_all(group, undelayed)?.unzip();
    let of_rows: Part = |r| {
        let text = r.histograms.row_latency.as_deref().unwrap_or_default();
        Some((text, r.row_latency_ns.as_ref()?))
    };
    (texts.row_latency, merged.row_latency_ns) = over_all(group, of_rows)?.unzip();
    Ok(())
}

/// Absent if no share has it.
fn over_all(group: &Group<'_>, part: Part) -> Result<Option<(String, LatencySummary)>, MergeError> {
    let mut all: Option<LatencyHistogram> = None;
    for (share, result) in group {
        let Some((text, summary)) = part(result) else {
            continue;
        };
        let histogram = LatencyHistogram::of_summary(text, summary).map_err(|source| {
            MergeError::Histogram { record: share.header.id.clone(), op: result.op.clone(), source }
        })?;
        all.get_or_insert_with(LatencyHistogram::fine).merge(&histogram);
    }
    Ok(all.map(|all| (all.encode(), all.summary())))
}

/// Streams with the whole plan's rate and all shares' sessions; the rest is computed from results.
pub(super) fn streams(shares: &[&RunRecord], merged: &RunRecord) -> Vec<StreamRecord> {
    let mut streams: Vec<StreamRecord> = Vec::new();
    for stream in shares.iter().flat_map(|share| &share.streams) {
        let same = |s: &&mut StreamRecord| s.phase == stream.phase && s.stream == stream.stream;
        match streams.iter_mut().find(same) {
            None => streams.push(stream.clone()),
            Some(merged_one) => {
                merged_one.sessions += stream.sessions;
                merged_one.working = merged_one.working.zip(stream.working).map(|(a, b)| a + b);
                let why = merged_one.missing_because.take();
                merged_one.missing_because = why.or_else(|| stream.missing_because.clone());
                let rates = [merged_one.planned_rate, stream.planned_rate];
                let rates = rates.into_iter().flatten();
                merged_one.planned_rate = rates.reduce(|ours, theirs| ours + theirs);
            }
        }
    }
    for stream in &mut streams {
        if stream.planned_rate.is_some() {
            stream.planned_rate = planned_rate(merged, stream).or(stream.planned_rate);
        }
    }
    streams
}

/// Exact, because the shares' parts of a rate may be rounded.
fn planned_rate(merged: &RunRecord, stream: &StreamRecord) -> Option<f64> {
    let plan = &merged.plan.definition;
    let index = plan.streams.iter().position(|s| s.name == stream.stream)?;
    let phase = merged.phases.iter().find(|p| p.name == stream.phase)?;
    match plan.pace(index, phase.step?) {
        Pace::Open { rate } => Some(rate.as_f64()),
        Pace::Closed { .. } => None,
    }
}

/// URLs, hosts, and settings of all shares; sizes from the first and the last state.
pub(super) fn target(shares: &[&RunRecord]) -> TargetRecord {
    let mut merged = shares[0].target.clone();
    for share in &shares[1..] {
        let other = &share.target;
        for url in &other.urls {
            if !merged.urls.contains(url) {
                merged.urls.push(url.clone());
            }
        }
        for host in &other.hosts {
            let mut hosts = merged.hosts.iter_mut();
            match hosts.find(|merged_one| merged_one.url == host.url) {
                None => merged.hosts.push(host.clone()),
                Some(merged_one) => {
                    merged_one.sessions += host.sessions;
                    merged_one.acknowledged += host.acknowledged;
                    merged_one.failed += host.failed;
                }
            }
        }
        merged.settings.extend(other.settings.clone());
        let before = [merged.bytes_before, other.bytes_before];
        merged.bytes_before = before.into_iter().flatten().min();
        merged.bytes_after = merged.bytes_after.max(other.bytes_after);
    }
    merged
}

/// All load generators together, second by second: sum of cores and memory, and the busiest machine.
pub(super) fn telemetry(shares: &[&RunRecord]) -> Vec<TelemetrySample> {
    if let [only] = shares {
        return only.telemetry.clone();
    }
    let mut merged: BTreeMap<u64, TelemetrySample> = BTreeMap::new();
    for sample in shares.iter().flat_map(|share| &share.telemetry) {
        let second = sample.time_ns.saturating_add(500_000_000) / 1_000_000_000;
        merged.entry(second).and_modify(|sum| add(sum, sample)).or_insert_with(|| sample.clone());
    }
    merged.into_values().collect()
}

fn add(sum: &mut TelemetrySample, sample: &TelemetrySample) {
    sum.time_ns = sum.time_ns.max(sample.time_ns);
    sum.client_cores += sample.client_cores;
    sum.embedded_cores += sample.embedded_cores;
    sum.machine_cpu_fraction = greater(sum.machine_cpu_fraction, sample.machine_cpu_fraction);
    sum.steal_fraction = greater(sum.steal_fraction, sample.steal_fraction);
    sum.rss_bytes += sample.rss_bytes;
}

fn greater(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    [ours, theirs].into_iter().flatten().reduce(f64::max)
}

/// Pace changes once, at the time of the first share, and the notes of all shares.
pub(super) fn interventions(shares: &[&RunRecord]) -> Vec<InterventionRecord> {
    let of_first = shares[0].interventions.iter();
    let others = shares[1..].iter().flat_map(|share| &share.interventions);
    of_first.chain(others.filter(|done| !done.begins_phase())).cloned().collect()
}

/// Every note or incident once; it names its share unless all shares have it.
pub(super) fn named<T: Clone + PartialEq>(
    shares: &[&RunRecord],
    of: impl Fn(&RunRecord) -> &Vec<T>,
    message: impl Fn(&mut T) -> &mut String,
) -> Vec<T> {
    let mut merged: Vec<T> = Vec::new();
    for share in shares {
        for one in of(share) {
            let mut one = one.clone();
            if !shares.iter().all(|other| of(other).contains(&one)) {
                let place = &share.plan.definition.share;
                let message = message(&mut one);
                *message = format!("share {}/{}: {message}", place.index, place.of);
            }
            if !merged.contains(&one) {
                merged.push(one);
            }
        }
    }
    merged
}

/// Joins differing values in the order of the shares.
pub(super) fn joined<'a>(
    maps: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, value) in maps.flatten() {
        let merged_one = values.entry(name.clone()).or_default();
        if !merged_one.contains(&value.as_str()) {
            merged_one.push(value);
        }
    }
    values.into_iter().map(|(name, values)| (name, values.join(" | "))).collect()
}
