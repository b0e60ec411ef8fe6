//! `find`: arguments in, settings of a search or an error out.

use highwater_model::user_error::UserError;

use super::*;
use crate::commands::find::FindIntent;
use crate::exit::render;

fn try_find(words: &str) -> Result<FindIntent, UserError> {
    let separator = if words.is_empty() { "" } else { "|" };
    let words = format!("find{separator}{words}");
    let (command, layers) = layers(&Sources { words: &words, ..Sources::default() })?;
    assert_eq!(command.name, "find");
    FindIntent::resolve(&layers)
}

/// The maximum fraction of rejected ops, and the minimum rate, in a probe's objectives.
fn limits(intent: &FindIntent) -> (Option<u32>, Option<Rate>) {
    let objectives = || intent.run.plan.objectives.iter();
    let rejected = objectives().find_map(|objective| match objective {
        Objective::Rejected { max_ppm } => Some(*max_ppm),
        _ => None,
    });
    let least = objectives().find_map(|objective| match objective {
        Objective::Throughput { min } => Some(*min),
        _ => None,
    });
    (rejected, least)
}

fn find(words: &str) -> FindIntent {
    try_find(words).unwrap_or_else(|failure| panic!("{words}: {}", render(&failure)))
}

#[test]
fn a_search_without_a_flag_has_an_objective_all_the_same() {
    let settings = find("");
    assert_eq!(settings.axis, SearchAxis::Rate);
    assert_eq!((settings.first, settings.max), (None, None));
    assert_eq!(settings.tolerance, Ppm(20_000));
    assert_eq!(settings.probe, Nanos::from_secs(60));
    assert_eq!(settings.confirm, Nanos::from_secs(300));
    assert_eq!(settings.budget, Nanos::from_secs(3_600));
    assert_eq!(limits(&settings).0, Some(0));
    assert!(settings.no_errors);
    assert_eq!(settings.searched, 0);
    assert_eq!(settings.run.targets.len(), 1);
}

#[test]
fn given_bounds_of_errors_and_rejections_replace_the_default() {
    let settings = find("--errors|1%|--rejected|2%");
    assert!(!settings.no_errors);
    assert_eq!(limits(&settings).0, Some(20_000));
    let settings = find("--p99|50ms|--rejected|0");
    assert!(settings.no_errors);
    assert_eq!(limits(&settings).0, Some(0));
}

#[test]
fn a_floor_applies_to_the_mark_and_not_to_each_probe() {
    let settings = find("kv|db://h|--min-rate|50k|--quick");
    assert_eq!(settings.floor, Some(Rate::per_second(50_000)));
    assert_eq!(limits(&settings).1, None);
    assert_eq!(settings.probe, Nanos::from_secs(15));
    assert_eq!(settings.run.plan.step, settings.probe);
    let settings = find("--min-rate|200k|--max-cpu|80%");
    assert_eq!(settings.floor, Some(Rate::per_second(200_000)));
    let cpu = Objective::Cpu { max_ppm: 800_000 };
    assert!(settings.run.plan.objectives.contains(&cpu));
}

#[test]
fn one_stream_of_a_mix_is_searched() {
    let settings = find("--stream|insert@1k|--stream|dashboards@find");
    assert_eq!(settings.searched, 1);
    let streams = &settings.run.plan.streams;
    assert_eq!(streams[0].paces, [PaceInput::Open(Rate::per_second(1_000))]);
    assert_eq!(streams[1].name.as_deref(), Some("dashboards"));
}

#[test]
fn values_of_a_search_are_those_of_its_axis() {
    let settings = find("--start|10k|--max|1M");
    assert_eq!((settings.first, settings.max), (Some(10_000.0), Some(1e6)));
    let settings = find("--axis|sessions|--p99|50ms");
    assert_eq!((settings.first, settings.max), (Some(1.0), Some(65_536.0)));
}

#[test]
fn mistakes_in_a_search_are_reported_with_their_place() {
    let lines = [
        "--axis|nodes",
        "--tolerance|90%",
        "--stream|insert@1k",
        "--stream|a@find|--stream|b@find",
        "--stream|a@find|--stream|b@1,2",
        "--start|10k|--max|1k",
        "--rate|5k",
    ];
    let said: String = lines
        .iter()
        .map(|line| match try_find(line) {
            Ok(settings) => panic!("{line} is accepted: {settings:?}"),
            Err(failure) => render(&failure).replace("\n\n", "\n"),
        })
        .collect();
    assert_snapshot!(said, @"
    error: --axis: `nodes` is not an axis
    hint: there are `rate` and `sessions`
    error: --tolerance: `90%` is out of range
    hint: give 0.5% to 50%
    error: --stream: no stream is marked `@find`
    hint: write `--stream NAME@find` for the one whose pace is searched
    error: --stream: a second stream is marked `@find`
    hint: one pace is searched while the others stay fixed
    error: --stream: `b@1,2` has several paces
    hint: a stream that is not searched has one pace
    error: --max: 1000 is below --start 10000
    error: unknown flag `--rate`
    hint: a search offers rates of its own: bound them with `--start RATE` and `--max RATE`, or offer one with `highwater run --rate RATE`
    ");
}

#[test]
fn a_mark_is_followed_by_a_soak_with_a_length() {
    assert_eq!(find("").soak, None);
    let settings = find("--then|soak=30m");
    assert_eq!(settings.soak, Some(Nanos::from_secs(1_800)));
    let error = |words| render(&try_find(words).unwrap_err());
    assert_snapshot!([error("--then|rest=1h"), error("--then|soak=0"), error("--then|soak=long")].concat().replace("\n\n", "\n"), @r"
    error: --then: `rest=1h` is nothing that can follow
    hint: write `soak=30m`
    error: --then: `soak=0` is not above zero
    hint: write `soak=30m`
    error: --then: `long` is not a number
    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    ");
}
