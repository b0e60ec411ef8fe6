//! The audit's statements, and how to read their responses: checksums by key, and rows to be read back, with the texts
//! of their values.
//!
//! The inner query computes each row's key and the integers of its values once; its last clause prevents
//! planners from recomputing them in every sum. Must not know which rows are expected.

use highwater_model::numbers::{signed_to_f64, truncate_to_i64};
use highwater_model::op::{BoundColumn, BoundTable, ColumnType, Value};
use highwater_model::stored::{
    ATTRIBUTE_SEPARATOR, FLOAT_BOUND, FLOAT_LARGE, FLOAT_SCALE, FLOAT_SMALL, GROUP_WIDTH_MAX,
    KEY_PRIME, KeyRange, NULL_RESIDUE, StoredRow, VALUE_PRIME,
};
use highwater_model::user_error::UserError;

use super::dialect::Dialect;
use super::facts::AUDITED;
use crate::contract::{KeyCounts, KeySums};
use crate::sql::connection::Texts;

/// Maximum number of keys or blocks of keys in one statement: a server looks them up by hash.
const BLOCKS_MAX: u64 = 10_000;
/// Maximum number of ranges that one statement looks up by an index.
const LOCATED_MAX: usize = 50;
/// Maximum number of ranges to look up; beyond it, one pass over the table is cheaper.
const RANGES_LOCATED_MAX: usize = 2_000;

/// The source of a query: the rows of a table or of its slice, without replaced rows, because a server
/// that merges rows with the same key does so at any time. Rows outside the slice are filtered before
/// anything is computed from them.
fn current_rows(dialect: &Dialect, table: &BoundTable, locate: Option<String>) -> String {
    let mut rows = dialect.identifier(&table.name);
    if table.replaces {
        rows.push_str(dialect.current_rows);
    }
    let slice = table.slice_condition();
    let conditions: Vec<String> = slice.into_iter().chain(locate).collect();
    if !conditions.is_empty() {
        rows.push_str(" WHERE ");
        rows.push_str(&conditions.join(" AND "));
    }
    rows
}

/// Counts the rows of the table by keys div `width`.
pub fn counts(dialect: &Dialect, table: &BoundTable, width: u64) -> String {
    by_bucket(dialect, table, width.max(1), ["", "", ""])
}

/// Counts rows by key div width. The arguments are inserted into the statement: its own columns, the
/// columns of its source, and the text after the source.
fn by_bucket(dialect: &Dialect, table: &BoundTable, width: u64, between: [&str; 3]) -> String {
    let [sums, values, fence] = between;
    let (k, bucket) =
        (dialect.inner_name("k"), if dialect.groups_by_name { "bucket" } else { "1" });
    format!(
        "SELECT CASE WHEN {k} >= 0 THEN {} ELSE -1 END AS bucket, count(*){sums} \
         FROM (SELECT {} AS {k}{values} FROM {}{fence}) AS {AUDITED} \
         GROUP BY {bucket} ORDER BY {bucket}",
        dialect.divide(&k, i64::try_from(width).unwrap_or(i64::MAX)),
        dialect.bigint(&format!("({})", table.key)),
        current_rows(dialect, table, None)
    )
}

/// The response to [`counts`]; `None` if it does not consist of integers.
pub fn counted(rows: &Texts) -> Option<KeyCounts> {
    let mut counts = KeyCounts::default();
    for row in rows {
        let [Some(bucket), Some(count)] = row.as_slice() else {
            return None;
        };
        let count: u64 = count.parse().ok()?;
        match u64::try_from(bucket.parse::<i64>().ok()?) {
            Ok(bucket) => counts.buckets.push((bucket, count)),
            Err(_) => counts.without_key += count,
        }
    }
    Some(counts)
}

/// The error of a workload whose `key` returns something else; `place` names the target.
pub fn not_integers(place: &str) -> UserError {
    UserError::statement(format!("{place}: the count by key is not made of integers"))
        .with_hint("the workload's `key` must be an integer expression")
}

/// Sums the table by groups of `width` keys, or by parts of that width if it is too wide.
pub fn sums(dialect: &Dialect, table: &BoundTable, width: u64) -> String {
    let k = dialect.inner_name("k");
    let mut values = String::new();
    let mut sums = String::new();
    for (at, column) in table.columns.iter().enumerate() {
        if !column.form().is_summed() {
            sums.push_str(", 0");
            continue;
        }
        let name = dialect.inner_name(&format!("v{at}"));
        values.push_str(&format!(", {} AS {name}", inner(dialect, column)));
        // The columns computed by `inner`.
        let value = match column.kind {
            ColumnType::Text | ColumnType::Object if column.value.is_none() => {
                (dialect.number_of_hash)(&name)
            }
            _ => name,
        };
        let term = (dialect.product)(
            &format!("{k} % {KEY_PRIME} + 1"),
            &format!(
                "coalesce(({value} % {VALUE_PRIME} + {VALUE_PRIME}) % {VALUE_PRIME}, {NULL_RESIDUE})"
            ),
        );
        sums.push_str(&format!(", sum({term})"));
    }
    let between = [sums.as_str(), &values, dialect.fence];
    by_bucket(dialect, table, group_width(width), between)
}

fn group_width(width: u64) -> u64 {
    width.clamp(1, GROUP_WIDTH_MAX)
}

/// The response to [`sums`]; `None` if it does not consist of integers.
pub fn summed(table: &BoundTable, width: u64, rows: &Texts) -> Option<KeySums> {
    let mut sums = KeySums {
        covered: table.columns.iter().map(|c| c.form().is_summed()).collect(),
        ..KeySums::default()
    };
    let mut rows = rows.iter();
    rows.try_for_each(|row| take_sums(&mut sums, width, row))?;
    Some(sums)
}

/// Reads one row; `None` if it does not consist of integers.
fn take_sums(sums: &mut KeySums, width: u64, row: &[Option<String>]) -> Option<()> {
    let [Some(bucket), Some(rows), values @ ..] = row else {
        return None;
    };
    let (bucket, rows): (i64, u64) = (bucket.parse().ok()?, rows.parse().ok()?);
    let Ok(bucket) = u64::try_from(bucket) else {
        sums.without_key += rows;
        return Some(());
    };
    let numbers = values.iter().map(|sum| {
        // Sums beyond 64 bits are decimals here; only their remainder modulo 2⁶⁴ matters.
        let sum = sum.as_deref()?.split('.').next()?.parse::<u128>().ok()?;
        u64::try_from(sum & u128::from(u64::MAX)).ok()
    });
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    sums.add(bucket * group_width(width) / width.max(1), rows, &numbers);
    Some(())
}

/// An expression in the table's columns for the integer of a value; for the hash itself, if the
/// dialect cannot convert a hash within the inner query.
fn inner(dialect: &Dialect, column: &BoundColumn) -> String {
    if let Some(expression) = &column.value {
        return dialect.bigint(&format!("({expression})"));
    }
    let name = dialect.identifier(&column.name);
    match column.kind {
        ColumnType::Integer | ColumnType::Bigint => dialect.bigint(&name),
        ColumnType::Boolean => dialect.boolean(&name),
        ColumnType::Timestamp => dialect.milliseconds(&name),
        ColumnType::Float => format!(
            "CASE WHEN abs({name}) < {FLOAT_BOUND} \
             THEN {} \
             WHEN {name} < 0 THEN {} WHEN {name} IS NOT NULL THEN {} END",
            dialect.bigint(&format!("floor({} * {FLOAT_SCALE})", dialect.double(&name))),
            dialect.integer(FLOAT_SMALL),
            dialect.integer(FLOAT_LARGE)
        ),
        ColumnType::Text => dialect.hash(&dialect.text_of(&name, &column.declared)),
        ColumnType::Object => {
            let mut parts = Vec::new();
            for attribute in &column.attributes {
                parts.push((dialect.attribute)(&name, attribute));
                parts.push(format!("'{ATTRIBUTE_SEPARATOR}'"));
            }
            let text = if parts.is_empty() { "''".to_owned() } else { dialect.concat(&parts) };
            format!("CASE WHEN {name} IS NOT NULL THEN {} END", dialect.hash(&text))
        }
    }
}

/// Statements that together return the rows of the ranges, and possibly others: key, then values.
/// Each comes with the ranges that it covers.
pub fn reads<'r>(
    dialect: &Dialect,
    table: &BoundTable,
    ranges: &'r [KeyRange],
) -> Vec<(String, &'r [KeyRange])> {
    let k = dialect.inner_name("k");
    let name = |at: usize| dialect.inner_name(&format!("v{at}"));
    let columns: String = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| format!(", {} AS {}", raw(dialect, column), name(at)))
        .collect();
    let names: String = (0..table.columns.len()).map(|at| format!(", {}", name(at))).collect();
    let select = |located: Option<String>, keys: &str| {
        format!(
            "SELECT {k}{names} FROM (SELECT {} AS {k}{columns} FROM {}{}) AS {AUDITED} \
             WHERE {keys}",
            dialect.bigint(&format!("({})", table.key)),
            current_rows(dialect, table, located),
            dialect.fence
        )
    };
    match &table.locate {
        Some(locate) if ranges.len() <= RANGES_LOCATED_MAX => ranges
            .chunks(LOCATED_MAX)
            .map(|ranges| {
                let located: Vec<String> =
                    ranges.iter().map(|range| range.located(locate)).collect();
                let located = format!("({})", located.join(" OR "));
                let keys = keys_within(dialect, ranges);
                (select(Some(located), &keys), ranges)
            })
            .collect(),
        _ => vec![(select(None, &keys_within(dialect, ranges)), ranges)],
    }
}

/// A statement of [`reads`] that returns at most `rows` rows: those with the lowest keys from `first` on.
pub fn page(dialect: &Dialect, statement: &str, first: u64, rows: usize) -> String {
    let k = dialect.inner_name("k");
    format!("{statement} AND {k} >= {first} ORDER BY {k} LIMIT {rows}")
}

/// A statement of [`reads`] for the rows of one key.
pub fn of_key(dialect: &Dialect, statement: &str, key: u64) -> String {
    format!("{statement} AND {} = {key}", dialect.inner_name("k"))
}

/// A condition on `k` that is true for all keys of the ranges, and for few others.
fn keys_within(dialect: &Dialect, ranges: &[KeyRange]) -> String {
    let k = dialect.inner_name("k");
    if let [only] = ranges {
        return format!("{k} >= {} AND {k} < {}", only.first, only.end);
    }
    let mut width: u64 = 1;
    let blocks = loop {
        let blocks = blocks(ranges, width);
        if blocks.len() as u64 <= BLOCKS_MAX {
            break blocks;
        }
        width *= 2;
    };
    let list: Vec<String> = blocks.iter().map(ToString::to_string).collect();
    let block = dialect.divide(&k, i64::try_from(width).unwrap_or(i64::MAX));
    dialect.one_of(&format!("({block})"), &list.join(","))
}

/// The blocks of `width` keys that contain the ranges; one more than the maximum if there are more.
fn blocks(ranges: &[KeyRange], width: u64) -> Vec<u64> {
    let mut blocks: Vec<u64> = Vec::new();
    for range in ranges {
        for block in range.first / width..=(range.end - 1) / width {
            if blocks.last() != Some(&block) {
                blocks.push(block);
            }
            if blocks.len() as u64 > BLOCKS_MAX {
                return blocks;
            }
        }
    }
    blocks
}

/// The expression that reads a column back.
fn raw(dialect: &Dialect, column: &BoundColumn) -> String {
    let name = dialect.identifier(&column.name);
    match (&column.value, column.kind) {
        (Some(expression), _) => dialect.bigint(&format!("({expression})")),
        (None, ColumnType::Timestamp) => dialect.exact_milliseconds(&name),
        (None, ColumnType::Float) => dialect.double(&name),
        (None, ColumnType::Text) => dialect.text_of(&name, &column.declared),
        _ => name,
    }
}

/// A row of the response to `audit::reads`; `None` without a key.
pub fn stored(table: &BoundTable, row: Vec<Option<String>>) -> Option<StoredRow> {
    let mut values = row.into_iter();
    let key = values.next()??.parse().ok()?;
    let values = table
        .columns
        .iter()
        .zip(values)
        .map(|(column, text)| text.map_or(Value::Null, |text| value(column, text)));
    Some(StoredRow { key, values: values.collect() })
}

/// The value of a text in its column; the text itself if it does not parse.
fn value(column: &BoundColumn, text: String) -> Value {
    let kind = match column.value {
        Some(_) => ColumnType::Bigint,
        None => column.kind,
    };
    let read = match kind {
        ColumnType::Integer | ColumnType::Bigint => {
            // A decimal always has digits after its point.
            let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
            let is_whole = part.bytes().all(|digit| digit == b'0');
            whole.parse().ok().filter(|_| is_whole).map(Value::Integer)
        }
        ColumnType::Float => text.parse().ok().map(Value::Float),
        ColumnType::Boolean => match text.as_str() {
            "t" | "true" | "1" => Some(Value::Boolean(true)),
            "f" | "false" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        ColumnType::Timestamp => {
            let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
            match whole.parse() {
                Ok(ms) if part.bytes().all(|digit| digit == b'0') => Some(Value::TimestampMs(ms)),
                _ => text.parse().ok().map(milliseconds),
            }
        }
        ColumnType::Text | ColumnType::Object => None,
    };
    read.unwrap_or_else(|| Value::Text(text.into()))
}

/// A time read as a double, which some servers print with an exponent.
fn milliseconds(ms: f64) -> Value {
    let whole = truncate_to_i64(ms);
    if signed_to_f64(whole).to_bits() == ms.to_bits() {
        Value::TimestampMs(whole)
    } else {
        Value::Float(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::STANDARD;

    fn table() -> BoundTable {
        BoundTable {
            name: "t".to_owned(),
            columns: vec![
                BoundColumn::new("n", ColumnType::Integer),
                BoundColumn {
                    value: Some("f(x)".to_owned()),
                    ..BoundColumn::new("x", ColumnType::Text)
                },
            ],
            key: "n".to_owned(),
            ..BoundTable::default()
        }
    }

    #[test]
    fn a_group_is_never_wider_than_its_sums_can_hold() {
        let sql = sums(&STANDARD, &table(), 1 << 30);
        assert!(sql.contains(&format!("k / {GROUP_WIDTH_MAX}")), "{sql}");
        assert!(sums(&STANDARD, &table(), 256).contains("k / 256"));
    }

    #[test]
    fn a_substitute_of_a_value_is_summed_instead_of_its_hash() {
        let sql = sums(&STANDARD, &table(), 256);
        assert!(sql.contains(", CAST((f(x)) AS bigint) AS v1 "), "{sql}");
        let residue = format!("coalesce((v1 % {VALUE_PRIME}");
        assert!(sql.contains(&residue), "{sql}");
    }

    #[test]
    fn replaced_rows_are_not_read_if_the_server_merges_them_later() {
        let replacing = BoundTable { replaces: true, ..table() };
        let merging = Dialect { current_rows: " FINAL", ..STANDARD };
        for (dialect, is_final) in [(&merging, true), (&STANDARD, false)] {
            let [counts, sums] = [counts, sums].map(|sql| sql(dialect, &replacing, 256));
            let (rows, _) = reads(dialect, &replacing, &[]).remove(0);
            for sql in [counts, sums, rows] {
                assert_eq!(sql.contains("\"t\" FINAL"), is_final, "{sql}");
            }
            assert!(!super::sums(dialect, &table(), 256).contains("FINAL"));
        }
    }

    #[test]
    fn a_dialect_whose_names_hold_in_the_whole_query_has_names_that_no_column_has() {
        let dialect = Dialect { inner_prefix: "highwater_", groups_by_name: true, ..STANDARD };
        let sql = sums(&dialect, &table(), 256);
        assert!(
            sql.contains("CAST((f(x)) AS bigint) AS highwater_v1 FROM \"t\"")
                && sql.contains("sum((highwater_k % 65537 + 1) * coalesce(")
                && sql.ends_with("GROUP BY bucket ORDER BY bucket"),
            "{sql}"
        );
        let (sql, _) = reads(&dialect, &table(), &[]).remove(0);
        assert!(sql.contains("SELECT highwater_k, highwater_v0, highwater_v1 FROM"), "{sql}");
    }

    #[test]
    fn a_slice_filters_other_rows_at_the_scan_and_before_the_fence() {
        let slice = |first, end| BoundTable {
            locate: Some("n BETWEEN :first AND :last".to_owned()),
            slice: Some(KeyRange { first, end }),
            ..table()
        };
        let fenced = Dialect { fence: " OFFSET 0", ..STANDARD };
        let sql = sums(&fenced, &slice(512, 1_024), 256);
        let located = "(n) >= 512 AND (n) < 1024 AND (n BETWEEN 512 AND 1023)";
        assert!(sql.contains(&format!("FROM \"t\" WHERE {located} OFFSET 0)")), "{sql}");
        let last = slice(512, KeyRange::ALL.end);
        let sql = counts(&STANDARD, &last, 256);
        assert!(sql.contains("FROM \"t\" WHERE (n) >= 512) AS"), "{sql}");
    }

    #[test]
    fn groups_become_buckets_and_keys_below_zero_none() {
        let mut all = KeySums::default();
        let width = GROUP_WIDTH_MAX * 2;
        let text = |values: &[&str]| -> Vec<Option<String>> {
            values.iter().map(|v| Some((*v).to_owned())).collect()
        };
        for row in [
            text(&["-1", "3", "5", "5"]),
            text(&["0", "1", "18446744073709551615", "4"]),
            text(&["1", "2", "2", "5"]),
            text(&["2", "1", "7", "18446744073709551616"]),
        ] {
            assert!(take_sums(&mut all, width, &row).is_some());
        }
        assert_eq!(all.without_key, 3);
        let found: Vec<_> =
            all.buckets.iter().map(|b| (b.bucket, b.rows, b.sums.as_slice())).collect();
        assert_eq!(found, [(0, 3, &[1, 9][..]), (1, 1, &[7, 0])]);
        assert!(take_sums(&mut all, width, &text(&["0", "x", "1", "1"])).is_none());
        assert!(take_sums(&mut all, width, &[None, None]).is_none());
    }

    #[test]
    fn many_ranges_are_named_by_blocks() {
        let range = |first, end| KeyRange { first, end };
        assert_eq!(keys_within(&STANDARD, &[range(5, 9)]), "k >= 5 AND k < 9");
        assert_eq!(keys_within(&STANDARD, &[range(5, 7), range(9, 10)]), "(k / 1) IN (5,6,9)");
        let wide = [range(0, 15_000), range(20_000, 20_001)];
        let sql = keys_within(&STANDARD, &wide);
        assert!(sql.starts_with("(k / 2) IN (0,1,"), "{sql}");
    }

    #[test]
    fn texts_of_an_answer_become_values() {
        for (kind, text, expected) in [
            (ColumnType::Bigint, "-5", Value::Integer(-5)),
            (ColumnType::Bigint, "5.5", Value::Text("5.5".into())),
            (ColumnType::Timestamp, "1000.000000", Value::TimestampMs(1_000)),
            (ColumnType::Timestamp, "1000.500000", Value::Float(1_000.5)),
            (ColumnType::Timestamp, "1.451606410123E12", Value::TimestampMs(1_451_606_410_123)),
            (ColumnType::Boolean, "t", Value::Boolean(true)),
            (ColumnType::Boolean, "0", Value::Boolean(false)),
            (ColumnType::Float, "0.1", Value::Float(0.1)),
            (ColumnType::Text, "t", Value::Text("t".into())),
        ] {
            let column = BoundColumn::new("c", kind);
            assert_eq!(value(&column, text.to_owned()), expected);
        }
    }
}
