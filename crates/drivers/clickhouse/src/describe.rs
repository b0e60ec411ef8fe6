//! Describes a table for a workload file that is sketched from it: its columns, a sample of their
//! values, and its order. Must not change anything.

use highwater_driver::contract::TargetError;
use highwater_driver::sql::connection::SqlConnection;
use highwater_driver::sql::describe::{count_rows, not_there, number, sample_column};
use highwater_driver::sql::dialect::Dialect;
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, IndexShape, RecordedStatements, TableShape};

use super::wire::Wire;

const DIALECT: Dialect = Dialect::ClickHouse;
/// What a text is cast to; it may be null.
const TEXT_TYPE: &str = "Nullable(String)";

/// Describes a table of the database.
pub(super) async fn describe(
    connection: &mut SqlConnection<Wire>,
    table: &str,
) -> Result<TableShape, TargetError> {
    let name = DIALECT.literal(table);
    let columns = connection
        .rows(&format!(
            "SELECT name, type, default_kind, database FROM system.columns \
             WHERE database = currentDatabase() AND table = {name}"
        ))
        .await?;
    let Some(first) = columns.first() else {
        return Err(not_there(connection.place(), table));
    };
    let from = DIALECT.identifier(table);
    let rows_all = connection
        .rows(&format!(
            "SELECT sum(rows) FROM system.parts \
             WHERE active AND database = currentDatabase() AND table = {name}"
        ))
        .await?;
    let order = connection
        .rows(&format!(
            "SELECT sorting_key FROM system.tables \
             WHERE database = currentDatabase() AND name = {name}"
        ))
        .await?;
    let order = order.into_iter().flatten().flatten().next();
    let mut shape = TableShape {
        name: table.to_owned(),
        schema: first.get(3).cloned().flatten(),
        dialect: "clickhouse".to_owned(),
        milliseconds: DIALECT.milliseconds("{column}"),
        quotient: DIALECT.quotient().to_owned(),
        rows: count_rows(connection, &from).await?,
        rows_all: Some(number(&rows_all, 0)).filter(|rows| *rows > 0),
        columns: Vec::new(),
        indexes: order.map_or_else(Vec::new, |order| index(&order)),
        create: None,
        recorded: RecordedStatements {
            remark: Some("What this server is asked is not counted here".to_owned()),
            ..RecordedStatements::default()
        },
    };
    for column in columns {
        let mut texts = column.into_iter().map(Option::unwrap_or_default);
        let mut next = || texts.next().unwrap_or_default();
        let (name, declared, default) = (next(), next(), next());
        let mut column = ColumnShape::new(name, &declared, kind_of(&declared));
        column.required = !declared.starts_with("Nullable(");
        column.generated = ["MATERIALIZED", "ALIAS"].contains(&default.as_str());
        if let (Some(_), false) = (column.kind, column.generated) {
            let name = DIALECT.identifier(&column.name);
            sample_column(connection, &from, &name, TEXT_TYPE, &mut column).await?;
        }
        shape.columns.push(column);
    }
    Ok(shape)
}

/// The order of a table, as an index that is not unique.
fn index(order: &str) -> Vec<IndexShape> {
    if order.is_empty() {
        return Vec::new();
    }
    let is_name = |name: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.chars().all(plain)
    };
    let names: Vec<&str> = order.split(", ").collect();
    let plain = names.iter().all(is_name);
    vec![IndexShape {
        columns: names
            .into_iter()
            .filter(|_| plain)
            .map(str::to_owned)
            .collect(),
        unique: false,
        text: order.to_owned(),
    }]
}

/// The type of a workload for a type of the server; none where no generator makes it.
fn kind_of(declared: &str) -> Option<ColumnType> {
    let inner = declared.strip_prefix("Nullable(");
    let inner = inner.and_then(|inner| inner.strip_suffix(')'));
    match inner.unwrap_or(declared) {
        "Bool" => Some(ColumnType::Boolean),
        "Int8" | "Int16" | "Int32" | "UInt8" | "UInt16" => Some(ColumnType::Integer),
        "Int64" | "UInt32" | "UInt64" => Some(ColumnType::Bigint),
        "Float64" => Some(ColumnType::Float),
        "String" => Some(ColumnType::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_a_generator_makes() {
        for (declared, kind) in [
            ("UInt8", Some(ColumnType::Integer)),
            ("Nullable(Int64)", Some(ColumnType::Bigint)),
            ("Float64", Some(ColumnType::Float)),
            ("Float32", None),
            ("String", Some(ColumnType::Text)),
            ("FixedString(4)", None),
            ("DateTime", None),
            ("Array(Int64)", None),
        ] {
            assert_eq!(kind_of(declared), kind, "{declared}");
        }
    }

    #[test]
    fn an_order_is_an_index_of_its_columns() {
        let index = |order| index(order).pop().map(|index| index.columns);
        assert_eq!(index(""), None);
        assert_eq!(
            index("hostname, ts").unwrap(),
            ["hostname".to_owned(), "ts".to_owned()]
        );
        assert!(index("intDiv(ts, 60)").unwrap().is_empty());
    }
}
