//! Generates the sections of a workload file for an existing table: columns, statements, and ops. Must not choose
//! column generators, or convert recorded statements.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_model::display::count;
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, IndexShape, TableShape};

use super::column::{
    self, ends, interval, is_long_and_different, is_made, is_timeline, left_out_fields,
    looks_like_uuid, steps,
};
use super::mix::{self, Mix};
use super::{quoted, text};

/// Maximum letters of a table's name; with suffixes it must fit into 63.
const NAME_MAX: usize = 50;

/// A workload file for a new table with such columns, named after the original.
pub fn sketch(table: &TableShape) -> String {
    let name = format!("{}_like", plain_name(&table.name));
    let mix = mix::mix(table, &name);
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
    let original = table.name.escape_default();
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
        let _ = writeln!(out, "# {nulls} of {rows} rows have none here; these all have one");
    }
    for (key, value) in column::generator(column, table.rows, is_key(table, &column.name)) {
        let _ = writeln!(out, "{key} = {value}");
    }
    for path in left_out_fields(column) {
        let _ = writeln!(out, "# left out: {}", path.escape_default());
    }
}

fn write_left_out(out: &mut String, table: &TableShape, column: &ColumnShape) {
    let why = match (column.generated, column.required) {
        _ if is_made(column) => return,
        (true, _) if table.create.is_some() => ", which the target computes",
        (true, _) => ", which the original computes",
        (false, true) if table.create.is_some() => {
            ", which must not be null: rows are refused unless `create` lets it be"
        }
        (false, _) => "",
    };
    let (name, declared) = (column.name.escape_default(), column.declared.escape_default());
    let _ = write!(out, "\n# left out: {name} {declared}{why}\n");
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
    if let Some(create) = &table.create {
        let (kept, lost): (Vec<_>, Vec<_>) = table
            .indexes
            .iter()
            .partition(|index| !index.unique || stays_unique(table, &index.columns));
        left_out.extend(lost);
        let key = kept.first().map_or("", |index| index.text.as_str());
        statements.push(create.replace("{table}", name).replace("{key}", key));
    } else {
        let columns = table.columns.iter().filter(|column| is_made(column)).map(|column| {
            let required = if column.nulls == 0 { " NOT NULL" } else { "" };
            format!("{} {}{required}", name_in_sql(table, &column.name), column.declared)
        });
        let columns: Vec<String> = columns.collect();
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
    for index in left_out {
        let words: Vec<&str> = index.text.split_whitespace().collect();
        let shown = words.join(" ");
        let _ = write!(out, "\n# left out: {}\n", shown.escape_default());
    }
    let statements: Vec<String> = statements.iter().map(|sql| text(sql)).collect();
    let statements = match statements.as_slice() {
        [only] => only.clone(),
        all => format!("[\n    {},\n]", all.join(",\n    ")),
    };
    let _ = write!(out, "\n[tables.{name}.create]\n{} = {statements}\n", table.dialect);
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
        let ends = ends(column)?;
        Some((since, ends.0, interval(ends.0, ends.1, table.rows)))
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
        let _ = writeln!(out, "{column} = {}", text(checked));
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
    let scalar = |column: &&ColumnShape| {
        !matches!(column.kind, Some(ColumnType::Float | ColumnType::Object))
    };
    table.columns.iter().filter(|column| is_made(column)).filter(scalar).max_by_key(|column| {
        match column.nulls {
            0 => column.distinct,
            _ => 0,
        }
    })
}

/// A valid SQL name for any letters; generated names need no quoting.
fn name_in_sql(table: &TableShape, name: &str) -> String {
    format!("{0}{name}{0}", table.quote)
}
