//! Summaries as readers see them. Every snapshot is a whole summary.

use super::*;
use crate::tests::assert_says;
use highwater_analysis as analysis;
use highwater_analysis::fixture::{self, incident, judged, lose_rows, note};
use highwater_model::judgment::ReasonCode;
use highwater_model::plan::Share;
use highwater_model::record::{
    AuditStatus, CeilingBound, Change, ExperimentRecord, IncidentKind, InterventionRecord,
    Question, RecoveryRecord, RunRecord,
};
use highwater_model::search::{
    Mark, NoMark, NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchOutcome,
};
use highwater_model::tune::{
    BestConfiguration, RunObservations, RunnerUp, TrialPurpose, TuneAxis, TuneOutcome,
};

#[test]
fn a_closed_run_without_problems() {
    insta::assert_snapshot!(text_at(
        &fixture::closed(),
        "highwater-runs/2026-11-20T18-20-11-cpu-7f3a91"
    ));
}

#[test]
fn reports_of_the_target_are_a_line() {
    let mut record = fixture::closed();
    fixture::add_telemetry(&mut record);
    insta::assert_snapshot!(text(&record));
}

#[test]
fn open_streams_side_by_side_in_steps() {
    insta::assert_snapshot!(text(&fixture::open_steps()));
}

#[test]
fn changes_during_the_run_are_a_line_each_and_the_rest_are_counted() {
    let mut record = fixture::closed();
    let note = |number: u64| InterventionRecord {
        by: None,
        time_ns: number * fixture::S,
        phase: "measure".to_owned(),
        change: Change::Note { text: format!("note {number} \u{1b}[2J") },
    };
    record.interventions = (1..=7).map(note).collect();
    let text = text(&record);
    let changed: Vec<&str> = text.lines().filter(|line| line.starts_with("changed")).collect();
    assert_eq!(changed.len(), 6, "{text}");
    assert_eq!(changed[0], "changed        at 1.00 s: note 1  [2J");
    assert_eq!(changed[5], "changed        and 2 more in the record");
    // The notes of the page have everything; its head names only changes of the load.
    let page = crate::html(&record);
    assert_says(&page, &["<li>at 7.00\u{a0}s: note 7"]);
    assert!(!page.contains("changed: at"), "{page}");
}

#[test]
fn repeated_rows_are_reported_in_the_second_line() {
    let mut record = fixture::closed();
    let said = |record: &RunRecord| text(record).contains("10,000 different rows, repeated");
    assert!(!said(&record));
    record.plan.definition.workload.distinct_rows = Some(10_000);
    assert!(said(&record));
}

#[test]
fn lost_rows_outrank_everything_else() {
    let mut record = fixture::closed();
    lose_rows(&mut record, 96);
    insta::assert_snapshot!(text(&judged(record)));
}

#[test]
fn unverified_is_as_loud_as_an_error() {
    let mut record = fixture::closed();
    record.audit.status = AuditStatus::Timeout;
    record.audit.error = Some("adding up table `cpu`".to_owned());
    insta::assert_snapshot!(text(&judged(record)));
}

#[test]
fn an_interrupted_run_is_marked() {
    let mut record = fixture::closed();
    let said = "Ctrl-C after 6 s of 12 s";
    incident(&mut record, IncidentKind::Interrupted, said);
    insta::assert_snapshot!(text(&judged(record)));
}

#[test]
fn an_outage_shows_when_the_rate_was_back_and_when_nothing_waited() {
    let line = |recovery: Option<[Option<u64>; 2]>, dips| {
        let mut record = fixture::closed();
        let seen = &mut record.availability;
        (seen.dips, seen.recovery_ns) = (dips, Some(fixture::S));
        seen.recovery = recovery.map(|[rate_again_ns, recovered_ns]| RecoveryRecord {
            start_ns: 4 * fixture::S,
            rate_again_ns,
            recovered_ns,
        });
        let text = text(&record);
        let line = text.lines().find(|line| line.starts_with("availability")).unwrap();
        let (_, rest) = line.split_once(" at ").unwrap();
        rest.split_once(" · ").unwrap().1.to_owned()
    };
    let (soon, late) = (Some(1_620 * fixture::MS), Some(2_100 * fixture::MS));
    let both = "offered rate again after 1.62 s · recovered after 2.10 s";
    assert_eq!(line(Some([soon, late]), 0), both);
    let never = "offered rate again after 1.62 s · not recovered";
    assert_eq!(line(Some([soon, None]), 0), never);
    assert_eq!(line(Some([soon, soon]), 0), "recovered after 1.62 s");
    assert_eq!(line(Some([None, None]), 0), "not recovered");
    // A record of an earlier version only has whole seconds.
    let coarse = "2 s without an acknowledgement · recovered after 1.00 s";
    assert_eq!(line(None, 2), coarse);
}

#[test]
fn after_an_outage_the_answer_says_so_and_has_no_interval_of_steady_seconds() {
    let mut record = fixture::closed();
    for stream in &mut record.streams {
        stream.throughput.ci95 = Some([2_118.0, 18_730.0]);
    }
    let steady = crate::markdown(RecordRef::from(&record), "");
    assert!(steady.contains("2,118 to 18,730 rows/s"), "{steady}");
    let seen = &mut record.availability;
    (seen.dips, seen.longest_gap_ns) = (14, 14_900 * fixture::MS);
    let start_ns = 4 * fixture::S;
    seen.recovery = Some(RecoveryRecord { start_ns, rate_again_ns: None, recovered_ns: None });
    let restarted = "the server was restarted before 34.0 s";
    incident(&mut record, IncidentKind::ClusterChanged, restarted);
    let shown = crate::markdown(RecordRef::from(&record), "");
    assert!(shown.contains("14.9 s without an acknowledgment"), "{shown}");
    assert!(!shown.contains("18,730"), "{shown}");
    // The same on the first screen of its page.
    let page = crate::html(RecordRef::from(&record));
    let (_, head) = page.split_once("class=\"interval\"").unwrap();
    let (head, _) = head.split_once("class=\"hero\"").unwrap();
    let head = head.replace('\u{a0}', " ");
    assert!(head.contains("14.9 s without an acknowledgment"), "{head}");
    assert!(head.contains(restarted) && !head.contains("95% CI"), "{head}");
}

#[test]
fn dropped_ops_make_percentiles_lower_bounds() {
    let mut op = fixture::gate_op();
    op.latencies = vec![(4 * fixture::MS, 9_000), (900 * fixture::MS, 700)];
    op.dropped = 300;
    op.errors = vec![("rejected", 12), ("timeout", 3)];
    let mut record = fixture::open_gate_of(&op);
    record.results[0].backlog = true;
    record.results[0].retries = 7;
    insta::assert_snapshot!(text(&judged(record)));
}

#[test]
fn a_gate_that_is_met() {
    insta::assert_snapshot!(text(&fixture::open_gate()));
}

#[test]
fn a_simulated_target_is_labeled() {
    let mut record = fixture::closed();
    record.target.simulated = true;
    let text = text(&record);
    assert_says(text.lines().next().unwrap(), &["   simulated · "]);
}

#[test]
fn rows_of_load_and_warm_up_have_a_line_of_their_own() {
    let mut record = fixture::closed();
    record.audit.acknowledged += 800_000;
    record.audit.found += 800_000;
    let text = text(&judged(record));
    let line = text.lines().find(|line| line.starts_with("all rows"));
    assert_says(line.unwrap(), &["5,012,000   5,012,000"]);
}

#[test]
fn a_share_names_itself_and_the_missing_shares() {
    let mut record = fixture::closed();
    record.plan.definition.share = Share { index: 2, of: 4, start_at: None };
    record.audit.status = AuditStatus::Partial;
    let text = text(&judged(record));
    assert_says(&text, &["share 2/4 of it", "one_share"]);
}

#[test]
fn escape_codes_of_a_target_are_removed() {
    let mut record = fixture::closed();
    record.target.version = "\u{1b}[31mred".to_owned();
    let labels = &mut record.header.labels;
    labels.insert("a".to_owned(), "\u{7}".to_owned());
    note(&mut record, "x", "\u{1b}]0;title\u{7}");
    record.audit.status = AuditStatus::Failed;
    record.audit.error = Some("\u{1b}[2J".to_owned());
    let text = text(&judged(record));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
}

#[test]
fn a_record_without_a_measured_phase_has_a_summary() {
    let mut record = fixture::closed();
    record.phases.truncate(1);
    record.streams.clear();
    record.results.clear();
    let text = text(&judged(record));
    assert_says(&text, &["nothing measured", "measurement    INCONCLUSIVE"]);
}

fn probe(purpose: ProbePurpose, at: f64, verdict: ProbeVerdict) -> ProbeRecord {
    let missed = verdict == ProbeVerdict::Failed;
    ProbeRecord {
        reasons: Vec::from_iter(missed.then_some(ReasonCode::ObjectiveLatency)),
        acknowledged_per_s: at.max(1_200.0).min(at + 1_100.0),
        pressure: Some(-0.4),
        late: Some(0.3),
        p99_ns: Some(if missed { 61_000_000 } else { 44_000_000 }),
        rows_before: 500_000,
        bytes_before: Some(52_428_800),
        settled_ns: 5 * fixture::S,
        ..fixture::probe(purpose, at, verdict)
    }
}

/// The run of the quality gate as the last probe of a search with this outcome.
fn searched(outcome: SearchOutcome, probes: &[ProbeRecord]) -> ExperimentRecord {
    let mut last = fixture::open_gate();
    last.header.command = fixture::typed("find", "budget 30m|min-rate 1010|p99 10ms");
    let mut search = fixture::search(last.plan.definition.objectives.clone());
    search.floor = Some(1_010.0);
    search.policy.budget_ns = Some(1_800 * fixture::S);
    search.probes = probes.to_vec();
    search.outcome = Some(outcome);
    search.policy.soak_ns = search.soak().map(|soak| soak.measured_ns);
    for (number, probe) in (1..).zip(&mut search.probes) {
        probe.number = number;
    }
    analysis::search::conclude(last, search, "2026-11-20T18-20-11-find-kv".to_owned())
}

#[test]
fn a_saturated_run_names_its_limit_in_one_line_above_its_availability() {
    let mut record = fixture::closed();
    assert!(!text(&record).contains("\nlimit"));
    record.limit = Some(fixture::cpu_limit());
    let limited = "limited by     CPU of node 2, 97% (next: disk of node 1, 71%)\navailability ";
    assert_says(&text(&record), &[limited]);
    let line = "\n- limited by: CPU of node 2, 97% (next: disk of node 1, 71%)\n";
    assert_says(&crate::markdown(&record, "a"), &[line]);
}

#[test]
fn a_mark_is_an_interval_with_its_hold_its_data_and_its_limit() {
    let mark = Mark {
        bytes: Some(52_428_800),
        passed_above: vec![1_500.0],
        ..fixture::mark(1_000.0, 1_019.0)
    };
    let confirm = probe(ProbePurpose::Confirm, 1_000.0, ProbeVerdict::Passed);
    let failed = ProbeRecord {
        limit: Some(fixture::cpu_limit()),
        ..probe(ProbePurpose::Search, 1_019.0, ProbeVerdict::Failed)
    };
    let record = searched(
        SearchOutcome::Mark(mark),
        &[
            probe(ProbePurpose::Estimate, 64.0, ProbeVerdict::Estimated),
            probe(ProbePurpose::Search, 1_500.0, ProbeVerdict::Passed),
            probe(ProbePurpose::Search, 1_000.0, ProbeVerdict::Passed),
            failed,
            confirm.clone(),
            confirm.clone(),
            confirm,
        ],
    );
    insta::assert_snapshot!(text(&record));
}

#[test]
fn a_mark_that_did_not_hold_for_long_stays_and_misses_the_objective() {
    let mark = || SearchOutcome::Mark(fixture::mark(1_010.0, 1_019.0));
    let mut soak = probe(ProbePurpose::Soak, 1_010.0, ProbeVerdict::Passed);
    soak.measured_ns = 1_800 * fixture::S;
    let held = searched(mark(), std::slice::from_ref(&soak));
    soak.verdict = ProbeVerdict::Failed;
    soak.reasons = vec![ReasonCode::ObjectiveLatency];
    let missed = searched(mark(), &[soak]);
    let of = |record: &ExperimentRecord| {
        let text = text(record);
        let labels = ["soak ", "objective ", "  the mark did not hold"];
        text.lines()
            .filter(|line| labels.iter().any(|label| line.starts_with(label)))
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!([of(&held), of(&missed)].join("\n"), @r"
    soak           30 min more at 1,010 rows/s: passed · 1,200 acknowledged/s · p99 44.0 ms
    objective      met         p99 ≤ 10 ms
    soak           30 min more at 1,010 rows/s: failed · 1,200 acknowledged/s · p99 44.0 ms · latency
    objective      MISSED      p99 ≤ 10 ms
      the mark did not hold for long: 1,010 rows/s missed over 30 min, confirmed over 5 min [rate_not_sustained]
    ");
}

#[test]
fn a_search_without_a_mark_shows_the_reason_and_its_results() {
    let no_mark = NoMark {
        why: NoMarkReason::BudgetSpent,
        highest_met: Some(1_000.0),
        estimate: None,
        lowest_failed: Some(1_500.0),
        limited_by: vec![ReasonCode::ObjectiveLatency],
    };
    let record = searched(
        SearchOutcome::NoMark(no_mark),
        &[
            probe(ProbePurpose::Estimate, 64.0, ProbeVerdict::Estimated),
            probe(ProbePurpose::Search, 1_500.0, ProbeVerdict::Failed),
            probe(ProbePurpose::Search, 1_000.0, ProbeVerdict::Passed),
        ],
    );
    insta::assert_snapshot!(text(&record));
}

/// A ceiling measured with 64 sessions is used for another load as far as possible; if it is too low, the line has the
/// command that measures the ceiling of this load.
#[test]
fn the_ceiling_of_other_sessions_is_used_or_the_line_states_how_to_measure_this_one() {
    let line = |mut record: RunRecord, units_per_s: f64| {
        let client = &mut record.clients[0];
        client.sink = Some("null:".to_owned());
        client.ceiling_at_least = Some(CeilingBound { units_per_s, sessions: 64 });
        let text = text(&record);
        let line = text.lines().find(|line| line.starts_with("client "));
        let (_, ceiling) = line.unwrap().split_once(" · ceiling ").unwrap();
        ceiling.to_owned()
    };
    let (closed, at_a_rate) = (fixture::closed, fixture::open_gate);
    let serves = "at least 1,684,800 rows/s, 4.00 times this run (by that of 64 sessions)";
    assert_eq!(line(closed(), 1_684_800.0), serves);
    let serves = "at least 1,684,800 rows/s, 1685 times this run (by that of 64 sessions)";
    assert_eq!(line(at_a_rate(), 1_684_800.0), serves);
    let measure = "of this load not measured (highwater run cpu null: -c 4 -d 5s)";
    assert_eq!(line(closed(), 500_000.0), measure);
}

/// A tuning of the batch size with `sessions` sessions, and its best value in the middle.
fn tuned(sessions: u32) -> ExperimentRecord {
    let mut tune = fixture::tune::tune(&[3]);
    tune.axes = vec![TuneAxis {
        name: "batch".to_owned(),
        values: ["100", "1000", "4000"].map(str::to_owned).to_vec(),
    }];
    tune.sessions = Some(sessions);
    for (at, per_s) in [52_000.0, 198_000.0, 160_000.0].into_iter().enumerate() {
        let purpose = TrialPurpose::Search;
        let trial = fixture::tune::trial(&tune, vec![at], purpose, Some(per_s));
        tune.trials.push(trial);
    }
    tune.outcome = Some(TuneOutcome::Best(BestConfiguration {
        at: vec![1],
        values: [("batch".to_owned(), "1000".to_owned())].into(),
        figure: 198_000.0,
        runner_up: Some(RunnerUp {
            at: vec![2],
            figure: 160_000.0,
            gain95: [0.2, 0.28],
            is_significant: true,
            is_tied: false,
        }),
        cut_short: false,
    }));
    let mut last = fixture::closed();
    last.header.command = fixture::typed("tune", "over batch=100,1k,10k");
    analysis::tuning::conclude(last, tune, "2026-11-20-tune-cpu".to_owned())
}

/// Sessions × rows / throughput: each session has one batch in flight at a time.
#[test]
fn the_time_of_one_batch_counts_the_sessions_of_the_tuning() {
    let times = |sessions| {
        let text = text(&tuned(sessions));
        let (_, table) = text.split_once("time of one\n").expect(&text);
        let rows = table.lines().take(3);
        let time = |row: &str| row.rsplit("   ").next().unwrap().trim().to_owned();
        rows.map(time).collect::<Vec<_>>()
    };
    assert_eq!(times(8), ["15.4 ms", "40.4 ms", "200 ms"]);
    assert_eq!(times(1), ["1.92 ms", "5.05 ms", "25.0 ms"]);
}

/// A best throughput with a latency that nobody accepts is no best one.
#[test]
fn the_answer_of_a_tuning_has_the_highest_p99_of_its_measurements() {
    let mut record = tuned(8);
    let Question::Tune(tune) = &mut record.question else { panic!() };
    for (trial, p99_ms) in tune.trials.iter_mut().zip([5, 80, 900]) {
        let p99_ns = Some(p99_ms * fixture::MS);
        trial.showed = Some(RunObservations { p99_ns, ..showed() });
    }
    let page = crate::html(RecordRef::from(&record)).replace('\u{a0}', " ");
    let (_, head) = page.split_once("id=\"answer\"").unwrap();
    let (head, _) = head.split_once("class=\"judgments\"").unwrap();
    assert!(head.contains("with 198,000 rows/s at p99 80.0 ms"), "{head}");
}

fn showed() -> RunObservations {
    RunObservations {
        per_s_by_op: std::collections::BTreeMap::new(),
        p99_ns: None,
        p99_at_least: false,
        target_cpu: None,
        client_cpu: 0.1,
        limit: None,
    }
}

#[test]
fn the_best_value_of_a_tuning_is_named_once() {
    let record = tuned(8);
    let text = text(&record);
    let best: Vec<&str> = text.lines().filter(|line| line.starts_with("best ")).collect();
    assert!(best.len() == 1 && best[0].contains("batch 1000 with 198,000 rows/s ("), "{text}");
    assert_eq!(text.matches("batch 1000").count(), 1, "{text}");

    let short = crate::summary(&record, "a").short(100, &crate::without_color);
    assert_eq!(short.matches("batch 1000").count(), 1, "{short}");
    assert_eq!(short.matches("198,000").count(), 1, "{short}");
}
