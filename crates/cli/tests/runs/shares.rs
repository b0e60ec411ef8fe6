//! Two processes run the shares of one plan against one server, and their records are merged.

use highwater_driver::clock::wall_clock;
use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::quantity::{parse_instant, print_instant};
use highwater_model::record::{AuditStatus, ResultRecord};
use highwater_model::units::Nanos;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Called, Place, Running, measured, record, split};

/// Time for two processes to start, to connect and to create the tables.
const AHEAD: Nanos = Nanos::from_secs(4);

/// Two hundred batches on any machine: rows, not time, end the run.
const LOAD: &str = "--json -d 60s --rows 20k --batch 100 -c 4 --warm-up 0s";

/// A digest of all rows of the table.
const ALL: &str = "SELECT count(*), md5(string_agg(t, ',' ORDER BY t)) \
                   FROM (SELECT cpu::text AS t FROM cpu) AS texts";

/// The time at which two processes that are started now are ready.
pub(crate) fn soon() -> Nanos {
    // In milliseconds, the precision of a written time.
    let now = wall_clock();
    Nanos(now.0 - now.0 % 1_000_000).saturating_add(AHEAD)
}

#[test]
fn two_processes_send_what_one_sends_and_their_records_merge_exactly() {
    if skipped() {
        return;
    }
    let place = Place::new().verbose();
    let server = Postgres::start();
    for database in ["whole", "parts"] {
        server.sql("postgres", &format!("CREATE DATABASE {database}"));
    }
    let url = server.url(SUPERUSER, "whole");
    let whole = record(&place.typed(&format!("run cpu {url} {LOAD}")));

    let (start, url) = (soon(), server.url(SUPERUSER, "parts"));
    let at = print_instant(start);
    let share = |share: &str, store: &str| -> Running {
        let of_share = format!("--start-at {at} --share {share} -o {store}");
        place.start(&split(&format!("run cpu {url} {LOAD} {of_share}")))
    };
    let both = [share("1/2", "one"), share("2/2", "two")].map(Running::end);
    for called in &both {
        assert_eq!(called.code, Some(3), "a share alone is not verified: {called:?}");
        let share = record(called);
        let reasons = &share.judgments.data.reasons;
        assert_eq!(reasons[0].code, ReasonCode::OneShare, "{called:?}");
        // A record begins at a whole millisecond, plus the time until the start.
        let begun = parse_instant(&share.header.started_at).unwrap();
        assert!(begun.0 + 1_000_000 >= start.0, "{called:?}");
        assert_eq!(measured(&share).acknowledged, 100, "{called:?}");
    }
    assert_eq!(server.sql("parts", ALL), server.sql("whole", ALL));

    let runs = ["one", "two"].map(|store| place.only_run(store));
    let shown = place.call(&["show", &runs[0], &runs[1], "--format", "json"]);
    let merged = record(&shown);
    assert_eq!(merged.plan.hash, whole.plan.hash);
    let counts = |r: &ResultRecord| (r.offered, r.sent, r.acknowledged, r.dropped, r.rows);
    assert_eq!(counts(measured(&merged)), counts(measured(&whole)));
    assert_eq!(measured(&merged).acknowledged, 200);
    let audit = &merged.audit;
    assert_eq!(audit.status, AuditStatus::Done, "{shown:?}");
    assert_eq!((audit.acknowledged, audit.found), (20_000, 20_000));
    assert_eq!((audit.missing, audit.surplus, audit.unknown), (0, 0, 0));
    assert_eq!(merged.judgments.data.value, Data::Clean);
    assert_eq!(merged.clients.len(), 2);
}

/// A few seconds of one share of two, on a file that both open.
fn share_of_file(place: &Place, share: u32, pace: &str) -> Called {
    let words = format!("--share {share}/2 -o share-{share} -d 2s --warm-up 0s --batch 10 --json");
    place.typed(&format!("run cpu sqlite:shared.db {words} {pace}"))
}

#[test]
fn shares_that_ran_one_after_the_other_are_not_one_run() {
    let place = Place::new();
    for share in [1, 2] {
        let called = share_of_file(&place, share, "-c 2");
        assert!(called.code.is_some_and(|code| code != 2), "{called:?}");
    }
    let runs = ["share-1", "share-2"].map(|store| place.only_run(store));
    let shown = place.call(&["show", &runs[0], &runs[1]]);
    assert_eq!(shown.code, Some(2), "{shown:?}");
    shown.reports("the shares did not run together");
    shown.reports("--start-at");
}

#[test]
fn a_start_that_has_passed_is_an_error_before_anything_is_stored() {
    let place = Place::new();
    let called = share_of_file(&place, 1, "-c 2 --start-at 2020-01-01T00:00:00Z");
    assert_eq!(called.code, Some(2), "{called:?}");
    called.reports("--start-at: 2020-01-01T00:00:00Z was ");
    assert!(!place.path().join("share-1").exists());
}

#[test]
fn the_rows_of_a_killed_share_are_in_the_throughput_of_the_whole() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let server = Postgres::start();
    let (url, at) = (server.url(SUPERUSER, "postgres"), print_instant(soon()));
    let load = "-d 8s --rate 2k --batch 10 -c 4 --warm-up 0s --events -";
    let [mut killed, other] = [("1/2", "one"), ("2/2", "two")].map(|(share, store)| {
        let of_share = format!("--start-at {at} --share {share} -o {store}");
        place.start(&split(&format!("run cpu {url} {load} {of_share}")))
    });
    killed.wait_for_second("measure");
    killed.wait_for_second("measure");
    killed.wait_for_second("measure");
    killed.kill();
    other.end();
    let runs = ["one", "two"].map(|store| place.only_run(store));
    let merged = record(&place.call(&["show", &runs[0], &runs[1], "--format", "json"]));
    let [of_killed, of_other] = runs.map(|run| {
        let shown = place.call(&["show", &run, "--format", "json"]);
        measured(&record(&shown)).rows.acknowledged
    });
    assert!(of_killed >= 1_000, "{of_killed}");
    let phase = merged.phases.iter().find(|phase| phase.name == "measure").unwrap();
    let seconds = Nanos(phase.duration_ns).as_secs_f64();
    let reached = merged.streams[0].throughput.rows_per_s * seconds;
    let all = highwater_model::numbers::to_f64(of_killed + of_other);
    // Responses during the drain are acknowledged, but are not part of the throughput.
    assert!((reached / all - 1.0).abs() < 0.02, "{reached} of {all}");
}

/// A plan that ends by rows offers that number, however long the last response takes.
#[test]
fn an_open_load_that_ends_by_rows_has_planned_no_more_of_them() {
    let place = Place::new();
    let load = "--rate 20k --rows 100000 -c 64 --warm-up 0s --json";
    let run = record(&place.typed(&format!("run cpu sim:?rtt=400ms {load}")));
    let codes = run.judgments.measurement.codes();
    assert!(!codes.contains(&ReasonCode::RateNotOffered), "{:?}", run.judgments);
    assert_eq!(measured(&run).rows.acknowledged, 100_000);
    // The warm-up uses a part of the rows, and a plan of reads and writes counts ops, not rows.
    let load = "--rate 20k --rows 100000 -c 64 --warm-up 2s --json";
    let run = record(&place.typed(&format!("run cpu sim:?rtt=400ms {load}")));
    let codes = run.judgments.measurement.codes();
    assert!(!codes.contains(&ReasonCode::RateNotOffered), "{:?}", run.judgments);
}
