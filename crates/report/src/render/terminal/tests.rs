//! Summaries as readers see them, on a wide and on a narrow terminal.

use super::*;
use crate::kinds::comparison::{CompareReport, Group, GrowthsReport};
use crate::{compare_summary, growths_summary, size_summary, text_at};
use highwater_analysis::comparison::Criteria;
use highwater_analysis::{fixture, search as searching, tuning};
use highwater_model::judgment::{ObjectiveValue, Reason, ReasonCode};
use highwater_model::plan::{Arrivals, Objective};
use highwater_model::record::{
    ExperimentRecord, HostRecord, Incident, IncidentKind, Question, RunRecord,
};
use highwater_model::search::{ProbePurpose, ProbeVerdict, SearchOutcome};
use highwater_model::tune::{
    BestConfiguration, RunnerUp, TrialPurpose, TuneFigure, TuneOutcome, TuneRecord,
};
use highwater_sizing::cluster::{WithOrigin, fixture as sizes, size};
use highwater_sizing::growth::fixture::grown;

fn shown<'a>(record: impl Into<RecordRef<'a>>, columns: usize) -> String {
    summary(record, "highwater-runs/2026-11-20T18-20-11-cpu-7f3a91").short(columns, &without_color)
}

#[test]
fn a_closed_run_without_problems() {
    insta::assert_snapshot!(shown(&fixture::closed(), 100));
    for columns in [40, 60] {
        let shown = shown(&fixture::closed(), columns);
        insta::assert_snapshot!(format!("columns_{columns}"), shown);
    }
}

#[test]
fn several_streams_have_a_total_each_and_steps_a_line_each() {
    insta::assert_snapshot!(shown(&fixture::open_steps(), 100));
}

#[test]
fn a_draw_of_fewer_arrivals_than_the_mean_is_no_shortfall_of_the_target() {
    let of = |arrivals, acknowledged: u64| {
        let mut record = fixture::open_gate();
        record.plan.definition.streams[0].arrivals = arrivals;
        let seconds = record.phases.iter().map(|phase| phase.duration_ns).max();
        assert_eq!(seconds, Some(10_000_000_000), "ten seconds of 1,000 rows/s");
        (record.results[0].offered, record.results[0].acknowledged) = (8_930, acknowledged);
        record.streams[0].throughput.rows_per_s = 892.0;
        shown(&record, 100)
    };
    let drawn = of(Arrivals::Poisson, 8_930);
    assert!(drawn.contains("892 rows/s") && !drawn.contains("892 of"), "{drawn}");
    let short = of(Arrivals::Poisson, 8_000);
    assert!(short.contains("892 of 893 rows/s"), "{short}");
    let constant = of(Arrivals::Constant, 8_930);
    assert!(constant.contains("892 of 1,000 rows/s"), "{constant}");
}

#[test]
fn changes_in_the_cluster_stand_in_the_summary_even_of_a_bad_run() {
    let mut record = fixture::closed();
    for number in 1..=5 {
        let message = format!("n{number}: the server was restarted before 4.00 s");
        record.incidents.push(Incident::new(IncidentKind::ClusterChanged, message));
    }
    let shown = shown(&record, 100);
    let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with("cluster")).collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert!(lines[0].ends_with("n1: the server was restarted before 4.00 s"), "{shown}");
    assert!(lines[2].ends_with("; and 2 more (-v)"), "{shown}");
}

#[test]
fn copies_that_were_not_compared_are_counted_separately() {
    let compared = |missing| {
        let mut record = fixture::closed();
        (record.audit.copies, record.audit.copies_missing) = (8, missing);
        text_at(&record, "")
    };
    let (all, some) = (compared(0), compared(4));
    assert!(all.contains("8 copies compared"), "{all}");
    assert!(some.contains("8 of 12 copies compared"), "{some}");
}

#[test]
fn a_group_of_which_too_much_failed_begins_with_that() {
    let failed = |of: usize, bound: Option<Objective>| {
        let mut record = fixture::group::grouped();
        record.last_run.plan.definition.objectives.extend(bound);
        let Question::Group(group) = &mut record.question else {
            panic!("it is a group");
        };
        for trial in group.trials.iter_mut().take(of) {
            let judged = &mut trial.judgments.as_mut().unwrap().objective;
            judged.value = ObjectiveValue::Missed;
            judged.reasons.push(Reason {
                code: ReasonCode::ObjectiveErrors,
                message: "too much failed of what was sent".to_owned(),
                evidence: "insert: 5,050 of 10,000 ops (50.5%) failed: conflict".to_owned(),
                hint: None,
            });
        }
        shown(&record, 200)
    };
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let some = first(failed(2, None));
    assert!(some.starts_with("too much failed in 2 of 6 runs: insert: 5,050 of 10,000"), "{some}");
    assert!(some.contains("mem is worse than wal"), "{some}");
    assert!(!first(failed(0, None)).contains("failed"));
    // A stated objective is judged below, as for one run.
    let bound = Objective::Errors { max_ppm: 1_000 };
    assert!(!first(failed(2, Some(bound))).contains("failed"));
}

#[test]
fn reasons_are_one_a_line_and_the_rest_is_counted() {
    insta::assert_snapshot!(shown(&missed(), 100));
    insta::assert_snapshot!("an_overload", shown(&overloaded(), 100));
}

#[test]
fn lost_rows_are_in_the_answer() {
    let mut record = fixture::closed();
    fixture::lose_rows(&mut record, 96);
    let text = shown(&fixture::judged(record), 100);
    let first = text.lines().next().unwrap();
    let lost = "96 of 4,212,000 acknowledged rows LOST";
    assert!(first.ends_with(lost), "{first}");
}

#[test]
fn the_answer_of_every_kind_comes_first_and_no_more_lines_follow_than_a_screen_has() {
    for (kind, summary, most) in kinds() {
        let text = summary.short(100, &without_color);
        let length = summary.length();
        assert!(length <= most, "{kind}: {length} lines\n{text}");
        let first: String = summary.answer().chars().take(20).collect();
        assert!(text.starts_with(&first), "{kind}\n{text}");
        let lines = summary.blocks.iter().flatten().chain(&summary.answer);
        for line in lines.filter(|line| is_table(line)) {
            let rows = rendered(line, 400, &without_color).len();
            assert!(rows <= ROWS_MAX, "{kind}: {rows} rows\n{text}");
        }
        // Nothing is lost: `-v` prints the answer and the whole report.
        let full = summary.full(100, &without_color);
        assert!(full.ends_with(&summary.details), "{kind}\n{full}");
    }
}

/// Maximum rows of a table, including its head.
const ROWS_MAX: usize = 9;

/// A summary of each kind, and its maximum lines without tables.
fn kinds() -> Vec<(&'static str, Summary, usize)> {
    let of =
        |record: RecordRef<'_>| summary(record, "highwater-runs/2026-11-20T18-20-11-cpu-7f3a91");
    let (good, bad) = (GOOD_MAX, BAD_MAX);
    let (found, tuned) = (found(), tuned());
    let mut kinds = vec![
        ("run", of((&fixture::closed()).into()), good),
        ("run, noted", of((&noted()).into()), good),
        ("steps", of((&fixture::open_steps()).into()), good),
        ("miss", of((&missed()).into()), bad),
        ("overload", of((&overloaded()).into()), bad),
        ("find", of((&found).into()), bad),
        ("tune", of((&tuned).into()), bad),
        ("group", of((&fixture::group::grouped()).into()), bad),
        ("scale", of((&grown()).into()), bad),
    ];
    kinds.extend(compared());
    kinds
}

#[test]
fn details_have_the_answer_and_everything_else() {
    let record = fixture::closed();
    let summary = summary(&record, "a");
    let full = summary.full(100, &without_color);
    assert!(full.starts_with(&summary.answer()), "{full}");
    assert!(full.ends_with(&text_at(&record, "a")), "{full}");
}

#[test]
fn escape_codes_of_a_target_are_removed() {
    let mut record: RunRecord = fixture::closed();
    record.target.version = "\u{1b}[31mred".to_owned();
    fixture::note(&mut record, "x", "\u{1b}]0;title\u{7}");
    let text = shown(&record, 80);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
}

/// A valid run with many additional facts: a limit, dips, and notes.
fn noted() -> RunRecord {
    let mut record = fixture::closed();
    record.limit = Some(fixture::cpu_limit());
    record.availability.dips = 2;
    fixture::note(
        &mut record,
        "earlier_rows",
        "the tables already held 1,172,000 rows from earlier runs",
    );
    fixture::note(&mut record, "telemetry", "target telemetry: 1 of 16 readings failed");
    fixture::judged(record)
}

/// A run that missed its objective.
fn missed() -> RunRecord {
    let mut op = fixture::gate_op();
    op.latencies = vec![(4 * fixture::MS, 9_000), (900 * fixture::MS, 700)];
    op.dropped = 300;
    op.errors = vec![("rejected", 12), ("timeout", 3)];
    fixture::judged(fixture::open_gate_of(&op))
}

/// A closed load with half of its ops failed, all on one of two hosts.
fn failing() -> RunRecord {
    let mut record = fixture::closed();
    let result = &mut record.results[0];
    result.errors = [("conflict".to_owned(), 2_106)].into();
    result.partial = [("conflict".to_owned(), 6)].into();
    (result.sent, result.offered, result.acknowledged) = (4_212, 4_212, 2_112);
    record.target.hosts = ["a", "b"]
        .map(|host| HostRecord {
            url: format!("postgres://bench@{host}:5432/bench"),
            sessions: 2,
            acknowledged: 1_056,
            failed: if host == "b" { 2_106 } else { 0 },
        })
        .into();
    fixture::judged(record)
}

#[test]
fn failures_without_a_stated_bound_lead_the_answer() {
    insta::assert_snapshot!("failed_work", shown(&failing(), 100));
}

/// A run with all judgments bad: the target was overloaded and rows are lost.
fn overloaded() -> RunRecord {
    let mut op = fixture::gate_op();
    op.latencies = vec![(900 * fixture::MS, 5_000), (4_000 * fixture::MS, 700)];
    op.dropped = 3_000;
    op.errors = vec![("rejected", 1_200), ("timeout", 100)];
    op.lag_ns = 40 * fixture::MS;
    let mut record = fixture::open_gate_of(&op);
    record.limit = Some(fixture::cpu_limit());
    record.availability.dips = 3;
    fixture::lose_rows(&mut record, 96);
    fixture::incident(&mut record, IncidentKind::Interrupted, "Ctrl-C after 6 s of 12 s");
    fixture::note(&mut record, "telemetry", "target telemetry: 1 of 16 readings failed");
    fixture::judged(record)
}

/// A search with a mark.
pub(in crate::render) fn found() -> ExperimentRecord {
    let mut last = fixture::open_gate();
    last.header.command = fixture::typed("find", "p99 10ms");
    let mut search = fixture::search(last.plan.definition.objectives.clone());
    search.probes = vec![
        fixture::probe(ProbePurpose::Search, 1_019.0, ProbeVerdict::Failed),
        fixture::probe(ProbePurpose::Confirm, 1_000.0, ProbeVerdict::Passed),
    ];
    search.outcome = Some(SearchOutcome::Mark(fixture::mark(1_000.0, 1_019.0)));
    searching::conclude(last, search, "find".to_owned())
}

/// A tuning of one axis with a best value.
pub(in crate::render) fn tuned() -> ExperimentRecord {
    let mut tune = TuneRecord { by: TuneFigure::Throughput, ..fixture::tune::tune(&[2]) };
    for purpose in [TrialPurpose::Search, TrialPurpose::Confirm] {
        for (at, figure) in [(0, 290_000.0), (1, 302_000.0)] {
            let trial = fixture::tune::trial(&tune, vec![at], purpose, Some(figure));
            tune.trials.push(trial);
        }
    }
    tune.outcome = Some(TuneOutcome::Best(BestConfiguration {
        at: vec![1],
        values: [("with.axis0".to_owned(), "1".to_owned())].into(),
        figure: 302_000.0,
        runner_up: Some(RunnerUp {
            at: vec![0],
            figure: 290_000.0,
            gain95: [0.012, 0.071],
            is_significant: true,
            is_tied: false,
        }),
        cut_short: false,
    }));
    let mut last = fixture::closed();
    last.header.command = fixture::typed("tune", "over with.axis0=0,1");
    tuning::conclude(last, tune, "tune".to_owned())
}

/// Summaries without a record: two comparisons and a plan.
fn compared() -> Vec<(&'static str, Summary, usize)> {
    let faster = |factor: f64| {
        let mut record = fixture::closed();
        record.streams[0].throughput.rows_per_s *= factor;
        record
    };
    let groups = [[1.0, 1.01, 0.99], [0.8, 0.81, 0.79]].map(|of| of.map(faster));
    let [a, b] = groups.each_ref().map(|runs| runs.iter().map(RecordRef::from).collect::<Vec<_>>());
    let group = |name: &str, runs| Group { name: name.to_owned(), runs };
    let pair = vec![group("main", a), group("branch", b)];
    let report = CompareReport::from_groups(pair, Criteria::default()).unwrap();
    let growth = grown();
    let same = ["a", "b"].map(|name| group(name, vec![RecordRef::from(&growth)]));
    let growths = GrowthsReport::from_groups(&same, 0.05).unwrap();
    let basis = sizes::basis("rows/s", &sizes::INGEST);
    let mut request = sizes::request(vec![sizes::need(1e6, basis)]);
    request.survive = WithOrigin::given(1, "--tolerate-failures");
    request.price_per_node_hour = Some(WithOrigin::given(0.8, "--price"));
    vec![
        ("compare", compare_summary(&report), GOOD_MAX),
        ("compare of growths", growths_summary(&growths), GOOD_MAX),
        ("size", size_summary(&size(&request)), BAD_MAX),
    ]
}
