//! Tests of the page of a running run.

use std::sync::Arc;

use highwater_analysis::fixture;
use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{
    AuditProgress, AuditStage, Event, ExperimentProgress, ObjectiveSoFar, SecondProgress,
    StreamCounts, StreamProgress, TableStep, Trial, WarningKind,
};
use highwater_model::judgment::ObjectiveValue;
use highwater_model::limit::Limit;
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::{PhaseKind, PhasePlan, Unit};
use highwater_model::record::Question;
use highwater_model::scale::ScalePurpose;
use highwater_model::search::{ProbePurpose, SearchAxis};
use highwater_model::target_telemetry::{
    SeriesKind, TelemetryPoint, TelemetryValue, names, sources, units,
};
use highwater_model::tune::TuneRecord;
use highwater_model::units::Nanos;
use highwater_sizing::growth::fixture::grown;

use super::super::tests::made;
use super::*;
use crate::tests::{assert_says, begun, lasting, p99, second as second_of, stream};

fn watched() -> WatchedPage {
    let mut watched = WatchedPage::default();
    watched.event(&begun(vec![p99(100)]));
    watched.event(&Event::Load(lasting(60)));
    for (number, rate) in [(1, 1_000.0), (2, 4_000.0), (3, 6_000.0)] {
        let phase = if number == 1 { "warm-up" } else { "measure" };
        watched.event(&second(number, phase, rate));
    }
    watched
}

fn second(second: u64, phase: &str, rate: f64) -> Event {
    let stream = StreamProgress {
        offered_per_s: Some(5_000.0),
        p50_ns: Some(20_000_000),
        p99_ns: Some(66_000_000),
        errors: 1,
        counts: StreamCounts {
            offered: 10,
            rows_acknowledged: round_to_u64(rate),
            ..StreamCounts::default()
        },
        ..stream("insert <b>", Unit::Rows, rate)
    };
    Event::Second(SecondProgress {
        sessions: 24,
        objectives: vec![ObjectiveSoFar::Part { missed: 4, counted: 1_000 }],
        ..second_of(second, phase, vec![stream])
    })
}

/// The rate of the measured phase so far.
const FIGURE: &str = r#"<span id="answer"><span class="whole">5,000</span></span>"#;

#[test]
fn the_rate_is_that_of_the_phase_so_far() {
    let parts = live_parts(&watched());
    assert_says(&parts, &[FIGURE]);
    assert_says(&parts, &["Running: measure", "3 s simulated", "57 s left to simulate", "66.0 ms"]);
    assert_says(
        &parts,
        &["not decided yet", "p99\u{a0}≤\u{a0}100\u{a0}ms: 0.400% took longer (1% allowed)"],
    );
    assert_says(&parts, &["How much does simulated cluster take within p99"]);
}

#[test]
fn a_target_that_does_not_respond_is_said_not_to_until_it_does() {
    let mut watched = watched();
    let mut says = |number, rate, expected: bool| {
        watched.event(&second(number, "measure", rate));
        assert_eq!(live_parts(&watched).contains("no response for 2 s"), expected, "{number}");
    };
    says(4, 0.0, false);
    says(5, 0.0, true);
    says(6, 900.0, false);
}

/// The figures before an outage say nothing about it: the page shows where it is, and why no session connects.
#[test]
fn an_outage_is_drawn_and_explained_while_it_lasts() {
    let mut watched = watched();
    let red = r#"class="span gap""#;
    assert!(!live_parts(&watched).contains(red));
    for number in 4..8 {
        let Event::Second(silent) = second(number, "measure", 0.0) else { unreachable!() };
        let why = (number > 4).then(|| "Connection refused <1>".to_owned());
        watched.event(&Event::Second(SecondProgress { unconnected: why, ..silent }));
    }
    let parts = live_parts(&watched);
    let why = "A session cannot connect: Connection refused &lt;1&gt;.";
    assert_says(&parts, &["no response for 4 s", why, "not all connected", red]);
    assert!(!parts.contains("valid so far"), "{parts}");
    // One line of events for the outage, not one a second.
    assert_eq!(watched.notes, ["5 s: a session cannot connect: Connection refused <1>"]);
    watched.event(&second(8, "measure", 900.0));
    assert_eq!(watched.run.unconnected, None);
    let parts = live_parts(&watched);
    assert_says(&parts, &["open now", red]);
}

/// Before the first size ends there is no record of the growth: the directory of its trial is not its name.
#[test]
fn a_growth_is_named_by_what_grows_and_before_its_record_by_its_directory() {
    let mut watched = watched();
    let trial = Trial::Size {
        purpose: ScalePurpose::First,
        nodes: 1,
        variant: None,
        node: None,
        predicted: None,
        unit: Unit::Rows,
    };
    watched.event(&trial_begins(trial));
    watched.run.directory = "runs/2026-scale-kv-6c109b/probes/01-nodes-1/probes/01-0".to_owned();
    assert_says(&live_parts(&watched), &["<b>Growth</b><span class=\"name\"> 6c109b</span>"]);
    watched.experiments.push(Arc::new(made::searched()));
    assert_says(&live_parts(&watched), &["<b>Growth</b><span class=\"name\"> 6c109b</span>"]);
    watched.experiments = vec![Arc::new(grown())];
    assert_says(
        &live_parts(&watched),
        &["<b>Growth</b><span class=\"name\"> of insert over 1, 2, 3, 4 nodes</span>"],
    );
    assert_says(
        &crate::html(&grown()),
        &["<b>Growth</b><span class=\"name\"> of insert over 1, 2, 3, 4 nodes</span>"],
    );
    // The first size was measured twice.
    assert_says(&crate::html(&grown()), &["5 measurements in "]);
}

#[test]
fn ops_that_end_after_the_last_phase_count_but_are_in_no_rate() {
    let mut watched = watched();
    watched.event(&second(4, "drain", 10.0));
    watched.event(&Event::Ended {
        directory: "runs/1".to_owned(),
        judgments: fixture::open_gate().judgments,
        rows_found: None,
    });
    let parts = live_parts(&watched);
    assert_says(&parts, &[FIGURE, ">11,010 rows<", ">4 ops<"]);
}

#[test]
fn foreign_text_is_no_markup() {
    let mut watched = watched();
    watched.event(&Event::Warning {
        kind: WarningKind::FileNotWritten,
        message: "<script>alert(1)</script>\u{1b}[31m".to_owned(),
    });
    let page = live_page(&watched, LiveRights::Control);
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains('\u{1b}'));
    assert!(!page.contains("insert <b>"));
    // The policy allows script and style only from files.
    assert!(!page.contains(" style=") && !page.contains(" onclick="));
}

#[test]
fn controls_exist_for_permitted_clients() {
    let watched = watched();
    let has = |rights, id: &str| live_page(&watched, rights).contains(&format!(r#"id="{id}""#));
    assert!(!has(LiveRights::View, "stop") && !has(LiveRights::View, "pace"));
    assert!(has(LiveRights::Trials, "stop") && has(LiveRights::Trials, "pause"));
    assert!(!has(LiveRights::Trials, "pace"));
    assert!(has(LiveRights::Control, "stop") && has(LiveRights::Control, "pace"));
    assert!(!has(LiveRights::Control, "pause") && !has(LiveRights::View, "pause"));
}

#[test]
fn without_the_script_no_inactive_controls_are_shown() {
    let page = live_page(&watched(), LiveRights::Control);
    assert!(page.contains(r#"<form id="controls" aria-label="Control" hidden>"#), "{page}");
}

#[test]
fn the_table_of_ops_is_reached_with_a_keyboard_and_read_on_a_phone() {
    let mut watched = watched();
    watched.run.record = Some(Arc::new(fixture::open_gate()));
    let parts = live_parts(&watched);
    let reached =
        r#"<div class="table" tabindex="0" role="region" aria-label="Figures of each op">"#;
    assert!(parts.contains(reached), "{parts}");
    for name in ["requests", "failed", "rate", "p50", "p95", "p99", "max"] {
        let cell = format!(r#"<td class="figure" data-label="{name}">"#);
        assert!(parts.contains(&cell), "{name}: {parts}");
    }
}

#[test]
fn planned_phases_are_parts_of_the_progress_and_named_ahead() {
    let mut watched = watched();
    let phase = |name: &str, seconds| PhasePlan {
        name: name.to_owned(),
        kind: PhaseKind::Measure,
        step: 0,
        duration: Nanos::from_secs(seconds),
        until_steady: false,
    };
    // If the phases add up to the load, its bar has a part for each: the first has ended, the second is
    // running.
    watched.run.phases = vec![phase("warm-up", 1), phase("one", 19), phase("two", 40)];
    let parts = live_parts(&watched);
    assert_says(&parts, &[r#"role="progressbar""#, r#"aria-valuenow="0.050""#]);
    assert_eq!(parts.matches(r#"class="done""#).count(), 3);
    // The axis covers everything: the rest of the second phase, and the third one, which is named.
    assert_eq!(parts.matches("span to-come").count(), 3 * 2 * 2);
    assert_says(&parts, &[">two</text>"]);
}

#[test]
fn a_note_is_drawn_where_it_was_made() {
    let mut watched = watched();
    assert!(!live_parts(&watched).contains("span note"));
    watched.event(&Event::Intervention(InterventionRecord {
        by: None,
        time_ns: Nanos::from_secs(2).0,
        phase: "measure".to_owned(),
        change: Change::Note { text: "<b>vacuum".to_owned() },
    }));
    let parts = live_parts(&watched);
    assert!(parts.contains(r#"class="span note""#), "{parts}");
    assert!(parts.contains("<title>&lt;b&gt;vacuum</title>"), "{parts}");
}

#[test]
fn changes_at_almost_one_time_are_all_named_one_above_the_other() {
    let mut watched = watched();
    let named = ["dashboards: 4,000 queries/s (page)", "a", "b"];
    for name in named {
        watched.event(&Event::Intervention(InterventionRecord {
            by: None,
            time_ns: Nanos::from_secs(2).0,
            phase: "measure".to_owned(),
            change: Change::Note { text: name.to_owned() },
        }));
    }
    let parts = live_parts(&watched);
    let throughput = parts.split("<figure").find(|figure| figure.contains("throughput-rows"));
    let (_, wide) = throughput.unwrap().split_once(r#""wide""#).unwrap();
    let (wide, _) = wide.split_once(r#""narrow""#).unwrap();
    let names: Vec<&str> = wide.split(r#"<text class="note""#).skip(1).collect();
    let heights = names.iter().map(|name| name.split_once(r#"y=""#).unwrap().1.split('"').next());
    // Above the plot, which is lower by two lines.
    assert_eq!(heights.collect::<Vec<_>>(), [Some("47"), Some("32"), Some("17")]);
    assert!(names.iter().zip(named).all(|(drawn, name)| drawn.contains(name)), "{names:?}");
}

#[test]
fn failures_bands_and_sessions_are_drawn() {
    let parts = live_parts(&watched());
    for id in ["throughput-rows", "latency", "failures"] {
        assert_says(&parts, &[&format!(r#"<figure class="chart" id="{id}">"#)]);
    }
    assert!(parts.contains(r#"class="band c0""#), "p50 to p99");
    // No script uses them.
    assert!(!parts.contains("arrow keys") && !parts.contains("<script"));
    assert!(parts.contains(r#"<details id="machines" open>"#), "{parts}");
    assert!(parts.contains("0 to 25"), "24 sessions, on a scale from 0");
}

#[test]
fn telemetry_of_target_and_host_is_shown_as_it_arrives() {
    let mut watched = watched();
    for second in 1..5 {
        watched.telemetry(&TelemetryPoint {
            time_ns: Nanos::from_secs(second).0,
            values: vec![cpu_of("n1", 0.5), cpu_of("<n2>", 0.91)],
        });
    }
    let parts = live_parts(&watched);
    assert_says(&parts, &["target: CPU", "n1", "&lt;n2&gt;", "91"]);
}

#[test]
fn interim_judgments_and_limit_are_marked_as_such() {
    let mut watched = watched();
    assert_says(
        &live_parts(&watched),
        &["Measurement <b>not yet</b>", "Nothing is judged in the first seconds"],
    );
    let mut record = fixture::open_gate();
    record.clients.clear();
    record.limit = Some(fixture::cpu_limit());
    watched.run.record = Some(Arc::new(record.clone()));
    let parts = live_parts(&watched);
    assert_says(&parts, &["Limited by <b>CPU of node 2, 97%</b>"]);
    assert_says(&parts, &["(next: disk"]);
    let audit = "The audit begins when the load is over.";
    assert_says(&parts, &["so far", "after the load", audit]);
    assert!(!parts.contains("the rest is being read"), "{parts}");
    watched.run.record_until = 60;
    watched.event(&second(90, "measure", 6_000.0));
    assert!(live_parts(&watched).contains("By the first 60\u{a0}s"));
    // Nothing is at its limit yet, and the nearest one is named.
    record.limit = Some(Limit { by: None, ..fixture::cpu_limit() });
    watched.run.record = Some(Arc::new(record.clone()));
    let parts = live_parts(&watched);
    assert_says(&parts, &["Limit <b>not identified: ", "(nearest: disk"]);
    // Missed only because too little was measured; that may change.
    let objective = &mut record.judgments.objective;
    objective.value = ObjectiveValue::Missed;
    objective.reasons = Vec::new();
    watched.run.record = Some(Arc::new(record.clone()));
    let parts = live_parts(&watched);
    assert_says(&parts, &["met so far"]);
    assert!(!parts.contains(r#"<li class="open">"#), "an open judgment is no warning");
    record.phases.clear();
    watched.run.record = Some(Arc::new(record));
    assert!(live_parts(&watched).contains("Nothing is judged in the first seconds"));
}

#[test]
fn the_audit_shows_its_stage_and_progress() {
    let mut watched = watched();
    watched.event(&Event::Audit(AuditProgress {
        doing: AuditStage::Table { table: "<cpu>".to_owned(), step: TableStep::Summing },
        rows: 2_500,
        of: 10_000,
        ..AuditProgress::default()
    }));
    let parts = live_parts(&watched);
    let doing = "Audit: adding up checksums of table `&lt;cpu&gt;`, 25% of 10,000 rows";
    assert_says(&parts, &[doing, r#"<progress max="1" value="0.250""#]);
    // The figure of the load stays visible; nothing is sent any more.
    assert_says(&parts, &[FIGURE, "being checked"]);
    assert!(live_parts(&self::watched()).contains("rows/s now"));
    assert!(!parts.contains("rows/s now"), "{parts}");
}

/// A trial of a search, five of which have ended.
fn probe_begins(purpose: ProbePurpose, at: Option<f64>) -> Event {
    trial_begins(Trial::Probe { purpose, axis: SearchAxis::Rate, at, unit: Unit::Rows })
}

fn trial_begins(trial: Trial) -> Event {
    Event::Trial {
        number: 6,
        trial,
        progress: ExperimentProgress {
            done: 5,
            most: 20,
            likely: 12,
            spent: Nanos::from_secs(100),
            each: Nanos::from_secs(20),
            left: Nanos::from_secs(420),
            budget: None,
        },
    }
}

#[test]
fn the_rate_of_closed_load_is_no_result_of_a_search() {
    let mut watched = watched();
    assert_says(&live_parts(&watched), &[FIGURE]);
    watched.event(&probe_begins(ProbePurpose::Estimate, None));
    let parts = live_parts(&watched);
    let tried = "Trying closed load, for a first estimate";
    assert_says(&parts, &[tried, "no value has been tried yet", "not decided yet"]);
    assert!(!parts.contains(FIGURE), "{parts}");
}

#[test]
fn a_confirmation_is_counted_among_those_of_its_value() {
    let mut watched = watched();
    let mut record = made::searched();
    let Question::Search(search) = &mut record.question else {
        panic!("a search");
    };
    let at = search.probes.last().unwrap().at;
    search.outcome = None;
    search.probes.truncate(1);
    (search.probes[0].purpose, search.probes[0].at) = (ProbePurpose::Confirm, at);
    let one = search.probes[0].clone();
    let mut says = |made: usize, words: &str| {
        let mut record = record.clone();
        if let Question::Search(search) = &mut record.question {
            search.probes.resize(made, one.clone());
        }
        watched.experiments = vec![Arc::new(record)];
        watched.event(&probe_begins(ProbePurpose::Confirm, Some(at)));
        assert_says(&live_parts(&watched), &["Confirming ", words]);
    };
    says(0, "(1 of 3, probe 6 of");
    says(2, "(3 of 3, probe 6 of");
    says(4, "(confirmation 5, probe 6 of");
}

#[test]
fn a_search_shows_its_probes_and_between_which_values_the_mark_is() {
    let mut watched = watched();
    let mut record = made::searched();
    let Question::Search(search) = &mut record.question else {
        panic!("a search");
    };
    search.outcome = None;
    watched.experiments = vec![Arc::new(record)];
    watched.event(&probe_begins(ProbePurpose::Search, Some(1_250.0)));
    let parts = live_parts(&watched);
    let tried = "Trying 1,250\u{a0}rows/s (probe 6 of about 12) · passes\u{a0}≤\u{a0}1,000 · fails\u{a0}≥\u{a0}1,500";
    assert_says(&parts, &[tried, r#"<span class="whole">1,000</span>"#]);
    // Of the 7 min that were left when the trial began, 3 s have passed.
    assert_says(&parts, &["103 s simulated", "about 6 min 57 s left to simulate"]);
    assert_says(&parts, &[r#"id="probes""#, "probes-latency"]);
    assert!(!parts.contains("at most"), "{parts}");
    watched.is_held = true;
    assert!(live_parts(&watched).contains("pauses after this trial"));
    watched.event(&Event::Part(RunPart::Paused));
    let parts = live_parts(&watched);
    assert_says(&parts, &["paused between two trials", r#"data-held="true""#]);
    assert!(!parts.contains("pauses after"), "{parts}");
}

#[test]
fn a_tuning_shows_its_table_before_the_load_of_its_current_trial() {
    let mut watched = watched();
    let tune = TuneRecord { outcome: None, ..made::tuned_in_part() };
    watched.experiments = vec![Arc::new(made::of_tuning(tune))];
    let parts = live_parts(&watched);
    let [table, trial] = ["All configurations", r#"id="trial""#].map(|text| parts.find(text));
    let table = table.or_else(|| parts.find("to the right")).unwrap();
    assert!(table < trial.unwrap(), "{parts}");
    assert!(!parts.contains(r#"id="configurations""#), "it is there once");
    assert!(!parts.contains(r#"id="axes""#), "nothing is in it without a best configuration");
}

#[test]
fn a_percentile_among_failed_ops_is_explained() {
    let mut watched = watched();
    let Event::Second(mut second) = second(4, "measure", 100.0) else {
        panic!("a second");
    };
    (second.streams[0].p99_ns, second.streams[0].p99_at_least) = (Some(75_500_000), true);
    watched.event(&Event::Second(second));
    assert_says(&live_parts(&watched), &["p99 <b>at least 75.5 ms</b>"]);
}

/// Counts the stored items: slots with their streams, points of telemetry, lines.
fn kept(watched: &WatchedPage) -> usize {
    let slots = watched.run.seconds.slots.iter();
    let telemetry = watched.run.telemetry.series.iter();
    slots.map(|slot| 1 + slot.streams.len()).sum::<usize>()
        + telemetry.map(|series| series.values.len()).sum::<usize>()
        + watched.run.telemetry.times_ns.len()
        + watched.notes.len()
        + watched.trials.len()
}

#[test]
fn a_day_of_everything_keeps_no_more_and_draws_no_more_than_its_first_hours() {
    let mut watched = watched();
    let (mut most, mut bytes) = (Vec::new(), Vec::new());
    for s in 4..=24 * 3_600_u64 {
        watched.event(&second(s, "measure", 100.0));
        let busy = 0.5 + to_f64(s % 10) / 100.0;
        watched.telemetry(&TelemetryPoint {
            time_ns: s * 1_000_000_000,
            values: (0..4).map(|node| cpu_of(&format!("n{node}"), busy)).collect(),
        });
        if s % 60 == 0 {
            watched.event(&Event::Warning {
                kind: WarningKind::FileNotWritten,
                message: format!("message {s}"),
            });
        }
        if s % 1_800 == 0 {
            most.push(kept(&watched));
            bytes.push(live_parts(&watched).len());
        }
    }
    let (first, rest) = (8, most.len());
    assert_eq!(rest, 48, "every half hour");
    // Slots of a stream each, points of four series, and two hundred lines.
    let bound = 600 * 2 + 600 * 5 + 200;
    assert!(most.iter().all(|kept| *kept <= bound), "{most:?}");
    // Each is a sawtooth: it grows until its points are joined, and sometimes all of them peak at once.
    let flat = |values: &[usize]| {
        let early = values[..first].iter().max().unwrap();
        values[first..].iter().max() <= Some(&(early + early / 2))
    };
    assert!(flat(&most), "{most:?}");
    assert!(flat(&bytes), "{bytes:?}");
}

fn cpu_of(node: &str, value: f64) -> TelemetryValue {
    TelemetryValue {
        source: sources::TARGET.to_owned(),
        name: names::CPU_BUSY.to_owned(),
        unit: units::SHARE.to_owned(),
        node: Some(node.to_owned()),
        kind: SeriesKind::Level,
        value,
    }
}
