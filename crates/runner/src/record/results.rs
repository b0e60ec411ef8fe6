//! Converts totals to the figures of a record. Pure.

use std::collections::BTreeMap;

use highwater_analysis as analysis;
use highwater_analysis::availability::{acknowledged_per_s, of_gaps};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::numbers::to_f64;
use highwater_model::plan::{LANES, Pace, PhaseKind, Plan};
use highwater_model::record::{
    AvailabilityRecord, ClientRecord, Histograms, PhaseRecord, ResultRecord, RunRecord,
    StallRecord, StreamRecord, TelemetrySample, ThroughputRecord, WINDOW_NS, Windows,
};
use highwater_model::units::Nanos;

use crate::executor::SessionUse;
use crate::planner::sessions_of;
use crate::recorder::{ClassErrors, Gap, KeyStats};
use crate::schedule::{PhaseTimes, ScheduledPhase};
use crate::telemetry::{self, Counters};

/// Name of the phase that fills the tables.
pub(crate) const LOAD: &str = "load";

/// An open stream that could not send this fraction of its intended ops leaves a backlog.
const BACKLOG_SHARE: f64 = 0.01;

/// The record of one (phase, stream, op), of a phase of this length; its counts per 100 ms may be unknown.
pub(crate) fn result_record(
    names: [String; 3],
    open: bool,
    duration: Nanos,
    stats: &KeyStats,
    counted: Option<Windows>,
) -> ResultRecord {
    let [phase, stream, op] = names;
    // Zeros would be a false statement.
    let windows = counted.map(|counted| of_phase(open, duration, counted)).unwrap_or_default();
    ResultRecord {
        phase,
        stream,
        op,
        open,
        offered: stats.offered,
        sent: stats.sent,
        acknowledged: stats.acknowledged,
        rolled_back: stats.rolled_back,
        dropped: stats.dropped,
        answered: stats.answered,
        retries: stats.retries,
        errors: by_class(stats, |of| of.failed),
        partial: by_class(stats, |of| of.partial),
        error_examples: stats
            .errors
            .iter()
            .map(|(class, of)| (class.name().to_owned(), of.example.clone()))
            .collect(),
        failures: stats.failures.records(),
        rows: stats.rows,
        throughput: throughput(duration, stats, &windows.acknowledged),
        response_bytes: stats.response_bytes,
        response_rows: stats.response_rows,
        latency_ns: stats.latency.summary(),
        service_ns: stats.service.summary(),
        session_wait_ns: stats.session_wait.summary(),
        client_lag_ns: stats.client_lag.summary(),
        undelayed_ns: stats.undelayed().map(|undelayed| undelayed.summary()),
        row_latency_ns: stats.row_latency.as_ref().map(LatencyHistogram::summary),
        error_latency_ns: stats.error_latency.summary(),
        backlog: open && to_f64(stats.dropped) > BACKLOG_SHARE * to_f64(stats.offered),
        histograms: Histograms {
            latency: stats.latency.encode(),
            service: stats.service.encode(),
            session_wait: stats.session_wait.encode(),
            client_lag: stats.client_lag.encode(),
            undelayed: stats.undelayed().map(|undelayed| undelayed.encode()),
            row_latency: stats.row_latency.as_ref().map(LatencyHistogram::encode),
            error_latency: stats.error_latency.encode(),
        },
        windows,
    }
}

/// Failed ops of one kind by class; classes without any are omitted.
fn by_class(stats: &KeyStats, of: fn(&ClassErrors) -> u64) -> BTreeMap<String, u64> {
    let counts = stats.errors.iter().map(|(class, errors)| (class.name().to_owned(), of(errors)));
    counts.filter(|(_, ops)| *ops > 0).collect()
}

/// Acknowledged work by response time, over the whole windows of the phase.
fn throughput(duration: Nanos, stats: &KeyStats, windows: &[u64]) -> ThroughputRecord {
    let (ops, seconds) = if windows.is_empty() {
        (stats.answered.ops, duration.as_secs_f64())
    } else {
        (windows.iter().sum(), to_f64(windows.len() as u64) * Nanos(WINDOW_NS).as_secs_f64())
    };
    let ops_per_s = if seconds > 0.0 { to_f64(ops) / seconds } else { 0.0 };
    ThroughputRecord { ops_per_s, rows_per_s: ops_per_s * stats.answered.rows_per_op(), ci95: None }
}

/// One entry per whole window of the phase, including zeros; for closed load, only the nonempty ones.
fn of_phase(open: bool, duration: Nanos, mut counted: Windows) -> Windows {
    let whole = usize::try_from(duration.0 / WINDOW_NS).unwrap_or(0);
    counted.acknowledged.resize(whole, 0);
    counted.missing.truncate(whole);
    for of_open in [&mut counted.offered, &mut counted.failed] {
        of_open.resize(if open { whole } else { 0 }, 0);
    }
    counted
}

/// The record of a stream in a measured phase, from the results of its ops.
pub(crate) fn stream_record(
    plan: &Plan,
    position: usize,
    phase: &ScheduledPhase,
    results: &[ResultRecord],
    worked: Option<&SessionUse>,
) -> StreamRecord {
    let stream = &plan.streams[position];
    let pace = phase.paces[position];
    let ops: Vec<&ResultRecord> = results.iter().collect();
    let (counts, units) = analysis::throughput::counted(stream.unit, &ops);
    let statistics = analysis::throughput::throughput(&counts, Nanos(WINDOW_NS));
    let ops_per_s: f64 = results.iter().map(|r| r.throughput.ops_per_s).sum();
    let rows_per_s: f64 = results.iter().map(|r| r.throughput.rows_per_s).sum();
    let throughput = ThroughputRecord { ops_per_s, rows_per_s, ci95: None };
    // In open load, the arrivals determine the number of working sessions.
    let is_closed = matches!(pace, Pace::Closed { .. });
    let (planned_rate, sessions) = of_share(plan, position, pace);
    let mut record = StreamRecord {
        phase: phase.name.clone(),
        stream: stream.name.clone(),
        unit: stream.unit,
        throughput,
        planned_rate,
        sessions,
        // If a stream has more sessions in another phase, those are included.
        working: worked.filter(|_| is_closed).map(|worked| worked.working.min(sessions)),
        missing_because: worked
            .and_then(|worked| Some(worked.missing_because.as_ref()?.message.clone())),
        littles_law_sessions: littles_law_sessions(pace, ops_per_s, results),
        ..StreamRecord::default()
    };
    statistics.describe(&mut record, units, plan.steadiness);
    record
}

/// This share's rate and sessions of a stream.
pub(super) fn of_share(plan: &Plan, stream: usize, pace: Pace) -> (Option<f64>, u32) {
    match pace {
        Pace::Open { rate } => {
            let part = to_f64(plan.share.lanes().len() as u64) / f64::from(LANES);
            (Some(rate.as_f64() * part), sessions_of(plan, stream))
        }
        Pace::Closed { sessions } => (None, plan.share.part_of(sessions)),
    }
}

/// Little's law, with client lag as part of a session's cycle. Only without failed ops, whose times are kept
/// separately.
fn littles_law_sessions(pace: Pace, ops_per_s: f64, results: &[ResultRecord]) -> Option<f64> {
    if matches!(pace, Pace::Open { .. }) || results.iter().any(|r| r.acknowledged < r.offered) {
        return None;
    }
    let acknowledged: u64 = results.iter().map(|r| r.acknowledged).sum();
    let weighted: f64 = results
        .iter()
        .map(|result| {
            let cycle =
                result.service_ns.mean.unwrap_or(0) + result.client_lag_ns.mean.unwrap_or(0);
            to_f64(cycle) / 1e9 * to_f64(result.acknowledged)
        })
        .sum();
    (acknowledged > 0).then(|| ops_per_s * weighted / to_f64(acknowledged))
}

/// Availability over the measured phases, from the gaps in them and the phases, seconds and results of the record.
pub(crate) fn availability_record(
    gaps: &[Gap],
    record: &RunRecord,
    stalls: &[StallRecord],
) -> AvailabilityRecord {
    let gaps = gaps.iter().map(|gap| [gap.start.0, gap.length.0]).collect();
    let per_s = acknowledged_per_s(&record.intervals, &record.phases);
    of_gaps(gaps, per_s, &record.phases, &record.results, stalls)
}

/// The load generator's record, over the measured phases.
pub(crate) fn client_record(
    plan: &Plan,
    used: &MachineUse,
    executors: u32,
    stalls: Vec<StallRecord>,
) -> ClientRecord {
    let (sample, length) = used.finish();
    let cores = telemetry::cores();
    ClientRecord {
        share: format!("{}/{}", plan.share.index, plan.share.of),
        cores,
        cpu_seconds: sample.client_cores * length.as_secs_f64(),
        cpu_fraction: sample.client_cores / f64::from(cores),
        embedded_cpu_seconds: sample.embedded_cores * length.as_secs_f64(),
        machine_cpu_fraction: sample.machine_cpu_fraction,
        steal_fraction: sample.steal_fraction,
        max_rss_bytes: used.max_rss_bytes,
        executors,
        stalls,
        ..ClientRecord::default()
    }
}

/// Machine use during measured phases, from successive counters.
#[derive(Debug, Default)]
pub(crate) struct MachineUse {
    /// From the first measured phase to the last; absent without any.
    measured: Option<PhaseTimes>,
    /// The first counters and the last.
    ends: Option<[Counters; 2]>,
    /// The first and last counters within the measured time.
    ends_within: Option<[Counters; 2]>,
    max_rss_bytes: u64,
}

impl MachineUse {
    /// Empty.
    pub(crate) fn within(measured: &[PhaseTimes]) -> Self {
        let ends = measured.first().zip(measured.last());
        Self {
            measured: ends.map(|(first, last)| PhaseTimes { start: first.start, end: last.end }),
            ..Self::default()
        }
    }

    /// Adds counters read after the previous ones.
    pub(crate) fn add(&mut self, counters: Counters) {
        let (begin, end) = self.measured.map_or((Nanos::ZERO, Nanos::MAX), |m| (m.start, m.end));
        if begin <= counters.at && counters.at <= end {
            self.ends_within.get_or_insert([counters; 2])[1] = counters;
        }
        self.ends.get_or_insert([counters; 2])[1] = counters;
        self.max_rss_bytes = self.max_rss_bytes.max(counters.max_rss_bytes);
    }

    /// The machine use, and the total length of the measured phases.
    fn finish(&self) -> (TelemetrySample, Nanos) {
        let within = self.ends_within.filter(|[first, last]| first.at < last.at);
        let [first, last] = within.or(self.ends).unwrap_or_default();
        let sample = telemetry::between(&first, &last);
        // Samples lie within the measured time; they represent all of it.
        let length = self
            .measured
            .map_or(last.at.saturating_sub(first.at), |m| m.end.saturating_sub(m.start));
        (sample, length)
    }
}

/// The actual phase of a pass.
pub(crate) fn phase_record(phase: &ScheduledPhase) -> PhaseRecord {
    PhaseRecord {
        name: phase.name.clone(),
        kind: phase.kind,
        step: phase.step,
        start_ns: phase.times.start.0,
        duration_ns: phase.duration().0,
        steady: phase.steady(),
    }
}

/// A phase that is not a step of the plan.
pub(crate) fn phase_beside(name: &str, kind: PhaseKind, start: Nanos, end: Nanos) -> PhaseRecord {
    PhaseRecord {
        name: name.to_owned(),
        kind,
        step: None,
        start_ns: start.0,
        duration_ns: end.saturating_sub(start).0,
        steady: None,
    }
}

/// The times of the measured phases with a length above 0.
pub(crate) fn measured(phases: &[ScheduledPhase]) -> Vec<PhaseTimes> {
    let times =
        phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).map(|phase| phase.times);
    times.filter(|times| times.end > times.start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_that_of_all_measured_time_although_samples_lie_within() {
        let second = |n: u64| Nanos::from_millis(n * 1_000 + 250);
        let counters: Vec<Counters> = (0..4)
            .map(|n| Counters {
                at: second(n),
                client_cpu: Nanos::from_millis(500 * n),
                ..Counters::default()
            })
            .collect();
        let measured = [PhaseTimes { start: Nanos::from_secs(1), end: Nanos::from_secs(3) }];
        let used = |measured: &[PhaseTimes]| {
            let mut used = MachineUse::within(measured);
            for counters in &counters {
                used.add(*counters);
            }
            used.finish()
        };
        let (sample, length) = used(&measured);
        assert_eq!(length, Nanos::from_secs(2));
        assert!((sample.client_cores - 0.5).abs() < 1e-9);
        // Without a measured phase, the samples themselves define the time.
        assert_eq!(used(&[]).1, Nanos::from_secs(3));
    }
}
