//! Describes a table for generating a workload file from it: its columns, a sample of their values, its indexes, and
//! the server's statement statistics. Must not change anything.

use highwater_model::op::ColumnType;
use highwater_model::table_shape::{
    ColumnShape, IndexShape, RecordedStatements, StatementText, TEXT_MAX, TEXTS_MAX, TableShape,
};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::wire::Connection;
use crate::product::Product;
use highwater_driver::sql::connection::{SqlConnection, first_value, values};
use highwater_driver::sql::facts::{count_rows, not_ours, not_there, number, sample_column};
use highwater_driver::sql::{cratedb, facts};
use highwater_model::user_error::UserError;

/// The extension with statement statistics, and its view.
const STATEMENTS: &str = "pg_stat_statements";

/// Describes a table of the schema.
pub(super) async fn describe(
    connection: &mut SqlConnection<Connection>,
    product: Product,
    table: &str,
) -> Result<TableShape, UserError> {
    if product == Product::CrateDb {
        let place = connection.place().to_owned();
        return cratedb::describe(connection, &place, table).await;
    }
    let (dialect, shown) = (product.dialect(), product.shown_columns());
    let columns = connection
        .rows(&format!(
            "SELECT column_name, data_type, is_nullable, is_generated, table_schema \
             FROM information_schema.columns \
             WHERE table_name = {} AND table_schema = current_schema(){shown} \
             ORDER BY ordinal_position",
            escape_literal(table)
        ))
        .await?;
    let Some(first) = columns.first() else {
        return Err(not_there(connection.place(), table));
    };
    let from = escape_identifier(table);
    let mut shape = dialect.table_shape(table, first.get(4).cloned().flatten());
    shape.rows = count_rows(connection, &from).await?;
    for column in columns {
        let [name, declared, nullable, generated] = values(column);
        let mut column = ColumnShape::new(name, &declared, kind_of(&declared));
        column.required = nullable.eq_ignore_ascii_case("no");
        column.generated = generated == "ALWAYS";
        match declared.as_str() {
            // The written value is read back with all its digits.
            "real" => "double precision".clone_into(&mut column.declared),
            "uuid" => {
                let text = format!("CAST({} AS text)", escape_identifier(&column.name));
                column.checked = Some((dialect.number_of_hash)(&dialect.hash(&text)));
            }
            _ => {}
        }
        if let (Some(kind), false) = (column.kind, column.generated) {
            let name = escape_identifier(&column.name);
            let value = match kind {
                ColumnType::Timestamp => dialect.milliseconds(&name),
                ColumnType::Boolean => {
                    format!("CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END")
                }
                // UUIDs have no minimum.
                ColumnType::Text => format!("CAST({name} AS text)"),
                _ => name,
            };
            sample_column(connection, &from, &value, "text", &mut column).await?;
        }
        shape.columns.push(column);
    }
    if product == Product::PostgreSql {
        shape.indexes = indexes(connection, &from).await?;
        statistics(connection, &mut shape).await?;
        shape.recorded = statements(connection, table).await?;
    }
    Ok(shape)
}

/// The indexes of a table. An expression index, a partial one, or one that is not a B-tree has no list of columns.
async fn indexes(
    connection: &mut SqlConnection<Connection>,
    from: &str,
) -> Result<Vec<IndexShape>, UserError> {
    let rows = connection
        .rows(&format!(
            "SELECT pg_get_indexdef(i.indexrelid), i.indisunique, \
             i.indexprs IS NULL AND i.indpred IS NULL AND m.amname = 'btree', a.attname \
             FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid \
             JOIN pg_am AS m ON m.oid = c.relam \
             CROSS JOIN unnest(CAST(i.indkey AS int2[])) WITH ORDINALITY AS k (number, place) \
             LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number \
             WHERE i.indrelid = CAST({} AS regclass) AND k.place <= i.indnkeyatts \
             ORDER BY i.indexrelid, k.place",
            escape_literal(from)
        ))
        .await?;
    Ok(facts::indexes(rows))
}

/// Adds ANALYZE's statistics of the whole table: rows, and distinct values of each column.
async fn statistics(
    connection: &mut SqlConnection<Connection>,
    shape: &mut TableShape,
) -> Result<(), UserError> {
    let rows = connection
        .rows(&format!(
            "SELECT CAST(greatest(c.reltuples, 0) AS bigint), s.attname, \
             CAST(CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * greatest(c.reltuples, 0) \
             ELSE s.n_distinct END AS bigint) \
             FROM pg_class AS c LEFT JOIN pg_stats AS s \
             ON s.schemaname = current_schema() AND s.tablename = c.relname \
             WHERE c.oid = CAST({} AS regclass)",
            escape_literal(&escape_identifier(&shape.name))
        ))
        .await?;
    shape.rows_all = Some(number(&rows, 0)).filter(|rows| *rows > 0);
    for row in rows {
        let [_, Some(name), Some(distinct)] = row.as_slice() else {
            continue;
        };
        let column = shape.columns.iter_mut().find(|column| column.name == *name);
        if let Some(column) = column {
            column.distinct_all = distinct.parse().ok();
        }
    }
    Ok(())
}

/// The statements about the table, if the extension is available and readable.
async fn statements(
    connection: &mut SqlConnection<Connection>,
    table: &str,
) -> Result<RecordedStatements, UserError> {
    let without =
        |remark| RecordedStatements { remark: Some(remark), ..RecordedStatements::default() };
    let schema = connection
        .rows(&format!(
            "SELECT quote_ident(n.nspname) FROM pg_extension AS e \
             JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = '{STATEMENTS}'"
        ))
        .await?;
    let Some(schema) = first_value(schema) else {
        return Ok(without(format!(
            "This database has no {STATEMENTS}: its queries are not counted"
        )));
    };
    let of_database = format!(
        "FROM {schema}.{STATEMENTS} WHERE dbid = \
         (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    let named = escape_literal(&table.to_lowercase());
    let not_ours = not_ours("query");
    let listed = connection
        .rows(&format!(
            "SELECT left(query, {TEXT_MAX}), CAST(sum(calls) AS bigint), \
             CAST(sum(rows) AS bigint), count(*) OVER () {of_database} \
             AND strpos(lower(query), {named}) > 0 AND {not_ours} \
             GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {TEXTS_MAX}"
        ))
        .await;
    let rows = match listed {
        Ok(rows) => rows,
        // The server has not loaded it.
        Err(error) => {
            let message = error.message;
            return Ok(without(format!("{STATEMENTS} cannot be read: {message}")));
        }
    };
    let hidden = format!("SELECT count(*) {of_database} AND query = '<insufficient privilege>'");
    let hidden = number(&connection.rows(&hidden).await?, 0);
    let different = number(&rows, 3);
    let texts = rows.into_iter().filter_map(|row| {
        let mut texts = row.into_iter();
        Some(StatementText {
            sql: texts.next()??,
            calls: texts.next()??.parse().ok()?,
            rows: texts.next()??.parse().ok(),
        })
    });
    Ok(RecordedStatements {
        source: Some(STATEMENTS.to_owned()),
        texts: texts.collect(),
        different,
        remark: (hidden > 0).then(|| {
            format!(
                "{hidden} statements of other users are hidden from this one: \
                 the role pg_read_all_stats may read them"
            )
        }),
    })
}

/// The workload type for a server type; `None` if no generator supports it.
fn kind_of(declared: &str) -> Option<ColumnType> {
    match declared.to_ascii_lowercase().as_str() {
        "smallint" | "integer" => Some(ColumnType::Integer),
        "bigint" => Some(ColumnType::Bigint),
        "real" | "double precision" => Some(ColumnType::Float),
        "boolean" => Some(ColumnType::Boolean),
        "timestamp with time zone" | "timestamp without time zone" => Some(ColumnType::Timestamp),
        "text" | "character varying" | "uuid" => Some(ColumnType::Text),
        _ => None,
    }
}
