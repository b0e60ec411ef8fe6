//! Makes the record of a run from its passes and its audit or, if it was killed, from its files.
//!
//! Must not decide what a run does next.

pub(crate) mod collector;
mod journaled;
mod objectives;
mod results;

use std::collections::BTreeMap;
use std::path::Path;

use highwater_analysis as analysis;
use highwater_analysis::availability::{GAPS_KEPT, acknowledged_per_s, measured_seconds, of_gaps};
use highwater_driver::TargetFacts;
use highwater_model::display::{count, duration, percent_asked, span};
use highwater_model::numbers::to_f64;
use highwater_model::op::OpId;
use highwater_model::plan::{Pace, PhaseKind, Plan};
use highwater_model::quantity::{parse_instant, print_instant};
use highwater_model::record::{
    AuditRecord, AuditStatus, AvailabilityRecord, ClientRecord, CpuQuota, Header, HostRecord,
    Incident, IncidentKind, OWN_SETTING, PlanRecord, ProgramRecord, RECORD_SCHEMA, Record,
    ResultRecord, RunNote, RunRecord, SchedulingClass, StreamRecord, TABLE_SETTING, TargetRecord,
    WorkloadRecord,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use journaled::{JournalCounts, delta_of, interval_record};
use results::{
    LOAD, MachineUse, availability_record, client_record, measured, phase_beside, phase_record,
    result_record, stream_record,
};

use crate::ceilings::{self, CeilingKey};
use crate::ledger::Ledger;
use crate::pass::{PassRecord, Passes};
use crate::record::collector::Collector;
use crate::recorder::IntervalDelta;
use crate::request::RunRequest;
use crate::schedule::{EarlyEnd, PhaseTimes, ScheduledPhase};
use crate::store::{self, JournalLine, StoredRun};
use crate::table_setup::ExistingTables;
use crate::telemetry;

pub use journaled::{ReportsSoFar, SoFar};

/// Reads the record of a run from its directory or record file. The record of a killed run is made from its other
/// files. The record of a run that is still in progress is judged as such.
pub fn read(path: &Path) -> Result<Record, UserError> {
    let mut record = read_ended(path)?;
    let is_ended = match &record {
        Record::Run(run) => run.incidents.iter().all(|of| of.kind != IncidentKind::Killed),
        Record::Experiment(of) => of.question.is_ended(),
        Record::Imported(_) => true,
    };
    if !is_ended && store::at_work(store::directory_of(path)).is_some() {
        let judged = match &mut record {
            Record::Run(run) => {
                run.incidents.retain(|of| of.kind != IncidentKind::Killed);
                run.audit.error = None;
                &mut run.judgments
            }
            Record::Experiment(of) => &mut of.judgments,
            Record::Imported(of) => &mut of.run.judgments,
        };
        analysis::running(judged);
    }
    Ok(record)
}

/// The same for a run that has ended, even if a process holds its directory, such as the one that audits
/// it again.
pub(crate) fn read_ended(path: &Path) -> Result<Record, UserError> {
    let mut record = match store::read(path)? {
        StoredRun::Complete(record) => record,
        StoredRun::Killed { draft, lines } => Record::Run(Box::new(recovered(*draft, lines))),
    };
    record.header_mut().is_of_others = store::others_may_write(path).is_some();
    Ok(record)
}

/// Facts about a run other than the figures of its passes.
pub(crate) struct Parts {
    pub(crate) facts: TargetFacts,
    /// The ceiling of this machine against a sink.
    ceiling: ClientRecord,
    /// Start and end of the audit.
    pub(crate) audited: PhaseTimes,
    /// The record so far, without those figures.
    pub(crate) record: RunRecord,
}

impl Parts {
    pub(crate) fn new(request: &RunRequest, facts: TargetFacts, existing: &ExistingTables) -> Self {
        let mut record = skeleton(request, &facts);
        record.target.tables.clone_from(&existing.tables);
        for (name, value) in &request.options.tables.settings {
            let settings = &mut record.target.settings;
            settings.insert(format!("{TABLE_SETTING}{name}"), value.clone());
        }
        for (name, value) in &existing.settings {
            record.target.settings.insert(format!("{OWN_SETTING}{name}"), value.clone());
        }
        Self { ceiling: ceiling(request, &facts), facts, audited: PhaseTimes::default(), record }
    }
}

/// What is known about this machine's rate against a sink: the ceiling measured for such a run, or a bound from
/// other ceilings. A target that simulates the load generator states its ceiling.
fn ceiling(request: &RunRequest, facts: &TargetFacts) -> ClientRecord {
    if let Some(units_per_s) = facts.generator_ceiling {
        let calibrated_ceiling = Some(to_f64(units_per_s));
        return ClientRecord { calibrated_ceiling, ..ClientRecord::default() };
    }
    let Some((directory, sink)) = &request.ceilings else {
        return ClientRecord::default();
    };
    let insert = facts.settings.get("insert").map_or("", String::as_str);
    let key = CeilingKey::new(&request.plan, sink, insert, &request.version);
    let measured = ceilings::find(directory, &key).map(|ceiling| ceiling.units_per_s);
    ClientRecord {
        ceiling_at_least: match measured {
            Some(_) => None,
            None => ceilings::at_least(directory, &key),
        },
        calibrated_ceiling: measured,
        sink: Some(sink.clone()),
        ..ClientRecord::default()
    }
}

/// The `--with` settings of a run, by name.
pub(crate) fn settings_given(record: &RunRecord) -> Vec<(String, String)> {
    let given = record.target.settings.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix(TABLE_SETTING)?;
        Some((name.to_owned(), value.clone()))
    });
    given.collect()
}

/// Merges the ledgers of all passes, by table, into empty ones.
pub(crate) fn ledgers(passes: &mut Passes, mut sums: Vec<Ledger>) -> Vec<Ledger> {
    for pass in [&mut passes.load, &mut passes.main].into_iter().flatten() {
        for (sum, ledger) in sums.iter_mut().zip(pass.ledgers.drain(..)) {
            sum.merge(ledger);
        }
    }
    sums
}

/// The whole record except its judgments.
///
/// The seconds are read last: those of a long run need as much memory as the statistics of the results.
pub(crate) fn record(
    request: &RunRequest,
    parts: Parts,
    mut passes: Passes,
    audit: AuditRecord,
    collector: &mut Collector<'_>,
) -> RunRecord {
    let mut record = parts.record;
    record.header.started_at = later(&record.header.started_at, passes.origin());
    record.target.hosts = hosts(request, &passes);
    collector.finish();
    if let Some(load) = &mut passes.load {
        add_load(&mut record, request, load, collector);
    }
    if let Some(main) = &mut passes.main {
        add_main(&mut record, request, main, collector);
    }
    add_seconds(&mut record, request, passes, collector);
    for client in &mut record.clients {
        client.calibrated_ceiling = parts.ceiling.calibrated_ceiling;
        client.ceiling_at_least = parts.ceiling.ceiling_at_least;
        client.sink.clone_from(&parts.ceiling.sink);
    }
    record.target.disk_bytes_per_row = analysis::telemetry::disk_bytes_per_row(&record);
    let PhaseTimes { start, end } = parts.audited;
    let phase = phase_beside("audit", PhaseKind::Audit, start, end);
    record.phases.push(phase);
    // Data that could not be read back is missing above.
    let unread = collector.journal_error.take();
    let incident = |why| Incident::new(IncidentKind::RecordIncomplete, why);
    record.incidents.extend(unread.map(incident));
    record.audit = audit;
    record
}

/// Adds the seconds, and the figures derived from them.
fn add_seconds(
    record: &mut RunRecord,
    request: &RunRequest,
    passes: Passes,
    collector: &mut Collector<'_>,
) {
    let plan = &request.plan;
    let (mut phases, mut stalls) = (Vec::new(), Vec::new());
    let mut scheduling = SchedulingClass::default();
    if let Some(main) = passes.main {
        (phases, stalls, scheduling) = (main.phases, main.stalls, main.scheduling);
    }
    let measured = measured(&phases);
    let gaps = collector.gaps(&measured, GAPS_KEPT);
    let mut used = MachineUse::within(&measured);
    collector.counters(|counters| used.add(counters));
    record.intervals = collector.intervals();
    record.telemetry = collector.telemetry();
    record.availability = availability_record(&gaps, record, &stalls);
    let executors =
        if request.target.capabilities().simulated_clock { 1 } else { telemetry::cores() };
    record.clients =
        vec![ClientRecord { scheduling, ..client_record(plan, &used, executors, stalls) }];
}

/// Notes on phases that the plan ended early, on a warm-up whose throughput never became steady, and on a wall clock
/// that was set during the run.
pub(crate) fn notes_of_phases(plan: &Plan, passes: &Passes) -> Vec<RunNote> {
    let phases = passes.main.iter().flat_map(|main| &main.phases);
    let note = |phase: &ScheduledPhase| {
        let (name, lasted) = (&phase.name, duration(phase.duration().0));
        let why = match phase.early {
            Some(EarlyEnd::Rows) => format!("its {} rows were sent", count(plan.stop.rows?)),
            Some(EarlyEnd::Predicate) => format!("{} held", plan.stop.until?.flag()),
            Some(EarlyEnd::Hopeless) => "an objective could no longer be met".to_owned(),
            Some(EarlyEnd::Steady) => return None,
            None => {
                let within = percent_asked(plan.steadiness.within_ppm);
                let in_vain = phase.steady() == Some(false);
                let message = format!(
                    "{name} took all of its {lasted}: throughput was not shown to be steady within {within}"
                );
                return in_vain.then(|| self::note("not_warm", message));
            }
        };
        let length = span(phase.length.0);
        let message = format!("{name} ended after {lasted} of {length}: {why}");
        Some(self::note("stopped_early", message))
    };
    let steps = passes
        .main
        .iter()
        .flat_map(|main| &main.clock_steps)
        .map(|step| self::note("clock_stepped", step.message()));
    phases.filter_map(note).chain(steps).collect()
}

/// A note; reports use its code.
pub(crate) fn note(code: &str, message: String) -> RunNote {
    RunNote { code: code.to_owned(), message }
}

/// A wall-clock time plus a duration; unchanged if it is not RFC 3339.
pub(crate) fn later(instant: &str, passed: Nanos) -> String {
    parse_instant(instant)
        .map_or_else(|_| instant.to_owned(), |at| print_instant(at.saturating_add(passed)))
}

fn ops_of(request: &RunRequest) -> Vec<String> {
    (0..u16::MAX)
        .map(|op| request.workload.op_name(OpId(op)).to_owned())
        .take_while(|name| !name.is_empty())
        .collect()
}

/// Weights of the ops of a stream that has several, by name.
fn weights(request: &RunRequest, stream: &str) -> BTreeMap<String, u32> {
    let spec = request.workload.stream(stream);
    let ops = spec.map(|spec| spec.ops).filter(|ops| ops.len() > 1).into_iter().flatten();
    ops.map(|(op, weight)| (request.workload.op_name(op).to_owned(), weight)).collect()
}

fn add_load(
    record: &mut RunRecord,
    request: &RunRequest,
    load: &mut PassRecord,
    collector: &mut Collector<'_>,
) {
    let times = load.phases.first().map(|phase| phase.times);
    let (start, end) =
        times.map_or((Nanos::ZERO, Nanos::ZERO), |times| (times.start, times.end.min(load.end)));
    let phase = phase_beside(LOAD, PhaseKind::Load, start, end);
    record.phases.push(phase);
    let names = ops_of(request);
    let mut counted = collector.windows_of(&mut load.windows, load.stats.len());
    for (op, stats) in load.stats.iter().enumerate() {
        let (Some(stats), Some(name)) = (stats, names.get(op)) else {
            continue;
        };
        let names = [LOAD.to_owned(), name.clone(), name.clone()];
        let counted = counted.as_mut().map(|keys| std::mem::take(&mut keys[op]));
        let duration = end.saturating_sub(start);
        let result = result_record(names, false, duration, stats, counted);
        record.results.push(result);
    }
}

fn add_main(
    record: &mut RunRecord,
    request: &RunRequest,
    main: &mut PassRecord,
    collector: &mut Collector<'_>,
) {
    let (plan, ops) = (&request.plan, ops_of(request));
    let mut counted = collector.windows_of(&mut main.windows, main.stats.len());
    for phase in &main.phases {
        let recorded = phase_record(phase);
        for (stream, planned) in plan.streams.iter().enumerate() {
            let first = (phase.number * plan.streams.len() + stream) * ops.len();
            let results: Vec<ResultRecord> = ops
                .iter()
                .enumerate()
                .filter_map(|(op, name)| {
                    let stats = main.stats.get(first + op)?.as_ref()?;
                    let counted = counted.as_mut();
                    let counted = counted.map(|keys| std::mem::take(&mut keys[first + op]));
                    let names = [phase.name.clone(), planned.name.clone(), name.clone()];
                    let open = matches!(phase.paces[stream], Pace::Open { .. });
                    let duration = Nanos(recorded.duration_ns);
                    Some(result_record(names, open, duration, stats, counted))
                })
                .collect();
            if phase.kind == PhaseKind::Measure && recorded.duration_ns > 0 {
                let worked = main.worked.get(stream);
                let mut of_stream = stream_record(plan, stream, phase, &results, worked);
                of_stream.weights = weights(request, &planned.name);
                record.streams.push(of_stream);
            }
            record.results.extend(results);
        }
        record.phases.push(recorded);
    }
    let last = main.phases.last();
    let end = last.map_or(Nanos::ZERO, |phase| phase.times.end);
    let drain = phase_beside("drain", PhaseKind::Drain, end, main.end);
    record.phases.push(drain);
    fill_throughput_intervals(&mut record.results, &record.streams);
}

/// A stream of one op: the op's interval is the stream's.
fn fill_throughput_intervals(results: &mut [ResultRecord], streams: &[StreamRecord]) {
    for stream in streams {
        let mut of_stream: Vec<&mut ResultRecord> = results
            .iter_mut()
            .filter(|r| r.phase == stream.phase && r.stream == stream.stream)
            .collect();
        if let [only] = of_stream.as_mut_slice() {
            only.throughput.ci95 = stream.throughput.ci95;
        }
    }
}

/// Hosts known only by their address.
fn hosts_at(urls: Vec<String>) -> Vec<HostRecord> {
    let host = |url| HostRecord { url, sessions: 0, acknowledged: 0, failed: 0 };
    urls.into_iter().map(host).collect()
}

fn hosts(request: &RunRequest, passes: &Passes) -> Vec<HostRecord> {
    let mut hosts = hosts_at(request.target.urls());
    if let Some(main) = &passes.main {
        for (host, counts) in hosts.iter_mut().zip(&main.hosts) {
            host.sessions = counts.sessions;
            host.acknowledged = counts.acknowledged;
            host.failed = counts.failed;
        }
    }
    hosts
}

fn skeleton(request: &RunRequest, facts: &TargetFacts) -> RunRecord {
    let plan = &request.plan;
    let capabilities = request.target.capabilities();
    RunRecord {
        header: Header {
            schema: RECORD_SCHEMA.to_owned(),
            id: request.directory.id(),
            highwater: ProgramRecord { version: request.version.clone() },
            started_at: request.started_at.clone(),
            environment: telemetry::describe(),
            labels: request.options.labels.clone(),
            command: request.command.clone(),
            settings_file: request.options.settings_file.clone(),
            is_of_others: false,
        },
        plan: PlanRecord { hash: plan.hash(), seed: plan.seed, definition: plan.clone() },
        workload: WorkloadRecord {
            name: plan.workload.name.clone(),
            version: plan.workload.version,
            fingerprint: plan.workload.fingerprint.clone(),
            unseeded: Some(request.workload.unseeded_fingerprint().to_owned()),
            parameters: plan.workload.parameters.clone(),
        },
        target: TargetRecord {
            urls: request.target.urls(),
            driver: request.driver.clone(),
            version: facts.version.clone(),
            settings: facts.settings.clone(),
            traits: facts.traits.clone(),
            memory: facts.memory.clone(),
            simulated: capabilities.simulated,
            embedded: capabilities.embedded,
            sink: request.target.is_sink(),
            cpu_quotas: cpu_quotas(request),
            ..TargetRecord::default()
        },
        audit: AuditRecord::empty(plan.audit.level),
        ..RunRecord::default()
    }
}

/// The CPU quotas of nodes that were started on this machine.
fn cpu_quotas(request: &RunRequest) -> Vec<CpuQuota> {
    let quotas = request
        .options
        .telemetry
        .limited_nodes
        .iter()
        .map(|limited| CpuQuota { node: limited.node.clone(), cores: limited.cores });
    quotas.collect()
}

/// The record of a run that was killed, from its draft and its journal.
fn recovered(mut record: RunRecord, lines: Vec<JournalLine>) -> RunRecord {
    let mut intervals: BTreeMap<(u64, [String; 3]), IntervalDelta> = BTreeMap::new();
    let mut journaled = JournalCounts::default();
    for line in lines {
        let delta = delta_of(&line);
        let names = [line.phase, line.stream, line.op];
        journaled.see(&names[0], delta.second);
        journaled.add(&names, &delta);
        intervals.entry((delta.second, names)).and_modify(|sum| sum.merge(&delta)).or_insert(delta);
    }
    journaled.fill(&mut record);
    let intervals = intervals
        .into_iter()
        .map(|((second, names), delta)| interval_record(second, names, &delta));
    record.intervals.extend(intervals);
    record.availability = availability_of(&record);
    record.audit.status = AuditStatus::Failed;
    record.audit.error = Some("the program ended before the audit".to_owned());
    record.incidents.push(Incident::new(
        IncidentKind::Killed,
        "this one comes from its journal, with latencies at two significant digits and gaps in whole seconds",
    ));
    record.judgments = analysis::judge(&record);
    record.limit = analysis::limit(&record);
    record
}

/// Availability, at a resolution of whole seconds.
fn availability_of(record: &RunRecord) -> AvailabilityRecord {
    let per_s = acknowledged_per_s(&record.intervals, &record.phases);
    let seconds = measured_seconds(&record.phases).zip(per_s.iter().copied());
    of_gaps(silent(seconds), per_s, &record.phases, &[], &[])
}

/// Ranges of consecutive seconds without an acknowledgment: start and length.
fn silent(acknowledged: impl Iterator<Item = (u64, u64)>) -> Vec<[u64; 2]> {
    let mut gaps: Vec<[u64; 2]> = Vec::new();
    for (second, _) in acknowledged.filter(|(_, acknowledged)| *acknowledged == 0) {
        let start = second * Nanos::SECOND.0;
        match gaps.last_mut() {
            Some([begin, length]) if *begin + *length == start => *length += Nanos::SECOND.0,
            _ => gaps.push([start, Nanos::SECOND.0]),
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_without_an_answer_that_follow_each_other_are_one_gap() {
        let seconds = [(3, 0), (4, 0), (5, 9), (6, 0), (10, 0), (11, 1)];
        let s = Nanos::SECOND.0;
        assert_eq!(silent(seconds.into_iter()), [[3 * s, 2 * s], [6 * s, s], [10 * s, s]]);
        assert!(silent([(0, 1)].into_iter()).is_empty());
    }
}
