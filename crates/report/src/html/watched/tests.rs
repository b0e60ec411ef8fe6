//! What the page of a run that goes on shows.

use super::*;
use highwater_model::event::{Event, StreamCounts, WarningKind};
use highwater_model::plan::Unit;
use highwater_model::units::Nanos;

fn watched() -> Watched {
    let mut watched = Watched::default();
    watched.event(&Event::Begun {
        directory: "runs/1".to_owned(),
        workload: "cpu".to_owned(),
        urls: vec!["sim:".to_owned()],
        target: "simulated cluster".to_owned(),
        phases: Vec::new(),
        objectives: vec![Objective::Latency {
            quantile_ppm: 990_000,
            max: Nanos::from_millis(100),
            op: None,
        }],
    });
    watched.event(&Event::Load(LoadBounds {
        length: Some(Nanos::from_secs(60)),
        ..LoadBounds::default()
    }));
    for (second, rate) in [(1, 1_000.0), (2, 4_000.0), (3, 6_000.0)] {
        let stream = StreamProgress {
            stream: "insert <b>".to_owned(),
            unit: Unit::Rows,
            offered_per_s: Some(5_000.0),
            units_per_s: rate,
            p50_ns: Some(20_000_000),
            p99_ns: Some(66_000_000),
            p99_at_least: false,
            recent: None,
            errors: 1,
            rejected: 0,
            counts: StreamCounts::default(),
        };
        watched.event(&Event::Second(SecondProgress {
            second,
            phase: if second == 1 { "warm-up" } else { "measure" }.to_owned(),
            streams: vec![stream],
            errors: 1,
            dropped: 0,
            sessions: 24,
        }));
    }
    watched
}

#[test]
fn the_rate_is_that_of_the_phase_so_far() {
    let parts = live_parts(&watched());
    assert!(
        parts.contains(r#"<b id="so-far" class="figure">5,000</b>"#),
        "{parts}"
    );
    assert!(
        parts.contains("Running: measure, 3 s, 57 s left"),
        "{parts}"
    );
    assert!(
        parts.contains("p99 ≤ 100 ms: 66 % of what is allowed in the last second"),
        "{parts}"
    );
    assert!(parts.contains("Does it hold p99 ≤ 100 ms?"), "{parts}");
}

#[test]
fn what_others_say_is_text_and_no_markup() {
    let mut watched = watched();
    watched.event(&Event::Warning {
        kind: WarningKind::FileNotWritten,
        message: "<script>alert(1)</script>\u{1b}[31m".to_owned(),
    });
    let page = live_page(&watched, LiveRights::Control);
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains('\u{1b}'));
    assert!(!page.contains("insert <b>"));
    // The policy allows no script and no style but from files.
    assert!(!page.contains(" style=") && !page.contains(" onclick="));
}

#[test]
fn controls_are_there_for_those_who_may() {
    let watched = watched();
    let has = |rights, id: &str| live_page(&watched, rights).contains(&format!(r#"id="{id}""#));
    assert!(!has(LiveRights::View, "stop") && !has(LiveRights::View, "pace"));
    assert!(has(LiveRights::Stop, "stop") && !has(LiveRights::Stop, "pace"));
    assert!(has(LiveRights::Control, "stop") && has(LiveRights::Control, "pace"));
}
