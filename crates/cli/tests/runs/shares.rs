//! Two processes run the shares of one plan against one server, and their records are merged.

use std::path::Path;
use std::process::Command;

use highwater_driver::clock::{RealClock, wall_clock};
use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::quantity::{parse_instant, print_instant};
use highwater_model::record::{AuditStatus, IncidentKind, ResultRecord, RunRecord};
use highwater_model::units::Nanos;
use highwater_testing::clickhouse::{self, ClickHouse};
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};
use highwater_testing::programs::{FAKETIME, OPEN_MPI};
use highwater_testing::slurm::{self, Slurm};
use rustix::process::Signal;

use crate::called::{Called, Place, Running, finish, measured, record, split};

/// Time for two processes to start, to connect and to create the tables.
const AHEAD: Nanos = Nanos::from_secs(4);

/// Two hundred batches on any machine: rows, not time, end the run. At a rate, so that a share is not over before another
/// one begins.
const LOAD: &str = "--json -d 60s --rows 20k --rate 5k --batch 100 -c 4 --warm-up 0s";

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
        let called = share_of_file(&place, share, "-c 2 --start-at +0s");
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

/// A process of a plan in several shares, started as by Open MPI.
fn launch(place: &Place, url: &str, load: &str, rank: u32, size: u32) -> Running {
    launch_line(place, &format!("run {load} {url} --share auto -o shared"), rank, size)
}

/// The same, of any command.
pub(crate) fn launch_line(place: &Place, line: &str, rank: u32, size: u32) -> Running {
    let [rank, size] = [rank, size].map(|number| number.to_string());
    let variables = [("OMPI_COMM_WORLD_RANK", rank.as_str()), ("OMPI_COMM_WORLD_SIZE", &size)];
    place.start_knowing(&split(line), &variables)
}

/// All processes of a plan.
fn launched(place: &Place, url: &str, load: &str, shares: u32) -> Vec<Running> {
    (0..shares).map(|rank| launch(place, url, load, rank, shares)).collect()
}

/// A folder that each share has for itself is no shared one; the first share sees only that the other has ended.
#[test]
fn shares_that_do_not_see_each_other_s_files_are_refused_before_the_load() {
    let place = Place::new();
    let line = |out: &str| {
        format!("run cpu sqlite:shared.db -c 4 -d 1s --warm-up 0s --share auto -o {out}")
    };
    let both = [("one", 0), ("two", 1)].map(|(out, rank)| launch_line(&place, &line(out), rank, 2));
    let [first, second] = both.map(Running::end);
    assert_eq!((first.code, second.code), (Some(3), Some(2)), "{first:?} {second:?}");
    second.reports("two: share 1 stores its run elsewhere");
    first.reports("share 2 of 2 ended before the load began");
    assert_eq!(place.query("shared.db", "SELECT count(*) FROM cpu"), "0");
}

/// Each share ends with success, and the first one prints the run of all and has its exit code.
#[test]
fn shares_that_a_launcher_starts_are_one_run_with_one_summary_one_audit_and_one_exit_code() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let server = Postgres::start();
    for database in ["whole", "parts"] {
        server.sql("postgres", &format!("CREATE DATABASE {database}"));
    }
    let whole = record(&place.typed(&format!("run cpu {} {LOAD}", server.url(SUPERUSER, "whole"))));
    let ended: Vec<Called> =
        launched(&place, &server.url(SUPERUSER, "parts"), &format!("cpu {LOAD}"), 4)
            .into_iter()
            .map(Running::end)
            .collect();
    assert_eq!(server.sql("parts", ALL), server.sql("whole", ALL));
    for (share, called) in ended.iter().enumerate() {
        called.reports(&format!("share {} of 4, started by Open MPI", share + 1));
        if share > 0 {
            assert_eq!((called.code, called.stdout.as_str()), (Some(0), ""), "{called:?}");
        }
    }
    let merged = record(&ended[0]);
    assert_eq!(merged.plan.hash, whole.plan.hash);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    let audit = &merged.audit;
    assert_eq!((audit.acknowledged, audit.found, audit.missing), (20_000, 20_000, 0));
    assert_eq!(measured(&merged).acknowledged, 200);
    assert_eq!(merged.clients.len(), 4);
    let meeting = merged.meeting.as_ref().unwrap();
    assert!(meeting.error_ns <= 100_000_000, "{meeting:?}");
    // The store has one run, with its shares inside.
    let stored = place.only_run("shared");
    let shown = place.call(&["show", &stored, "--format", "json"]);
    assert_eq!(record(&shown), merged);
    for share in 1..=4 {
        assert!(place.path().join(format!("{stored}/shares/{share}/ledger.jsonl")).exists());
    }
    // Only the first share reads the table: the others record what they expect.
    for (share, found) in [(1, 20_000), (2, 0), (4, 0)] {
        let of_share =
            place.call(&["show", &format!("{stored}/shares/{share}"), "--format", "json"]);
        let audit = record(&of_share).audit;
        assert_eq!((audit.found, audit.expectations.len()), (found, 1), "{audit:?}");
    }
    // Nothing is left of the meeting.
    assert_eq!(server.sql("parts", "SELECT count(*) FROM highwater_leases"), "0");
}

/// The most that a plan can have; prints the time of their meeting, run, and merge.
#[test]
#[ignore = "64 processes"]
fn long_sixty_four_shares_meet_and_are_one_run() {
    if skipped() {
        return;
    }
    // A share has its sessions, and up to two further connections.
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec!["max_connections = 250".to_owned()],
        ..Setup::default()
    });
    let met = |url: &str| {
        let load =
            "cpu -d 5s --rate 6400 --batch 10 -c 64 --warm-up 0s --wait-for-shares 3m --json";
        let (place, clock) = (Place::new(), RealClock::start());
        let ended: Vec<Called> =
            launched(&place, url, load, 64).into_iter().map(Running::end).collect();
        assert!(ended[1..].iter().all(|called| called.code == Some(0)), "{:?}", &ended[1..]);
        let merged = record(&ended[0]);
        let error = merged.meeting.as_ref().unwrap().error_ns;
        println!(
            "64 shares: {} ms, begins known to {} µs",
            clock.now().0 / 1_000_000,
            error / 1_000
        );
        assert_eq!(merged.clients.len(), 64);
        merged
    };
    met("null:postgres");
    let merged = met(&server.url(SUPERUSER, "postgres"));
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    let rows = server.sql("postgres", "SELECT count(*) FROM cpu");
    assert_eq!(rows, merged.audit.acknowledged.to_string());
}

/// Two whole runs of the same plan one after the other are two runs.
#[test]
fn a_second_meeting_of_the_same_plan_is_another_run() {
    let place = Place::new();
    let load = "cpu -c 4 -d 1s --warm-up 0s --batch 10 --drop --json";
    let meetings: Vec<String> = (0..2)
        .map(|_| {
            let shares = launched(&place, "sqlite:shared.db", load, 2);
            let ended: Vec<Called> = shares.into_iter().map(Running::end).collect();
            assert_eq!(ended[1].code, Some(0), "{ended:?}");
            record(&ended[0]).meeting.unwrap().id
        })
        .collect();
    assert_ne!(meetings[0], meetings[1]);
    assert_eq!(std::fs::read_dir(place.path().join("shared")).unwrap().count(), 2);
}

#[test]
fn a_share_that_does_not_come_ends_the_others_with_its_number_and_nothing_is_sent() {
    let place = Place::new();
    let load = "cpu -c 4 -d 1s --warm-up 0s --wait-for-shares 3s --json";
    let [first, third] = [0, 2].map(|rank| launch(&place, "sqlite:shared.db", load, rank, 3));
    for called in [first, third].map(Running::end) {
        assert_eq!(called.code, Some(3), "{called:?}");
        called.reports("share 2");
        assert_eq!(called.stdout, "");
    }
    assert_eq!(place.query("shared.db", "SELECT count(*) FROM highwater_leases"), "0");
    assert_eq!(std::fs::read_dir(place.path().join("shared")).unwrap().count(), 0);
}

#[test]
fn a_share_that_is_killed_before_the_begin_ends_the_others_and_the_next_attempt_begins_at_once() {
    let place = Place::new();
    let load = "cpu -c 6 -d 1s --warm-up 0s --batch 10 --drop";
    let start = |rank| launch(&place, "sqlite:shared.db", load, rank, 3);
    let [mut first, mut second] = [start(0), start(1)];
    first.wait_for("waiting for share 3 of 3");
    second.wait_for("waiting for share 3 of 3");
    second.kill();
    for called in [first, start(2)].map(Running::end) {
        assert_eq!(called.code, Some(3), "{called:?}");
        called.reports("of 3 ended before the load began");
    }
    let again: Vec<Called> =
        launched(&place, "sqlite:shared.db", load, 3).into_iter().map(Running::end).collect();
    assert_eq!([again[1].code, again[2].code], [Some(0); 2], "{again:?}");
    again[0].prints("rows found");
}

#[test]
fn the_same_share_twice_is_refused_while_the_first_one_is_there() {
    let place = Place::new();
    let load = "cpu -c 4 -d 1s --warm-up 0s --wait-for-shares 30s";
    let start = |rank| launch(&place, "sqlite:shared.db", load, rank, 2);
    let mut first = start(0);
    first.wait_for("waiting for share 2 of 2");
    let double = start(0).end();
    assert_eq!(double.code, Some(2), "{double:?}");
    double.reports("share 1 of 2 of this plan is running already");
    assert_eq!(start(1).end().code, Some(0));
    first.end().prints("rows found");
    assert_eq!(merged_run(&place).clients.len(), 2);
}

/// The merged run of shares whose output was events.
fn merged_run(place: &Place) -> RunRecord {
    let stored = place.only_run("shared");
    record(&place.call(&["show", &stored, "--format", "json"]))
}

#[test]
fn a_share_that_is_killed_under_load_is_in_the_throughput_and_the_others_end() {
    let place = Place::new();
    let load = "cpu -d 4s --rate 2k --batch 10 -c 6 --warm-up 0s --events -";
    let mut shares = launched(&place, "sqlite:shared.db", load, 3);
    shares[1].wait_for_second("measure");
    shares[1].wait_for_second("measure");
    shares.remove(1).kill();
    let ended: Vec<Called> = shares.into_iter().map(Running::end).collect();
    assert_eq!((ended[0].code, ended[1].code), (Some(130), Some(0)), "{ended:?}");
    let merged = merged_run(&place);
    let kinds: Vec<IncidentKind> = merged.incidents.iter().map(|of| of.kind).collect();
    assert_eq!(kinds, [IncidentKind::Killed], "{:?}", merged.incidents);
    assert!(merged.incidents[0].message.contains("share 2/3"), "{:?}", merged.incidents);
    // The rows of all are counted, with what the killed share's ledger has and what it had in flight.
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    let rows: u64 = place.query("shared.db", "SELECT count(*) FROM cpu").parse().unwrap();
    assert_eq!((merged.audit.found, merged.audit.missing), (rows, 0), "{:?}", merged.audit);
    assert!(measured(&merged).rows.acknowledged > 5_000, "{:?}", measured(&merged).rows);
}

/// A share that stands still is named, and costs no row.
#[test]
fn a_share_that_was_stopped_for_a_while_is_named_and_its_rows_are_counted() {
    let place = Place::new();
    let load = "cpu -d 8s --rate 1k --batch 10 -c 4 --warm-up 0s --events -";
    let mut shares = launched(&place, "sqlite:shared.db", load, 2);
    shares[1].wait_for_second("measure");
    shares[1].signal(Signal::STOP);
    shares[0].wait_for_second("measure");
    shares[0].wait_for_second("measure");
    shares[0].wait_for_second("measure");
    shares[1].signal(Signal::CONT);
    let ended: Vec<Called> = shares.into_iter().map(Running::end).collect();
    assert_eq!((ended[0].code, ended[1].code), (Some(3), Some(0)), "{ended:?}");
    let merged = merged_run(&place);
    let reasons = &merged.judgments.measurement.reasons;
    let stalled = reasons.iter().find(|reason| reason.code == ReasonCode::ClientStalled).unwrap();
    assert!(stalled.evidence.contains("load generator 2/2"), "{stalled:?}");
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    let rows = place.query("shared.db", "SELECT count(*) FROM cpu");
    assert_eq!(rows, merged.audit.acknowledged.to_string());
}

/// A sink has no place for leases.
#[test]
fn shares_of_a_sink_meet_in_the_folder_of_their_runs() {
    let place = Place::new();
    let load = "cpu -d 3s --rate 2k --batch 10 -c 6 --warm-up 0s --json";
    let ended: Vec<Called> =
        launched(&place, "null:postgres", load, 3).into_iter().map(Running::end).collect();
    assert_eq!([ended[1].code, ended[2].code], [Some(0); 2], "{ended:?}");
    let merged = record(&ended[0]);
    assert_eq!(merged.clients.len(), 3);
    assert_eq!(measured(&merged).rows.acknowledged, 6_000, "{:?}", measured(&merged).rows);
    let meeting = merged.meeting.unwrap();
    assert!((1..=100_000_000).contains(&meeting.error_ns), "{meeting:?}");
    let left: Vec<_> = std::fs::read_dir(place.path().join("shared")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");

    // Started again at once after all were killed, with one that does not come.
    let load = load.replace("--json", "--wait-for-shares 3s");
    let mut killed = launched(&place, "null:postgres", &load, 3);
    killed[0].wait_for("measure");
    killed.into_iter().for_each(Running::kill);
    let [first, third] = [0, 2].map(|rank| launch(&place, "null:postgres", &load, rank, 3));
    for called in [first, third].map(Running::end) {
        assert_eq!(called.code, Some(3), "{called:?}");
        // Whichever gives up first.
        called.reports("share 2");
    }
}

/// A wall clock steers nothing; that of the first share names the run.
#[test]
fn a_share_whose_clock_is_an_hour_off_begins_with_the_others() {
    if FAKETIME.is_left_out() {
        return;
    }
    let library = FAKETIME.required().unwrap().display().to_string();
    let place = Place::new();
    let line = "run cpu sqlite:shared.db -d 3s --rate 1k --batch 10 -c 4 --warm-up 0s --share auto -o shared --json";
    let off = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME", "+1h"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let shares = [(0, &[][..]), (1, &off[..])].map(|(rank, more)| {
        let rank = rank.to_string();
        let of = [("OMPI_COMM_WORLD_RANK", rank.as_str()), ("OMPI_COMM_WORLD_SIZE", "2")];
        place.start_knowing(&split(line), &[&of[..], more].concat())
    });
    let [first, second] = shares.map(Running::end);
    assert_eq!(second.code, Some(0), "{first:?} {second:?}");
    let merged = record(&first);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    assert_eq!(merged.audit.acknowledged, 3_000);
    let meeting = merged.meeting.unwrap();
    assert!(meeting.late_ns < 100_000_000 && meeting.error_ns < 100_000_000, "{meeting:?}");
    let starts = [1, 2].map(|share| {
        let path = format!("{}/shares/{share}", place.only_run("shared"));
        let shown = place.call(&["show", &path, "--format", "json"]);
        parse_instant(&record(&shown).header.started_at).unwrap()
    });
    let apart = starts[1].saturating_sub(starts[0]);
    assert!(apart > Nanos::from_secs(3_500), "the clock was not off: {starts:?}");
}

/// What could not be stored is shown, once, and the rows that only lost files knew are not called surplus.
#[test]
fn shares_whose_folder_is_full_end_with_one_summary_that_is_not_verified() {
    if skipped() {
        return;
    }
    let (place, server) = (Place::new(), Postgres::start());
    let line = format!(
        "run cpu {} -d 6s --rate 2k --batch 10 -c 4 --warm-up 0s --share auto -o shared",
        server.url(SUPERUSER, "postgres")
    );
    let shares = [0, 1].map(|rank: u32| {
        // No file may have more than 16 KiB.
        let mut command = Command::new("bash");
        command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]);
        command.arg(env!("CARGO_BIN_EXE_highwater"));
        let of =
            [("OMPI_COMM_WORLD_RANK", rank.to_string()), ("OMPI_COMM_WORLD_SIZE", "2".to_owned())];
        command.envs(of);
        Place::begin(place.prepared(command, &split(&line)))
    });
    let [first, second] = shares.map(Running::end);
    assert!(matches!(first.code, Some(3 | 130)), "{first:?} {second:?}");
    first.reports("File too large");
    first.prints("rows NOT VERIFIED");
    first.prints("share 2/2");
    assert_eq!((second.code, second.stdout.contains("rows/s")), (Some(0), false), "{second:?}");
}

#[test]
fn a_stop_of_one_share_stops_all_and_their_run_is_interrupted() {
    let place = Place::new();
    let load = "cpu -d 60s --rate 1k --batch 10 -c 4 --warm-up 0s --events -";
    let mut shares = launched(&place, "sqlite:shared.db", load, 2);
    shares[1].wait_for_second("measure");
    shares[1].signal(Signal::INT);
    let ended: Vec<Called> = shares.into_iter().map(Running::end).collect();
    assert_eq!((ended[0].code, ended[1].code), (Some(130), Some(0)), "{ended:?}");
    let merged = merged_run(&place);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    let length = merged.phases.iter().map(|phase| phase.duration_ns).max();
    assert!(length < Some(40 * Nanos::SECOND.0), "{:?}", merged.phases);
}

/// The lowest share that is there concludes in its place, from the ledgers of all.
#[test]
fn a_first_share_that_is_killed_in_its_audit_costs_no_row() {
    let place = Place::new();
    let load = "cpu -d 60s --rows 90000 --rate 30k --batch 500 -c 6 --warm-up 0s";
    let mut shares = launched(&place, "sqlite:shared.db", load, 3);
    shares[0].wait_for("audit: ");
    shares.remove(0).kill();
    let ended: Vec<Called> = shares.into_iter().map(Running::end).collect();
    assert_eq!((ended[0].code, ended[1].code), (Some(130), Some(0)), "{ended:?}");
    ended[0].prints("share 1/3");
    let merged = merged_run(&place);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    assert_eq!((merged.audit.found, merged.audit.missing), (90_000, 0), "{:?}", merged.audit);
}

/// The others learn of it only after the end of their own loads, while they wait for the first share.
#[test]
fn a_stop_of_the_first_share_shortly_before_the_end_is_no_error_of_the_others() {
    let place = Place::new();
    let load = "cpu -d 6s --rate 50k --batch 500 -c 4 --warm-up 0s --events -";
    let mut shares = launched(&place, "sqlite:shared.db", load, 2);
    for _ in 0..4 {
        shares[0].wait_for_second("measure");
    }
    shares[0].signal(Signal::INT);
    let ended: Vec<Called> = shares.into_iter().map(Running::end).collect();
    assert_eq!((ended[0].code, ended[1].code), (Some(130), Some(0)), "{ended:?}");
    let merged = merged_run(&place);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    let rows = place.query("shared.db", "SELECT count(*) FROM cpu");
    assert_eq!(rows, merged.audit.acknowledged.to_string());
}

/// Rows of `kv` replace each other, by whichever share; with the writes of all shares it is known which may be the last.
#[test]
fn rows_that_replace_each_other_are_audited_over_all_shares_and_again_from_their_ledgers() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let load = "kv -d 4s --rate 2k -c 8 --warm-up 0s --read-percent 0 --cycle-length 300 --order zipfian --min-block-bytes 16 --max-block-bytes 16 --json";
    let ended: Vec<Called> =
        launched(&place, &url, load, 2).into_iter().map(Running::end).collect();
    assert_eq!(ended[1].code, Some(0), "{ended:?}");
    let merged = record(&ended[0]);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    let audit = &merged.audit;
    assert!(audit.of_all_shares && audit.status == AuditStatus::Done, "{audit:?}");
    assert!(audit.acknowledged > 7_000, "{audit:?}");
    let keys: u64 = server.sql("postgres", "SELECT count(*) FROM kv").parse().unwrap();
    assert_eq!((audit.found, audit.replaced.as_ref().unwrap().keys), (keys, keys));
    // Years later, from what the shares have stored.
    let stored = place.only_run("shared");
    let again = place.call(&["audit", &stored, "--json"]);
    assert_eq!(record(&again).judgments.data.value, Data::Clean, "{again:?}");
    server.sql("postgres", "DELETE FROM kv WHERE k = (SELECT min(k) FROM kv)");
    let lost = place.call(&["audit", &stored, "--json"]);
    assert_eq!((lost.code, record(&lost).audit.missing), (Some(4), 1), "{lost:?}");
}

/// ClickHouse's clock has whole seconds here, and its leases are appended rows.
#[test]
fn four_shares_meet_by_a_clock_of_whole_seconds_and_write_the_rows_of_one() {
    if clickhouse::skipped() {
        return;
    }
    let place = Place::new();
    let server = ClickHouse::start();
    let url = server.url(clickhouse::SUPERUSER);
    let load = "cpu -d 60s --rows 12k --rate 4k --batch 100 -c 8 --warm-up 0s --json";
    let all = || server.sql("SELECT count(), sum(cityHash64(*)) FROM cpu");
    assert_eq!(
        measured(&record(&place.typed(&format!("run {url} {load}")))).rows.acknowledged,
        12_000
    );
    let whole = all();
    server.sql("DROP TABLE cpu");
    let ended: Vec<Called> =
        launched(&place, &url, load, 4).into_iter().map(Running::end).collect();
    let codes: Vec<Option<i32>> = ended[1..].iter().map(|called| called.code).collect();
    assert_eq!(codes, [Some(0); 3], "{ended:?}");
    let merged = record(&ended[0]);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    assert_eq!(merged.audit.acknowledged, 12_000);
    assert_eq!(all(), whole);
    let meeting = merged.meeting.unwrap();
    assert!(meeting.error_ns <= 100_000_000, "{meeting:?}");
}

/// A file of `examples/load-generators`.
fn example(name: &str) -> String {
    format!("{}/../../examples/load-generators/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A launcher in this directory, which finds the program, and what the examples need.
fn launcher(place: &Place, mut command: Command, url: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_highwater")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", program.display()));
    command.envs([("URL", url), ("RATE", "2k"), ("DURATION", "3s"), ("OUT", "shared")]);
    place.prepared(command, &[])
}

/// The run of four shares on this server, and the rows of all, which are those of a single process.
fn check_run_of_four(place: &Place, server: &Postgres) {
    let merged = merged_run(place);
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.judgments.data);
    assert_eq!(merged.clients.len(), 4);
    // A summary with many findings leaves the load to -v.
    let details = place.call(&["show", &place.only_run("shared"), "-v"]).stdout;
    assert!(details.contains("4 load generators"), "{details}");
    let rows = server.sql("postgres", "SELECT count(*) FROM cpu");
    assert_eq!(rows, merged.audit.acknowledged.to_string());
    // They are those of one process.
    server.sql("postgres", "DROP DATABASE IF EXISTS whole");
    server.sql("postgres", "CREATE DATABASE whole");
    place.typed(&format!("run cpu {} --rate 2k -d 3s -o one", server.url(SUPERUSER, "whole")));
    assert_eq!(server.sql("postgres", ALL), server.sql("whole", ALL));
}

#[test]
fn mpirun_starts_four_shares_as_one_run_and_ends_with_its_exit_code() {
    if skipped() || OPEN_MPI.is_left_out() {
        return;
    }
    let (place, server) = (Place::new(), Postgres::start());
    let mut script = Command::new("bash");
    script.arg(example("mpirun.sh")).args(["--allow-run-as-root", "--oversubscribe"]);
    let called = finish(&mut launcher(&place, script, &server.url(SUPERUSER, "postgres")));
    // Three seconds do not show whether throughput is steady.
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    assert_eq!(called.stdout.matches("rows found").count(), 1, "{called:?}");
    check_run_of_four(&place, &server);
}

#[test]
#[ignore = "installs nothing, and needs Slurm, which cargo xtask test does not install"]
fn long_a_step_and_an_array_of_slurm_are_four_shares_of_one_run() {
    if skipped() || slurm::skipped() {
        return;
    }
    let (slurm, server) = (Slurm::start(), Postgres::start());
    let url = server.url(SUPERUSER, "postgres");
    let place = Place::new();
    let batch = std::fs::read_to_string(example("slurm.sbatch")).unwrap();
    // The one node of this Slurm has room for all.
    place.file(
        "step.sbatch",
        &batch.replace("--nodes=4", "--ntasks=4").replace("--ntasks-per-node=1", "--nodes=1"),
    );
    let step = slurm.command("sbatch");
    let mut step = launcher(&place, step, &url);
    let status = step.args(["--wait", "-o", "step.out", "step.sbatch"]).status().unwrap();
    let said = || std::fs::read_to_string(place.path().join("step.out")).unwrap_or_default();
    assert!(matches!(status.code(), Some(0 | 3)), "{status} {}", said());
    check_run_of_four(&place, &server);
    let array = Place::new();
    let line = "#!/bin/bash\nexec highwater run cpu $URL --drop --rate 2k -d 3s -c 8 --share auto -o shared\n";
    array.file("array.sbatch", line);
    let mut command = launcher(&array, slurm.command("sbatch"), &url);
    let status =
        command.args(["--wait", "--array=3-9:2", "-o", "array-%a.out", "array.sbatch"]).status();
    assert!(matches!(status.unwrap().code(), Some(0 | 3)));
    check_run_of_four(&array, &server);
}
