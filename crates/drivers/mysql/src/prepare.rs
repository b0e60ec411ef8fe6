//! Prepares a session's statements, so that invalid ones are found before the load.

use highwater_driver::contract::TargetError;
use highwater_driver::network::invalid;
use highwater_driver::sql::preparing::{Place, column_names, insert_into};
use highwater_driver::sql::quoting::backquoted;
use highwater_model::op::{BoundOpKind, BoundTable, BoundWorkload};

use super::connect::Opened;
use super::encode::{InsertPlan, Mode, Plan, Prepared};
use super::errors::{Failure, ServerError};
use super::packet::{self, Reader, command};
use super::placeholders::positional;
use super::wire::Connection;

/// The part of the server's statement limit that is not for rows.
const PACKET_RESERVE: usize = 64;
/// Statements are split at this length, so that each is one packet.
const STATEMENT_BYTES_MAX: usize = packet::PAYLOAD_MAX - PACKET_RESERVE;
/// The file name in LOAD DATA: the file is not read, the lines come from memory.
const NO_FILE: &str = "highwater";

/// Prepares every op of the workload; the plans are in the workload's order.
pub(super) async fn prepare(
    opened: &mut Opened,
    workload: &BoundWorkload,
    mode: Mode,
    place: &str,
) -> Result<Vec<Plan>, TargetError> {
    let mut plans = Vec::with_capacity(workload.ops.len());
    for (number, op) in workload.ops.iter().enumerate() {
        let place = Place::of_op(place, number, &op.name);
        plans.push(match &op.kind {
            BoundOpKind::Query { sql, parameters } => {
                let connection = &mut opened.connection;
                Plan::Query(prepare_query(connection, sql, parameters.len(), &place).await?)
            }
            BoundOpKind::Literal(sql) => Plan::Literal(sql.clone()),
            BoundOpKind::Transaction(statements) => {
                let mut all = Vec::with_capacity(statements.len());
                for (position, statement) in statements.iter().enumerate() {
                    let place = place.statement(position);
                    let (sql, count) = (&statement.sql, statement.parameters.len());
                    let connection = &mut opened.connection;
                    let prepared = prepare_query(connection, sql, count, &place).await?;
                    all.push((prepared, statement.clone()));
                }
                Plan::Transaction(all)
            }
            BoundOpKind::Insert { table, .. } => {
                let table = place.table(workload, *table)?;
                Plan::Insert(prepare_insert(opened, table, mode, &place).await?)
            }
        });
    }
    Ok(plans)
}

async fn prepare_query(
    connection: &mut Connection,
    sql: &str,
    parameters: usize,
    place: &Place,
) -> Result<Prepared, TargetError> {
    let (text, values) = positional(sql);
    let (id, count) =
        prepare_one(connection, &text).await.map_err(|failure| place.failed(failure))?;
    if count != values.len() || values.iter().any(|position| *position >= parameters) {
        return Err(place.miscounted(count, parameters, "?"));
    }
    Ok(Prepared { id, values })
}

async fn prepare_insert(
    opened: &mut Opened,
    table: &BoundTable,
    mode: Mode,
    place: &Place,
) -> Result<InsertPlan, TargetError> {
    let into = insert_into(table, backquoted);
    let columns = table.columns.len();
    let mut id = 0;
    // Finds a missing table or column, in any mode.
    if mode == Mode::Prepared || opened.product.prepares_inserts() {
        let marks = vec!["?"; columns].join(",");
        let sql = format!("{into} VALUES ({marks})");
        let prepared = prepare_one(&mut opened.connection, &sql).await;
        (id, _) = prepared.map_err(|failure| place.failed(failure))?;
    }
    if mode != Mode::Prepared && id > 0 {
        let mut request = Vec::new();
        packet::one(&mut request, command::STMT_CLOSE, &id.to_le_bytes());
        let sent = opened.connection.stream.send(&request).await;
        sent.map_err(|error| place.failed(Failure::from(error)))?;
    }
    let bytes_max = opened.packet_max.saturating_sub(PACKET_RESERVE);
    Ok(InsertPlan {
        mode,
        id,
        sql: match mode {
            Mode::Values | Mode::Prepared => format!("{into} VALUES "),
            Mode::LoadData => load_data(table),
        },
        columns,
        bytes_max: bytes_max.min(STATEMENT_BYTES_MAX),
    })
}

fn load_data(table: &BoundTable) -> String {
    format!(
        "LOAD DATA LOCAL INFILE '{NO_FILE}' INTO TABLE {} CHARACTER SET utf8mb4 ({})",
        backquoted(&table.name),
        column_names(table, backquoted)
    )
}

/// Prepares a statement; returns the server's id of it, and the number of its placeholders.
async fn prepare_one(connection: &mut Connection, sql: &str) -> Result<(u32, usize), Failure> {
    let mut request = Vec::new();
    packet::one(&mut request, command::STMT_PREPARE, sql.as_bytes());
    connection.stream.send(&request).await?;
    let head = connection.next().await?;
    if head.payload.first() == Some(&0xff) {
        return Err(ServerError::failure(head.sequence, head.payload));
    }
    let mut reader = Reader(head.payload);
    let mut number = |bytes| reader.number(bytes).and_then(|number| u32::try_from(number).ok());
    let (Some(0), Some(id), Some(columns), Some(parameters)) =
        (number(1), number(4), number(2), number(2))
    else {
        let cause = "what answers to a statement that is prepared is none of the protocol";
        return Err(invalid(cause).into());
    };
    // Their definitions, and the end packet.
    for count in [parameters, columns] {
        for _ in 0..if count > 0 { count + 1 } else { 0 } {
            connection.next().await?;
        }
    }
    Ok((id, usize::try_from(parameters).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use highwater_model::op::{BoundColumn, ColumnType};

    use super::*;

    #[test]
    fn names_are_quoted() {
        let column = |name: &str| BoundColumn::new(name, ColumnType::Bigint);
        let table = BoundTable {
            name: "a`b".to_owned(),
            columns: vec![column("x"), column("rows")],
            key: "x".to_owned(),
            ..BoundTable::default()
        };
        let insert = insert_into(&table, backquoted);
        assert_eq!(insert, "INSERT INTO `a``b` (`x`, `rows`)");
        assert_eq!(
            load_data(&table),
            "LOAD DATA LOCAL INFILE 'highwater' INTO TABLE `a``b` CHARACTER SET utf8mb4 (`x`, `rows`)"
        );
    }
}
