//! Describes a table for generating a workload file from it: its columns, a sample of their values, its indexes, and
//! the server's statement statistics. Must not change anything.

use highwater_model::op::ColumnType;
use highwater_model::stored::{DeclaredColumn, StoredForm};
use highwater_model::table_shape::{
    CheckShape, ColumnShape, IndexShape, RecordedStatements, StatementText, TEXT_MAX, TEXTS_MAX,
    TableShape,
};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::wire::Connection;
use crate::product::Product;
use highwater_driver::sql::connection::{SqlConnection, first_value, values};
use highwater_driver::sql::dialect::Dialect;
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
    let is_original = product == Product::PostgreSql;
    let more = if is_original { DECLARATION } else { ", NULL, NULL" };
    let (mut schema, mut table) = ("current_schema()".to_owned(), table);
    let columns = loop {
        let columns = connection
            .rows(&format!(
                "SELECT column_name, data_type, is_nullable, is_generated, table_schema{more} \
                 FROM information_schema.columns AS c \
                 WHERE table_name = {} AND table_schema = {schema}{shown} \
                 ORDER BY ordinal_position",
                escape_literal(table)
            ))
            .await?;
        match table.split_once('.') {
            // Not a name with a dot, but one in another schema.
            Some((named, name)) if columns.is_empty() => {
                (schema, table) = (escape_literal(named), name);
            }
            _ => break columns,
        }
    };
    let Some(first) = columns.first() else {
        return Err(not_there(connection.place(), table));
    };
    let mut shape = dialect.table_shape(table, first.get(4).cloned().flatten());
    let from = full_name(&shape);
    if let (true, Some(settings)) = (is_original, dialect.audit_settings) {
        // The texts of the sample are those that an audit sees.
        connection.rows(&settings.replace(", true)", ", false)")).await?;
    }
    shape.rows = count_rows(connection, &from).await?;
    for column in columns {
        let (mut column, value) = column_of(column, is_original, dialect);
        if let Some(value) = value {
            sample_column(connection, &from, &value, "text", &mut column).await?;
        }
        shape.columns.push(column);
    }
    if is_original {
        shape.indexes = indexes(connection, &from).await?;
        constraints(connection, &from, &mut shape).await?;
        statistics(connection, &mut shape).await?;
        shape.recorded = statements(connection, table).await?;
    }
    Ok(shape)
}

/// A column of the catalog, and the expression of its values in a sample if a generator makes them. The types of
/// relatives that are not sent as themselves are left out.
fn column_of(
    row: Vec<Option<String>>,
    is_original: bool,
    dialect: &Dialect,
) -> (ColumnShape, Option<String>) {
    let [declared, rest] = [5, 6].map(|at| row.get(at).cloned().flatten());
    let [name, base, nullable, generated] = values(row);
    let declared = declared.unwrap_or_else(|| match base.as_str() {
        // The written value is read back with all its digits.
        "real" => "double precision".to_owned(),
        _ => base.clone(),
    });
    let quoted = escape_identifier(&name);
    let kind = kind_of(&base, &declared);
    let is_any_text = is_any_text(&declared);
    let is_left_out = !is_original && (base == "date" || kind == ColumnType::Text && !is_any_text);
    let mut column = ColumnShape::new(name, &declared, (!is_left_out).then_some(kind));
    (column.required, column.rest) = (nullable.eq_ignore_ascii_case("no"), rest);
    column.generated = generated == "ALWAYS";
    column.sampled = kind == ColumnType::Text && !is_any_text;
    if base == "uuid" && !is_original {
        let text = format!("CAST({quoted} AS text)");
        column.checked = Some((dialect.number_of_hash)(&dialect.hash(&text)));
    }
    let value = match kind {
        ColumnType::Timestamp => dialect.milliseconds(&quoted),
        ColumnType::Boolean => format!("CASE WHEN {quoted} THEN 1 WHEN NOT {quoted} THEN 0 END"),
        ColumnType::Text if is_original => {
            let form = StoredForm::Text;
            dialect.text_of(&quoted, &DeclaredColumn { name: declared, form })
        }
        // UUIDs have no minimum.
        ColumnType::Text => format!("CAST({quoted} AS text)"),
        _ => quoted,
    };
    let is_made = !is_left_out && !column.generated;
    (column, is_made.then_some(value))
}

/// A column's type with its precision and its collation, and what follows in its declaration. The default of a column
/// that is numbered by a sequence would number the original's rows.
const DECLARATION: &str = ", (SELECT concat(pg_catalog.format_type(a.atttypid, a.atttypmod), \
     CASE WHEN a.attcollation <> t.typcollation THEN concat(' COLLATE ', \
     quote_ident(c.collation_schema), '.', quote_ident(c.collation_name)) END) \
     FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
     WHERE a.attrelid = CAST(concat(quote_ident(table_schema), '.', quote_ident(table_name)) AS regclass) \
     AND a.attname = c.column_name), \
     CASE WHEN is_generated = 'ALWAYS' THEN concat(' GENERATED ALWAYS AS (', generation_expression, ') STORED') \
     WHEN is_identity = 'YES' THEN ' GENERATED BY DEFAULT AS IDENTITY' \
     WHEN strpos(column_default, 'nextval(') = 0 THEN concat(' DEFAULT ', column_default) ELSE '' END";

/// The name of a table, for its statements.
fn full_name(shape: &TableShape) -> String {
    let schema = shape.schema.iter().map(|schema| format!("{}.", escape_identifier(schema)));
    format!("{}{}", schema.collect::<String>(), escape_identifier(&shape.name))
}

/// CHECK constraints, and what a copy does not have: other constraints that are no indexes, triggers, policies, partitions,
/// parents.
async fn constraints(
    connection: &mut SqlConnection<Connection>,
    from: &str,
    shape: &mut TableShape,
) -> Result<(), UserError> {
    let oid = format!("CAST({} AS regclass)", escape_literal(from));
    let rows = connection
        .rows(&format!(
            "SELECT contype = 'c', concat('CONSTRAINT ', quote_ident(conname), ' ', \
             pg_get_constraintdef(c.oid)), a.attname FROM pg_constraint AS c \
             LEFT JOIN pg_attribute AS a ON a.attrelid = conrelid AND a.attnum = ANY (conkey) \
             WHERE conrelid = {oid} AND contype IN ('c', 'f') ORDER BY conname, attnum"
        ))
        .await?;
    for row in rows {
        let [checks, text, column] = values(row);
        if checks != "t" {
            if shape.without.last() != Some(&text) {
                shape.without.push(text);
            }
            continue;
        }
        match shape.checks.last_mut().filter(|check| check.text == text) {
            Some(check) => check.columns.push(column),
            None => shape.checks.push(CheckShape { columns: vec![column], text }),
        }
    }
    let rows = connection
        .rows(&format!(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal \
             UNION ALL SELECT concat('POLICY ', quote_ident(polname)) FROM pg_policy WHERE polrelid = {oid} \
             UNION ALL SELECT concat('PARTITION BY ', pg_get_partkeydef(oid)) FROM pg_class \
             WHERE oid = {oid} AND relkind = 'p' \
             UNION ALL SELECT concat('INHERITS (', CAST(inhparent AS regclass), ')') FROM pg_inherits \
             WHERE inhrelid = {oid} \
             UNION ALL SELECT concat('WITH (', array_to_string(reloptions, ', '), ')') FROM pg_class \
             WHERE oid = {oid} AND reloptions IS NOT NULL"
        ))
        .await?;
    shape.without.extend(rows.into_iter().filter_map(|row| row.into_iter().next()?));
    Ok(())
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
             ON s.schemaname = {} AND s.tablename = c.relname \
             WHERE c.oid = CAST({} AS regclass)",
            escape_literal(shape.schema.as_deref().unwrap_or_default()),
            escape_literal(&full_name(shape))
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

/// Types with a workload type of their own; texts of all others are sent, and the server converts them.
const KINDS: &[(&str, ColumnType)] = &[
    ("smallint", ColumnType::Integer),
    ("integer", ColumnType::Integer),
    ("bigint", ColumnType::Bigint),
    ("real", ColumnType::Float),
    ("double precision", ColumnType::Float),
    ("boolean", ColumnType::Boolean),
    ("date", ColumnType::Timestamp),
    ("timestamp with time zone", ColumnType::Timestamp),
    ("timestamp without time zone", ColumnType::Timestamp),
];

/// The workload type for a server type, and for the type as it was declared.
fn kind_of(base: &str, declared: &str) -> ColumnType {
    let base = base.to_ascii_lowercase();
    let kind = KINDS.iter().find(|(name, _)| *name == base).map(|(_, kind)| *kind);
    kind.unwrap_or(match decimal(declared) {
        Some((DIGITS.., _)) | None => ColumnType::Text,
        Some(_) => ColumnType::Float,
    })
}

/// Digits of a decimal that a double may not hold.
const DIGITS: u32 = 16;

/// Precision and scale of a decimal that has them.
fn decimal(declared: &str) -> Option<(u32, u32)> {
    let (precision, scale) =
        declared.strip_prefix("numeric(")?.strip_suffix(')')?.split_once(',')?;
    Some((precision.parse().ok()?, scale.parse().ok()?))
}

/// Whether any text of its length is a value.
fn is_any_text(declared: &str) -> bool {
    let name = declared.split(['(', ' ']).next().unwrap_or_default();
    matches!(name, "text" | "character" | "uuid") && !declared.ends_with(']')
}
