//! Describes a table for generating a workload file from it: its columns, a sample of their values, and its order. Must
//! not change anything.

use highwater_driver::sql::connection::{SqlConnection, first_value, values};
use highwater_driver::sql::facts::{count_rows, not_there, number, sample_column};
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, IndexShape, TableShape};
use highwater_model::user_error::UserError;

use super::wire::Wire;
use crate::dialect::CLICKHOUSE;

/// Target type of casts to text; it may be null.
const TEXT_TYPE: &str = "Nullable(String)";
/// The first words of clauses after an engine, and whether a table like it also has them.
const CLAUSES: [(&str, bool); 7] = [
    (" PARTITION BY ", true),
    (" PRIMARY KEY ", true),
    (" ORDER BY ", true),
    (" SAMPLE BY ", true),
    (" SETTINGS ", true),
    (" TTL ", false),
    (" COMMENT ", false),
];

/// Describes a table of the database.
pub(super) async fn describe(
    connection: &mut SqlConnection<Wire>,
    table: &str,
) -> Result<TableShape, UserError> {
    let name = CLICKHOUSE.literal(table);
    let columns = connection
        .rows(&format!(
            "SELECT name, type, default_kind, database FROM system.columns \
             WHERE database = currentDatabase() AND table = {name}"
        ))
        .await?;
    let Some(first) = columns.first() else {
        return Err(not_there(connection.place(), table));
    };
    let from = CLICKHOUSE.identifier(table);
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
    let created = connection.rows(&format!("SHOW CREATE TABLE {from}")).await?;
    let mut shape = TableShape {
        rows: count_rows(connection, &from).await?,
        rows_all: Some(number(&rows_all, 0)).filter(|rows| *rows > 0),
        indexes: first_value(order).map_or_else(Vec::new, |order| index(&order)),
        create: first_value(created).and_then(|created| created_as(&created)),
        ..CLICKHOUSE.table_shape(table, first.get(3).cloned().flatten())
    };
    for column in columns {
        let [name, declared, default] = values(column);
        let mut column = ColumnShape::new(name, &declared, kind_of(&declared));
        // A column omitted from an insert gets its type's minimum value.
        column.required = false;
        column.generated = ["MATERIALIZED", "ALIAS"].contains(&default.as_str());
        if let (Some(_), false) = (column.kind, column.generated) {
            let name = CLICKHOUSE.identifier(&column.name);
            sample_column(connection, &from, &name, TEXT_TYPE, &mut column).await?;
        }
        shape.columns.push(column);
    }
    Ok(shape)
}

/// The statement for a similar table, from the statement that created it: its columns and layout, with an engine that
/// keeps each row as inserted. Other engines replace or aggregate rows with the same key, and a TTL deletes or changes
/// rows, which an audit would count as loss.
fn created_as(statement: &str) -> Option<String> {
    let outline = outline(statement);
    let start = outline.find('(')? + 1;
    let end = start + outline.get(start..)?.find(')')?;
    let columns = without_ttl(statement.get(start..end)?);
    let layout = layout(statement.get(end + 1..)?);
    Some(format!("CREATE TABLE {{table}} ({columns}) ENGINE = MergeTree {layout}"))
}

/// A text of the same length with blanks for everything quoted or in parentheses, and for all white space.
fn outline(text: &str) -> String {
    let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
    let mut outline = String::with_capacity(text.len());
    for letter in text.chars() {
        let was_inside = depth > 0;
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '`' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (Some(_) | None, _) => {}
        }
        let is_inside = quote.is_some() || (was_inside && depth > 0);
        if is_inside || letter.is_whitespace() {
            outline.push_str(&" ".repeat(letter.len_utf8()));
        } else {
            outline.push(letter);
        }
    }
    outline
}

/// Columns without their TTLs.
fn without_ttl(columns: &str) -> String {
    let mut kept = String::new();
    let mut begin = 0;
    for column in outline(columns).split_inclusive(',') {
        let ttl = column.find(" TTL ");
        let end = begin + ttl.unwrap_or(column.len());
        kept.push_str(columns.get(begin..end).unwrap_or_default());
        if ttl.is_some() && column.ends_with(',') {
            kept.push(',');
        }
        begin += column.len();
    }
    kept
}

/// A table's layout, from the statement's text after its columns. An engine without its own storage, such as
/// `Distributed`, has none of it, and neither has one whose order is among its arguments.
fn layout(engine: &str) -> String {
    let outline = outline(engine);
    // The query of a view follows.
    let outline = outline.split(" AS ").next().unwrap_or_default();
    let name = outline.trim_start().strip_prefix("ENGINE = ");
    let name = name.and_then(|name| name.split([' ', '(']).next());
    let mut begins: Vec<(usize, bool)> = CLAUSES
        .iter()
        .flat_map(|(words, is_kept)| {
            let found = outline.match_indices(words);
            found.map(move |(at, _)| (at, *is_kept))
        })
        .collect();
    begins.sort_unstable();
    let ends = begins.iter().skip(1).map(|(at, _)| *at);
    let kept = begins.iter().zip(ends.chain([outline.len()])).filter(|((_, is_kept), _)| *is_kept);
    let kept: Vec<&str> =
        kept.filter_map(|((at, _), end)| engine.get(*at..end)).map(str::trim).collect();
    let is_ordered = |clause: &&str| clause.starts_with("ORDER") || clause.starts_with("PRIMARY");
    let is_own = name.is_some_and(|name| name.ends_with("MergeTree"));
    if is_own && kept.iter().any(is_ordered) {
        kept.join(" ")
    } else {
        "ORDER BY tuple()".to_owned()
    }
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
    let mut columns: Vec<&str> = order.split(", ").collect();
    if !columns.iter().all(is_name) {
        columns.clear();
    }
    vec![IndexShape {
        columns: columns.into_iter().map(str::to_owned).collect(),
        unique: false,
        text: order.to_owned(),
    }]
}

/// The workload type for a server type; `None` if no generator supports it.
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
    fn a_table_is_created_like_the_original_unless_that_is_above_others() {
        let own = "CREATE TABLE {table} (`a(` String DEFAULT ')',  b Int64) \
                   ENGINE = MergeTree ORDER BY b SETTINGS index_granularity = 8192";
        for (from, expected) in [
            (own.replace("{table}", "d.`t(`"), Some(own.to_owned())),
            (
                "CREATE TABLE d.t\n(\n    x Int64\n)\nENGINE = Distributed('c', 'd', 't', rand())"
                    .to_owned(),
                Some(
                    "CREATE TABLE {table} (\n    x Int64\n) ENGINE = MergeTree ORDER BY tuple()"
                        .to_owned(),
                ),
            ),
            (
                "CREATE TABLE t (x Int64) ENGINE = ReplicatedMergeTree('/t', 'r') ORDER BY x"
                    .to_owned(),
                Some("CREATE TABLE {table} (x Int64) ENGINE = MergeTree ORDER BY x".to_owned()),
            ),
            (
                "CREATE TABLE t (x Int64) ENGINE = MergeTree(d, (x), 8192)".to_owned(),
                Some(
                    "CREATE TABLE {table} (x Int64) ENGINE = MergeTree ORDER BY tuple()".to_owned(),
                ),
            ),
            ("CREATE TABLE t".to_owned(), None),
            ("CREATE TABLE t (x".to_owned(), None),
        ] {
            assert_eq!(created_as(&from), expected, "{from}");
        }
    }

    #[test]
    fn a_table_like_one_that_merges_or_deletes_rows_keeps_each() {
        let from = "CREATE TABLE d.t\n(\n    `x` Int64,\n    `d` Date CODEC(Delta(2), LZ4) TTL d + toIntervalDay(1),\n    \
                    `TTL ` Int8 TTL d\n)\nENGINE = ReplacingMergeTree(x)\nPARTITION BY toYYYYMM(d)\n\
                    ORDER BY (x, d)\nTTL d + toIntervalMonth(1) WHERE x = 1, d TO VOLUME ' SETTINGS '\n\
                    SETTINGS index_granularity = 8192\nCOMMENT 'of TTL d'";
        let expected = "CREATE TABLE {table} (\n    `x` Int64,\n    `d` Date CODEC(Delta(2), LZ4),\n    \
                        `TTL ` Int8) ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (x, d) \
                        SETTINGS index_granularity = 8192";
        assert_eq!(created_as(from).as_deref(), Some(expected));
        let view = "CREATE MATERIALIZED VIEW v (x Int64) ENGINE = SummingMergeTree ORDER BY x \
                    AS SELECT x FROM t ORDER BY y";
        let expected = "CREATE TABLE {table} (x Int64) ENGINE = MergeTree ORDER BY x";
        assert_eq!(created_as(view).as_deref(), Some(expected));
    }

    #[test]
    fn an_order_is_an_index_of_its_columns() {
        let index = |order| index(order).pop().map(|index| index.columns);
        assert_eq!(index(""), None);
        assert_eq!(index("hostname, ts").unwrap(), ["hostname".to_owned(), "ts".to_owned()]);
        assert!(index("intDiv(ts, 60)").unwrap().is_empty());
    }
}
