//! How the cluster is: one look.

use super::http::HttpConnection;
use super::options::Node;
use super::query::{self, Failure, Rows};
pub(super) use super::stability::Health;

/// Health and nodes in one statement. `sys.health` says GREEN even without a master; this does not.
const LOOK: &str = "SELECT severity, (SELECT count(*) FROM sys.nodes) FROM sys.cluster_health";

/// SqlQuery a node how its cluster is.
pub(super) async fn look(connection: &mut HttpConnection, node: &Node) -> Result<Health, Failure> {
    query::rows(connection, node, LOOK)
        .await
        .map(|rows| read(&rows))
}

fn read(rows: &Rows) -> Health {
    let number = |column: usize| {
        let value = rows.first().and_then(|row| row.get(column));
        value.and_then(serde_json::Value::as_u64)
    };
    Health {
        // What does not say how it is, is not well.
        severity: number(0).unwrap_or(u64::MAX),
        nodes: number(1).unwrap_or(0),
    }
}
