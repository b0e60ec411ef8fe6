//! An example of each case, as a table; the proposed commands are snapshots.

use std::collections::BTreeSet;

use highwater_analysis::fixture::growth::of_verdict;
use highwater_analysis::fixture::{self, S, incident, judged, lose_rows};
use highwater_analysis::growth;
use highwater_analysis::judge::measured_streams;
use highwater_model::audit_record::{SqlPart, WrongSql};
use highwater_model::group::{GroupOutcome, GroupRecord};
use highwater_model::judgment::{IncidentKind, Measurement, Reason, ReasonCode};
use highwater_model::limit::{Evidence, Limit, LimitFigure, LimitingResource, Resource};
use highwater_model::plan::Objective;
use highwater_model::record::{
    AuditStatus, ExperimentRecord, ImportRecord, ImportedPace, ImportedRecord, LatencyBegin,
    Question, Record, RunRecord,
};
use highwater_model::scale::{ScaleOutcome, ScaleRecord, SizeVerdict};
use highwater_model::search::{
    NoMark, NoMarkReason, ProbePurpose, ProbeVerdict, SearchOutcome, SearchRecord,
};
use highwater_model::tune::{
    BestConfiguration, NoBest, NoBestReason, RunnerUp, TuneAxis, TuneFigure, TuneOutcome,
    TunePolicy, TuneRecord,
};
use highwater_model::units::{Nanos, Rate};

use super::*;

/// Directory of the example's record.
const PLACE: &str = "runs/a";

/// A case and its example.
type Example = (&'static str, fn() -> Record);

fn shown(record: &Record) -> (Option<&'static str>, Option<String>) {
    let record = RecordRef::from(record);
    let run = record.measured_run();
    let measured = measured_streams(run.run);
    let situation = Situation { record, run: run.run, measured: &measured, directory: PLACE };
    let when = case(&situation).map(|case| case.when);
    (when, next_command(record, &measured, PLACE))
}

#[test]
fn every_case_has_an_example_and_leads_to_its_command() {
    let all = [RUNS, EXPERIMENTS].concat();
    let mut text = String::new();
    for (when, record) in &all {
        let (applies, proposed) = shown(&record());
        assert_eq!(applies, Some(*when), "{proposed:?}");
        let command = proposed.as_deref().unwrap_or("nothing");
        text += &format!("{when}\n    {command}\n");
    }
    insta::assert_snapshot!(text);
    let of_table: BTreeSet<&str> = cases().map(|case| case.when).collect();
    let tried: BTreeSet<&str> = all.iter().map(|(when, _)| *when).collect();
    assert_eq!(tried, of_table);
    assert_eq!(cases().count(), of_table.len(), "each has its own name");
}

#[test]
fn nothing_is_proposed_only_where_the_table_says_that_the_question_is_answered() {
    let answered: Vec<&str> =
        cases().filter(|case| case.then.is_none()).map(|case| case.when).collect();
    insta::assert_snapshot!(answered.join("\n"), @"
    a mark was confirmed, and held for long
    a sink was measured, so this is the load generator's ceiling
    ");
}

#[test]
fn no_proposal_repeats_the_command_that_was_just_run_unless_the_user_stopped_it() {
    for (when, record) in [RUNS, EXPERIMENTS].concat() {
        let record = record();
        let again = crate::again((&record).into());
        let (_, proposed) = shown(&record);
        if when == "the user stopped it" {
            assert_eq!(proposed, Some(again), "it is still to be measured");
        } else {
            assert_ne!(proposed, Some(again), "{when}");
        }
    }
}

/// A miss ends only a run with an objective that is not a fraction.
#[test]
fn a_proposal_stops_on_a_miss_only_if_it_can() {
    const OBJECTIVES: [&str; 4] = [" --p", " --row-p99 ", " --errors ", " --rejected "];
    let mut kept = 0;
    for (when, record) in RUNS {
        let Record::Run(mut run) = record() else {
            continue;
        };
        // A fill has no such flag.
        if run.plan.definition.stop.fills {
            continue;
        }
        // It is given with an objective.
        run.header.command.settings.extend(fixture::typed("", "abort-on-miss|p99 5ms").settings);
        let proposed = shown(&Record::Run(run)).1.unwrap_or_default();
        if proposed.contains(" --abort-on-miss") {
            kept += 1;
            let has_objective = OBJECTIVES.iter().any(|flag| proposed.contains(flag));
            let is_whole = !proposed.contains(" --share ");
            let is_run = proposed.starts_with("highwater run ");
            assert!(has_objective && is_whole && is_run, "{when}: {proposed}");
        }
    }
    assert!(kept > 0, "longer runs keep it");
}

/// If think times are longer than the run, fewer sessions would not help.
#[test]
fn fewer_sessions_are_not_proposed_where_the_others_only_paused() {
    const FEWER: &str = "fewer sessions worked than were planned";
    let case = |think| {
        let mut record = fixture::closed();
        record.streams[0].working = Some(3);
        record.plan.definition.streams[0].think = think;
        shown(&spoiled(record, ReasonCode::SessionsMissing)).0
    };
    assert_eq!(case(None), Some(FEWER));
    assert_ne!(case(Some(Nanos::from_secs(60))), Some(FEWER));
}

fn run(change: fn(&mut RunRecord)) -> Record {
    let mut record = fixture::closed();
    change(&mut record);
    plain(judged(record))
}

fn plain(run: RunRecord) -> Record {
    Record::Run(Box::new(run))
}

fn experiment(of: ExperimentRecord) -> Record {
    Record::Experiment(Box::new(of))
}

/// A record with this as the first reason why the measurement is not valid.
fn spoiled(mut record: RunRecord, code: ReasonCode) -> Record {
    record = judged(record);
    let measurement = &mut record.judgments.measurement;
    measurement.value = Measurement::Inconclusive;
    let reason = Reason::with_figures(code, "spoiled", "by its test");
    measurement.reasons.insert(0, reason);
    plain(record)
}

fn is_on_a_server(record: &mut RunRecord) {
    record.target.urls = vec!["postgres://u@h/x".to_owned()];
    record.target.embedded = false;
}

/// The run of the quality gate with a p99 of 900 ms.
fn slow_gate() -> RunRecord {
    let mut op = fixture::gate_op();
    op.latencies = vec![(4 * fixture::MS, 9_000), (900 * fixture::MS, 1_000)];
    fixture::open_gate_of(&op)
}

const P99: Objective =
    Objective::Latency { quantile_ppm: 990_000, max: Nanos::from_millis(5), op: None };

fn closed_with(objective: Objective) -> RunRecord {
    let mut record = fixture::closed();
    record.plan.definition.objectives = vec![objective];
    // Counts above the bound: 1% is allowed.
    record.results[0].windows.over = vec![record.results[0].windows.acknowledged.clone()];
    record.results[0].windows.ended = record.results[0].windows.acknowledged.clone();
    record
}

const RUNS: &[Example] = &[
    ("another tool measured", || {
        let origin = ImportRecord {
            tool: "sysbench".to_owned(),
            version: None,
            files: Vec::new(),
            begin: LatencyBegin::Sent,
            pace: ImportedPace::Closed,
            missing_fields: BTreeSet::new(),
            caveats: Vec::new(),
        };
        let run = fixture::closed();
        Record::Imported(Box::new(ImportedRecord { origin, run }))
    }),
    ("a share of several has no result of its own", || run(|r| r.plan.definition.share.of = 4)),
    ("the audit ran out of time, and its database is still there", || {
        run(|r| r.audit.status = AuditStatus::Timeout)
    }),
    ("the audit ran out of time, and its database is gone", || {
        run(|r| {
            r.audit.status = AuditStatus::Timeout;
            r.target.simulated = true;
        })
    }),
    ("the workload's own SQL is wrong about rows that are there", || {
        run(|r| {
            r.audit.status = AuditStatus::Failed;
            r.audit.wrong_sql = vec![WrongSql {
                table: "cpu".to_owned(),
                part: SqlPart::Key,
                column: None,
                expression: "x".to_owned(),
                evidence: "y".to_owned(),
            }];
            r.header.command = fixture::typed("run", "file my flow.toml");
        })
    }),
    ("the connection was lost", || run(|r| incident(r, IncidentKind::TargetLost, "gone"))),
    ("rows are wrong or unverified, and their database is still there", || {
        run(|r| lose_rows(r, 96))
    }),
    ("rows are wrong or unverified, and cannot be audited again", || {
        run(|r| {
            lose_rows(r, 96);
            r.audit.later = true;
        })
    }),
    ("the user stopped filling a table", || {
        run(|r| {
            incident(r, IncidentKind::Interrupted, "by the user");
            r.plan.definition.stop.fills = true;
            r.header.command = fixture::typed("load", "drop|rows 50k|seed 7");
        })
    }),
    ("the user stopped it", || run(|r| incident(r, IncidentKind::Interrupted, "by the user"))),
    ("a table was filled", || {
        run(|r| {
            r.plan.definition.stop.fills = true;
            r.header.command = fixture::typed("load", "drop|rows 50k|seed 7");
        })
    }),
    ("nothing was measured", || {
        run(|r| {
            r.phases.truncate(1);
            r.streams.clear();
            r.results.clear();
        })
    }),
    ("too few ops for a percentile of the objective", || {
        let mut op = fixture::gate_op();
        op.latencies = vec![(4 * fixture::MS, 200)];
        plain(judged(fixture::open_gate_of(&op)))
    }),
    ("it was too short", || spoiled(fixture::closed(), ReasonCode::TooShort)),
    ("throughput drifted", || spoiled(fixture::closed(), ReasonCode::NotSteady)),
    ("fewer sessions worked than were planned", || {
        let mut record = fixture::closed();
        record.streams[0].working = Some(3);
        spoiled(record, ReasonCode::SessionsMissing)
    }),
    ("the load generator was the limit, and its ceiling is known", || {
        let mut record = fixture::closed();
        is_on_a_server(&mut record);
        record.clients[0].calibrated_ceiling = Some(500_000.0);
        spoiled(record, ReasonCode::ClientSaturated)
    }),
    ("more was offered than could be answered at all", || {
        spoiled(judged(fixture::open_gate()), ReasonCode::LatencyUnknown)
    }),
    ("the load generator stood still for a moment", || {
        spoiled(fixture::closed(), ReasonCode::ClientStalled)
    }),
    ("something beside the target spoiled the figures", || {
        run(|r| r.clients[0].cpu_fraction = 1.0)
    }),
    ("a step missed the objective", || {
        let mut record = fixture::open_steps();
        record.results[0].errors.insert("timeout".to_owned(), 9_000);
        plain(judged(record))
    }),
    ("several steps were measured", || plain(fixture::open_steps())),
    ("sessions that acknowledge too little may be too few or too many", || {
        let min = Rate::per_second(900_000);
        plain(judged(closed_with(Objective::Throughput { min })))
    }),
    ("sessions missed the objective, and fewer may meet it", || plain(judged(closed_with(P99)))),
    ("one session missed the objective", || {
        let mut record = judged(closed_with(P99));
        record.streams[0].sessions = 1;
        plain(record)
    }),
    ("a rate missed the objective", || plain(judged(slow_gate()))),
    ("a rate met the objective", || plain(fixture::open_gate())),
    ("sessions met the objective", || {
        plain(judged(closed_with(Objective::Errors { max_ppm: 1_000 })))
    }),
    ("a sink was measured, so this is the load generator's ceiling", || {
        run(|r| {
            r.target.sink = true;
            r.audit.status = AuditStatus::StoresNothing;
        })
    }),
    ("a rate without an objective", || {
        let mut record = fixture::open_gate();
        record.header.command = fixture::typed("run", "duration 10s|rate 1k");
        record.plan.definition.objectives.clear();
        plain(judged(record))
    }),
    ("as fast as the sessions go, which no user feels", || run(|_| {})),
];

/// The run of the quality gate as the last probe of a search.
fn searched(change: impl Fn(&mut SearchRecord)) -> Record {
    let mut last = fixture::open_gate();
    is_on_a_server(&mut last);
    last.header.command = fixture::typed("find", "budget 30m|p99 10ms|then soak=30m");
    let mut search = fixture::search(last.plan.definition.objectives.clone());
    search.policy.budget_ns = Some(1_800 * S);
    search.definition_hash = "ab".to_owned();
    search.probes = vec![fixture::probe(ProbePurpose::Search, 1_000.0, ProbeVerdict::Passed)];
    change(&mut search);
    experiment(highwater_analysis::search::conclude(last, search, "a".to_owned()))
}

fn without_mark(why: NoMarkReason) -> Record {
    searched(|search| {
        search.outcome = Some(SearchOutcome::NoMark(NoMark {
            why,
            highest_met: None,
            estimate: None,
            lowest_failed: Some(1_500.0),
            limited_by: vec![ReasonCode::ObjectiveLatency],
        }));
    })
}

fn marked(change: impl Fn(&mut SearchRecord)) -> Record {
    searched(|search| {
        search.outcome = Some(SearchOutcome::Mark(fixture::mark(1_000.0, 1_019.0)));
        change(search);
    })
}

fn soaked(search: &mut SearchRecord, verdict: ProbeVerdict) {
    let mut soak = fixture::probe(ProbePurpose::Soak, 1_000.0, verdict);
    soak.measured_ns = 1_800 * S;
    search.policy.soak_ns = Some(soak.measured_ns);
    search.probes.push(soak);
}

const EXPERIMENTS: &[Example] = &[
    ("a search did not end", || without_mark(NoMarkReason::Interrupted)),
    ("a search ran out of time", || without_mark(NoMarkReason::BudgetSpent)),
    ("the budget had too few ops for what probes should show", || {
        without_mark(NoMarkReason::TooFewOps)
    }),
    ("ops took longer than probes", || without_mark(NoMarkReason::OpsTooLong)),
    ("not even the lowest value met the objective", || without_mark(NoMarkReason::BelowLowest)),
    ("a search found wrong rows", || without_mark(NoMarkReason::WrongData)),
    ("a search was ended by the load generator or the target", || {
        without_mark(NoMarkReason::ClientCeiling)
    }),
    ("the load generator kept a mark from being higher", || {
        marked(|search| {
            let mut failed = fixture::probe(ProbePurpose::Search, 1_019.0, ProbeVerdict::Failed);
            let by = LimitingResource {
                resource: Resource::LoadGenerator,
                source: None,
                node: None,
                program: None,
                evidence: vec![Evidence { figure: LimitFigure::OfCeiling, value: 0.95 }],
            };
            failed.limit = Some(Limit { by: Some(by), ..fixture::cpu_limit() });
            search.probes.push(failed);
        })
    }),
    ("a mark did not hold for long", || marked(|search| soaked(search, ProbeVerdict::Failed))),
    ("a mark is below the minimum", || marked(|search| search.floor = Some(2_000.0))),
    ("a mark was confirmed", || marked(|_| {})),
    ("a mark was confirmed, and held for long", || {
        marked(|search| soaked(search, ProbeVerdict::Passed))
    }),
    ("a tuning found wrong rows", || tuned_to(Some(no_best(NoBestReason::WrongData)))),
    ("no configuration counted", || tuned_to(Some(no_best(NoBestReason::NoneCounts)))),
    ("a tuning did not end", || tuned_to(Some(no_best(NoBestReason::BudgetSpent)))),
    ("the best value is the greatest that was tried", || tuned_to(Some(best(2)))),
    ("a best configuration was found", || tuned_to(Some(best(1)))),
    ("a group of runs ran out of time", || {
        grouped(|group| group.outcome = Some(GroupOutcome::BudgetSpent))
    }),
    ("a group of runs did not end", || {
        grouped(|group| group.outcome = Some(GroupOutcome::Interrupted))
    }),
    ("variants cannot be distinguished, and more runs would", || {
        grouped(|group| {
            // The variants differ by 4%, and the runs of each by more.
            let spread = [1.0, 0.96, 0.9, 1.04, 0.97, 0.93];
            for (trial, factor) in group.trials.iter_mut().zip(spread) {
                for sampled in &mut trial.sample.figures {
                    if sampled.figure.name == "throughput" {
                        sampled.value = 421_200.0 * factor;
                    }
                }
            }
        })
    }),
    ("a group of runs is complete", || grouped(|_| {})),
    ("a growth found wrong rows", || grown(|scale| scale.outcome = Some(ScaleOutcome::WrongData))),
    ("a growth was ended by the load generator, or measured no size", || {
        grown(|scale| scale.outcome = Some(ScaleOutcome::ClientCeiling))
    }),
    ("the machine drifted during a growth", || {
        grown(|scale| scale.trials[4].figures.per_s = 250_000.0)
    }),
    ("a growth is complete", || grown(|_| {})),
    ("a growth did not end", || {
        grown(|scale| {
            scale.trials.truncate(3);
            scale.trials[2].figures = of_verdict(SizeVerdict::Interrupted, 0.0, None);
            scale.outcome = Some(ScaleOutcome::Interrupted);
        })
    }),
];

fn no_best(why: NoBestReason) -> TuneOutcome {
    let best_so_far = None;
    TuneOutcome::NoBest(NoBest { why, best_so_far })
}

/// The configuration at this position of the axis is better than the previous one.
fn best(at: usize) -> TuneOutcome {
    TuneOutcome::Best(BestConfiguration {
        at: vec![at],
        values: [("batch".to_owned(), "1k".to_owned())].into(),
        figure: 421_200.0,
        runner_up: Some(RunnerUp {
            at: vec![at - 1],
            figure: 400_000.0,
            gain95: [0.03, 0.06],
            is_significant: true,
            is_tied: false,
        }),
        cut_short: false,
    })
}

/// A tuning of the batch size with this outcome.
fn tuned_to(outcome: Option<TuneOutcome>) -> Record {
    let mut last = fixture::closed();
    is_on_a_server(&mut last);
    last.plan.definition.objectives = fixture::open_gate().plan.definition.objectives;
    last.header.command = fixture::typed("tune", "over batch=500,1k,2k|p99 10ms|timeout 10s");
    let tune = TuneRecord {
        axes: vec![TuneAxis {
            name: "batch".to_owned(),
            values: ["500", "1k", "2k"].map(str::to_owned).to_vec(),
        }],
        by: TuneFigure::Throughput,
        stream: "insert".to_owned(),
        unit: last.plan.definition.streams[0].unit,
        sessions: None,
        policy: TunePolicy {
            seed: 42,
            confirmations: 5,
            probes_max: 30,
            budget_ns: 3_600 * S,
            trial_cost_ns: 30 * S,
        },
        definition_hash: "ab".to_owned(),
        trials: Vec::new(),
        outcome,
    };
    experiment(highwater_analysis::tuning::conclude(last, tune, "a".to_owned()))
}

fn grouped(change: impl Fn(&mut GroupRecord)) -> Record {
    let mut record = fixture::group::grouped();
    if let Question::Group(group) = &mut record.question {
        change(group);
    }
    experiment(record)
}

fn grown(change: impl Fn(&mut ScaleRecord)) -> Record {
    let mut record = highwater_sizing::growth::fixture::grown();
    let Question::Scale(scale) = &mut record.question else {
        panic!("it is a growth");
    };
    change(scale);
    experiment(growth::conclude(*record.last_run, scale.clone(), "a".to_owned()))
}
