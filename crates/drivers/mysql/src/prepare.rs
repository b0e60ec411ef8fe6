//! Prepares a session's statements, so that invalid ones are found before the load, and finds their placeholders.

use highwater_driver::network::invalid;
use highwater_driver::sql::connection::{Place, column_names, insert_into};
use highwater_driver::sql::dialect::{backquoted, quoted_length};
use highwater_model::op::{BoundOpKind, BoundTable, BoundWorkload};
use highwater_model::transaction::AnswerColumns;
use highwater_model::user_error::UserError;

use super::connect::OpenConnection;
use super::encode::{InsertPlan, Mode, Plan, PreparedStatement, TransactionPlan};
use super::errors::{Failure, ServerError};
use super::row::Column;
use super::wire;
use super::wire::{Connection, Reader, command};

/// The part of the server's statement limit that is not for rows.
const PACKET_RESERVE: usize = 64;
/// Statements are split at this length, so that each is one packet.
const STATEMENT_BYTES_MAX: usize = wire::PAYLOAD_MAX - PACKET_RESERVE;
/// The file name in LOAD DATA: the file is not read, the lines come from memory.
const NO_FILE: &str = "highwater";

/// Prepares every op of the workload; the plans are in the workload's order.
pub(super) async fn prepare(
    opened: &mut OpenConnection,
    workload: &BoundWorkload,
    mode: Mode,
    place: &str,
) -> Result<Vec<Plan>, UserError> {
    let mut plans = Vec::with_capacity(workload.ops.len());
    for (number, op) in workload.ops.iter().enumerate() {
        let place = Place::of_op(place, number, &op.name);
        plans.push(match &op.kind {
            BoundOpKind::Query { sql, parameters } => {
                let connection = &mut opened.connection;
                Plan::Query(prepare_query(connection, sql, parameters.len(), &place).await?)
            }
            BoundOpKind::Literal(sql) => Plan::Literal(sql.clone()),
            BoundOpKind::Transaction(transaction) => {
                let mut all: Vec<_> = transaction.steps.iter().map(|_| None).collect();
                let mut columns = vec![Vec::new(); all.len()];
                for (position, statement) in transaction.statements() {
                    let place = place.statement(position);
                    let (sql, count) = (&statement.sql, statement.parameters.len());
                    let connection = &mut opened.connection;
                    let prepared = prepare_query(connection, sql, count, &place).await?;
                    if let Some(answer) = &transaction.steps[position].answer {
                        columns[position] = places(answer, &prepared.columns, &place)?;
                    }
                    all[position] = Some(prepared);
                }
                let transaction = transaction.clone();
                Plan::Transaction(TransactionPlan { transaction, prepared: all, columns })
            }
            BoundOpKind::Insert { table, .. } => {
                let table = place.table(workload, *table)?;
                Plan::Insert(prepare_insert(opened, table, mode, &place).await?)
            }
        });
    }
    Ok(plans)
}

/// The columns of an answer, and the positions of their values.
fn places(
    answer: &AnswerColumns,
    columns: &[Column],
    place: &Place,
) -> Result<Vec<(usize, usize)>, UserError> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let places = answer.places(&names).map_err(|why| place.misunderstood(&why))?;
    let is_time =
        |(column, _): &&(usize, usize)| columns.get(*column).is_some_and(|of| !of.can_be_value());
    if let Some(name) = places.iter().find(is_time).and_then(|(column, _)| names.get(*column)) {
        let cause = format!("column `{name}` is a length of time: select it as text");
        return Err(place.misunderstood(&cause));
    }
    Ok(places)
}

async fn prepare_query(
    connection: &mut Connection,
    sql: &str,
    parameters: usize,
    place: &Place,
) -> Result<PreparedStatement, UserError> {
    let (text, values) = positional(sql);
    let (id, count, columns) =
        prepare_one(connection, &text).await.map_err(|failure| place.failed(failure))?;
    if count != values.len() || values.iter().any(|position| *position >= parameters) {
        return Err(place.miscounted(count, parameters, "?"));
    }
    Ok(PreparedStatement { id, values, columns })
}

async fn prepare_insert(
    opened: &mut OpenConnection,
    table: &BoundTable,
    mode: Mode,
    place: &Place,
) -> Result<InsertPlan, UserError> {
    let into = insert_into(table, backquoted);
    let columns = table.columns.len();
    let mut id = 0;
    // Finds a missing table or column, in any mode.
    if mode == Mode::Prepared || opened.product.prepares_inserts() {
        let marks = vec!["?"; columns].join(",");
        let sql = format!("{into} VALUES ({marks})");
        let prepared = prepare_one(&mut opened.connection, &sql).await;
        (id, _, _) = prepared.map_err(|failure| place.failed(failure))?;
    }
    if mode != Mode::Prepared && id > 0 {
        let mut request = Vec::new();
        wire::one(&mut request, command::STMT_CLOSE, &id.to_le_bytes());
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

/// Prepares a statement; returns the server's id of it, the number of its placeholders, and its columns.
async fn prepare_one(
    connection: &mut Connection,
    sql: &str,
) -> Result<(u32, usize, Vec<Column>), Failure> {
    let mut request = Vec::new();
    wire::one(&mut request, command::STMT_PREPARE, sql.as_bytes());
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
    let mut found = Vec::new();
    for count in [parameters, columns] {
        found.clear();
        for _ in 0..if count > 0 { count + 1 } else { 0 } {
            found.extend(Column::read(connection.next().await?.payload));
        }
    }
    Ok((id, usize::try_from(parameters).unwrap_or(usize::MAX), found))
}

/// The statement with `?` for each `?n`, and the index (from 0) of each one's value.
pub(super) fn positional(sql: &str) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(sql.len());
    let mut values = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => quoted_length(rest, first != '`'),
            '#' => line(rest),
            '-' if rest.starts_with("-- ") => line(rest),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '?' => {
                let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
                let number = rest.get(1..=digits).and_then(|digits| digits.parse().ok());
                if let Some(position) = number.and_then(|number: usize| number.checked_sub(1)) {
                    values.push(position);
                    text.push('?');
                    rest = rest.get(1 + digits..).unwrap_or_default();
                    continue;
                }
                1
            }
            _ => first.len_utf8(),
        };
        let (taken, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        text.push_str(taken);
        rest = behind;
    }
    (text, values)
}

/// Length in bytes up to the end of the line.
fn line(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::op::{BoundColumn, ColumnType};

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

    #[test]
    fn each_placeholder_is_the_value_that_its_number_names() {
        for (sql, text, values) in [
            ("SELECT ?1, ?2, ?1", "SELECT ?, ?, ?", &[0, 1, 0][..]),
            ("x IN (?10,?11)", "x IN (?,?)", &[9, 10]),
            ("'?1' \"?1\" `?1` ?1", "'?1' \"?1\" `?1` ?", &[0]),
            ("'it''s \\' ?1' ?2", "'it''s \\' ?1' ?", &[1]),
            ("`a\\` ?1", "`a\\` ?", &[0]),
            ("-- ?1\n?1 # ?2\n/* ?3 */?2", "-- ?1\n? # ?2\n/* ?3 */?", &[0, 1]),
            ("1--?1", "1--?", &[0]),
            ("?0 ? \u{e4}?1", "?0 ? \u{e4}?", &[0]),
            ("'not ended ?1", "'not ended ?1", &[]),
        ] {
            assert_eq!(positional(sql), (text.to_owned(), values.to_vec()), "{sql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_causes_a_panic(sql in "\\PC*|[?'\"`#/*0-9 \\\\-]*") {
            let (text, values) = positional(&sql);
            proptest::prop_assert!(text.len() <= sql.len() && values.len() <= sql.len());
        }
    }
}
