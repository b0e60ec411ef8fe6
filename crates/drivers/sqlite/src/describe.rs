//! Describes a table for generating a workload file from it. SQLite's columns can hold values of any type, so the types
//! in a sample are used, not the declared ones. Must not change anything.

use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, IndexShape, RecordedStatements, TableShape};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::error::statement_error;
use highwater_driver::sql::connection::{
    AnswerLimit, SqlQuery, TOO_LONG, Texts, first_value, values,
};
use highwater_driver::sql::dialect::{literal, quoted};
use highwater_driver::sql::facts;
use highwater_driver::sql::facts::{
    SAMPLE, SAMPLE_ROWS, count_rows, not_there, number, sample_column,
};
use highwater_model::user_error::UserError;

/// Integers in a column declared as a time that count as milliseconds: 1973 to 5138.
const MILLISECONDS: std::ops::Range<i64> = 100_000_000_000..100_000_000_000_000;

/// Describes a table or a view; `place` is for messages.
pub(super) async fn describe(
    database: &mut impl SqlQuery,
    place: &str,
    table: &str,
) -> Result<TableShape, UserError> {
    let literal = literal(table);
    let columns = database
        .texts(&format!(
            "SELECT name, type, \"notnull\", hidden FROM pragma_table_xinfo({literal}) ORDER BY cid"
        ))
        .await?;
    if columns.is_empty() {
        return Err(not_there(place, table));
    }
    let from = quoted(table);
    let mut shape = TableShape {
        name: table.to_owned(),
        schema: None,
        dialect: "sqlite".to_owned(),
        // Times are whole milliseconds.
        milliseconds: "{column}".to_owned(),
        quotient: "{dividend} / {divisor}".to_owned(),
        quote: '"',
        rows: count_rows(database, &from).await?,
        rows_all: rows_all(database, &literal).await,
        columns: Vec::new(),
        indexes: indexes(database, &literal).await?,
        create: None,
        checks: Vec::new(),
        without: Vec::new(),
        recorded: RecordedStatements::default(),
    };
    for column in columns {
        let [name, declared, required, hidden] = values(column);
        let value = quoted(&name);
        let kind = kind_of(database, &from, &value, &declared).await?;
        let mut column = ColumnShape::new(name, declared, kind);
        column.required = required == "1";
        column.generated = hidden != "0";
        if kind.is_some() && !column.generated {
            sample_column(database, &from, &value, "text", &mut column).await?;
        }
        shape.columns.push(column);
    }
    // A key that is an alias of the row id needs no index.
    let alias = database
        .texts(&format!(
            "SELECT name FROM pragma_table_xinfo({literal}) \
             WHERE pk = 1 AND upper(type) = 'INTEGER' \
             AND (SELECT max(pk) FROM pragma_table_xinfo({literal})) = 1"
        ))
        .await?;
    if let Some(name) = first_value(alias) {
        let is_its_own = |index: &IndexShape| index.unique && index.columns == [name.clone()];
        if !shape.indexes.iter().any(is_its_own) {
            shape.indexes.insert(
                0,
                IndexShape {
                    text: format!("PRIMARY KEY ({name})"),
                    columns: vec![name],
                    unique: true,
                },
            );
        }
    }
    Ok(shape)
}

/// The indexes of a table, including those of its keys. An expression index or a partial one has no list of columns.
async fn indexes(
    database: &mut impl SqlQuery,
    literal: &str,
) -> Result<Vec<IndexShape>, UserError> {
    let rows = database
        .texts(&format!(
            "SELECT coalesce(s.sql, il.name), il.\"unique\", \
             il.partial = 0 AND min(ii.name IS NOT NULL) OVER (PARTITION BY il.seq), ii.name \
             FROM pragma_index_list({literal}) AS il \
             JOIN pragma_index_xinfo(il.name) AS ii ON ii.key = 1 \
             LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = il.name \
             ORDER BY il.seq DESC, ii.seqno"
        ))
        .await?;
    Ok(facts::indexes(rows))
}

/// Rows of the whole table according to ANALYZE's statistics, which may be absent.
async fn rows_all(database: &mut impl SqlQuery, literal: &str) -> Option<u64> {
    // Without ANALYZE, this table does not exist. The first number of an index is its row count, which is lower for a
    // partial index.
    let rows = database
        .texts(&format!(
            "SELECT max(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE tbl = {literal} COLLATE NOCASE"
        ))
        .await
        .ok()?;
    first_value(rows)?.parse().ok()
}

/// The type of a column's sampled values; the declared type if there are none.
async fn kind_of(
    database: &mut impl SqlQuery,
    from: &str,
    value: &str,
    declared: &str,
) -> Result<Option<ColumnType>, UserError> {
    let rows = database
        .texts(&format!(
            "SELECT sum(t = 'integer'), sum(t = 'real'), sum(t = 'text'), sum(t = 'blob'), \
             CAST(min(CASE WHEN t = 'integer' THEN c END) AS text), \
             CAST(max(CASE WHEN t = 'integer' THEN c END) AS text) \
             FROM (SELECT typeof({value}) AS t, {value} AS c FROM {from} LIMIT {SAMPLE_ROWS}) AS {SAMPLE}"
        ))
        .await?;
    let end = |at: usize| rows.first().and_then(|row| row.get(at)?.as_ref()?.parse().ok());
    let declared = declared.to_ascii_uppercase();
    let is_time = ["DATE", "TIME"].iter().any(|word| declared.contains(word));
    let held = [0, 1, 2, 3].map(|at| number(&rows, at));
    Ok(match held {
        [0, 0, 0, 0] => declared_kind(&declared, is_time),
        [_, 0, 0, 0] if is_time => match (end(4), end(5)) {
            (Some(min), Some(max))
                if MILLISECONDS.contains(&min) && MILLISECONDS.contains(&max) =>
            {
                Some(ColumnType::Timestamp)
            }
            _ => Some(ColumnType::Bigint),
        },
        [_, 0, 0, 0] => Some(ColumnType::Bigint),
        [_, _, 0, 0] => Some(ColumnType::Float),
        [0, 0, _, 0] => Some(ColumnType::Text),
        _ => None,
    })
}

/// SQLite's rules of affinity, and times.
fn declared_kind(declared: &str, is_time: bool) -> Option<ColumnType> {
    if is_time {
        return Some(ColumnType::Timestamp);
    }
    let kinds: [(&[&str], ColumnType); 3] = [
        (&["INT", "BOOL"], ColumnType::Bigint),
        (&["CHAR", "CLOB", "TEXT"], ColumnType::Text),
        (&["REAL", "FLOA", "DOUB", "NUM", "DEC"], ColumnType::Float),
    ];
    let mut kinds = kinds.into_iter();
    let found = kinds.find(|(words, _)| words.iter().any(|word| declared.contains(word)));
    found.map(|(_, kind)| kind)
}

/// The rows of a response as text, without blobs; an error if there are too many.
pub(super) fn rows(connection: &Connection, what: &str, sql: &str) -> Result<Texts, UserError> {
    let failed = |error: rusqlite::Error| statement_error(what, &error);
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let columns = statement.column_count();
    let mut found = statement.query([]).map_err(failed)?;
    let mut rows: Texts = Vec::new();
    let mut limit = AnswerLimit::default();
    while let Some(row) = found.next().map_err(failed)? {
        let texts = (0..columns).map(|at| {
            Ok(match row.get_ref(at)? {
                ValueRef::Null | ValueRef::Blob(_) => None,
                ValueRef::Integer(number) => Some(number.to_string()),
                ValueRef::Real(number) => Some(number.to_string()),
                ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            })
        });
        let row: Vec<_> = texts.collect::<Result<_, _>>().map_err(failed)?;
        if !limit.takes(&row) {
            return Err(UserError::statement(format!("{what}: {TOO_LONG}")));
        }
        rows.push(row);
    }
    Ok(rows)
}
