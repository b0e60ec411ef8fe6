//! Generates a workload file from an existing table: its columns, generators that approximate their contents, and the
//! queries recorded by the target. It is a starting point for a user's file, not a copy of the data. The queries are in
//! `statement`.

mod statement;

// Writing to a string cannot fail.
use std::fmt::Write as _;

use sqlparser::ast::{BinaryOperator, Expr, Value};

use highwater_model::display::{count, foreign};
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{CheckShape, ColumnShape, IndexShape, LISTED_MAX, TableShape};

use self::statement::{Mix, SHOWN_MAX};
use crate::generators::plain::{MAX_LENGTH, MAX_WORD, MAX_WORDS, letters};
use crate::input::is_column_name;
/// A TOML string: JSON's escapes are among TOML's.
pub(super) use crate::rows::quoted;

/// A TOML string that is readable with quotes and line breaks.
fn text(text: &str) -> String {
    let plain = !text.contains(|c: char| c.is_control() && c != '\n');
    let fits = plain && !text.contains("'''") && !text.starts_with('\'') && !text.ends_with('\'');
    match text {
        _ if !fits || !text.contains(['"', '\n', '\\']) => quoted(text),
        _ if !text.contains(['\'', '\n']) => format!("'{text}'"),
        // The line break after the opening quotes is not part of the text.
        _ if text.contains('\n') => format!("'''\n{text}'''"),
        _ => format!("'''{text}'''"),
    }
}

/// Whether an operator compares two values.
fn compares(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

/// Whether it is a single value: a literal or a placeholder, optionally with a type.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(text) => !text.starts_with(':'),
            other => !matches!(other, Value::Null),
        },
        Expr::Nested(inner)
        | Expr::Cast { expr: inner, .. }
        | Expr::UnaryOp { expr: inner, .. } => is_value(inner),
        Expr::TypedString(_) => true,
        _ => false,
    }
}

fn is_placeholder(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)))
}

fn placeholder(name: &str) -> Expr {
    Expr::Value(Value::Placeholder(format!(":{name}")).into())
}

fn number(number: u64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}

/// Maximum letters of a table's name; with suffixes it must fit into 63.
const NAME_MAX: usize = 50;

/// A workload file for a new table with such columns, named after the original.
pub fn sketch(table: &TableShape) -> String {
    let name = format!("{}_like", plain_name(&table.name));
    let mix = statement::mix(table, &name);
    let mut text = String::new();
    write_head(&mut text, &name, table);
    for column in &table.columns {
        if is_made(column) {
            write_column(&mut text, &name, table, column);
        }
    }
    for column in &table.columns {
        write_left_out(&mut text, table, column);
    }
    write_defaults(&mut text, &name, table);
    write_create(&mut text, &name, table);
    write_key(&mut text, &name, table);
    write_ops(&mut text, &name, table, &mix);
    text
}

/// Lower-case letters, digits, and `_`, beginning with a letter.
fn plain_name(name: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '_',
    };
    let name: String = name.chars().take(NAME_MAX).map(plain).collect();
    match name.chars().next() {
        Some('a'..='z' | '_') => name,
        _ => format!("t_{name}"),
    }
}

fn write_head(out: &mut String, name: &str, table: &TableShape) {
    let original = foreign(&table.name, SHOWN_MAX);
    let all = table.rows_all.filter(|all| *all > table.rows);
    let all = all.map_or_else(String::new, |all| format!(", which has about {}", count(all)));
    let _ = write!(
        out,
        "# Sketched from table {original} and {} of its rows: a beginning, to be changed.\n\
         # Generators come near to each column by itself; how columns depend on each other is not seen.\n\n\
         format = 1\nname = {}\nversion = 1\nsummary = {}\nsource = {}\n\n[parameters]\n\
         batch = {{ type = \"integer\", default = 1000, min = 1, max = 1000000, summary = \"rows of one insert\" }}\n\
         rows = {{ type = \"integer\", default = {}, min = 0, summary = \"rows to load before the first phase\" }}\n",
        count(table.rows),
        quoted(&name.replace('_', "-")),
        text(&format!("rows like those of {original}")),
        text(&format!("sketched from table {original}{all}")),
        table.rows,
    );
}

fn write_column(out: &mut String, name: &str, table: &TableShape, column: &ColumnShape) {
    let _ = write!(
        out,
        "\n[[tables.{name}.columns]]\nname = {}\ntype = {}\n",
        quoted(&column.name),
        quoted(column.kind.unwrap_or(ColumnType::Text).name()),
    );
    if column.nulls > 0 {
        let (nulls, rows) = (count(column.nulls), count(table.rows));
        let _ = writeln!(out, "# {nulls} of {rows} rows have no value");
        let _ = writeln!(out, "nulls = {}", share(column.nulls, table.rows));
    }
    let listed = count(column.common.len() as u64);
    if column.sampled && !looks_like_uuid(column) && column.distinct > LISTED_MAX {
        let all = count(column.distinct);
        let _ = writeln!(out, "# {listed} of {all} different values: no generator makes this type");
    }
    for (key, value) in generator(column, table.rows, is_key(table, &column.name)) {
        let _ = writeln!(out, "{key} = {value}");
    }
    for path in left_out_fields(column) {
        let _ = writeln!(out, "# left out: {}", foreign(&path, SHOWN_MAX));
    }
}

/// A share with four digits, such as `0.3333`; not 0.
fn share(part: u64, all: u64) -> String {
    let digits = (u128::from(part) * 10_000 / u128::from(all.max(1))).clamp(1, 10_000);
    format!("{}.{:04}", digits / 10_000, digits % 10_000)
}

fn write_left_out(out: &mut String, table: &TableShape, column: &ColumnShape) {
    let why = match (column.generated, column.required) {
        _ if is_made(column) => return,
        (true, _) if table.create.is_some() || column.rest.is_some() => {
            ", which the target computes"
        }
        (true, _) => ", which the original computes",
        (false, true) if table.create.is_some() => {
            ", which must not be null: rows are refused unless `create` lets it be"
        }
        (false, _) if column.rest.is_some() => ", which keeps its default",
        (false, _) => "",
    };
    let [name, declared] = [&column.name, &column.declared].map(|text| foreign(text, SHOWN_MAX));
    let _ = write!(out, "\n# left out: {name} {declared}{why}\n");
}

/// The columns that `create` makes and no generator fills, for the first lines of a run.
fn write_defaults(out: &mut String, name: &str, table: &TableShape) {
    let keeps =
        |column: &&ColumnShape| !is_made(column) && !column.generated && column.rest.is_some();
    let names = table.columns.iter().filter(keeps).map(|column| quoted(&column.name));
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        let _ = write!(out, "\n[tables.{name}]\nleft_out = [{}]\n", names.join(", "));
    }
}

fn column_of<'t>(table: &'t TableShape, name: &str) -> Option<&'t ColumnShape> {
    table.columns.iter().find(|column| column.name == name)
}

/// Whether this column alone is a unique key.
fn is_key(table: &TableShape, name: &str) -> bool {
    let alone = |index: &IndexShape| index.unique && index.columns == [name];
    table.indexes.iter().any(alone)
}

/// Whether generated rows are unique in these columns.
fn stays_unique(table: &TableShape, columns: &[String]) -> bool {
    let mut columns = columns.iter().filter_map(|name| column_of(table, name));
    columns.any(|column| {
        let steps = steps(column, table.rows, is_key(table, &column.name));
        steps.is_some()
            || is_timeline(column)
            || looks_like_uuid(column)
            || is_long_and_different(column, table.rows)
    })
}

fn write_create(out: &mut String, name: &str, table: &TableShape) {
    let mut statements = Vec::new();
    let mut left_out = Vec::new();
    let mut without = table.without.clone();
    if let Some(create) = &table.create {
        let (kept, lost): (Vec<_>, Vec<_>) = table
            .indexes
            .iter()
            .partition(|index| !index.unique || stays_unique(table, &index.columns));
        left_out.extend(lost);
        let key = kept.first().map_or("", |index| index.text.as_str());
        statements.push(create.replace("{table}", name).replace("{key}", key));
    } else {
        let columns = table.columns.iter().filter_map(|column| definition(table, column));
        let mut columns: Vec<String> = columns.collect();
        for check in &table.checks {
            if holds(table, check) { &mut columns } else { &mut without }.push(check.text.clone());
        }
        statements.push(format!("CREATE TABLE {name} ({})", columns.join(", ")));
        for (number, index) in table.indexes.iter().enumerate() {
            let made = |column: &String| column_of(table, column).is_some_and(is_made);
            if index.columns.is_empty() || !index.columns.iter().all(made) {
                left_out.push(index);
                continue;
            }
            let columns: Vec<String> =
                index.columns.iter().map(|c| name_in_sql(table, c)).collect();
            let stays = index.unique && stays_unique(table, &index.columns);
            let unique = if stays { "UNIQUE " } else { "" };
            statements.push(format!(
                "CREATE {unique}INDEX {name}_{} ON {name} ({})",
                number + 1,
                columns.join(", ")
            ));
        }
    }
    for text in without.iter().chain(left_out.iter().map(|index| &index.text)) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let shown = words.join(" ");
        let _ = write!(out, "\n# left out: {}\n", foreign(&shown, SHOWN_MAX));
    }
    let statements: Vec<String> = statements.iter().map(|sql| text(sql)).collect();
    let statements = match statements.as_slice() {
        [only] => only.clone(),
        all => format!("[\n    {},\n]", all.join(",\n    ")),
    };
    let _ = write!(out, "\n[tables.{name}.create]\n{} = {statements}\n", table.dialect);
}

/// A column's definition in `create`; `None` if the copy does not have it.
fn definition(table: &TableShape, column: &ColumnShape) -> Option<String> {
    let rest = column.rest.as_deref();
    let required = match (is_made(column), rest) {
        (true, None) => column.nulls == 0,
        (true, Some(_)) => column.required,
        (false, Some(rest)) => column.required && !column.generated && !rest.is_empty(),
        (false, None) => return None,
    };
    let required = if required { " NOT NULL" } else { "" };
    let name = name_in_sql(table, &column.name);
    Some(format!("{name} {}{required}{}", column.declared, rest.unwrap_or_default()))
}

/// Whether generated values certainly satisfy a constraint: values of the sample, or a number between its ends.
fn holds(table: &TableShape, check: &CheckShape) -> bool {
    let [only] = check.columns.as_slice() else {
        return false;
    };
    // A comparison of the column with its bounds, and nothing that only some numbers between them satisfy.
    let bounds = check.text.replace("<=", "<").replace(">=", ">");
    let is_range = !bounds.contains(['=', '%']) && !bounds.contains("<>");
    column_of(table, only).is_some_and(|column| {
        let is_number = column.kind.is_some_and(|kind| kind != ColumnType::Text);
        !is_made(column) || is_listed(column) || (is_number && is_range)
    })
}

/// An expression for a row's index: from a sequence, or from the timeline.
fn write_key(out: &mut String, name: &str, table: &TableShape) {
    let made = || table.columns.iter().filter(|column| is_made(column));
    let sequence = made().find_map(|column| {
        let steps = steps(column, table.rows, is_key(table, &column.name))?;
        Some((name_in_sql(table, &column.name), steps.0, steps.1))
    });
    let timeline = || {
        let column = made().find(|column| is_timeline(column))?;
        let since = table.milliseconds.replace("{column}", &name_in_sql(table, &column.name));
        let (start, interval) = times(column, table.rows)?;
        Some((since, start, interval))
    };
    let key = match sequence.or_else(timeline) {
        Some((value, start, 1)) => format!("{value} - ({start})"),
        Some((value, start, step)) => {
            let dividend = format!("({value} - ({start}))");
            let quotient = table.quotient.replace("{dividend}", &dividend);
            quotient.replace("{divisor}", &step.to_string())
        }
        None => {
            out.push_str("\n# No column distinguishes the rows: run it with --audit off.\n");
            "0".to_owned()
        }
    };
    let _ = write!(out, "\n[tables.{name}.key]\n{} = {}\n", table.dialect, text(&key));
    let made = made().filter_map(|column| Some((&column.name, column.checked.as_ref()?)));
    for (number, (column, checked)) in made.enumerate() {
        if number == 0 {
            let _ = write!(out, "\n[tables.{name}.values.{}]\n", table.dialect);
        }
        let _ = writeln!(out, "{} = {}", quoted(column), text(checked));
    }
}

fn write_ops(out: &mut String, name: &str, table: &TableShape, mix: &Mix) {
    let _ = write!(
        out,
        "\n[load]\nop = \"insert\"\nrows = \"${{rows}}\"\n\n\
         [ops.insert]\nsummary = \"one batch of rows\"\ninsert = \"{name}\"\nbatch = \"${{batch}}\"\n"
    );
    let selective = most_selective(table);
    if let Some(column) = selective {
        let kind = column.kind.unwrap_or(ColumnType::Text).name();
        let sql =
            format!("SELECT * FROM {name} WHERE {} = :value", name_in_sql(table, &column.name));
        let _ = write!(
            out,
            "\n[ops.get]\nsummary = \"rows with one value of {0}\"\n\
             parameters = [{{ name = \"value\", type = \"{kind}\", generator = \"reference\", table = \"{name}\", column = \"{0}\" }}]\n\
             sql = {{ {1} = {2} }}\n",
            column.name,
            table.dialect,
            text(&sql)
        );
    }
    mix.write(out, table);
    let _ = write!(
        out,
        "\n[streams.insert]\nunit = \"rows\"\narrivals = \"constant\"\nops = {{ insert = 1 }}\n"
    );
    if let Some(weights) = mix.weights().or(selective.map(|_| "get = 1".to_owned())) {
        let _ = write!(
            out,
            "\n[streams.queries]\nunit = \"queries\"\narrivals = \"poisson\"\nops = {{ {weights} }}\n"
        );
    }
}

/// The most selective column, for a query by its value.
fn most_selective(table: &TableShape) -> Option<&ColumnShape> {
    // Not every type can be compared, and a date holds no time.
    let scalar = |column: &&ColumnShape| {
        !matches!(column.kind, Some(ColumnType::Float | ColumnType::Object))
            && !column.sampled
            && column.declared != "date"
    };
    let made = table.columns.iter().rev().filter(|column| is_made(column));
    made.filter(scalar).max_by_key(|column| {
        let distinct = if column.nulls == 0 { column.distinct } else { 0 };
        (distinct, is_key(table, &column.name))
    })
}

/// A valid SQL name for any letters; generated names need no quoting.
fn name_in_sql(table: &TableShape, name: &str) -> String {
    let quote = table.quote;
    format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
}

/// Options of a generator, in order: key and value as TOML.
type Options = Vec<(&'static str, String)>;

/// Random texts of this many letters have no duplicates among 10¹².
const UNIQUE_LETTERS: u64 = 16;

/// Whether a generator can produce it, and a workload file can name it.
fn is_made(column: &ColumnShape) -> bool {
    let holds = match column.kind {
        None => false,
        Some(ColumnType::Object) => made_fields(column).next().is_some(),
        Some(_) if column.sampled => looks_like_uuid(column) || is_listed(column),
        Some(_) => true,
    };
    holds && !column.generated && is_column_name(&column.name)
}

/// Fields that a generator can produce: times within objects are not supported.
fn made_fields(column: &ColumnShape) -> impl Iterator<Item = &ColumnShape> {
    column.fields.iter().filter(|field| is_made_field(field))
}

/// Whether a generator can produce it as a field of an object.
fn is_made_field(column: &ColumnShape) -> bool {
    is_made(column) && column.kind != Some(ColumnType::Timestamp)
}

/// Paths of the fields that no generator can produce.
fn left_out_fields(column: &ColumnShape) -> Vec<String> {
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
fn ends(column: &ColumnShape) -> Option<(i64, i64)> {
    let end = |text: Option<&String>| text?.parse::<i64>().ok();
    Some((end(column.min.as_ref())?, end(column.max.as_ref())?))
}

/// Types of integers with fewer than 32 bits, with values that each of them has.
const SHORT: &[(&str, (i64, i64))] = &[
    ("smallint", (0, 10_000)),
    ("tinyint", (0, 100)),
    ("mediumint", (0, 1_000_000)),
    ("year", (2000, 2030)),
    ("bit", (0, 1)),
];

/// Start and step of whole numbers that are distinct in all rows: evenly spaced ones, or approximately so if a key
/// requires distinct ones.
fn steps(column: &ColumnShape, rows: u64, alone: bool) -> Option<(i64, u64)> {
    let whole = matches!(column.kind, Some(ColumnType::Integer | ColumnType::Bigint));
    // Soon out of its range.
    if whole && alone && rows == 0 {
        return Some((1, 1));
    }
    let is_short = SHORT.iter().any(|(name, _)| column.declared.starts_with(name));
    let (min, max) = ends(column)?;
    let gaps = rows.checked_sub(1).filter(|gaps| *gaps > 0)?;
    let span = max.abs_diff(min);
    let different = whole && column.nulls == 0 && column.distinct == rows;
    (different && (alone || (span.is_multiple_of(gaps) && !is_short)))
        .then_some((min, (span / gaps).max(1)))
}

/// Whether its generator is a timeline whose times differ.
fn is_timeline(column: &ColumnShape) -> bool {
    let is_time = column.kind == Some(ColumnType::Timestamp) && column.declared != "date";
    is_time && column.nulls == 0 && ends(column).is_some()
}

fn looks_like_uuid(column: &ColumnShape) -> bool {
    let uuid = |text: &String| {
        let at = [8, 13, 18, 23];
        text.len() == 36 && at.iter().all(|at| text.as_bytes().get(*at) == Some(&b'-'))
    };
    let looks = column.lengths == (36, 36)
        && column.min.as_ref().is_some_and(uuid)
        && column.max.as_ref().is_some_and(uuid);
    column.kind == Some(ColumnType::Text) && (column.declared == "uuid" || looks)
}

/// Whether it is long text that differs in every row, to be generated with six random bits per letter.
fn is_long_and_different(column: &ColumnShape, rows: u64) -> bool {
    let text = column.kind == Some(ColumnType::Text);
    text && rows > LISTED_MAX && column.distinct == rows && column.lengths.0 >= UNIQUE_LETTERS
}

/// Whether all its values are listed, and can be written in a file.
fn is_listed(column: &ColumnShape) -> bool {
    let few = column.distinct <= LISTED_MAX || column.sampled;
    let few = few && !column.common.is_empty();
    let kind = !matches!(
        column.kind,
        Some(ColumnType::Float | ColumnType::Timestamp | ColumnType::Object)
    );
    few && kind && !column.common.iter().any(|(value, _)| value.contains("${"))
}

const DAY_MS: u64 = 86_400_000;

/// Milliseconds of which a time is a multiple in its column.
fn unit(declared: &str) -> u64 {
    let mut digits = declared.split(['(', ')']).skip(1);
    let digits = digits.next().and_then(|digits| digits.parse::<u32>().ok());
    // With a time zone or without one, it has microseconds.
    let default = if declared.ends_with("time zone") { 6 } else { 0 };
    match declared {
        "date" => DAY_MS,
        _ if declared.starts_with("datetime") || declared.starts_with("timestamp") => {
            10_u64.pow(3 - digits.unwrap_or(default).min(3))
        }
        _ => 1,
    }
}

/// The first of a column's times and the milliseconds between rows, such that rows differ; more rows than days share
/// their dates.
fn times(column: &ColumnShape, rows: u64) -> Option<(i64, u64)> {
    let ((min, max), unit) = (ends(column)?, unit(&column.declared));
    let between = (max.abs_diff(min) / rows.saturating_sub(1).max(1)).max(1);
    let whole = if unit == DAY_MS { between } else { between.next_multiple_of(unit) };
    Some((min - min.rem_euclid(unit.cast_signed()), whole))
}

/// The generator of a column; `alone` if a key requires distinct values.
fn generator(column: &ColumnShape, rows: u64, alone: bool) -> Options {
    if let Some((start, step)) = steps(column, rows, alone) {
        let step = (step > 1).then(|| ("step", step.to_string()));
        let mut options = named("sequence", [("start", start.to_string())]);
        options.extend(step);
        return options;
    }
    match column.kind {
        Some(ColumnType::Timestamp) => {
            let (start, interval) = times(column, rows).unwrap_or((1_577_836_800_000, 1_000));
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
            let short = SHORT.iter().find(|(name, _)| column.declared.starts_with(name));
            let (min, max) =
                ends(column).unwrap_or(short.map_or((0, 1_000_000), |(_, ends)| *ends));
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
        _ if looks_like_uuid(column) => uuid(column, rows),
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

/// UUIDs of version 7 with the times of the sample's, or random ones.
fn uuid(column: &ColumnShape, rows: u64) -> Options {
    let time = |end: &Option<String>| {
        let uuid = end.as_ref().filter(|uuid| uuid.as_bytes().get(14) == Some(&b'7'))?;
        i64::from_str_radix(&uuid.get(..13)?.replace('-', ""), 16).ok()
    };
    match (time(&column.min), time(&column.max)) {
        (Some(min), Some(max)) if min <= max => {
            let between = (max.abs_diff(min) / rows.saturating_sub(1).max(1)).max(1);
            let start = quoted(&crate::parameter::format_timestamp(min));
            named("uuid7", [("start", start), ("interval", quoted(&format!("{between}ms")))])
        }
        _ => named("uuid", []),
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
    let mut options = named("choice", [("values", format!("[{}]", values.join(", ")))]);
    if weights.iter().any(|weight| *weight != weights[0]) {
        options.push(("weights", format!("[{}]", weights.join(", "))));
    }
    options
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
fn inline(options: &Options) -> String {
    let pairs = options.iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}
