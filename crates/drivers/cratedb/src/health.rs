//! Polls the health of the cluster. Must not judge it; see `stability`.

use super::options::Node;
use super::query::{self, Failure, number};
use super::stability::Health;
use highwater_driver::http::HttpConnection;
use highwater_driver::sql_query::Texts;

/// Health and number of nodes in one statement. `sys.health` reports GREEN even without a master; this does not.
pub(super) const STATEMENT: &str =
    "SELECT severity, (SELECT count(*) FROM sys.nodes) FROM sys.cluster_health";

/// Queries a node for the health of its cluster.
pub(super) async fn poll(connection: &mut HttpConnection, node: &Node) -> Result<Health, Failure> {
    let rows = query::rows(connection, node, STATEMENT).await?;
    Ok(read(&rows))
}

/// Parses the response to [`STATEMENT`].
pub(super) fn read(rows: &Texts) -> Health {
    Health {
        // A cluster that reports no severity is unhealthy.
        severity: number(rows, 0).unwrap_or(u64::MAX),
        nodes: number(rows, 1).unwrap_or(0),
    }
}
