//! The report of another tool in the terms of this project, and the plan and record made of it, like those of a run of
//! this program.
//!
//! Only unit conversions are computed: a figure that was not reported stays empty and is listed as missing, never
//! invented.

use std::collections::{BTreeMap, BTreeSet};

use highwater_analysis as analysis;
use highwater_model::histogram::{LatencyHistogram, LatencySummary};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{
    PLAN_SCHEMA, Pace, PhaseKind, PhasePlan, Plan, SteadinessRule, StreamPlan, Unit, WorkloadPlan,
    hex,
};
use highwater_model::quantity::print_instant;
use highwater_model::record::{
    AnsweredRecord, AuditRecord, AuditStatus, AvailabilityRecord, Header, Histograms,
    ImportedRecord, IntervalRecord, PhaseRecord, PlanRecord, ProgramRecord, RECORD_SCHEMA,
    ResultRecord, RowCounts, RunNote, RunRecord, StreamRecord, ThroughputRecord, WINDOW_NS,
    Windows, WorkloadRecord,
};
use highwater_model::record::{ImportRecord, ImportedPace, LatencyBegin, MissingField};
use highwater_model::units::{Nanos, Rate};
use sha2::{Digest, Sha256};

/// Everything that the files of one run report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedRun {
    /// The tool's own name.
    pub tool: &'static str,
    /// Version, as in its output.
    pub version: Option<String>,
    /// The workload, in the tool's words.
    pub workload: String,
    /// Unit of the counts.
    pub unit: Unit,
    /// Rows of a writing op, otherwise 1.
    pub units_per_op: u64,
    /// Open or closed load.
    pub pace: ImportedPace,
    /// The requested rate, in units per second.
    pub rate: Option<Rate>,
    /// Sessions that sent ops.
    pub sessions: Option<u32>,
    /// Definition of latency.
    pub begin: LatencyBegin,
    /// Time 0, in whole seconds since 1970.
    pub started: Option<Nanos>,
    /// When the first op was intended, from time 0.
    pub start: Nanos,
    /// Measured time.
    pub duration: Nanos,
    /// Planned time, if reported.
    pub planned: Option<Nanos>,
    /// Other settings that are reported.
    pub settings: BTreeMap<String, String>,
    /// Kinds of ops, at least one.
    pub ops: Vec<ParsedOp>,
    /// Seconds of ops; phase and stream are empty.
    pub intervals: Vec<IntervalRecord>,
    /// Absent if no times of single responses are reported.
    pub availability: Option<AvailabilityRecord>,
    /// Other fields that are not reported.
    pub missing_fields: BTreeSet<MissingField>,
    /// Problems that affect the figures: the files hold only a part of the measurement, or contradict each other.
    pub caveats: Vec<String>,
    /// Other notes for a reader.
    pub notes: Vec<String>,
}

impl ImportedRun {
    /// A run of a tool that reports neither its pace nor its unit: its ops are queries.
    pub(super) fn new(tool: &'static str) -> Self {
        Self { tool, units_per_op: 1, ..Self::default() }
    }

    /// A run of a tool whose ops have an intended start if it sends at a rate (`waits`); otherwise an op begins when
    /// its session is idle, without waiting.
    pub(super) fn paced(tool: &'static str, waits: bool) -> Self {
        let (pace, begin) = if waits {
            (ImportedPace::Open, LatencyBegin::Intended)
        } else {
            (ImportedPace::Closed, LatencyBegin::Sent)
        };
        Self { pace, begin, ..Self::new(tool) }
    }

    /// Its only phase, with this name.
    pub(super) fn phase(&self, name: &str) -> PhaseRecord {
        PhaseRecord {
            name: name.to_owned(),
            kind: PhaseKind::Measure,
            step: Some(0),
            start_ns: self.start.0,
            duration_ns: self.duration.0,
            steady: None,
        }
    }
}

/// Figures that can be lower bounds, and the number of ops that each needs.
const FIGURES: [(&str, u64); 7] = [
    ("p50", 10),
    ("p90", 10),
    ("p95", 20),
    ("p99", 100),
    ("p999", 1_000),
    ("p9999", 10_000),
    ("max", 1),
];

/// One kind of op.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedOp {
    /// Name; empty for the stream's name.
    pub name: String,
    /// Ops that were sent.
    pub sent: u64,
    /// Ops that succeeded.
    pub acknowledged: u64,
    /// Ops that were intended and never sent.
    pub dropped: u64,
    /// Retries.
    pub retries: u64,
    /// Failed ops by class.
    pub errors: BTreeMap<String, u64>,
    /// The tool's text for a class of errors.
    pub examples: BTreeMap<String, String>,
    /// Ops per second, if printed by the tool; otherwise count divided by duration.
    pub ops_per_s: Option<f64>,
    /// Latency of ops that succeeded, with dropped ones as +∞.
    pub latency: ParsedLatency,
    /// Time from the sending, if it differs from the latency.
    pub service: ParsedLatency,
    /// Ops that succeeded, per 100 ms from the start on.
    pub windows: Vec<u64>,
}

impl ParsedOp {
    /// `count` ops, all of them acknowledged.
    pub(super) fn acknowledged(count: u64) -> Self {
        Self { sent: count, acknowledged: count, ..Self::default() }
    }
}

/// A distribution, or its printed figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedLatency {
    /// Count, mean and percentiles.
    pub summary: LatencySummary,
    /// Encoded as in records; empty if only the figures of the summary are known.
    pub histogram: String,
}

impl ParsedLatency {
    /// A full distribution, with its exact mean and maximum if available.
    pub fn full(histogram: &LatencyHistogram, mean: Option<u64>, max: Option<u64>) -> Self {
        let mut summary = histogram.summary();
        if summary.beyond == 0 {
            summary.mean = mean.or(summary.mean);
            summary.max = max.or(summary.max);
        }
        Self { summary, histogram: histogram.encode() }
    }

    /// The printed figures of `count` ops, without a distribution. A percentile that needs more ops is omitted; if
    /// `beyond` ops never ended, each figure is a lower bound.
    pub fn figures(count: u64, beyond: u64, printed: &[(&str, Option<u64>)]) -> Self {
        let of = |name: &str| {
            let (_, found) = printed.iter().find(|(other, _)| *other == name)?;
            let needed = FIGURES.iter().find(|(other, _)| *other == name);
            found.filter(|_| count >= needed.map_or(1, |(_, ops)| *ops))
        };
        let bounds =
            FIGURES.iter().map(|(name, _)| *name).filter(|name| beyond > 0 && of(name).is_some());
        let summary = LatencySummary {
            count: count.saturating_add(beyond),
            beyond,
            waited: None,
            waits: None,
            mean: of("mean").filter(|_| beyond == 0),
            p50: of("p50"),
            p90: of("p90"),
            p95: of("p95"),
            p99: of("p99"),
            p999: of("p999"),
            p9999: of("p9999"),
            max: of("max"),
            at_least: bounds.map(str::to_owned).collect(),
        };
        Self { summary, histogram: String::new() }
    }
}

/// Name of the only phase.
const PHASE: &str = "measure";
/// Length of a fingerprint in characters.
const FINGERPRINT: usize = 16;

/// Additional information from the caller.
#[derive(Debug, Clone, Default)]
pub struct Stamp {
    /// Name of the record's directory.
    pub id: String,
    /// Version of Highwater.
    pub version: String,
    /// Names of the files, without their directories, each with its description.
    pub files: Vec<[String; 2]>,
    /// Labels given by the user.
    pub labels: BTreeMap<String, String>,
}

/// The name of the workload, usable in directory names.
fn workload_name(run: &ImportedRun) -> String {
    let words = format!("{} {}", run.tool, run.workload).to_ascii_lowercase();
    let parts = words.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let name: String = parts.join("-").chars().take(40).collect();
    name.trim_end_matches('-').to_owned()
}

/// Hash of everything that is reported about the workload.
fn fingerprint(run: &ImportedRun) -> String {
    let workload = (run.tool, &run.workload, &run.settings);
    let workload = serde_json::to_vec(&workload).unwrap_or_default();
    let hash = hex(&Sha256::digest(&workload));
    hash.chars().take(FINGERPRINT).collect()
}

/// The plan, as far as it is reported. Two outputs of the same workload have the same plan.
pub fn plan(run: &ImportedRun) -> Plan {
    // If the planned duration is not reported, it is the measured one, rounded to seconds.
    let whole = (run.duration.0 + Nanos::SECOND.0 / 2) / Nanos::SECOND.0;
    let planned = run.planned.unwrap_or(Nanos::from_secs(whole));
    let pace = match (run.pace, run.rate, run.sessions) {
        (ImportedPace::Open, Some(rate), _) => vec![Pace::Open { rate }],
        (ImportedPace::Closed, _, Some(sessions)) => vec![Pace::Closed { sessions }],
        _ => Vec::new(),
    };
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        workload: WorkloadPlan {
            name: workload_name(run),
            version: 1,
            fingerprint: fingerprint(run),
            parameters: run.settings.clone(),
            ..WorkloadPlan::default()
        },
        streams: vec![StreamPlan {
            name: stream_of(run),
            unit: run.unit,
            units_per_op: run.units_per_op,
            paces: pace,
            sessions: run.sessions.unwrap_or(0),
            ..StreamPlan::default()
        }],
        phases: vec![PhasePlan {
            name: PHASE.to_owned(),
            kind: PhaseKind::Measure,
            step: 0,
            duration: planned,
            until_steady: false,
        }],
        ..Plan::default()
    }
}

/// The record of an imported run; `plan` is [`plan`]'s.
pub fn record(run: &ImportedRun, plan: Plan, stamp: &Stamp) -> ImportedRecord {
    let results: Vec<ResultRecord> = run.ops.iter().map(|op| result(run, op)).collect();
    let started = run.started.filter(|at| *at > Nanos::ZERO);
    let origin = ImportRecord {
        tool: run.tool.to_owned(),
        version: run.version.clone(),
        files: stamp.files.clone(),
        begin: run.begin,
        pace: run.pace,
        missing_fields: missing_fields(run),
        caveats: run.caveats.clone(),
    };
    let note = |message: &String| RunNote { code: "import".to_owned(), message: message.clone() };
    let interval = |interval: &IntervalRecord| IntervalRecord {
        phase: PHASE.to_owned(),
        stream: stream_of(run),
        op: op_name(run, &interval.op),
        ..interval.clone()
    };
    let header = Header {
        schema: RECORD_SCHEMA.to_owned(),
        id: stamp.id.clone(),
        highwater: ProgramRecord { version: stamp.version.clone() },
        started_at: started.map(print_instant).unwrap_or_default(),
        labels: stamp.labels.clone(),
        ..Header::default()
    };
    let run = RunRecord {
        header,
        workload: WorkloadRecord {
            name: plan.workload.name.clone(),
            version: plan.workload.version,
            fingerprint: plan.workload.fingerprint.clone(),
            parameters: plan.workload.parameters.clone(),
            ..WorkloadRecord::default()
        },
        plan: PlanRecord { hash: plan.hash(), seed: plan.seed, definition: plan },
        judgments: analysis::judge_imported(&origin),
        phases: vec![run.phase(PHASE)],
        streams: vec![stream(run, &results)],
        results,
        availability: run.availability.clone().unwrap_or_default(),
        audit: AuditRecord { status: AuditStatus::Imported, ..AuditRecord::default() },
        notes: run.notes.iter().map(note).collect(),
        intervals: run.intervals.iter().map(interval).collect(),
        ..RunRecord::default()
    };
    ImportedRecord { origin, run }
}

fn stream_of(run: &ImportedRun) -> String {
    match run.unit {
        Unit::Rows => "insert",
        Unit::Queries | Unit::Transactions => "ops",
    }
    .to_owned()
}

/// An op without a name has the name of its stream, as in runs of this program.
fn op_name(run: &ImportedRun, name: &str) -> String {
    if name.is_empty() { stream_of(run) } else { name.to_owned() }
}

fn result(run: &ImportedRun, op: &ParsedOp) -> ResultRecord {
    let seconds = run.duration.as_secs_f64();
    let ops_per_s =
        op.ops_per_s.unwrap_or(if seconds > 0.0 { to_f64(op.acknowledged) / seconds } else { 0.0 });
    let per_op = match run.unit {
        Unit::Rows => run.units_per_op,
        Unit::Queries | Unit::Transactions => 0,
    };
    let open = run.pace == ImportedPace::Open;
    ResultRecord {
        phase: PHASE.to_owned(),
        stream: stream_of(run),
        op: op_name(run, &op.name),
        open,
        offered: op.sent.saturating_add(op.dropped),
        sent: op.sent,
        acknowledged: op.acknowledged,
        answered: AnsweredRecord {
            ops: op.acknowledged,
            rows: op.acknowledged.saturating_mul(per_op),
        },
        dropped: op.dropped,
        retries: op.retries,
        errors: op.errors.clone(),
        error_examples: op.examples.clone(),
        rows: RowCounts {
            sent: op.sent.saturating_mul(per_op),
            acknowledged: op.acknowledged.saturating_mul(per_op),
            ..RowCounts::default()
        },
        throughput: ThroughputRecord {
            ops_per_s,
            rows_per_s: ops_per_s * to_f64(per_op),
            ci95: None,
        },
        latency_ns: op.latency.summary.clone(),
        service_ns: op.service.summary.clone(),
        histograms: Histograms {
            latency: op.latency.histogram.clone(),
            service: op.service.histogram.clone(),
            ..Histograms::default()
        },
        windows: Windows { acknowledged: op.windows.clone(), ..Windows::default() },
        ..ResultRecord::default()
    }
}

/// The confidence interval and the steadiness of the throughput are computed here, from the times of the responses.
fn stream(run: &ImportedRun, results: &[ResultRecord]) -> StreamRecord {
    let length = results.iter().map(|r| r.windows.acknowledged.len()).max();
    let mut counts = vec![0_u64; length.unwrap_or(0)];
    for result in results {
        for (sum, n) in counts.iter_mut().zip(&result.windows.acknowledged) {
            *sum += n;
        }
    }
    let statistics = analysis::throughput::throughput(&counts, Nanos(WINDOW_NS));
    let mut stream = StreamRecord {
        phase: PHASE.to_owned(),
        stream: stream_of(run),
        unit: run.unit,
        planned_rate: run.rate.map(highwater_model::units::Rate::as_f64),
        sessions: run.sessions.unwrap_or(0),
        throughput: ThroughputRecord {
            ops_per_s: results.iter().map(|r| r.throughput.ops_per_s).sum(),
            rows_per_s: results.iter().map(|r| r.throughput.rows_per_s).sum(),
            ci95: None,
        },
        ..StreamRecord::default()
    };
    let per_op = to_f64(run.units_per_op);
    statistics.describe(&mut stream, per_op, SteadinessRule::default());
    stream
}

/// Fields that the importer marks as missing, and those that are empty.
fn missing_fields(run: &ImportedRun) -> BTreeSet<MissingField> {
    let mut missing = run.missing_fields.clone();
    let mut mark =
        |what: MissingField, is_missing: bool| missing.extend(is_missing.then_some(what));
    mark(MissingField::Target, true);
    mark(MissingField::Sessions, run.sessions.is_none());
    let is_open = run.pace == ImportedPace::Open;
    mark(MissingField::Rate, is_open && run.rate.is_none());
    mark(MissingField::Start, run.started.is_none());
    mark(MissingField::Seconds, run.intervals.is_empty());
    mark(MissingField::Availability, run.availability.is_none());
    let latencies = || run.ops.iter().map(|op| &op.latency);
    let none = latencies().all(|latency| {
        let summary = &latency.summary;
        summary.mean.is_none() && summary.max.is_none() && summary.p50.is_none()
    });
    mark(MissingField::Latency, none);
    let figures_only = latencies().any(|latency| latency.histogram.is_empty());
    mark(MissingField::Distribution, !none && figures_only);
    missing
}
