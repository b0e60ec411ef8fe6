//! Polls the health of the cluster. Must not judge it; see `stability`.

use super::options::Node;
use super::query::{self, Failure, Rows};
use super::stability::Health;
use highwater_driver::http::HttpConnection;

/// Health and nodes in one statement. `sys.health` reports GREEN even without a master; this does not.
const HEALTH: &str = "SELECT severity, (SELECT count(*) FROM sys.nodes) FROM sys.cluster_health";

/// Queries a node for the health of its cluster.
pub(super) async fn poll(connection: &mut HttpConnection, node: &Node) -> Result<Health, Failure> {
    query::rows(connection, node, HEALTH)
        .await
        .map(|rows| read(&rows))
}

fn read(rows: &Rows) -> Health {
    let number = |column: usize| {
        let value = rows.first().and_then(|row| row.get(column));
        value.and_then(serde_json::Value::as_u64)
    };
    Health {
        // A cluster that reports no severity is not well.
        severity: number(0).unwrap_or(u64::MAX),
        nodes: number(1).unwrap_or(0),
    }
}
