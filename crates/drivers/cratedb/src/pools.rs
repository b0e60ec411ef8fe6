//! The write thread pools, and their rejections due to a full queue. Must not interpret them.

use serde_json::Value;

use super::admin_connection::AdminConnection;
use highwater_driver::sql_query::Texts;
use highwater_model::user_error::UserError;

/// The pool that executes inserts.
const WRITE: &str = "write";

/// Totals of the write pools of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pool {
    /// Threads started so far.
    pub(super) threads: u64,
    /// Waiting requests.
    pub(super) queued: u64,
    /// Requests rejected since the nodes started. Each is a request to a shard, and the cluster's own retries count
    /// again: these are not rows.
    pub(super) rejected: u64,
}

/// Reads them; `None` if the nodes do not report them.
pub(super) async fn read(connection: &mut AdminConnection) -> Result<Option<Pool>, UserError> {
    Ok(sum(&connection.rows("SELECT thread_pools FROM sys.nodes").await?))
}

fn sum(nodes: &Texts) -> Option<Pool> {
    let pools = nodes
        .iter()
        .flatten()
        .flatten()
        .filter_map(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    let writing = pools.flatten().filter(|pool| pool["name"] == WRITE);
    let number = |pool: &Value, name: &str| pool[name].as_u64().unwrap_or(0);
    writing
        .map(|pool| Pool {
            threads: number(&pool, "threads"),
            queued: number(&pool, "queue"),
            rejected: number(&pool, "rejected"),
        })
        .reduce(|all, pool| Pool {
            threads: all.threads + pool.threads,
            queued: all.queued + pool.queued,
            rejected: all.rejected + pool.rejected,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_pools_of_all_nodes_are_added() {
        let pool = |name: &str, rejected: u64| serde_json::json!({"name": name, "threads": 2, "queue": 1, "rejected": rejected});
        let node = |pools: Value| vec![Some(pools.to_string())];
        let rows = vec![
            node(serde_json::json!([pool("search", 9), pool("write", 3)])),
            node(serde_json::json!([pool("write", 4)])),
        ];
        let expected = Pool { threads: 4, queued: 2, rejected: 7 };
        assert_eq!(sum(&rows), Some(expected));
        assert_eq!(sum(&vec![vec![None]]), None);
    }
}
