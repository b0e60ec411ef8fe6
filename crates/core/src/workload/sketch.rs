//! A workload file from a table that is there: its columns, what they hold, and generators that
//! come near to it. A sketch to go on from, not a copy of the data.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use crate::model::op::ColumnType;
use crate::model::table_shape::{ColumnShape, LISTED_MAX, TableShape};

/// A workload file for a table of its own with such columns, named after the original.
pub fn sketch(table: &TableShape) -> String {
    let name = format!("{}_like", table.name);
    let mut text = String::new();
    let _ = write!(
        text,
        "# Sketched from table {} and {} of its rows: a beginning, to be changed.\n\
         # Generators come near to each column by itself; how columns depend on each other is not seen.\n\n\
         format = 1\nname = {}\nversion = 1\nsummary = {}\nsource = {}\n\n[parameters]\n\
         batch = {{ type = \"integer\", default = 1000, min = 1, max = 1000000, summary = \"rows of one insert\" }}\n\
         rows = {{ type = \"integer\", default = {}, min = 0, summary = \"rows to load before the first phase\" }}\n",
        table.name,
        table.rows,
        quoted(&name.replace('_', "-")),
        quoted(&format!("rows like those of {}", table.name)),
        quoted(&format!("sketched from table {}", table.name)),
        table.rows,
    );
    let made: Vec<&ColumnShape> = table
        .columns
        .iter()
        .filter(|column| column.is_made())
        .collect();
    for column in &made {
        let kind = column.kind.unwrap_or(ColumnType::Text);
        let _ = write!(
            text,
            "\n[[tables.{name}.columns]]\nname = {}\ntype = \"{}\"\n{}",
            quoted(&column.name),
            super::reading::kinds::name_of(kind),
            generator(column, table.rows)
        );
    }
    for column in table.columns.iter().filter(|column| !column.is_made()) {
        let _ = write!(
            text,
            "\n# left out: {} {}{}\n",
            column.name,
            column.declared,
            if column.required {
                ", which must not be null: it cannot be filled"
            } else {
                ""
            }
        );
    }
    let columns = made.iter().map(|column| {
        let required = if column.nulls == 0 { " NOT NULL" } else { "" };
        format!("{} {}{required}", column.name, column.declared)
    });
    let _ = write!(
        text,
        "\n[tables.{name}.create]\n{} = {}\n",
        table.dialect,
        quoted(&format!(
            "CREATE TABLE {name} ({})",
            columns.collect::<Vec<_>>().join(", ")
        )),
    );
    write_key(&mut text, &name, table, &made);
    write_ops(&mut text, &name, &made, table);
    text
}

impl ColumnShape {
    /// Whether a generator can stand for it, and it needs no quotes.
    fn is_made(&self) -> bool {
        let plain = self
            .name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
        let begins = self
            .name
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        self.kind.is_some() && plain && begins && self.name.len() <= 63
    }

    fn number(text: Option<&String>) -> Option<f64> {
        text?.parse().ok()
    }

    /// Least and greatest as integers.
    fn ends(&self) -> Option<(i64, i64)> {
        let end = |text: Option<&String>| text?.parse::<i64>().ok();
        Some((end(self.min.as_ref())?, end(self.max.as_ref())?))
    }

    /// Whether its values follow each other without a gap.
    fn is_sequence(&self, rows: u64) -> bool {
        let whole = matches!(self.kind, Some(ColumnType::Integer | ColumnType::Bigint));
        whole
            && rows > 1
            && self.nulls == 0
            && self.distinct == rows
            && self
                .ends()
                .is_some_and(|(min, max)| max.abs_diff(min) == rows - 1)
    }

    fn is_timeline(&self) -> bool {
        self.kind == Some(ColumnType::Timestamp) && self.ends().is_some()
    }

    fn looks_like_uuid(&self) -> bool {
        let uuid = |text: &String| {
            let at = [8, 13, 18, 23];
            text.len() == 36 && at.iter().all(|at| text.as_bytes().get(*at) == Some(&b'-'))
        };
        self.lengths == (36, 36)
            && self.min.as_ref().is_some_and(uuid)
            && self.max.as_ref().is_some_and(uuid)
    }
}

/// Milliseconds between rows whose times are these.
fn interval((min, max): (i64, i64), rows: u64) -> u64 {
    (max.abs_diff(min) / rows.saturating_sub(1).max(1)).max(1)
}

/// The lines of a column's generator.
fn generator(column: &ColumnShape, rows: u64) -> String {
    let listed = !column.common.is_empty() && column.distinct <= LISTED_MAX;
    match column.kind {
        _ if column.is_sequence(rows) => {
            let start = column.ends().map_or(0, |(min, _)| min);
            format!("generator = \"sequence\"\nstart = {start}\n")
        }
        Some(ColumnType::Timestamp) => match column.ends() {
            Some(ends) => format!(
                "generator = \"timeline\"\nstart = {}\ninterval = \"{}ms\"\n",
                quoted(&super::parameter::format_timestamp(ends.0)),
                interval(ends, rows)
            ),
            None => {
                "generator = \"timeline\"\nstart = \"2020-01-01T00:00:00Z\"\ninterval = \"1s\"\n"
                    .to_owned()
            }
        },
        Some(ColumnType::Boolean | ColumnType::Integer | ColumnType::Bigint | ColumnType::Text)
            if listed =>
        {
            choice(column)
        }
        Some(ColumnType::Integer | ColumnType::Bigint) => {
            let (min, max) = column.ends().unwrap_or((0, 1_000_000));
            format!("generator = \"uniform\"\nmin = {min}\nmax = {max}\n")
        }
        Some(ColumnType::Float) => {
            let number = |text, other: f64| {
                ColumnShape::number(text)
                    .filter(|n| n.is_finite())
                    .unwrap_or(other)
            };
            let (min, max) = (
                number(column.min.as_ref(), 0.0),
                number(column.max.as_ref(), 1.0),
            );
            let max = if min < max { max } else { min + 1.0 };
            format!("generator = \"uniform\"\nmin = {min:?}\nmax = {max:?}\n")
        }
        Some(ColumnType::Boolean) => "generator = \"choice\"\nvalues = [true, false]\n".to_owned(),
        _ if column.looks_like_uuid() => "generator = \"uuid\"\n".to_owned(),
        // Values that come again and again.
        _ if column.distinct.saturating_mul(5) < rows && column.distinct > 0 => {
            let size = column.distinct.min(1_000_000);
            let length = column
                .lengths
                .1
                .clamp(super::words::WordShape::letters(size), 64);
            format!("generator = \"dictionary\"\nsize = {size}\nlength = {length}\n")
        }
        _ => {
            let most = column.lengths.1.clamp(1, 1 << 20);
            let least = column.lengths.0.min(most);
            format!("generator = \"text\"\nleast = {least}\nlength = {most}\n")
        }
    }
}

fn choice(column: &ColumnShape) -> String {
    let value = |text: &String| match column.kind {
        Some(ColumnType::Text) => quoted(text),
        Some(ColumnType::Boolean) => matches!(text.as_str(), "t" | "true").to_string(),
        _ => text.clone(),
    };
    let values: Vec<String> = column.common.iter().map(|(text, _)| value(text)).collect();
    let weights = column
        .common
        .iter()
        .map(|(_, n)| (*n).clamp(1, 1_000_000_000).to_string());
    let weights: Vec<String> = weights.collect();
    format!(
        "generator = \"choice\"\nvalues = [{}]\nweights = [{}]\n",
        values.join(", "),
        weights.join(", ")
    )
}

/// An expression that leads from a row to its index: a sequence, or the time line.
fn write_key(text: &mut String, name: &str, table: &TableShape, made: &[&ColumnShape]) {
    let sequence = made.iter().find(|column| column.is_sequence(table.rows));
    let timeline = made.iter().find(|column| column.is_timeline());
    let key = match (
        sequence,
        timeline.and_then(|column| Some((column, column.ends()?))),
    ) {
        (Some(column), _) => {
            let start = column.ends().map_or(0, |(min, _)| min);
            format!("{} - ({start})", column.name)
        }
        (None, Some((column, ends))) => {
            let since = table.milliseconds.replace("{column}", &column.name);
            format!("({since} - ({})) / {}", ends.0, interval(ends, table.rows))
        }
        (None, None) => {
            text.push_str("\n# No column tells one row from another: run it with --audit off.\n");
            "0".to_owned()
        }
    };
    let _ = write!(
        text,
        "\n[tables.{name}.key]\n{} = {}\n",
        table.dialect,
        quoted(&key)
    );
}

fn write_ops(text: &mut String, name: &str, made: &[&ColumnShape], table: &TableShape) {
    let _ = write!(
        text,
        "\n[load]\nop = \"insert\"\nrows = \"${{rows}}\"\n\n\
         [ops.insert]\nsummary = \"one batch of rows\"\ninsert = \"{name}\"\nbatch = \"${{batch}}\"\n"
    );
    // Rows are asked for by what tells most of them apart.
    let asked = made.iter().max_by_key(|column| {
        let selective = column.kind != Some(ColumnType::Float) && column.nulls == 0;
        if selective { column.distinct } else { 0 }
    });
    let asked = asked.filter(|column| column.kind != Some(ColumnType::Float));
    if let Some(column) = asked {
        let kind = super::reading::kinds::name_of(column.kind.unwrap_or(ColumnType::Text));
        let _ = write!(
            text,
            "\n[ops.get]\nsummary = \"rows with one value of {0}\"\n\
             parameters = [{{ name = \"value\", type = \"{kind}\", generator = \"reference\", table = \"{name}\", column = \"{0}\" }}]\n\
             sql = {{ {1} = \"SELECT * FROM {name} WHERE {0} = :value\" }}\n",
            column.name, table.dialect
        );
    }
    let _ = write!(
        text,
        "\n[streams.insert]\nunit = \"rows\"\narrivals = \"constant\"\nops = {{ insert = 1 }}\n"
    );
    if asked.is_some() {
        let _ = write!(
            text,
            "\n[streams.queries]\nunit = \"queries\"\narrivals = \"poisson\"\nops = {{ get = 1 }}\n"
        );
    }
    if !table.queries.is_empty() {
        text.push_str(
            "\n# What the target was asked about the table, and how often. To ask it here, make each an op,\n\
             # name its parameters, and give the count as its weight in [streams.queries].\n",
        );
        for (sql, calls) in &table.queries {
            let line: Vec<&str> = sql.split_whitespace().collect();
            let _ = writeln!(text, "# {calls} × {}", line.join(" "));
        }
    }
}

/// A TOML string: JSON's escapes are among TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
