//! Additional records for tests of the page: an hour of ten ops, a search, and a tuning.

use highwater_analysis::fixture::{self, MS, S};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::judgment::ReasonCode;
use highwater_model::plan::Unit;
use highwater_model::record::{
    ExperimentRecord, IntervalRecord, Question, RunRecord, TelemetrySample,
};
use highwater_model::search::{ProbePurpose, ProbeRecord, ProbeVerdict, SearchOutcome};
use highwater_model::tune::{
    BestConfiguration, NoBest, NoBestReason, RunnerUp, TrialPurpose, TrialRecord, TrialVerdict,
    TuneAxis, TuneFigure, TuneOutcome, TunePolicy, TuneRecord,
};
use highwater_model::units::Nanos;

/// Seconds of the long record.
pub(super) const HOUR: u64 = 3_600;
/// The second without a response.
pub(super) const SILENT: u64 = 1_234;
/// The second with the slowest ops, and their p99.
pub(super) const SLOW: (u64, u64) = (2_345, 987 * MS);

/// An hour with ten ops, each second different from the previous one.
pub(super) fn hour() -> RunRecord {
    let mut record = fixture::closed();
    let phase = &mut record.phases[1];
    phase.duration_ns = (HOUR - 2) * S;
    let result = record.results[0].clone();
    record.results.clear();
    record.intervals.clear();
    for op in 0..10_u64 {
        let name = format!("op-{op}");
        let mut of_op = result.clone();
        of_op.op.clone_from(&name);
        let mut latency = LatencyHistogram::fine();
        for n in 0..20_000_u64 {
            latency.record(Nanos((n * n % 9_973 + 1) * 40_000 * (op + 1)));
        }
        of_op.latency_ns = latency.summary();
        of_op.histograms.latency = latency.encode();
        record.results.push(of_op);
        for second in 0..HOUR {
            record.intervals.push(interval(second, &name, op));
        }
    }
    record.intervals.sort_by_key(|interval| interval.second);
    record.telemetry = (1..=HOUR)
        .map(|second| TelemetrySample {
            time_ns: second * S,
            client_cores: 0.2,
            embedded_cores: 0.1,
            machine_cpu_fraction: Some(0.4),
            steal_fraction: Some(0.0),
            rss_bytes: 50_000_000 + second * 1_000,
        })
        .collect();
    fixture::judged(record)
}

fn interval(second: u64, op: &str, number: u64) -> IntervalRecord {
    let spread = (second * 7_919 + number * 104_729) % 101;
    let acknowledged = if second == SILENT { 0 } else { 400 + spread };
    let p99 = if second == SLOW.0 { SLOW.1 } else { (20 + spread) * MS };
    IntervalRecord {
        second,
        phase: if second < 2 { "warm-up" } else { "measure" }.to_owned(),
        stream: "insert".to_owned(),
        op: op.to_owned(),
        offered: acknowledged,
        sent: acknowledged,
        acknowledged,
        rows_acknowledged: acknowledged * 1_000,
        p50_ns: Some((4 + spread % 7) * MS),
        p99_ns: Some(p99),
        max_ns: Some(p99 + 5 * MS),
        ..IntervalRecord::default()
    }
}

/// The run of the quality gate as the last probe of a search that found its mark.
pub(in crate::render::html) fn searched() -> ExperimentRecord {
    let last = fixture::open_gate();
    let mut search = fixture::search(last.plan.definition.objectives.clone());
    search.policy.probe_ns = 50 * S;
    search.policy.confirmation_ns = 290 * S;
    search.probes = vec![
        probe(ProbePurpose::Estimate, 64.0, ProbeVerdict::Estimated),
        probe(ProbePurpose::Search, 1_500.0, ProbeVerdict::Failed),
        probe(ProbePurpose::Search, 1_000.0, ProbeVerdict::Passed),
        probe(ProbePurpose::Search, 1_019.0, ProbeVerdict::NotDecided),
        probe(ProbePurpose::Confirm, 1_000.0, ProbeVerdict::Passed),
    ];
    search.outcome = Some(SearchOutcome::Mark(fixture::mark(1_000.0, 1_019.0)));
    experiment(Question::Search(search), last)
}

/// An experiment with the judgments of its last run.
fn experiment(question: Question, last: RunRecord) -> ExperimentRecord {
    ExperimentRecord {
        interventions: Vec::new(),
        loaded_ns: 0,
        header: last.header.clone(),
        judgments: last.judgments.clone(),
        incidents: last.incidents.clone(),
        question,
        last_run: Box::new(last),
    }
}

fn probe(purpose: ProbePurpose, at: f64, verdict: ProbeVerdict) -> ProbeRecord {
    let missed = verdict == ProbeVerdict::Failed;
    ProbeRecord {
        acknowledged_per_s: if missed { 1_190.0 } else { at },
        p99_ns: Some(if missed { 61 * MS } else { 44 * MS }),
        rows_before: 500_000,
        settled_ns: 5 * S,
        ..fixture::probe(purpose, at, verdict)
    }
}

/// A tuning of two axes, one of numbers and one of words, with a significant best configuration. One configuration
/// missed its objective, and one was not measured.
pub(super) fn tuned() -> TuneRecord {
    let axis = |name: &str, values: &[&str]| TuneAxis {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let (search, confirm) = (TrialPurpose::Search, TrialPurpose::Confirm);
    let trials = [
        (search, [0, 0], 52_000.0),
        (search, [1, 0], 198_000.0),
        (search, [2, 0], 241_000.0),
        (search, [0, 1], 61_000.0),
        (search, [1, 1], 305_000.0),
        (search, [2, 1], 290_000.0),
        (confirm, [2, 1], 292_000.0),
        (confirm, [1, 1], 301_000.0),
        (confirm, [1, 1], 303_000.0),
        (confirm, [2, 1], 288_000.0),
        (search, [1, 2], 310_000.0),
    ];
    let trials = trials
        .into_iter()
        .zip(1..)
        .map(|((purpose, at, figure), number)| trial(number, purpose, &at, figure));
    TuneRecord {
        axes: vec![
            axis("batch", &["500", "4000", "32000"]),
            axis("with.codec", &["default", "best", "none"]),
        ],
        by: TuneFigure::Throughput,
        stream: "insert".to_owned(),
        unit: Unit::Rows,
        sessions: None,
        policy: TunePolicy {
            seed: 42,
            confirmations: 2,
            probes_max: 40,
            budget_ns: 3_600 * S,
            trial_cost_ns: 30 * S,
        },
        definition_hash: "ab".to_owned(),
        trials: trials.collect(),
        outcome: Some(TuneOutcome::Best(BestConfiguration {
            at: vec![1, 1],
            values: [("batch", "4000"), ("with.codec", "best")]
                .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
                .into(),
            figure: 302_000.0,
            runner_up: Some(RunnerUp {
                at: vec![2, 1],
                figure: 290_000.0,
                gain95: [0.012, 0.071],
                is_significant: true,
                is_tied: false,
            }),
            cut_short: false,
        })),
    }
}

/// The record of a tuning.
pub(in crate::render::html) fn of_tuning(tune: TuneRecord) -> ExperimentRecord {
    let mut last = fixture::closed();
    let flags = "over batch=500,4000,32000|over with.codec=default,best,none";
    last.header.command = fixture::typed("tune", flags);
    experiment(Question::Tune(tune), last)
}

/// The same tuning, stopped before its confirming round.
pub(in crate::render::html) fn tuned_in_part() -> TuneRecord {
    let mut tune = tuned();
    let trials = &mut tune.trials;
    trials.retain(|trial| trial.purpose == TrialPurpose::Search);
    tune.outcome = Some(TuneOutcome::NoBest(NoBest {
        why: NoBestReason::Interrupted,
        best_so_far: Some(vec![1, 1]),
    }));
    tune
}

/// The target rejected ops of trials without compression.
fn trial(number: u32, purpose: TrialPurpose, at: &[usize], figure: f64) -> TrialRecord {
    let (verdict, reason) = match at[1] {
        2 => (TrialVerdict::Missed, Some(ReasonCode::ObjectiveRejected)),
        _ => (TrialVerdict::Counts, None),
    };
    TrialRecord {
        number,
        purpose,
        at: at.to_vec(),
        verdict,
        reasons: Vec::from_iter(reason),
        throughput_per_s: figure,
        figure: Some(figure),
        showed: None,
        started_at: "2026-11-20T18:20:11.000Z".to_owned(),
        took_ns: 26 * S,
        run: format!("probes/{number:03}"),
    }
}
