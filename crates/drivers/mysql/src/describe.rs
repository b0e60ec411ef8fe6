//! Describes a table for generating a workload file from it: its columns, a sample of their values, and its indexes.
//! Must not change anything.

use highwater_driver::sql::connection::SqlConnection;
use highwater_driver::sql::describe::{count_rows, indexes, not_there, number, sample_column};
use highwater_driver::sql_query::values;
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, TableShape};
use highwater_model::user_error::UserError;

use super::dialect::MYSQL;
use super::wire::Connection;

/// Target type of casts to text.
const TEXT_TYPE: &str = "char";

/// Describes a table of the database.
pub(super) async fn describe(
    connection: &mut SqlConnection<Connection>,
    table: &str,
) -> Result<TableShape, UserError> {
    let named = format!("table_schema = database() AND table_name = {}", MYSQL.literal(table));
    let columns = connection
        .rows(&format!(
            "SELECT column_name, column_type, is_nullable, extra, table_schema \
             FROM information_schema.columns WHERE {named} ORDER BY ordinal_position"
        ))
        .await?;
    let Some(first) = columns.first() else {
        return Err(not_there(connection.place(), table));
    };
    let from = MYSQL.identifier(table);
    let rows_all = connection
        .rows(&format!("SELECT table_rows FROM information_schema.tables WHERE {named}"))
        .await?;
    // An index on a prefix of a text, or not of type BTREE, has no list of columns.
    let indexed = connection
        .rows(&format!(
            "SELECT index_name, non_unique = 0, index_type = 'BTREE' AND sub_part IS NULL, \
             column_name \
             FROM information_schema.statistics WHERE {named} ORDER BY index_name, seq_in_index"
        ))
        .await?;
    let mut shape = TableShape {
        rows: count_rows(connection, &from).await?,
        rows_all: Some(number(&rows_all, 0)).filter(|rows| *rows > 0),
        indexes: indexes(indexed),
        ..MYSQL.table_shape(table, first.get(4).cloned().flatten())
    };
    for column in columns {
        let [name, declared, nullable, extra] = values(column);
        let mut column = ColumnShape::new(name, &declared, kind_of(&declared));
        column.required = nullable.eq_ignore_ascii_case("no");
        column.generated = ["GENERATED", "VIRTUAL", "PERSISTENT", "STORED"]
            .iter()
            .any(|word| extra.to_uppercase().contains(word));
        if let (Some(kind), false) = (column.kind, column.generated) {
            let name = MYSQL.identifier(&column.name);
            let value = match kind {
                ColumnType::Timestamp => MYSQL.milliseconds(&name),
                // The written value is read back with all its digits.
                ColumnType::Float => MYSQL.double(&name),
                _ => name,
            };
            sample_column(connection, &from, &value, TEXT_TYPE, &mut column).await?;
        }
        shape.columns.push(column);
    }
    Ok(shape)
}

/// The workload type for a server type; `None` if no generator supports it.
fn kind_of(declared: &str) -> Option<ColumnType> {
    let declared = declared.to_lowercase();
    if declared == "tinyint(1)" {
        return Some(ColumnType::Boolean);
    }
    let word = declared.split(['(', ' ']).next().unwrap_or_default();
    match word {
        "tinyint" | "smallint" | "mediumint" | "int" => Some(ColumnType::Integer),
        "bigint" => Some(ColumnType::Bigint),
        "float" | "double" => Some(ColumnType::Float),
        "datetime" | "timestamp" => Some(ColumnType::Timestamp),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            Some(ColumnType::Text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_a_generator_makes() {
        for (declared, kind) in [
            ("tinyint(1)", Some(ColumnType::Boolean)),
            ("tinyint(4)", Some(ColumnType::Integer)),
            ("int(10) unsigned", Some(ColumnType::Integer)),
            ("bigint(20)", Some(ColumnType::Bigint)),
            ("DATETIME(3)", Some(ColumnType::Timestamp)),
            ("varchar(64)", Some(ColumnType::Text)),
            ("decimal(10,2)", None),
            ("blob", None),
        ] {
            assert_eq!(kind_of(declared), kind, "{declared}");
        }
    }
}
