//! Tests of the drawn lines.

use super::*;
use crate::tests::{self, assert_says, lasting, p99 as objective, second};
use highwater_model::event::{AuditStage, ObjectiveSoFar, TableStep};
use highwater_model::scale::ScalePurpose;
use highwater_model::search::{ProbePurpose, SearchAxis};

fn stream(name: &str, unit: Unit, offered_per_s: Option<f64>, units_per_s: f64) -> StreamProgress {
    StreamProgress {
        offered_per_s,
        p50_ns: Some(2_310_000),
        p99_ns: Some(4_400_000),
        ..tests::stream(name, unit, units_per_s)
    }
}

/// A second of closed load.
fn inserted(at: u64, phase: &str, rows_per_s: f64) -> SecondProgress {
    let insert = stream("insert", Unit::Rows, None, rows_per_s);
    second(at, phase, vec![insert])
}

fn drawn(live: &Live, now_s: u64, columns: usize) -> String {
    live.lines(Nanos::from_secs(now_s), columns, 50).join("\n")
}

/// A search after five probes.
const COURSE_OF_FIVE: ExperimentProgress = ExperimentProgress {
    done: 5,
    most: 25,
    likely: 12,
    spent: Nanos::from_secs(320),
    each: Nanos::from_secs(64),
    left: Nanos::from_secs(1_280),
    budget: Some(Nanos::from_secs(1_800)),
};

const PROBE: Trial = Trial::Probe {
    purpose: ProbePurpose::Search,
    axis: SearchAxis::Rate,
    at: None,
    unit: Unit::Rows,
};

/// A run with two streams, in its twelfth second of sixty.
fn mixed() -> Live {
    let mut live = Live::default();
    live.load(lasting(60));
    for at in 1..=12_u32 {
        let rows = 400_000.0 + 5_000.0 * f64::from(at);
        let mut insert = stream("insert", Unit::Rows, Some(500_000.0), rows);
        (insert.errors, insert.rejected) = (3, 2);
        insert.p99_at_least = true;
        let mut queries = stream("dashboards", Unit::Queries, None, f64::from(50 * (at % 3)));
        queries.p99_ns = None;
        live.second(&second(at.into(), "measure", vec![insert, queries]));
    }
    live
}

#[test]
fn a_run_shows_the_time_left_and_the_last_minute_of_each_stream() {
    insta::assert_snapshot!(drawn(&mixed(), 12, 100), @"
measure      █████░░░░░░░░░░░░░░░░░░░   20.0%  48 s left · 12 s of 60 s · 8 sessions
stream       offered         achieved       p50         p99    errors   rejected
insert       500,000   460,000 rows/s   2.31 ms   ≥ 4.40 ms        36         24
             ▇▇▇▇▇███████  up to 460,000 rows/s
dashboards    closed      0 queries/s   2.31 ms           –         0          0
             ▅█▁▅█▁▅█▁▅█▁  up to 100 queries/s
             ≥: the slowest ops failed or have no response yet, and took at least as long
");
}

#[test]
fn objectives_are_shown_with_their_distance_from_a_miss() {
    let mut live = Live::default();
    live.begin(&[objective(4)], None);
    let at = |at, phase: &str, objectives: &[ObjectiveSoFar]| SecondProgress {
        objectives: objectives.to_vec(),
        ..inserted(at, phase, 1_000.0)
    };
    let counted = 1_000;
    let part = |missed| ObjectiveSoFar::Part { missed, counted };
    live.second(&at(1, "warm-up", &[]));
    assert!(!drawn(&live, 1, 100).contains("objective"));
    live.second(&at(2, "measure", &[part(3)]));
    let stands = "\nobjective    p99 ≤ 4 ms: 0.300% took longer (1% allowed)";
    assert!(drawn(&live, 2, 100).ends_with(stands));
    // The next run of an experiment has its own objectives, and a long list is truncated.
    live.begin(&[5, 6, 7, 8, 9].map(objective), Some("highwater.toml"));
    live.second(&at(1, "measure", &[part(0); 5]));
    let shown = drawn(&live, 1, 100);
    let lines = shown.lines().skip_while(|line| !line.contains("p99 ≤"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 6, "{shown}");
    assert_eq!(lines[4].trim(), "and 1 more");
    assert_eq!(lines[5].trim(), "settings from highwater.toml");
}

#[test]
fn a_narrow_terminal_cuts_lines_and_a_low_one_leaves_some_out() {
    insta::assert_snapshot!(drawn(&mixed(), 12, 50), @"
measure      ██░░░░░░░░   20.0%  48 s left · 12 s…
stream       offered         achieved       p50  …
insert       500,000   460,000 rows/s   2.31 ms  …
             ▇▇▇▇▇███████  up to 460,000 rows/s
dashboards    closed      0 queries/s   2.31 ms  …
             ▅█▁▅█▁▅█▁▅█▁  up to 100 queries/s
             ≥: the slowest ops failed or have no…
");
    for columns in [1, 2, 20, 79] {
        for line in mixed().lines(Nanos::ZERO, columns, 50) {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
    assert_eq!(mixed().lines(Nanos::ZERO, 80, 2).len(), 2);
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("abcd", 3), "ab…");
    // A character that may be two columns wide counts as two columns.
    assert_eq!(cut("表表表", 5), "表表…");
    assert_eq!(cut("█░≥…", 4), "█░≥…");
}

#[test]
fn a_load_shows_rows_of_all_and_the_time_left_at_its_pace() {
    let mut live = Live::default();
    live.load(LoadBounds { there: 1_000_000, rows: Some(5_000_000), length: None });
    insta::assert_snapshot!(drawn(&live, 0, 100), @"begins       ░░░░░░░░░░░░░░░░░░░░░░░░    0.0%");
    live.second(&inserted(1, "load", 300_000.0));
    live.second(&inserted(2, "load", 500_000.0));
    // 800,000 rows in two seconds, 3,200,000 remain: 8 s.
    insta::assert_snapshot!(drawn(&live, 2, 120).lines().next().unwrap(), @"load         █████████░░░░░░░░░░░░░░░   36.0%  about 8 s left · 1,800,000 of 5,000,000 rows · 8 sessions");
    for at in 3..=20 {
        live.second(&inserted(at, "load", 400_000.0));
    }
    insta::assert_snapshot!(drawn(&live, 20, 120).lines().next().unwrap(), @"load         ████████████████████████  100.0%  about 0 s left · 5,000,000 of 5,000,000 rows · 8 sessions");
}

#[test]
fn rows_end_a_run_before_its_time_and_time_before_its_rows() {
    let bounds = LoadBounds { there: 0, rows: Some(1_000_000), length: Some(Nanos::from_secs(20)) };
    let after = |rows| {
        let mut live = Live::default();
        live.load(bounds);
        live.second(&inserted(4, "measure", rows));
        let line = drawn(&live, 4, 120).lines().next().unwrap().to_owned();
        line.split(" left").next().unwrap().to_owned()
    };
    // 800,000 rows in four seconds: 200,000 more take one.
    assert!(after(800_000.0).ends_with("%  about 1 s"));
    assert!(after(10_000.0).ends_with("%  about 16 s"));
}

#[test]
fn only_the_last_minute_is_drawn_and_only_as_much_as_fits() {
    let mut live = Live::default();
    for at in 1..=100 {
        let high = if at <= 40 { 9_000.0 } else { 1_000.0 };
        live.second(&inserted(at, "measure", high));
    }
    let text = drawn(&live, 100, 120);
    let trend = text.lines().last().unwrap().trim();
    assert_eq!(trend, format!("{}  up to 1,000 rows/s", "█".repeat(60)));
    let narrow = drawn(&live, 100, 33);
    assert_eq!(narrow.lines().last().unwrap().trim(), "█".repeat(20));
}

#[test]
fn an_audit_shows_the_rows_read_and_estimates_those_of_the_running_query() {
    let progress = |rows, under_way| AuditProgress {
        doing: AuditStage::Table { table: "cpu".to_owned(), step: TableStep::Summing },
        rows,
        under_way,
        of: 4_000_000,
        estimate: Nanos::from_secs(10),
        ..AuditProgress::default()
    };
    let mut live = Live::default();
    live.audit(Nanos::from_secs(100), progress(0, 2_000_000));
    insta::assert_snapshot!(drawn(&live, 100, 120), @"audit        ░░░░░░░░░░░░░░░░░░░░░░░░    0.0%  0 of 4,000,000 rows · adding up checksums of table `cpu`");
    // Two of ten seconds: a fifth of all, for a query over half of them.
    insta::assert_snapshot!(drawn(&live, 102, 140), @"audit        █████░░░░░░░░░░░░░░░░░░░   20.0%  about 8 s left · 0 of 4,000,000 rows · adding up checksums of table `cpu`");
    // It takes longer than expected; progress is capped at the part covered by the query.
    assert!(drawn(&live, 130, 120).contains(" 50.0%"));
    live.audit(Nanos::from_secs(130), progress(3_000_000, 1_000_000));
    insta::assert_snapshot!(drawn(&live, 130, 140), @"audit        ████████████████████████   99.0%  about 0.3 s left · 3,000,000 of 4,000,000 rows · adding up checksums of table `cpu`");
}

#[test]
fn a_search_shows_its_probes_and_budget_above_the_running_probe() {
    let mut live = Live::default();
    live.trial(Nanos::from_secs(7), &PROBE, COURSE_OF_FIVE);
    live.load(lasting(62));
    let rows = vec![stream("insert", Unit::Rows, Some(100_000.0), 100_000.0)];
    live.second(&second(10, "measure", rows));
    insta::assert_snapshot!(drawn(&live, 17, 120), @"
trials       ██████████░░░░░░░░░░░░░░   41.7%  about 21 min 10 s left · trial 6 of about 12 · 5 min 30 s of 30 min
measure      ████░░░░░░░░░░░░░░░░░░░░   16.1%  52 s left · 10 s of 62 s · 8 sessions
stream     offered         achieved       p50       p99    errors   rejected
insert     100,000   100,000 rows/s   2.31 ms   4.40 ms         0          0
             █  up to 100,000 rows/s
");
    // What is left of the trials was estimated when this one began; without a smaller typical number, the bound counts.
    let late = ExperimentProgress {
        done: 23,
        likely: 25,
        left: Nanos::from_secs(128),
        budget: None,
        ..COURSE_OF_FIVE
    };
    live.trial(Nanos::ZERO, &PROBE, late);
    insta::assert_snapshot!(drawn(&live, 28, 100), @"trials       ██████████████████████░░   92.0%  about 100 s left · trial 24 of at most 25");
}

#[test]
fn times_of_a_simulated_clock_are_named_and_pass_in_its_seconds() {
    let mut live = Live::default();
    live.simulate(true);
    live.trial(Nanos::ZERO, &PROBE, COURSE_OF_FIVE);
    live.load(lasting(62));
    live.second(&inserted(20, "measure", 1_000.0));
    // One real second, twenty simulated ones.
    let shown = drawn(&live, 1, 120);
    assert_says(&shown, &["about 21 min left to simulate", "42 s left to simulate · 20 s of 62 s"]);
    // A size has taken what its search has.
    let mut live = Live::default();
    live.simulate(true);
    let size = Trial::Size {
        purpose: ScalePurpose::First,
        nodes: 1,
        variant: None,
        node: None,
        predicted: None,
        unit: Unit::Rows,
    };
    let sizes = ExperimentProgress {
        done: 0,
        most: 7,
        likely: 7,
        spent: Nanos::ZERO,
        left: Nanos::from_secs(3_600),
        budget: None,
        ..COURSE_OF_FIVE
    };
    live.trial(Nanos::ZERO, &size, sizes);
    live.trial(Nanos::ZERO, &PROBE, COURSE_OF_FIVE);
    live.second(&inserted(20, "measure", 1_000.0));
    let shown = drawn(&live, 1, 120);
    assert_says(&shown, &["about 54 min 20 s left to simulate · size 1 of at most 7"]);
    assert_says(&shown, &["about 21 min left to simulate · trial 6 of about 12"]);
    live.trial_ended();
    assert_eq!(drawn(&live, 1, 120).lines().count(), 1, "the size is still being measured");
}

#[test]
fn nothing_is_drawn_if_nothing_runs() {
    let mut live = mixed();
    live.other_part();
    assert_eq!(live.lines(Nanos::ZERO, 80, 24), Vec::<String>::new());
    live.trial(Nanos::ZERO, &PROBE, COURSE_OF_FIVE);
    assert_eq!(live.lines(Nanos::ZERO, 80, 24).len(), 1);
    live.trial_ended();
    assert_eq!(live.lines(Nanos::ZERO, 80, 24), Vec::<String>::new());
}
