//! The distribution of existing rows over the servers, which new rows do not correct. Must not judge the rows of the
//! run itself.

use highwater_driver::sql::describe::number;
use highwater_driver::table_registry::RegistryEntry;
use highwater_model::user_error::UserError;

use super::{Cluster, each};
use crate::dialect::CLICKHOUSE;

/// A sentence for each table whose rows are unevenly distributed.
pub(super) async fn remarks(
    cluster: &mut Cluster,
    entries: &[RegistryEntry],
) -> Result<Vec<String>, UserError> {
    let mut remarks = Vec::new();
    for entry in entries.iter().filter(|entry| entry.next_index > 0) {
        let sql = format!("SELECT count() FROM {}", CLICKHOUSE.identifier(&entry.name));
        let mut opened = cluster.all().await?;
        let counted = each(&mut opened, |server| {
            let sql = sql.clone();
            Box::pin(async move {
                let rows = server.own.connection().rows(&sql).await?;
                Ok((server.node.address(), number(&rows, 0)))
            })
        });
        remarks.extend(remark(&entry.name, &counted.await?));
    }
    Ok(remarks)
}

/// A sentence if a server has less than half of its fair share.
fn remark(table: &str, rows: &[(String, u64)]) -> Option<String> {
    let all = rows.iter().fold(0_u64, |sum, (_, rows)| sum.saturating_add(*rows));
    let share = all / (rows.len() as u64).max(1);
    let is_short = |rows: u64| rows < share / 2;
    if !rows.iter().any(|(_, rows)| is_short(*rows)) {
        return None;
    }
    let on: Vec<String> = rows.iter().map(|(server, rows)| format!("{rows} on {server}")).collect();
    Some(format!(
        "rows of table `{table}` lay unevenly on the servers when the load began: {}; ClickHouse moves no rows to \
         servers that are added",
        on.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_uneven_where_a_server_has_less_than_half_of_its_share() {
        for (rows, uneven) in [
            (&[900, 0][..], true),
            (&[600, 200], false),
            (&[700, 100], true),
            (&[300, 300, 150], false),
            (&[0, 0], false),
            (&[5], false),
        ] {
            let named: Vec<(String, u64)> =
                rows.iter().enumerate().map(|(at, rows)| (format!("h{at}"), *rows)).collect();
            let said = remark("cpu", &named);
            assert_eq!(said.is_some(), uneven, "{rows:?}: {said:?}");
        }
        let said = remark("cpu", &[("a:1".to_owned(), 900), ("b:1".to_owned(), 0)]).unwrap();
        assert!(said.contains("`cpu`") && said.contains("900 on a:1, 0 on b:1"), "{said}");
    }
}
