//! Two processes take the shares of one plan against one server, and their records become one.

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::quantity::{parse_instant, print_instant};
use highwater_model::record::{AuditStatus, ResultRecord};
use highwater_model::units::Nanos;
use highwater_runner::clock::wall_clock;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Place, Running, measured, record, split};

/// Time for two processes to start, to connect and to create the tables.
const AHEAD: Nanos = Nanos::from_secs(4);

/// Two hundred batches, whatever the machine: rows, and not time, end the run.
const LOAD: &str = "--json -d 60s --rows 20k --batch 100 -c 4 --warm-up 0s";

/// All rows of the table, in one figure.
const ALL: &str = "SELECT count(*), md5(string_agg(t, ',' ORDER BY t)) \
                   FROM (SELECT cpu::text AS t FROM cpu) AS texts";

fn soon() -> Nanos {
    // In milliseconds, as a point in time is written.
    let now = wall_clock();
    Nanos(now.0 - now.0 % 1_000_000).saturating_add(AHEAD)
}

#[test]
fn two_processes_ask_what_one_asks_and_their_records_merge_exactly() {
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
        assert_eq!(
            called.code,
            Some(3),
            "a share alone is not verified: {called:?}"
        );
        let share = record(called);
        let reasons = &share.judgments.data.reasons;
        assert_eq!(reasons[0].code, ReasonCode::OneShare, "{called:?}");
        // A record begins at a whole millisecond, to which the time until then is added.
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
