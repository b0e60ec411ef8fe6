//! Which sessions use a primary and which a hot standby.

use highwater_driver::{Connect, Session, Target};
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::client::{Client, admin, nothing, open, points, queries};
use crate::points::Stage;
use crate::support::{WallTimeline, block_on};

/// Sessions opened for each URL.
const SESSIONS: u32 = 6;

/// The URL of these servers, in this order.
fn url(servers: &[&Postgres], query: &str) -> String {
    let hosts: Vec<String> =
        servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    format!("postgres://{SUPERUSER}@{}/postgres?{query}", hosts.join(","))
}

/// For each session, whether it is on a standby, and the host that the target reports for it.
fn sessions(url: &str) -> Result<Vec<(bool, usize)>, UserError> {
    block_on(async {
        let target = open(url, None)?;
        let mut found = Vec::new();
        for number in 0..SESSIONS {
            let session = connected(target.as_ref(), number).await?;
            let outcome = Client::new(session).send(0, nothing()).await;
            assert!(outcome.is_success(), "{outcome:?}");
            found.push((outcome.response_rows > 0, target.host_of(number, 0)));
        }
        Ok(found)
    })
}

async fn connected(target: &dyn Target, number: u32) -> Result<Box<dyn Session>, UserError> {
    let connect = Connect {
        workload: queries(&[("SELECT 1 WHERE pg_is_in_recovery()", &[])]),
        number,
        attempt: 0,
        timeline: WallTimeline::start(),
    };
    target.connect(connect).await
}

#[test]
fn sessions_are_on_the_servers_that_target_session_attrs_selects() {
    if skipped() {
        return;
    }
    let primary = Postgres::start();
    let standby = primary.standby();
    let both = [&standby, &primary];
    for (query, are_on_standby) in [
        ("target_session_attrs=read-write", false),
        ("target_session_attrs=primary", false),
        ("target_session_attrs=read-only", true),
        ("target_session_attrs=standby", true),
        ("target_session_attrs=prefer-standby", true),
        ("load_balance_hosts=disable", true),
        ("load_balance_hosts=disable&target_session_attrs=primary", false),
        ("load_balance_hosts=random&target_session_attrs=read-write", false),
    ] {
        let host = usize::from(!are_on_standby);
        let found = sessions(&url(&both, query)).unwrap();
        assert!(found.iter().all(|one| *one == (are_on_standby, host)), "{query}: {found:?}");
    }
    for query in ["", "target_session_attrs=any"] {
        let found = sessions(&url(&both, query)).unwrap();
        assert_eq!(found, [(true, 0), (false, 1)].repeat(3), "{query}");
    }
    let found = sessions(&url(&both, "load_balance_hosts=random")).unwrap();
    assert!(found.iter().all(|(on_standby, host)| *on_standby == (*host == 0)));
    let hosts: Vec<usize> = found.iter().map(|(_, host)| *host).collect();
    let is_drawn = hosts != [0; 6] && hosts != [1; 6] && hosts != [0, 1].repeat(3);
    assert!(is_drawn, "by this seed: {hosts:?}");
    let alone = sessions(&url(&[&primary], "target_session_attrs=prefer-standby")).unwrap();
    assert!(alone.iter().all(|(on_standby, _)| !on_standby));
    let error = sessions(&url(&[&primary], "target_session_attrs=standby")).unwrap_err();
    assert_eq!(error.kind, UserErrorKind::Unreachable);
    assert!(error.message.contains("target_session_attrs"), "{error}");
    // A server that is read-only by its own setting is not a standby.
    primary.sql("postgres", "ALTER SYSTEM SET default_transaction_read_only = on");
    primary.sql("postgres", "SELECT pg_reload_conf()");
    assert!(sessions(&url(&[&primary], "target_session_attrs=read-write")).is_err());
    assert!(sessions(&url(&[&primary], "target_session_attrs=primary")).is_ok());
}

#[test]
fn tables_are_created_on_the_primary_and_a_standby_names_the_parameter() {
    if skipped() {
        return;
    }
    let primary = Postgres::start();
    let standby = primary.standby();
    let both = [&standby, &primary];
    block_on(async {
        let target = open(&url(&both, "target_session_attrs=read-write"), None).unwrap();
        let mut stage = Stage::set(target.as_ref(), points()).await;
        let outcome = stage.client.insert(1, 5).await;
        assert!(outcome.is_success(), "{outcome:?}");
        let target = open(&url(&both, ""), None).unwrap();
        let mut admin = admin(target.as_ref()).await.unwrap();
        let error = admin.query("CREATE TABLE t (k integer)").await.unwrap_err();
        assert!(error.message.contains("25006"), "{error}");
        let hint = error.hint.unwrap();
        assert!(hint.contains("target_session_attrs=read-write"), "{hint}");
    });
}

#[test]
fn after_a_failover_sessions_are_on_the_new_primary() {
    if skipped() {
        return;
    }
    let mut primary = Postgres::start();
    let standby = primary.standby();
    let url = url(&[&primary, &standby], "target_session_attrs=read-write");
    assert_eq!(sessions(&url).unwrap(), [(false, 0)].repeat(6));
    primary.stop();
    let error = sessions(&url).unwrap_err();
    assert_eq!(error.kind, UserErrorKind::Unreachable, "it may become one: {error}");
    standby.promote();
    assert_eq!(sessions(&url).unwrap(), [(false, 1)].repeat(6));
}
