//! Makes a plan and a record from another tool's report, like those of a run of this program.
//!
//! Missing figures stay empty and are listed as missing; no figure may be invented.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use highwater_analysis as analysis;
use highwater_model::import_record::{ImportRecord, ImportedPace, MissingField};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{
    PLAN_SCHEMA, Pace, PhaseKind, PhasePlan, Plan, SteadinessRule, StreamPlan, Unit, WorkloadPlan,
    hex,
};
use highwater_model::quantity::print_instant;
use highwater_model::record::{
    AnsweredRecord, AuditRecord, AuditStatus, Header, Histograms, ImportedRecord, IntervalRecord,
    PlanRecord, ProgramRecord, RECORD_SCHEMA, ResultRecord, RowCounts, RunNote, RunRecord,
    StreamRecord, ThroughputRecord, WINDOW_NS, Windows, WorkloadRecord,
};
use highwater_model::units::Nanos;

use super::imported_run::{ImportedRun, ParsedOp};

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
