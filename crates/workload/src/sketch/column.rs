//! Selects a generator that approximates the contents of a column. Must not depend on other parts of a table.

use crate::generators::plain::{MAX_LENGTH, MAX_WORD, MAX_WORDS, letters};
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, LISTED_MAX};

use super::quoted;

/// Options of a generator, in order: key and value as TOML.
pub(super) type Options = Vec<(&'static str, String)>;

/// Random texts of this many letters have no duplicates among 10¹².
const UNIQUE_LETTERS: u64 = 16;

/// Whether a generator can produce it, and a workload file can name it.
pub(super) fn is_made(column: &ColumnShape) -> bool {
    let name = &column.name;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let holds = match column.kind {
        None => false,
        Some(ColumnType::Object) => made_fields(column).next().is_some(),
        Some(_) => true,
    };
    holds && !column.generated && plain && begins && name.len() <= 63
}

/// Fields that a generator can produce: times within objects are not supported.
fn made_fields(column: &ColumnShape) -> impl Iterator<Item = &ColumnShape> {
    column.fields.iter().filter(|field| is_made_field(field))
}

/// Whether a generator can produce it as a field of an object.
pub(super) fn is_made_field(column: &ColumnShape) -> bool {
    is_made(column) && column.kind != Some(ColumnType::Timestamp)
}

/// Paths of the fields that no generator can produce.
pub(super) fn left_out_fields(column: &ColumnShape) -> Vec<String> {
    let mut left = Vec::new();
    for field in &column.fields {
        if made_fields(column).any(|made| made.name == field.name) {
            let inner = left_out_fields(field).into_iter();
            left.extend(inner.map(|path| format!("{}.{path}", field.name)));
        } else {
            left.push(format!("{} {}", field.name, field.declared));
        }
    }
    left
}

/// The least and greatest value as integers.
pub(super) fn ends(column: &ColumnShape) -> Option<(i64, i64)> {
    let end = |text: Option<&String>| text?.parse::<i64>().ok();
    Some((end(column.min.as_ref())?, end(column.max.as_ref())?))
}

/// Start and step of whole numbers that are distinct in all rows: evenly spaced ones, or approximately so if a key
/// requires distinct ones.
pub(super) fn steps(column: &ColumnShape, rows: u64, alone: bool) -> Option<(i64, u64)> {
    let whole = matches!(column.kind, Some(ColumnType::Integer | ColumnType::Bigint));
    let (min, max) = ends(column)?;
    let gaps = rows.checked_sub(1).filter(|gaps| *gaps > 0)?;
    let span = max.abs_diff(min);
    let different = whole && column.nulls == 0 && column.distinct == rows;
    (different && (alone || span.is_multiple_of(gaps))).then_some((min, (span / gaps).max(1)))
}

/// Whether its generator is a timeline.
pub(super) fn is_timeline(column: &ColumnShape) -> bool {
    column.kind == Some(ColumnType::Timestamp) && ends(column).is_some()
}

pub(super) fn looks_like_uuid(column: &ColumnShape) -> bool {
    let uuid = |text: &String| {
        let at = [8, 13, 18, 23];
        text.len() == 36 && at.iter().all(|at| text.as_bytes().get(*at) == Some(&b'-'))
    };
    column.kind == Some(ColumnType::Text)
        && column.lengths == (36, 36)
        && column.min.as_ref().is_some_and(uuid)
        && column.max.as_ref().is_some_and(uuid)
}

/// Whether it is long text that differs in every row, to be generated with six random bits per letter.
pub(super) fn is_long_and_different(column: &ColumnShape, rows: u64) -> bool {
    let text = column.kind == Some(ColumnType::Text);
    text && rows > LISTED_MAX && column.distinct == rows && column.lengths.0 >= UNIQUE_LETTERS
}

/// Whether all its values are listed, and can be written in a file.
fn is_listed(column: &ColumnShape) -> bool {
    let few = !column.common.is_empty() && column.distinct <= LISTED_MAX;
    let kind = !matches!(
        column.kind,
        Some(ColumnType::Float | ColumnType::Timestamp | ColumnType::Object)
    );
    few && kind && !column.common.iter().any(|(value, _)| value.contains("${"))
}

/// Milliseconds between rows with this range of times.
pub(super) fn interval(min: i64, max: i64, rows: u64) -> u64 {
    (max.abs_diff(min) / rows.saturating_sub(1).max(1)).max(1)
}

/// The generator of a column; `alone` if a key requires distinct values.
pub(super) fn generator(column: &ColumnShape, rows: u64, alone: bool) -> Options {
    if let Some((start, step)) = steps(column, rows, alone) {
        let step = (step > 1).then(|| ("step", step.to_string()));
        let mut options = named("sequence", [("start", start.to_string())]);
        options.extend(step);
        return options;
    }
    match column.kind {
        Some(ColumnType::Timestamp) => {
            let (start, interval) = match ends(column) {
                Some((min, max)) => (min, interval(min, max, rows)),
                None => (1_577_836_800_000, 1_000),
            };
            let start = quoted(&crate::parameter::format_timestamp(start));
            let interval = quoted(&format!("{interval}ms"));
            named("timeline", [("start", start), ("interval", interval)])
        }
        Some(ColumnType::Object) => named("object", [("fields", fields(column, rows))]),
        _ if is_listed(column) => choice(column),
        _ => described(column, rows),
    }
}

/// A generator for values that are not listed.
fn described(column: &ColumnShape, rows: u64) -> Options {
    match column.kind {
        Some(ColumnType::Integer | ColumnType::Bigint) => {
            let (min, max) = ends(column).unwrap_or((0, 1_000_000));
            named("uniform", [("min", min.to_string()), ("max", max.to_string())])
        }
        Some(ColumnType::Float) => {
            let number = |text: Option<&String>| text?.parse::<f64>().ok();
            let end = |text, other| number(text).filter(|n| n.is_finite()).unwrap_or(other);
            let (min, max) = (end(column.min.as_ref(), 0.0), end(column.max.as_ref(), 1.0));
            let max = if min < max { max } else { min + 1.0 };
            named("uniform", [("min", format!("{min:?}")), ("max", format!("{max:?}"))])
        }
        Some(ColumnType::Boolean) => named("choice", [("values", "[true, false]".to_owned())]),
        _ if looks_like_uuid(column) => named("uuid", []),
        // Repeated values.
        _ if column.distinct.saturating_mul(5) < rows && column.distinct > 0 => {
            let size =
                column.distinct_all.unwrap_or(0).max(column.distinct).min(MAX_WORDS.unsigned_abs());
            let length = column.lengths.1.clamp(letters(size), MAX_WORD.unsigned_abs());
            named("dictionary", [("size", size.to_string()), ("length", length.to_string())])
        }
        _ => {
            let most = column.lengths.1.clamp(1, MAX_LENGTH.unsigned_abs());
            let least = column.lengths.0.min(most);
            named("text", [("least", least.to_string()), ("length", most.to_string())])
        }
    }
}

fn named<const N: usize>(name: &str, options: [(&'static str, String); N]) -> Options {
    let mut all = vec![("generator", quoted(name))];
    all.extend(options);
    all
}

fn choice(column: &ColumnShape) -> Options {
    let value = |value: &String| match column.kind {
        Some(ColumnType::Text) => quoted(value),
        Some(ColumnType::Boolean) => matches!(value.as_str(), "t" | "true").to_string(),
        _ => value.clone(),
    };
    let values: Vec<String> = column.common.iter().map(|(text, _)| value(text)).collect();
    let weights: Vec<String> =
        column.common.iter().map(|(_, n)| (*n).clamp(1, 1_000_000_000).to_string()).collect();
    named(
        "choice",
        [
            ("values", format!("[{}]", values.join(", "))),
            ("weights", format!("[{}]", weights.join(", "))),
        ],
    )
}

/// The fields of an object as a TOML list, one per line.
fn fields(column: &ColumnShape, rows: u64) -> String {
    let lines = made_fields(column).map(|field| {
        let kind = quoted(field.kind.unwrap_or(ColumnType::Text).name());
        let mut options = vec![("name", quoted(&field.name)), ("type", kind)];
        options.extend(generator(field, rows, false));
        format!("    {},\n", inline(&options))
    });
    format!("[\n{}]", lines.collect::<String>())
}

/// Options as an inline table.
pub(super) fn inline(options: &Options) -> String {
    let pairs = options.iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}
