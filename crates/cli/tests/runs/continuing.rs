//! The command that a summary proposes continues the run that it summarizes.

use std::collections::BTreeMap;

use highwater_model::record::{RecordRef, RunRecord, SettingRecord};
use highwater_workload::builtin;

use crate::called::{Place, split};

/// The newest run; for a search, its last probe.
fn newest(place: &Place) -> RunRecord {
    let json = place.call(&["show", "--format", "json"]).stdout;
    let record = highwater_model::json::parse(&json).unwrap();
    RecordRef::from(&record).measured_run().run.clone()
}

/// The settings of the command, without its load.
fn settings(run: &RunRecord) -> BTreeMap<String, Vec<SettingRecord>> {
    let mut all = run.header.command.settings.clone();
    all.retain(|name, _| !["duration", "p99", "rate", "workload"].contains(&name.as_str()));
    all
}

/// The proposed command has the same workload, settings, and target.
fn check(place: &Place, words: &[&str]) {
    let called = place.call(&[&["run", "-q"], words].concat());
    let first = newest(place);
    let code = place.shell(called.proposed()).code;
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {called:?}");
    let next = newest(place);
    assert_ne!(next.header.id, first.header.id, "{called:?}");
    assert_eq!(next.workload, first.workload, "{called:?}");
    assert_eq!(settings(&next), settings(&first), "{called:?}");
    assert_eq!(next.plan.seed, first.plan.seed, "{called:?}");
    assert_eq!(next.target.urls, first.target.urls, "{called:?}");
}

#[test]
fn the_next_command_continues_this_run() {
    let place = Place::new().comparing_values();
    place.file("my flow.toml", builtin("cpu").unwrap().text);
    check(&place, &["sim:", "-d", "4s"]);
    let own = ["sim:", "-f", "my flow.toml", "--set", "batch=50"];
    check(&place, &[&own[..], &["-d", "4s"]].concat());
    check(&place, &split("sim: -d 3s..60s --until ci95<20% --warm-up 500ms"));
    // After a run at a rate, a search is proposed, without flags that only a run has.
    let called = place.typed("run -q sim: --rate 20k --batch 100 -d 30s --rows 1M");
    let next = called.proposed();
    let search = "find cpu sim: --batch 100 --start 20k";
    assert!(next.starts_with(search), "{next}");
    let planned = place.shell(&format!("{next} --dry-run"));
    assert_eq!(planned.code, Some(0), "{next}: {planned:?}");
    // The closed run has a spawn rate, which the proposed open run cannot have.
    let called = place.call(&["run", "-q", "sim:", "--spawn-rate", "20", "-d", "4s"]);
    assert_eq!(place.shell(called.proposed()).code, Some(0), "{called:?}");
    assert!(!settings(&newest(&place)).contains_key("spawn-rate"));
}

/// A backfill ends at the time of the load, which is another one when the next command begins.
#[test]
fn the_next_command_continues_after_a_backfill() {
    let place = Place::new();
    let loaded = place.typed("load cpu sqlite:own.db --rows 2k --set hosts=20 --time backfill");
    assert!(matches!(loaded.code, Some(0 | 3)), "{loaded:?}");
    let next = loaded.proposed();
    assert!(next.starts_with("run cpu sqlite:own.db ") && next.contains(" start="), "{next}");
    let called = place.shell(&format!("{next} -d 1s --warm-up 0s -q"));
    assert!(matches!(called.code, Some(0 | 3)), "{next}: {called:?}");
    assert_eq!(newest(&place).target.tables[0].rows_before, Some(2_000));
}
