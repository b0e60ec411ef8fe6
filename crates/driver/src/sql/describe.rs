//! Shared by all descriptions of a table: statements on a sample of its rows, in SQL that every dialect understands.
//!
//! Must not know a dialect.

use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, IndexShape, LISTED_MAX};
use highwater_model::user_error::UserError;

use crate::sql_query::{SqlQuery, Texts, pairs, values};

/// Rows of the sample.
pub const SAMPLE_ROWS: u64 = 100_000;
/// The alias of the sample; it identifies Highwater's statements.
pub const SAMPLE: &str = "highwater_sample";
/// The alias of the rows that an audit reads; it also identifies Highwater's statements.
pub const AUDITED: &str = "highwater_audited";

/// The error for a missing table; `place` names the target.
pub fn not_there(place: &str, table: &str) -> UserError {
    UserError::usage(format!("{place}: there is no table `{table}` in the schema"))
        .with_hint("--table names it as the target does; the URL names the schema")
}

/// Rows of the sample of `from`, a name in SQL.
pub async fn count_rows(database: &mut impl SqlQuery, from: &str) -> Result<u64, UserError> {
    let sql =
        format!("SELECT count(*) FROM (SELECT 1 AS c FROM {from} LIMIT {SAMPLE_ROWS}) AS {SAMPLE}");
    Ok(number(&database.texts(&sql).await?, 0))
}

/// Fills in the statistics of a column from the sample. `value` is its expression: for times, the milliseconds since
/// 1970; for booleans, 1 and 0. `text` is the dialect's text type in a cast.
pub async fn sample_column(
    database: &mut impl SqlQuery,
    from: &str,
    value: &str,
    text: &str,
    column: &mut ColumnShape,
) -> Result<(), UserError> {
    let sample = format!("(SELECT {value} AS c FROM {from} LIMIT {SAMPLE_ROWS}) AS {SAMPLE}");
    let rows = database
        .texts(&format!(
            "SELECT count(*) - count(c), count(DISTINCT c), CAST(min(c) AS {text}), \
             CAST(max(c) AS {text}), min(length(CAST(c AS {text}))), max(length(CAST(c AS {text}))) \
             FROM {sample}"
        ))
        .await?;
    let value_at = |at: usize| rows.first().and_then(|row| row.get(at)).cloned().flatten();
    (column.nulls, column.distinct) = (number(&rows, 0), number(&rows, 1));
    (column.min, column.max) = (value_at(2), value_at(3));
    column.lengths = (number(&rows, 4), number(&rows, 5));
    let listed = !matches!(column.kind, Some(ColumnType::Float | ColumnType::Timestamp));
    if !listed || !(1..=LISTED_MAX).contains(&column.distinct) {
        return Ok(());
    }
    let rows = database
        .texts(&format!(
            "SELECT CAST(c AS {text}) AS word, count(*) AS times FROM {sample} WHERE c IS NOT NULL \
             GROUP BY c ORDER BY times DESC, word LIMIT {LISTED_MAX}"
        ))
        .await?;
    let common = pairs(rows).filter_map(|(value, times)| {
        let value = match column.kind {
            Some(ColumnType::Boolean) => (value == "1").to_string(),
            _ => value,
        };
        Some((value, times.parse().ok()?))
    });
    column.common = common.collect();
    Ok(())
}

/// The indexes of a table. Each row has the text of an index, whether it is unique, whether it is a plain list of
/// columns, and one of its columns. Other indexes have no columns.
pub fn indexes(rows: Texts) -> Vec<IndexShape> {
    let is = |text: &str| ["t", "1"].contains(&text);
    let mut indexes: Vec<IndexShape> = Vec::new();
    for row in rows {
        let [text, unique, plain, column] = values(row);
        if indexes.last().is_none_or(|index| index.text != text) {
            indexes.push(IndexShape { columns: Vec::new(), unique: is(&unique), text });
        }
        if let Some(index) = indexes.last_mut().filter(|_| is(&plain)) {
            index.columns.push(column);
        }
    }
    indexes
}

/// A condition on a list of statements with their text in `column`: excludes Highwater's own.
pub fn not_ours(column: &str) -> String {
    [SAMPLE, AUDITED].map(|name| format!("strpos({column}, '{name}') = 0")).join(" AND ")
}

/// A value of the first row as a number; 0 if it is missing.
pub fn number(rows: &Texts, at: usize) -> u64 {
    let text = rows.first().and_then(|row| row.get(at)?.as_deref());
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}
