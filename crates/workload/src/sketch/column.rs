//! From what a column holds to a generator that comes near to it.
//!
//! What must not be here: other parts of a table.

use crate::generators::plain::{MAX_LENGTH, MAX_WORD, MAX_WORDS, letters};
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, LISTED_MAX};

use super::toml_text::quoted;

/// Options of a generator, in order: key and value as TOML.
pub(super) type Options = Vec<(&'static str, String)>;

/// Letters of random text of which no two among 10¹² are the same.
const UNIQUE_LETTERS: u64 = 16;

/// What a sketch asks a column.
pub(super) trait SketchedColumn: Sized {
    /// Whether a generator can stand for it, and a workload file can name it.
    fn is_made(&self) -> bool;

    /// Fields that a generator can stand for: there is none for times within objects.
    fn made_fields(&self) -> impl Iterator<Item = &Self>;

    /// Whether a generator can stand for it as a field of an object.
    fn is_made_field(&self) -> bool;

    /// Fields that no generator makes, with the path to them.
    fn left_out_fields(&self) -> Vec<String>;

    /// Least and greatest as integers.
    fn ends(&self) -> Option<(i64, i64)>;

    /// Start and step of whole numbers of which no two rows have the same: evenly spaced ones, or
    /// about so where a key needs them to be different.
    fn steps(&self, rows: u64, alone: bool) -> Option<(i64, u64)>;

    /// Whether its generator is a time line.
    fn is_timeline(&self) -> bool;

    fn looks_like_uuid(&self) -> bool;

    /// Whether it is text made anew for each row, with six random bits in each of many letters.
    fn is_long_and_different(&self, rows: u64) -> bool;

    /// Whether all its values are listed, and can stand in a file.
    fn is_listed(&self) -> bool;
}

impl SketchedColumn for ColumnShape {
    fn is_made(&self) -> bool {
        let plain = self
            .name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
        let begins = self
            .name
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let holds = match self.kind {
            None => false,
            Some(ColumnType::Object) => self.made_fields().next().is_some(),
            Some(_) => true,
        };
        holds && !self.generated && plain && begins && self.name.len() <= 63
    }

    fn made_fields(&self) -> impl Iterator<Item = &Self> {
        self.fields.iter().filter(|field| field.is_made_field())
    }

    fn is_made_field(&self) -> bool {
        self.is_made() && self.kind != Some(ColumnType::Timestamp)
    }

    fn left_out_fields(&self) -> Vec<String> {
        let mut left = Vec::new();
        for field in &self.fields {
            if self.made_fields().any(|made| made.name == field.name) {
                let inner = field.left_out_fields().into_iter();
                left.extend(inner.map(|path| format!("{}.{path}", field.name)));
            } else {
                left.push(format!("{} {}", field.name, field.declared));
            }
        }
        left
    }

    fn ends(&self) -> Option<(i64, i64)> {
        let end = |text: Option<&String>| text?.parse::<i64>().ok();
        Some((end(self.min.as_ref())?, end(self.max.as_ref())?))
    }

    fn steps(&self, rows: u64, alone: bool) -> Option<(i64, u64)> {
        let whole = matches!(self.kind, Some(ColumnType::Integer | ColumnType::Bigint));
        let (min, max) = self.ends()?;
        let gaps = rows.checked_sub(1).filter(|gaps| *gaps > 0)?;
        let span = max.abs_diff(min);
        let different = whole && self.nulls == 0 && self.distinct == rows;
        (different && (alone || span.is_multiple_of(gaps))).then_some((min, (span / gaps).max(1)))
    }

    fn is_timeline(&self) -> bool {
        self.kind == Some(ColumnType::Timestamp) && self.ends().is_some()
    }

    fn looks_like_uuid(&self) -> bool {
        let uuid = |text: &String| {
            let at = [8, 13, 18, 23];
            text.len() == 36 && at.iter().all(|at| text.as_bytes().get(*at) == Some(&b'-'))
        };
        self.kind == Some(ColumnType::Text)
            && self.lengths == (36, 36)
            && self.min.as_ref().is_some_and(uuid)
            && self.max.as_ref().is_some_and(uuid)
    }

    fn is_long_and_different(&self, rows: u64) -> bool {
        let text = self.kind == Some(ColumnType::Text);
        text && rows > LISTED_MAX && self.distinct == rows && self.lengths.0 >= UNIQUE_LETTERS
    }

    fn is_listed(&self) -> bool {
        let few = !self.common.is_empty() && self.distinct <= LISTED_MAX;
        let kind = !matches!(
            self.kind,
            Some(ColumnType::Float | ColumnType::Timestamp | ColumnType::Object)
        );
        few && kind && !self.common.iter().any(|(value, _)| value.contains("${"))
    }
}

/// Milliseconds between rows whose times are these.
pub(super) fn interval(min: i64, max: i64, rows: u64) -> u64 {
    (max.abs_diff(min) / rows.saturating_sub(1).max(1)).max(1)
}

/// The generator of a column; `alone` if a key needs its values to be different.
pub(super) fn generator(column: &ColumnShape, rows: u64, alone: bool) -> Options {
    if let Some((start, step)) = column.steps(rows, alone) {
        let step = (step > 1).then(|| ("step", step.to_string()));
        let mut options = named("sequence", [("start", start.to_string())]);
        options.extend(step);
        return options;
    }
    match column.kind {
        Some(ColumnType::Timestamp) => {
            let ends = column
                .ends()
                .unwrap_or((1_577_836_800_000, 1_577_836_801_000));
            let start = crate::parameter::format_timestamp(ends.0);
            let interval = if column.is_timeline() {
                interval(ends.0, ends.1, rows)
            } else {
                1_000
            };
            let interval = quoted(&format!("{interval}ms"));
            named(
                "timeline",
                [("start", quoted(&start)), ("interval", interval)],
            )
        }
        Some(ColumnType::Object) => named("object", [("fields", fields(column, rows))]),
        _ if column.is_listed() => choice(column),
        _ => described(column, rows),
    }
}

/// A generator of values that are not listed.
fn described(column: &ColumnShape, rows: u64) -> Options {
    match column.kind {
        Some(ColumnType::Integer | ColumnType::Bigint) => {
            let (min, max) = column.ends().unwrap_or((0, 1_000_000));
            named(
                "uniform",
                [("min", min.to_string()), ("max", max.to_string())],
            )
        }
        Some(ColumnType::Float) => {
            let number = |text: Option<&String>| text?.parse::<f64>().ok();
            let end = |text, other| number(text).filter(|n| n.is_finite()).unwrap_or(other);
            let (min, max) = (end(column.min.as_ref(), 0.0), end(column.max.as_ref(), 1.0));
            let max = if min < max { max } else { min + 1.0 };
            named(
                "uniform",
                [("min", format!("{min:?}")), ("max", format!("{max:?}"))],
            )
        }
        Some(ColumnType::Boolean) => named("choice", [("values", "[true, false]".to_owned())]),
        _ if column.looks_like_uuid() => named("uuid", []),
        // Values that come again and again.
        _ if column.distinct.saturating_mul(5) < rows && column.distinct > 0 => {
            let size = column
                .distinct_all
                .unwrap_or(0)
                .max(column.distinct)
                .min(MAX_WORDS.unsigned_abs());
            let length = column
                .lengths
                .1
                .clamp(letters(size), MAX_WORD.unsigned_abs());
            named(
                "dictionary",
                [("size", size.to_string()), ("length", length.to_string())],
            )
        }
        _ => {
            let most = column.lengths.1.clamp(1, MAX_LENGTH.unsigned_abs());
            let least = column.lengths.0.min(most);
            named(
                "text",
                [("least", least.to_string()), ("length", most.to_string())],
            )
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
    let weights = column.common.iter();
    let weights: Vec<String> = weights
        .map(|(_, n)| (*n).clamp(1, 1_000_000_000).to_string())
        .collect();
    named(
        "choice",
        [
            ("values", format!("[{}]", values.join(", "))),
            ("weights", format!("[{}]", weights.join(", "))),
        ],
    )
}

/// The fields of an object as a list of TOML, one a line.
fn fields(column: &ColumnShape, rows: u64) -> String {
    let lines = column.made_fields().map(|field| {
        let kind = quoted(field.kind.unwrap_or(ColumnType::Text).name());
        let mut options = vec![("name", quoted(&field.name)), ("type", kind)];
        options.extend(generator(field, rows, false));
        format!("    {},\n", inline(&options))
    });
    format!("[\n{}]", lines.collect::<String>())
}

/// Options as an inline table.
pub(super) fn inline(options: &Options) -> String {
    let pairs = options
        .iter()
        .map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}
