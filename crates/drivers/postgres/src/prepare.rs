//! Prepares a session's statements: requests types from the server, and chooses the format of each value.

use highwater_model::op::{BoundOpKind, BoundStatement, BoundTable, BoundWorkload, ColumnType};
use highwater_model::transaction::BoundTransaction;
use postgres_protocol::escape::escape_identifier;

use super::connect::OpenConnection;
use super::encode::{
    BEGIN, COMMIT, Field, InsertPlan, LastParse, Mode, Plan, PreparedStatement, ROLLBACK,
    TransactionPlan, numbers, placeholders,
};
use super::errors::Failure;
use super::wire;
use crate::product::Product;
use highwater_driver::sql::connection::{Place, column_names, insert_into};
use highwater_model::user_error::UserError;

/// Maximum parameters of one statement if their number is read as a signed integer.
const SIGNED_PARAMETERS_MAX: usize = 32_767;
/// Maximum rows of one statement for a server that closes a connection whose message exceeds its buffer: 1 MiB by
/// default, so that a row may have 4 KiB. All statements before one Sync are one transaction there.
const SMALL_STATEMENT_ROWS: usize = 250;

/// Prepares every op of the workload; the plans are in the workload's order.
pub(super) async fn prepare(
    opened: &mut OpenConnection,
    workload: &BoundWorkload,
    mode: Mode,
    place: &str,
) -> Result<Vec<Plan>, UserError> {
    let transactions = workload.ops.iter().any(|op| matches!(op.kind, BoundOpKind::Transaction(_)));
    if !opened.pooled && (opened.product.wraps_pipelines() || transactions) {
        for (name, sql) in [(BEGIN, "BEGIN"), (COMMIT, "COMMIT"), (ROLLBACK, "ROLLBACK")] {
            describe(opened, name, sql, &[])
                .await
                .map_err(|failure| failure.into_target_error(&format!("{place}: {sql}")))?;
        }
    }
    let mut plans = Vec::with_capacity(workload.ops.len());
    for (number, op) in workload.ops.iter().enumerate() {
        let place = Place::of_op(place, number, &op.name);
        plans.push(match &op.kind {
            BoundOpKind::Query { sql, parameters } => {
                let name = format!("q{number}");
                Plan::Query(prepare_query(opened, name, sql, parameters, &place).await?.0)
            }
            BoundOpKind::Literal(sql) => Plan::Literal(sql.clone()),
            BoundOpKind::Transaction(_) if !opened.product.dialect().rolls_back => {
                return Err(UserError::no_transactions(&op.name));
            }
            BoundOpKind::Transaction(transaction) => {
                Plan::Transaction(prepare_all(opened, transaction, &place).await?)
            }
            BoundOpKind::Insert { table, .. } => {
                let table = place.table(workload, *table)?;
                Plan::Insert(prepare_insert(opened, table, mode, &place).await?)
            }
        });
    }
    Ok(plans)
}

async fn prepare_all(
    opened: &mut OpenConnection,
    transaction: &BoundTransaction,
    place: &Place,
) -> Result<TransactionPlan, UserError> {
    let mut all: Vec<_> = transaction.steps.iter().map(|_| None).collect();
    let mut columns = vec![Vec::new(); all.len()];
    for (position, statement) in transaction.statements() {
        let name = format!("q{}_{position}", place.op);
        let place = place.statement(position);
        let BoundStatement { sql, parameters, .. } = statement;
        let (prepared, returned) = prepare_query(opened, name, sql, parameters, &place).await?;
        if let Some(answer) = &transaction.steps[position].answer {
            let places = answer.places(&returned);
            columns[position] = places.map_err(|why| place.misunderstood(&why))?;
        }
        all[position] = Some(prepared);
    }
    Ok(TransactionPlan { transaction: transaction.clone(), prepared: all, columns })
}

/// The prepared statement, and the names of the columns that it returns.
async fn prepare_query(
    opened: &mut OpenConnection,
    name: String,
    sql: &str,
    parameters: &[ColumnType],
    place: &Place,
) -> Result<(PreparedStatement, Vec<String>), UserError> {
    let declared: Vec<u32> =
        parameters.iter().map(|kind| declared(opened.product, *kind)).collect();
    let name = if opened.pooled { String::new() } else { name };
    let described = describe_both(opened, &name, sql, &declared).await;
    let (types, columns) = described.map_err(|failure| place.failed(failure))?;
    if types.len() != parameters.len() {
        return Err(place.miscounted(types.len(), parameters.len(), "$1"));
    }
    let parse = unnamed_parse(opened, sql, &types);
    let parameters = fields(parameters.iter().copied(), &types);
    Ok((PreparedStatement { name, parse, parameters }, columns))
}

/// Parse for unnamed statements, sent before each execution.
fn unnamed_parse(opened: &OpenConnection, sql: &str, types: &[u32]) -> Vec<u8> {
    let mut parse = Vec::new();
    if opened.pooled {
        wire::parse(&mut parse, "", sql, types);
    }
    parse
}

/// The declared type of a query parameter; text adapts to its context. In QuestDB, the context `IN ($1)` expects an
/// array.
fn declared(product: Product, kind: ColumnType) -> u32 {
    match kind {
        ColumnType::Text | ColumnType::Object if product == Product::QuestDb => 1043,
        ColumnType::Integer => 23,
        ColumnType::Bigint => 20,
        ColumnType::Float => 701,
        ColumnType::Boolean => 16,
        ColumnType::Timestamp => 1184,
        ColumnType::Text | ColumnType::Object => 0,
    }
}

fn fields(kinds: impl Iterator<Item = ColumnType>, types: &[u32]) -> Vec<Field> {
    kinds.zip(types).map(|(kind, oid)| Field::new(kind, *oid)).collect()
}

async fn prepare_insert(
    opened: &mut OpenConnection,
    table: &BoundTable,
    mode: Mode,
    place: &Place,
) -> Result<InsertPlan, UserError> {
    let number = place.op;
    let into = insert_into(table, escape_identifier);
    // The statement for one row has the types of the columns, in any mode.
    let named = |kind: &str| {
        if opened.pooled { String::new() } else { format!("{kind}{number}") }
    };
    let [statement, of_arrays, of_values] = ["i", "u", "v"].map(named);
    let one_row = format!("{into} VALUES {}", placeholders(1, table.columns.len()));
    let types = describe(opened, &statement, &one_row, &[])
        .await
        .map_err(|failure| place.failed(failure))?;
    let columns = fields(table.columns.iter().map(|column| column.kind), &types);
    if columns.len() != table.columns.len() {
        return Err(place.misunderstood("the server did not describe every column"));
    }
    let mut plan = InsertPlan {
        mode,
        statement,
        sql: into,
        values_max: values_max(opened.product, table.columns.len()),
        columns,
        wrap: opened.product.wraps_pipelines(),
        parse: unnamed_parse(opened, &one_row, &types),
        last_parse: opened.pooled.then(LastParse::default),
    };
    match mode {
        Mode::Copy => plan.sql = copy_statement(table, plan.binary()),
        Mode::Unnest => {
            plan.statement = of_arrays;
            let arrays = array_types(table, &plan.columns, &place.text)?;
            let sql = format!("{} SELECT * FROM unnest({})", plan.sql, numbers(1, arrays.len()));
            describe(opened, &plan.statement, &sql, &arrays)
                .await
                .map_err(|failure| place.failed(failure))?;
            plan.parse = unnamed_parse(opened, &sql, &arrays);
        }
        Mode::Values => plan.statement = of_values,
        Mode::Prepared => {}
    }
    Ok(plan)
}

/// Maximum rows whose placeholders fit in one statement: `$12345, ` per value.
fn values_max(product: Product, columns: usize) -> usize {
    const PLACEHOLDER: usize = 8;
    const AROUND: usize = 4;
    if product == Product::QuestDb {
        return (SIGNED_PARAMETERS_MAX / columns.max(1)).clamp(1, SMALL_STATEMENT_ROWS);
    }
    // The names of table and columns come first.
    let room = product.statement_length_max() / 10 * 9;
    (room / (PLACEHOLDER * columns + AROUND)).max(1)
}

fn array_types(table: &BoundTable, columns: &[Field], place: &str) -> Result<Vec<u32>, UserError> {
    columns
        .iter()
        .zip(&table.columns)
        .map(|(field, column)| {
            field.array().ok_or_else(|| {
                UserError::usage(format!(
                    "{place}: column `{}` has a type that `--insert unnest` cannot send",
                    column.name
                ))
                .with_hint("use `--insert values`, `prepared` or `copy`")
            })
        })
        .collect()
}

fn copy_statement(table: &BoundTable, binary: bool) -> String {
    let name = escape_identifier(&table.name);
    let format = if binary { " WITH BINARY" } else { "" };
    let columns = column_names(table, escape_identifier);
    format!("COPY {name} ({columns}) FROM STDIN{format}")
}

/// Prepares a statement, and returns the types of its parameters.
async fn describe(
    opened: &mut OpenConnection,
    name: &str,
    sql: &str,
    types: &[u32],
) -> Result<Vec<u32>, Failure> {
    describe_both(opened, name, sql, types).await.map(|(types, _)| types)
}

/// The same, and the names of the columns that it returns.
async fn describe_both(
    opened: &mut OpenConnection,
    name: &str,
    sql: &str,
    types: &[u32],
) -> Result<(Vec<u32>, Vec<String>), Failure> {
    let mut request = Vec::new();
    wire::parse(&mut request, name, sql, types);
    wire::describe_statement(&mut request, name);
    request.extend_from_slice(&wire::SYNC);
    let (mut found, mut columns) = (Vec::new(), Vec::new());
    opened
        .connection
        .request(&request, |message| {
            if message.tag == b't' {
                let (oids, _) = message.body.get(2..).unwrap_or_default().as_chunks::<4>();
                found = oids.iter().map(|oid| u32::from_be_bytes(*oid)).collect();
            }
            if message.tag == b'T' {
                columns = column_names_of(message.body);
            }
            Ok(())
        })
        .await?;
    Ok((found, columns))
}

/// The names in a `RowDescription`.
fn column_names_of(description: &[u8]) -> Vec<String> {
    /// Table, number, type, length, modifier, and format of a column.
    const BEHIND_NAME: usize = 18;
    let mut rest = description.get(2..).unwrap_or_default();
    std::iter::from_fn(|| {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = String::from_utf8_lossy(rest.get(..end)?).into_owned();
        rest = rest.get(end + 1 + BEHIND_NAME..)?;
        Some(name)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use highwater_model::op::BoundColumn;

    use super::*;

    #[test]
    fn a_statement_fits_the_server_s_buffer_and_its_count_of_parameters() {
        for (product, columns, rows) in [
            (Product::QuestDb, 12, 250),
            (Product::QuestDb, 1_000, 32),
            (Product::QuestDb, 40_000, 1),
            (Product::CrateDb, 10, 2_808),
        ] {
            assert_eq!(values_max(product, columns), rows, "{columns} columns");
        }
    }

    #[test]
    fn names_are_quoted_and_placeholders_numbered() {
        let column = |name: &str| BoundColumn::new(name, ColumnType::Bigint);
        let table = BoundTable {
            name: "a\"b".to_owned(),
            columns: vec![column("x"), column("Y")],
            key: "x".to_owned(),
            ..BoundTable::default()
        };
        let insert = insert_into(&table, escape_identifier);
        assert_eq!(insert, "INSERT INTO \"a\"\"b\" (\"x\", \"Y\")");
        assert_eq!(
            copy_statement(&table, true),
            "COPY \"a\"\"b\" (\"x\", \"Y\") FROM STDIN WITH BINARY"
        );
        assert_eq!(placeholders(2, 2), "($1, $2), ($3, $4)");
    }
}
