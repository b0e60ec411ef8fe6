//! The general driver contract, and the facts of this driver.

use highwater_model::op::{BoundOpKind, PlaceholderStyle};
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::units::{Nanos, Seed};

use super::super::SimDriver;
use super::{
    Clock, OTHER_INSERT, administer, connect, counts, found, insert, ms, query, ready, request,
    target, try_connect, workload,
};
use highwater_driver::contract::{Driver, Request, Target, TargetOptions};
use highwater_driver::{TablePolicy, TargetUrl};
use highwater_model::user_error::UserError;
use highwater_model::user_error::UserErrorKind;

fn options(insert: Option<&str>) -> TargetOptions {
    TargetOptions {
        insert: insert.map(str::to_owned),
        data_directory: None,
        leases_directory: None,
        application_name: "test".to_owned(),
        seed: Seed(1),
        connect_timeout: Nanos::SECOND,
    }
}

fn open(urls: &[&str], insert: Option<&str>) -> Result<String, UserError> {
    let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
    let target = SimDriver.open(&TargetUrl::parse_all(&urls)?, &options(insert))?;
    Ok(target.urls().join(" "))
}

#[test]
fn a_target_is_opened_by_its_url() {
    assert_eq!(open(&["sim:?nodes=5"], None).unwrap(), "sim:?nodes=5");
    assert_eq!(open(&["sim:"], Some("bulk")).unwrap(), "sim:");
    assert_eq!(SimDriver.name(), "sim");
}

#[test]
fn an_impossible_cluster_is_a_usage_error_with_a_hint() {
    for (urls, insert, says) in [
        (vec!["sim:", "sim:"], None, "more than once"),
        (vec!["sim://host"], None, "no host"),
        (vec!["sim:path"], None, "no host, user or path"),
        (vec!["sim:"], Some("copy"), "no insert mode `copy`"),
        (vec!["sim:?nodes=0"], None, "`nodes`"),
    ] {
        let error = open(&urls, insert).unwrap_err();
        assert_eq!(error.kind, UserErrorKind::Usage);
        assert!(error.message.contains(says), "{}", error.message);
        assert!(error.hint.is_some());
    }
}

#[test]
fn it_states_that_it_is_simulated_and_on_which_clock() {
    let simulated = target("", 1).capabilities();
    assert!(simulated.simulated && simulated.simulated_clock && simulated.embedded);
    assert!(!simulated.stores_values && !simulated.reads_values);
    assert_eq!(simulated.insert_modes, ["bulk"]);
    assert!(!target("clock=real", 1).capabilities().simulated_clock);
    assert_eq!(target("", 1).placeholders(), PlaceholderStyle::Dollar);
}

#[test]
fn its_facts_name_every_parameter_and_its_capacity() {
    let clock = Clock::default();
    let target = target("nodes=3&cores=4&request=200us&row=2us&query=1ms", 1);
    let facts = clock.block_on(async {
        let mut admin = administer(&target, &clock).await;
        admin.facts().await.unwrap()
    });
    assert_eq!(facts.traits, ["3 nodes × 4 cores", "6 shards", "1 replica"]);
    assert_eq!(facts.settings["service"], "exp");
    assert_eq!(facts.settings["insert"], "bulk");
    // 12 pieces of 200 us and 2,000 rows of 2 us are 6.4 ms of 12 cores: 1,875 ops/s.
    assert_eq!(facts.settings["capacity.rows_per_s.batch_1000"], "1875000.0");
    assert_eq!(facts.settings["capacity.queries_per_s"], "12000.0");
    assert_eq!(facts.dialects, ["sim", "sqlite", "postgresql"]);
}

#[test]
fn tables_are_created_once_and_recreated_only_with_drop() {
    let clock = Clock::default();
    let target = ready("", &clock);
    clock.block_on(async {
        let mut session = connect(&target, &clock).await;
        session.execute(&mut insert(0, 0, 10)).await;
        let mut admin = administer(&target, &clock).await;
        let error =
            admin.create_tables(&workload(), &TablePolicy::new("f", Seed(1))).await.unwrap_err();
        assert_eq!(error.kind, UserErrorKind::ForeignTable);
        assert_eq!(admin.rows_inserted(&workload()).await.unwrap(), Some(10));
        admin
            .create_tables(&workload(), &TablePolicy::new("f", Seed(1)).dropping(true))
            .await
            .unwrap();
        assert_eq!(found(&target, &clock).await, 0);
        // An existing session fills the new table.
        session.execute(&mut insert(1, 10, 10)).await;
        assert_eq!(counts(&target, &clock, 5).await, [(2, 5), (3, 5)]);
        assert_eq!(admin.storage_bytes(&workload()).await.unwrap(), None);
    });
}

#[test]
fn a_missing_table_is_refused_when_the_session_prepares() {
    let clock = Clock::default();
    let target = target("", 1);
    clock.block_on(async {
        let error = try_connect(&target, &clock).await.err().unwrap();
        assert_eq!(error.kind, UserErrorKind::MissingTable);
        assert!(error.message.contains("`readings`"));
        let mut admin = administer(&target, &clock).await;
        let table = &workload().tables[0];
        let error = admin.count_by_key(table, 1).await.unwrap_err();
        assert_eq!(error.kind, UserErrorKind::MissingTable);
        assert!(admin.rows_inserted(&workload()).await.is_err());
    });
}

#[test]
fn tables_are_counted_apart() {
    let clock = Clock::default();
    let target = ready("", &clock);
    clock.block_on(async {
        let mut session = connect(&target, &clock).await;
        session.execute(&mut insert(0, 0, 10)).await;
        let other = request(OTHER_INSERT, 0, insert(0, 100, 7).op.body);
        let mut other = Request { ..other };
        assert_eq!(session.execute(&mut other).await, Outcome::applied(7));
        let mut admin = administer(&target, &clock).await;
        let events = admin.count_by_key(&workload().tables[1], 1_000).await.unwrap();
        assert_eq!(events.buckets, [(0, 7)]);
        assert_eq!(found(&target, &clock).await, 10);
        assert_eq!(admin.rows_inserted(&workload()).await.unwrap(), Some(17));
    });
}

#[test]
fn an_op_that_was_not_prepared_is_refused() {
    let clock = Clock::default();
    let target = ready("", &clock);
    clock.block_on(async {
        let mut session = connect(&target, &clock).await;
        let as_query = request(0, 0, query(0).op.body);
        for mut wrong in [request(9, 0, insert(0, 0, 3).op.body), as_query] {
            let outcome = session.execute(&mut wrong).await;
            assert_eq!(outcome.certainty, Certainty::NotApplied);
            assert_eq!(outcome.error.unwrap().class, ErrorClass::Statement);
        }
        assert!(session.execute(&mut query(1)).await.is_success());
    });
    assert!(matches!(workload().ops[1].kind, BoundOpKind::Query { .. }));
}

#[test]
fn an_abandoned_op_is_still_done_and_ends_the_session() {
    let clock = Clock::default();
    let target = ready("service=constant&request=1s", &clock);
    clock.block_on(async {
        let mut session = connect(&target, &clock).await;
        let mut op = insert(0, 0, 10);
        let mut abandoned = session.execute(&mut op);
        assert!(futures_util::poll!(abandoned.as_mut()).is_pending());
        drop(abandoned);
        let outcome = session.execute(&mut insert(1, 10, 10)).await;
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert!(!outcome.session_usable);

        let mut admin = administer(&target, &clock).await;
        assert_eq!(admin.quiesce(ms(500)).await, Ok(false));
        assert_eq!(clock.timeline().now(), ms(500));
        assert_eq!(admin.quiesce(Nanos::from_secs(60)).await, Ok(true));
        let done = clock.timeline().now();
        assert!(done >= Nanos::SECOND && done < ms(1_100), "{done:?}");
        assert_eq!(found(&target, &clock).await, 10);
    });
}

#[test]
fn encoding_leaves_the_wire_form_empty() {
    let clock = Clock::default();
    let target = ready("", &clock);
    let mut op = insert(0, 0, 1);
    op.bytes.push(1);
    clock.block_on(async {
        connect(&target, &clock).await.encoder().encode(&mut op);
    });
    assert!(op.bytes.is_empty());
}
