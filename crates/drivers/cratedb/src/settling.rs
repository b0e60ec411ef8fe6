//! Before the load: waits until the cluster is GREEN, no shard copy is starting or relocating, and the copies are
//! evenly distributed over the nodes. Must not know ops.

use std::collections::BTreeMap;

use highwater_model::units::Nanos;

use super::admin_connection::{AdminConnection, PAUSE_MAX, PAUSE_MIN};
use super::health;
use super::query::{name_list, number};
use highwater_driver::network::one_line;
use highwater_driver::sql_query::{Texts, first_value};
use highwater_model::user_error::UserError;

/// Maximum wait for a cluster in which nothing changes.
const WAIT_MAX: Nanos = Nanos::from_secs(60);
/// Maximum wait while copies start or relocate: existing rows move to an added node, and would distort a measurement.
/// The user can end the wait.
const MOVING_MAX: Nanos = Nanos::from_secs(1_800);
/// An idle cluster that does not start rebalancing within this time never will: its settings forbid it, or some nodes
/// store no data.
const UNEVEN_WAIT_MAX: Nanos = Nanos::from_secs(10);

/// Waits until it has settled and is balanced, or until the time limit, and takes its state then as its normal state.
/// Returns remarks for the reader of the record.
pub(super) async fn settle(
    connection: &mut AdminConnection,
    tables: &[String],
) -> Result<Vec<String>, UserError> {
    let mut patience = Patience::from(connection.timeline.now());
    let mut pause = PAUSE_MIN;
    loop {
        let health = health::read(&connection.long_rows(health::STATEMENT).await?);
        let shards = poll_shards(connection, tables).await?;
        let now = connection.timeline.now();
        let at_rest = health.severity <= 1 && shards.moving == 0;
        let uneven = shards.uneven(health.nodes);
        let is_over = patience.is_over(now, health.severity <= 1, shards);
        if (at_rest && uneven.is_empty()) || is_over {
            connection.node.stability.set_normal(health);
            let mut remarks = Vec::new();
            if !at_rest {
                let why = unassigned(connection, tables).await?;
                remarks.push(format!(
                    "the cluster was not GREEN, or shards were starting or moving, when the load \
                     began{why}"
                ));
            }
            remarks.extend(uneven);
            return Ok(remarks);
        }
        connection.pause(pause).await;
        pause = Nanos(pause.0.saturating_mul(2)).min(PAUSE_MAX);
    }
}

/// How long to wait for a cluster.
struct Patience {
    begun: Nanos,
    /// When copies last moved, or were seen moving.
    changed: Nanos,
    /// Since when no copy is moving; `None` while one is.
    at_rest_since: Option<Nanos>,
    shards: Shards,
}

impl Patience {
    fn from(now: Nanos) -> Self {
        Self { begun: now, changed: now, at_rest_since: None, shards: Shards::default() }
    }

    /// Whether the wait is over. In a GREEN cluster, moving copies will arrive, however long it takes; otherwise, a
    /// copy may have no node to go to.
    fn is_over(&mut self, now: Nanos, is_green: bool, shards: Shards) -> bool {
        let arrives = is_green && shards.moving > 0;
        if arrives || shards != self.shards {
            self.changed = now;
        }
        let at_rest = is_green && shards.moving == 0;
        self.at_rest_since = self.at_rest_since.or(Some(now)).filter(|_| at_rest);
        self.shards = shards;
        let rests = |since: Nanos| now >= since.saturating_add(UNEVEN_WAIT_MAX);
        self.at_rest_since.is_some_and(rests)
            || now >= self.changed.saturating_add(WAIT_MAX)
            || now >= self.begun.saturating_add(MOVING_MAX)
    }
}

/// The server's explanation of an unassigned copy; empty if there is none.
async fn unassigned(
    connection: &mut AdminConnection,
    tables: &[String],
) -> Result<String, UserError> {
    if tables.is_empty() {
        return Ok(String::new());
    }
    let question = format!(
        "SELECT explanation FROM sys.allocations WHERE table_schema = current_schema \
         AND table_name IN ({}) AND current_state <> 'STARTED' AND explanation IS NOT NULL LIMIT 1",
        name_list(tables)
    );
    let rows = connection.long_rows(&question).await?;
    Ok(first_value(rows).map_or(String::new(), |text| {
        format!(
            ": {}; look at sys.allocations, and whether a disk is beyond \
             cluster.routing.allocation.disk.watermark.low",
            one_line(&text)
        )
    }))
}

/// Copies of shards, both primaries and replicas.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shards {
    /// Not started, or relocating.
    moving: u64,
    /// By table: started copies on each node with any.
    on_nodes: BTreeMap<String, Vec<u64>>,
}

impl Shards {
    /// A sentence for each table whose copies could be spread more evenly over this many nodes.
    fn uneven(&self, nodes: u64) -> Vec<String> {
        let tables = self.on_nodes.iter().filter_map(|(table, copies)| {
            let most = copies.iter().max()?;
            let on_all = copies.len() as u64 >= nodes;
            let least = copies.iter().min().filter(|_| on_all).unwrap_or(&0);
            let copies: Vec<String> = copies.iter().map(u64::to_string).collect();
            (most - least > 1).then(|| {
                format!(
                    "shards of table `{table}` were unevenly spread when the load began: {} on {} \
                     of {nodes} nodes",
                    copies.join(", "),
                    copies.len()
                )
            })
        });
        tables.collect()
    }
}

async fn poll_shards(
    connection: &mut AdminConnection,
    tables: &[String],
) -> Result<Shards, UserError> {
    if tables.is_empty() {
        return Ok(Shards::default());
    }
    let of_tables = format!(
        "FROM sys.shards WHERE schema_name = current_schema AND table_name IN ({})",
        name_list(tables)
    );
    let moving = format!(
        "SELECT count(*) {of_tables} \
         AND (routing_state <> 'STARTED' OR relocating_node IS NOT NULL)"
    );
    let moving = connection.long_rows(&moving).await?;
    let spread = format!(
        "SELECT table_name, node['id'], count(*) {of_tables} AND routing_state = 'STARTED' \
         GROUP BY 1, 2 ORDER BY 3 DESC"
    );
    let spread = connection.long_rows(&spread).await?;
    Ok(Shards { moving: number(&moving, 0).unwrap_or(u64::MAX), on_nodes: by_table(&spread) })
}

fn by_table(rows: &Texts) -> BTreeMap<String, Vec<u64>> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in rows {
        if let [Some(table), _, Some(copies)] = row.as_slice()
            && let Ok(copies) = copies.parse()
        {
            all.entry(table.to_owned()).or_default().push(copies);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_even_where_no_node_has_two_more_than_another() {
        for (copies, nodes, even) in [
            (&[4][..], 1, true),
            (&[2, 2, 1], 3, true),
            (&[2, 2], 3, false),
            (&[1, 1], 3, true),
            (&[3, 1, 1], 3, false),
            (&[], 3, true),
        ] {
            let shards =
                Shards { moving: 0, on_nodes: BTreeMap::from([("t".to_owned(), copies.to_vec())]) };
            let uneven = shards.uneven(nodes);
            assert_eq!(uneven.is_empty(), even, "{copies:?} on {nodes}: {uneven:?}");
        }
    }

    /// Seconds until the wait is over, if the cluster is the same at each check, once a second.
    fn waited_s(is_green: bool, moving: u64) -> u64 {
        let mut patience = Patience::from(Nanos::ZERO);
        let shards = || Shards { moving, on_nodes: BTreeMap::from([("t".to_owned(), vec![3, 1])]) };
        let mut seconds = 0..=3_600;
        let over =
            seconds.find(|second| patience.is_over(Nanos::from_secs(*second), is_green, shards()));
        over.unwrap()
    }

    #[test]
    fn what_moves_is_waited_for_and_what_stands_still_is_not() {
        assert_eq!(waited_s(true, 0), 10);
        assert_eq!(waited_s(true, 1), 1_800);
        assert_eq!(waited_s(false, 1), 60);
    }

    #[test]
    fn copies_are_counted_by_table_and_node() {
        let rows = [["a", "n1", "3"], ["b", "n1", "2"], ["a", "n2", "1"]];
        let rows: Texts = rows.map(|row| row.map(|text| Some(text.to_owned())).to_vec()).into();
        let expected = [("a".to_owned(), vec![3, 1]), ("b".to_owned(), vec![2])];
        assert_eq!(by_table(&rows), BTreeMap::from(expected));
    }
}
