//! What a table looks like, for a workload file that is sketched from it: its columns, and a sample
//! of what they hold.

use highwater_core::model::op::ColumnType;
use highwater_core::model::table_shape::{ColumnShape, LISTED_MAX, TableShape};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::admin::WireAdmin;
use super::dialect::Dialect;
use crate::contract::{TargetError, TargetErrorKind};

/// Rows that are looked at.
const SAMPLE_ROWS: u64 = 100_000;
/// Statements of the server's own list that are named.
const QUERIES_MAX: usize = 10;

/// Describes a table of the schema.
pub(super) async fn describe(
    admin: &mut WireAdmin,
    table: &str,
) -> Result<TableShape, TargetError> {
    let dialect = admin.dialect();
    let columns = admin
        .rows(&format!(
            "SELECT column_name, data_type, is_nullable FROM information_schema.columns \
             WHERE table_name = {} AND table_schema = current_schema() ORDER BY ordinal_position",
            escape_literal(table)
        ))
        .await?;
    if columns.is_empty() {
        return Err(TargetError {
            kind: TargetErrorKind::Usage,
            message: format!(
                "{}: there is no table `{table}` in the schema",
                admin.place()
            ),
            hint: Some("--table names it as the target does; the URL names the schema".to_owned()),
        });
    }
    let from = escape_identifier(table);
    let rows = admin
        .rows(&format!(
            "SELECT count(*) FROM (SELECT 1 FROM {from} LIMIT {SAMPLE_ROWS}) AS sample"
        ))
        .await?;
    let mut shape = TableShape {
        name: table.to_owned(),
        dialect: dialect.names().into_iter().next().unwrap_or_default(),
        milliseconds: dialect.milliseconds("{column}"),
        rows: first(&rows),
        columns: Vec::new(),
        queries: Vec::new(),
    };
    for column in columns {
        let mut texts = column.into_iter().map(Option::unwrap_or_default);
        let mut next = || texts.next().unwrap_or_default();
        let (name, declared, nullable) = (next(), next(), next());
        let column = ColumnShape {
            kind: kind_of(&declared),
            required: nullable.eq_ignore_ascii_case("no"),
            name,
            declared,
            nulls: 0,
            distinct: 0,
            min: None,
            max: None,
            lengths: (0, 0),
            common: Vec::new(),
        };
        let column = look(admin, &from, dialect, column).await?;
        shape.columns.push(column);
    }
    shape.queries = queries(admin, table).await;
    Ok(shape)
}

/// What a sample of a column holds.
async fn look(
    admin: &mut WireAdmin,
    from: &str,
    dialect: Dialect,
    mut column: ColumnShape,
) -> Result<ColumnShape, TargetError> {
    let Some(kind) = column.kind else {
        return Ok(column);
    };
    let name = escape_identifier(&column.name);
    let value = match kind {
        ColumnType::Timestamp => dialect.milliseconds(&name),
        ColumnType::Boolean => format!("CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"),
        _ => name.clone(),
    };
    let sample = format!("(SELECT {value} AS c FROM {from} LIMIT {SAMPLE_ROWS}) AS sample");
    let rows = admin
        .rows(&format!(
            "SELECT count(*) - count(c), count(DISTINCT c), CAST(min(c) AS text), \
             CAST(max(c) AS text), min(length(CAST(c AS text))), max(length(CAST(c AS text))) \
             FROM {sample}"
        ))
        .await?;
    let found = rows.into_iter().next().unwrap_or_default();
    let text = |at: usize| found.get(at).cloned().flatten();
    let number = |at: usize| text(at).and_then(|t| t.parse().ok()).unwrap_or(0);
    (column.nulls, column.distinct) = (number(0), number(1));
    (column.min, column.max) = (text(2), text(3));
    column.lengths = (number(4), number(5));
    let listed = !matches!(kind, ColumnType::Float | ColumnType::Timestamp);
    if listed && (1..=LISTED_MAX).contains(&column.distinct) {
        let rows = admin
            .rows(&format!(
                "SELECT CAST(c AS text), count(*) FROM {sample} WHERE c IS NOT NULL \
                 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {LISTED_MAX}"
            ))
            .await?;
        let common = rows.into_iter().filter_map(|row| {
            let mut texts = row.into_iter();
            let value = texts.next()??;
            let value = match kind {
                ColumnType::Boolean => (value == "1").to_string(),
                _ => value,
            };
            Some((value, texts.next()??.parse().ok()?))
        });
        column.common = common.collect();
    }
    Ok(column)
}

/// What the server was asked about the table, where it keeps count and the user may look.
async fn queries(admin: &mut WireAdmin, table: &str) -> Vec<(String, u64)> {
    let like = escape_literal(&format!("%{table}%"));
    let sql = match admin.dialect() {
        Dialect::PostgreSql => format!(
            "SELECT query, sum(calls) FROM pg_stat_statements \
             WHERE query ILIKE {like} AND query ILIKE 'select%' \
             GROUP BY query ORDER BY 2 DESC LIMIT {QUERIES_MAX}"
        ),
        Dialect::CrateDb => format!(
            "SELECT stmt, count(*) FROM sys.jobs_log \
             WHERE stmt ILIKE {like} AND stmt ILIKE 'select%' AND error IS NULL \
             GROUP BY stmt ORDER BY 2 DESC LIMIT {QUERIES_MAX}"
        ),
        Dialect::CockroachDb => return Vec::new(),
    };
    // Without the extension or the right there is no list.
    let rows = admin.rows(&sql).await.unwrap_or_default();
    let queries = rows.into_iter().filter_map(|row| {
        let mut texts = row.into_iter();
        Some((texts.next()??, texts.next()??.parse().ok()?))
    });
    let own = |sql: &str| sql.contains("AS sample") || sql.contains("information_schema");
    queries.filter(|(sql, _)| !own(sql)).collect()
}

fn first(rows: &[Vec<Option<String>>]) -> u64 {
    let text = rows.first().and_then(|row| row.first()).cloned().flatten();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The type of a workload for a type of the server; none where no generator makes it.
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
