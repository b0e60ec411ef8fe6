//! A node that lost its cluster: a rejected op was not applied, and one in flight is unknown.

use std::time::Duration;

use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_model::user_error::UserErrorKind;
use highwater_testing::galera::{Galera, skipped};

use super::cluster::{everywhere, on, points};
use crate::client::transaction;
use crate::points::{Client, Stage, admin, nothing, queries};
use crate::said::said;
use crate::support::block_on;

/// Long enough for the request to be sent.
const SOON: Duration = Duration::from_millis(400);

/// Inserts a row, and commits once the lock `gate` is free.
const GATED: [&str; 2] =
    ["INSERT INTO points VALUES (1000, 'gated')", "SELECT get_lock('gate', 60)"];

#[test]
fn a_node_without_its_cluster_applies_nothing_and_reports_it_or_the_outcome_is_unknown() {
    if skipped() {
        return;
    }
    let mut cluster = Galera::start();
    let target = on(&cluster, 0, None);
    block_on(async {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        let mut second = Client::connect(target.as_ref(), &stage.workload).await.unwrap();
        assert!(stage.client.insert(0, 10).await.is_success());
        let lock = queries(&[("SELECT get_lock('gate', 0)", &[])]);
        let mut gate = Client::connect(target.as_ref(), &lock).await.unwrap();
        assert!(gate.send(0, nothing()).await.is_success());
        let mut transaction = Client::connect(target.as_ref(), &transaction(&GATED)).await.unwrap();
        let mut transaction = Box::pin(transaction.send(0, nothing()));
        assert!(tokio::time::timeout(SOON, &mut transaction).await.is_err());

        cluster.kill(1);
        cluster.kill(2);
        // The node has not noticed: this waits for the others, until the node gives up.
        let mut under_way = Box::pin(stage.client.insert(100, 10));
        assert!(tokio::time::timeout(SOON, &mut under_way).await.is_err());
        cluster.wait_for_status(0, "wsrep_cluster_status", "non-Primary");
        let under_way = under_way.await;
        assert_eq!(under_way.certainty, Certainty::Unknown, "{under_way:?}");
        assert!(!under_way.session_usable);

        cluster.wait_for_status(0, "wsrep_ready", "OFF");
        let refused = second.insert(200, 10).await;
        let unavailable = ErrorClass::Unavailable;
        let expected = (Some("1047".to_owned()), unavailable, Certainty::NotApplied, false);
        assert_eq!(said(&refused), expected);
        drop(gate);
        let transaction = transaction.await;
        let expected = (Some("1047".to_owned()), unavailable, Certainty::Unknown, false);
        assert_eq!(said(&transaction), expected);

        // It accepts connections, but is not used as a target.
        for target in [target, everywhere(&cluster)] {
            let connected = Client::connect(target.as_ref(), &stage.workload).await;
            let administered = admin(target.as_ref()).await;
            for error in [connected.err().unwrap(), administered.err().unwrap()] {
                assert_eq!(error.kind, UserErrorKind::Unreachable, "{error}");
            }
        }

        let alone = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'";
        cluster.node(0).sql(alone);
        cluster.wait_for_status(0, "wsrep_ready", "ON");
        let found = cluster.sql(0, "SELECT k DIV 100, count(*) FROM points GROUP BY 1 ORDER BY 1");
        let found: Vec<&str> = found.lines().collect();
        assert_eq!(found[0], "0\t10", "acknowledged");
        assert!(found[1..].iter().all(|rows| ["1\t10", "10\t1"].contains(rows)), "{found:?}");
    });
}
