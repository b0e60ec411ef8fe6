//! The generators `object` and `reference`, which access the objects of a column.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use toml::de::DeValue;

use highwater_model::op::{ColumnData, ColumnType, Dictionary};
use highwater_model::units::Seed;

use super::{ColumnScope, Fill, Generate, MadeFor, Scope, attribute_position};
use crate::generators::plain::{Choice, Literal, PLAIN, Plain, Texts};
use crate::generators::{OBJECT, SCALARS, Spec, Specs, read_column_type, read_generator, specs};
use crate::input::{Entry, Section, named};
use crate::random::{Distribution, Draws, Sampler};
use crate::rows::{Entity, Layout, Segment, Segments, codes, quoted};

named!(Field);

/// Maximum nesting of objects.
const MAX_DEPTH: usize = 8;

/// The source of an object's keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Object {
    /// Positions of the entity's attributes, in the order of the object's keys.
    Object(Vec<usize>),
    /// An object generated for each row.
    Fields(Vec<Field>),
}

/// `object`: attributes of the row's entity, or fields generated for each row, which may be objects
/// again.
///
/// The text is JSON without insignificant spaces, written straight from the row's index.
///
/// A key of an object generated for each row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    generator: FieldGenerator,
}

/// How a field is generated from the row's index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum FieldGenerator {
    Plain(Plain),
    Object(Vec<Field>),
}

/// The generator of a field that is itself an object.
pub(crate) static OF_FIELDS: Specs = &[specs!(
    "object", "fields generated for each row", OBJECT, ["fields": Fields;];
)];

impl Generate for Object {
    const SPECS: &'static [Spec] = specs!(
        "object", "attributes of the row's entity, or fields generated for each row", OBJECT,
        [; "attributes": Texts, "fields": Fields];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        if of.optional("fields").is_some() {
            return read_fields(of, 0).map(Self::Fields);
        }
        let entry = of.required("attributes", "[\"…\"]")?;
        let elements = entry.list()?;
        if elements.is_empty() {
            let message = format!("`attributes` of {} names none", of.place);
            let hint = "attributes = [\"…\"], or `fields` for values of each row";
            return entry.error(message, hint);
        }
        let read = |element| attribute_positions(element, &of.place, scope.entity);
        let found: Vec<Vec<usize>> = elements.into_iter().filter_map(read).collect();
        of.good(Self::Object(found.concat()))
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        match (self, column.entity) {
            (Self::Object(attributes), Some(entity)) => Objects::Coded(entity.objects(attributes)),
            (Self::Object(_), None) => Objects::Coded(Vec::new().into()),
            (Self::Fields(fields), _) => {
                let path = ["column", column.table, column.column];
                Objects::Made(rows_of(fields, &path, column.seed))
            }
        }
    }
}

/// The positions of an attribute, or of all copies of a repeated one: `name*`.
fn attribute_positions(
    entry: Entry<'_>,
    place: &str,
    entity: Option<&Entity>,
) -> Option<Vec<usize>> {
    if let (DeValue::String(text), Some(entity)) = (entry.value(), entity)
        && let Some(begin) = text.strip_suffix('*')
        && entity.repeated.iter().any(|name| name == begin)
    {
        return Some(entity.repetitions(begin));
    }
    attribute_position(entry, place, entity).map(|position| vec![position])
}

/// Reads `fields` inside `depth` nested objects.
fn read_fields(of: &Section<'_>, depth: usize) -> Option<Vec<Field>> {
    let entry = of.required("fields", "[{ name = \"…\", … }]")?;
    let elements = entry.list()?;
    if elements.is_empty() || depth >= MAX_DEPTH {
        let message = match elements.len() {
            0 => format!("`fields` of {} names none", of.place),
            _ => format!("more than {MAX_DEPTH} objects in each other"),
        };
        let hint = "fields = [{ name = \"a\", type = \"integer\", generator = \"sequence\" }]";
        return entry.error(message, hint);
    }
    let mut fields: Vec<Field> = Vec::new();
    let mut complete = true;
    for element in of.items("fields") {
        let Some(mut part) = element.section(format!("a field of {}", of.place)) else {
            continue;
        };
        let name = part.named("field", &fields, &of.place);
        let copies = part.copies(&name);
        if let Some(field) = read_field(&part, name, depth) {
            let copy = |name| Field { name, ..field.clone() };
            fields.extend(copies.into_iter().map(copy));
        } else {
            complete = false;
        }
    }
    complete.then_some(fields)
}

fn read_field(of: &Section<'_>, name: String, depth: usize) -> Option<Field> {
    let kind = read_column_type(of)?;
    let generator = match read_generator(of, kind, &[PLAIN, OF_FIELDS])? {
        "object" => read_fields(of, depth + 1).map(FieldGenerator::Object),
        plain => Plain::read(of, plain, kind).map(FieldGenerator::Plain),
    };
    of.finish();
    let generator = generator?;
    Some(Field { name, kind, generator })
}

/// The parts of fields to which others can refer.
pub(crate) fn scope_of(fields: &[Field]) -> Vec<ColumnScope> {
    let scope = |field: &Field| ColumnScope {
        late: false,
        name: field.name.clone(),
        kind: field.kind,
        refers: false,
        fields: match &field.generator {
            FieldGenerator::Object(fields) => scope_of(fields),
            FieldGenerator::Plain(_) => Vec::new(),
        },
    };
    fields.iter().map(scope).collect()
}

#[derive(Debug)]
enum Objects {
    /// The code is the entity's number.
    Coded(Texts),
    /// A separate object for each row.
    Made(Vec<FieldRows>),
}

impl Fill for Objects {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        match self {
            Self::Coded(values) => {
                codes(data, values, segments, ColumnData::ObjectDictionary, |segment, codes| {
                    let first = u32::try_from(segment.entity).unwrap_or(0);
                    let rows = u32::try_from(segment.rows).unwrap_or(0);
                    codes.extend(first..first.saturating_add(rows));
                });
            }
            Self::Made(fields) => {
                let rows = segments.left;
                let objects = segments.flat_map(Segment::row_indexes).map(|row| {
                    let mut text = String::new();
                    write_object(fields, row, &mut text);
                    text.into_boxed_str()
                });
                *data = ColumnData::ObjectDictionary(Dictionary {
                    values: objects.collect(),
                    codes: (0..).take(rows).collect(),
                });
            }
        }
    }
}

/// A key of an object, ready to be written.
#[derive(Debug)]
struct FieldRows {
    /// The key as JSON, with its colon.
    key: String,
    value: FieldValue,
}

#[derive(Debug)]
enum FieldValue {
    /// An integer between two texts, such as a quote and a prefix before and a quote after.
    Number(String, Plain, Draws, &'static str),
    /// One of these JSON texts.
    Choice(Vec<String>, Choice, Draws),
    Float(Plain, Draws),
    Boolean(Plain, Draws),
    Text(Plain, Draws),
    Object(Vec<FieldRows>),
}

/// The fields of an object; `path` names the column.
fn rows_of(fields: &[Field], path: &[&str], seed: Seed) -> Vec<FieldRows> {
    let row = |field: &Field| {
        let path = [path, &[field.name.as_str()]].concat();
        let value = match &field.generator {
            FieldGenerator::Object(fields) => FieldValue::Object(rows_of(fields, &path, seed)),
            FieldGenerator::Plain(plain) => value_of(plain, field.kind, Draws::new(seed, &path)),
        };
        let key = format!("{}:", quoted(&field.name));
        FieldRows { key, value }
    };
    fields.iter().map(row).collect()
}

fn value_of(plain: &Plain, kind: ColumnType, draws: Draws) -> FieldValue {
    let json = |value: &Literal| match kind {
        ColumnType::Text | ColumnType::Object => quoted(&value.text()),
        _ => value.text(),
    };
    let (prefix, plain) = (plain.prefix(), plain.clone());
    match (kind, plain) {
        (_, Plain::Choice(choice)) => {
            FieldValue::Choice(choice.values.iter().map(json).collect(), choice, draws)
        }
        (ColumnType::Integer | ColumnType::Bigint | ColumnType::Timestamp, plain) => {
            FieldValue::Number(String::new(), plain, draws, "")
        }
        (ColumnType::Float, plain) => FieldValue::Float(plain, draws),
        (ColumnType::Boolean, plain) => FieldValue::Boolean(plain, draws),
        (_, plain) => match prefix {
            Some(prefix) => {
                let mut before = quoted(prefix);
                before.pop();
                FieldValue::Number(before, plain, draws, "\"")
            }
            None => FieldValue::Text(plain, draws),
        },
    }
}

impl FieldRows {
    fn write(&self, row: u64, text: &mut String) {
        text.push_str(&self.key);
        // Writing to a string cannot fail.
        let _ = match &self.value {
            FieldValue::Number(before, plain, draws, after) => {
                write!(text, "{before}{}{after}", plain.integer(draws, row))
            }
            FieldValue::Choice(texts, choice, draws) => {
                let pick = choice.position(draws, row);
                text.write_str(texts.get(pick).map_or("null", String::as_str))
            }
            FieldValue::Float(plain, draws) => {
                write!(text, "{}", serde_json::Value::from(plain.float(draws, row)))
            }
            FieldValue::Boolean(plain, draws) => write!(text, "{}", plain.boolean(draws, row)),
            FieldValue::Text(plain, draws) => text.write_str(&quoted(&plain.text(draws, row))),
            FieldValue::Object(fields) => {
                write_object(fields, row, text);
                Ok(())
            }
        };
    }
}

fn write_object(fields: &[FieldRows], row: u64, text: &mut String) {
    text.push('{');
    for (position, field) in fields.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        field.write(row, text);
    }
    text.push('}');
}

/// `reference`: the value of an existing row in a column, or that row's index.
///
/// The value of an existing row in a column, or that row's index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Reference {
    /// Position of the table; never a later one.
    pub(crate) table: usize,
    /// Position of the column, which is not itself a reference; without one, the row's index.
    pub(crate) column: Option<usize>,
    /// The path to a field of the objects in that column; empty for the whole value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) field: Vec<String>,
    /// Number of existing rows; without a number, the rows before the row itself, or before the op.
    rows: Option<u64>,
    distribution: Distribution,
}

impl Reference {
    /// The row selected by the n-th draw, if `before` rows exist; 0 if there are none.
    pub(crate) fn row(&self, draws: &Draws, n: u64, before: u64) -> u64 {
        Sampler::new(self.distribution, self.rows.unwrap_or(before)).pick(draws, n)
    }
}

impl Generate for Reference {
    const SPECS: &'static [Spec] = specs!(
        "reference", "the value of a column in an earlier row of this or an earlier table", SCALARS,
        ["table": Text; "column": Text, "field": Text, "rows": Integer, "distribution": Distribution,
            "theta": Float, "data": Float, "asked": Float, "percentile": Float, "order": Text];
    );

    /// Reads a reference to one of the preceding tables, or to the table itself, which is then the
    /// last.
    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let rows = of.optional("rows").map(|_| of.natural("rows", 1, None));
        let distribution = Distribution::read(of);
        let reference = read_place(of, scope)?;
        of.good(Self { rows, distribution: distribution?, ..reference })
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        Referring {
            draws: column.draws(),
            distribution: self.distribution,
            fixed: self.rows.map(|rows| Sampler::new(self.distribution, rows)),
            source: self.column.and_then(|of| (column.other)(self.table, of)),
            field: self.field.clone(),
        }
    }
}

/// Reads a `table`, optionally one of its `column`s and a `field` of that; its type must be that of
/// the result.
pub(crate) fn read_place(of: &Section<'_>, scope: &Scope<'_>) -> Option<Reference> {
    let table = of.required("table", "\"…\"")?.position("table", scope.tables)?;
    let mut reference = Reference {
        table,
        column: None,
        field: Vec::new(),
        rows: None,
        distribution: Distribution::Uniform,
    };
    let Some(entry) = of.optional("column") else {
        let good = matches!(scope.kind, ColumnType::Integer | ColumnType::Bigint);
        let message = format!("{} refers to no column", of.place);
        let hint = "add column = \"…\"; without one it is the row's index, a number";
        of.check(good, message, hint);
        return good.then_some(reference);
    };
    let columns = &scope.tables.get(table)?.columns;
    let position = entry.position("column", columns)?;
    let column = columns.get(position)?;
    let target = read_path(of, column, &mut reference.field)?;
    if target.kind != scope.kind || column.refers {
        let message = format!(
            "column `{}` is {}of type `{}`, {} of type `{}`",
            [std::slice::from_ref(&column.name), &reference.field[..]].concat().join("."),
            if column.refers { "a reference itself, " } else { "" },
            target.kind.name(),
            of.place,
            scope.kind.name()
        );
        return entry.error(message, "both have one type, and a reference ends at a value");
    }
    reference.column = Some(position);
    Some(reference)
}

/// Reads the path to a `field` of the objects in a column, if given, and the field.
fn read_path<'c>(
    of: &Section<'_>,
    column: &'c ColumnScope,
    path: &mut Vec<String>,
) -> Option<&'c ColumnScope> {
    let mut target = column;
    if let Some(entry) = of.optional("field") {
        for name in entry.text()?.split('.') {
            let position = entry.position_of("field", name, &target.fields)?;
            target = target.fields.get(position)?;
            path.push(name.to_owned());
        }
    }
    Some(target)
}

/// A column with values of existing rows.
#[derive(Debug)]
struct Referring {
    draws: Draws,
    distribution: Distribution,
    /// Present if the number of rows does not change.
    fixed: Option<Sampler>,
    /// The referenced column; absent for the row's index.
    source: Option<(Layout, Box<dyn Fill>)>,
    /// The path to a field of the referenced objects; empty for the whole value.
    field: Vec<String>,
}

impl Fill for Referring {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        let targets = segments.flat_map(Segment::row_indexes).map(|row| match &self.fixed {
            Some(sampler) => sampler.pick(&self.draws, row),
            None => Sampler::new(self.distribution, row).pick(&self.draws, row),
        });
        let Some((layout, column)) = &self.source else {
            let indexes = targets.map(|row| i64::try_from(row).unwrap_or(i64::MAX));
            *data = ColumnData::Integer(indexes.collect());
            return;
        };
        let mut cell = ColumnData::Integer(Vec::new());
        let mut all: Option<ColumnData> = None;
        for row in targets {
            column.fill(layout.segments(row, 1), &mut cell);
            cell = field_of(cell, &self.field);
            match &mut all {
                Some(all) => append(all, &cell),
                None => all = Some(written_out(&cell)),
            }
        }
        *data = all.unwrap_or(ColumnData::Integer(Vec::new()));
    }
}

/// The value of the field at the end of a path in a row's object; the cell itself without a path.
pub(crate) fn field_of(cell: ColumnData, path: &[String]) -> ColumnData {
    let ColumnData::ObjectDictionary(object) = &cell else {
        return cell;
    };
    if path.is_empty() {
        return cell;
    }
    let code = object.codes.first().copied().map(usize::try_from);
    let text = code.and_then(|code| object.values.get(code.ok()?));
    let object: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let mut value = object.as_ref();
    for key in path {
        value = value.and_then(|value| value.get(key));
    }
    match value.unwrap_or(&Value::Null) {
        Value::Bool(value) => ColumnData::Boolean(vec![*value]),
        Value::Number(number) => match number.as_i64() {
            Some(number) => ColumnData::Integer(vec![number]),
            None => ColumnData::Float(vec![number.as_f64().unwrap_or(f64::NAN)]),
        },
        text => ColumnData::Text(vec![text.as_str().unwrap_or_default().into()]),
    }
}

/// The same values without a dictionary.
fn written_out(data: &ColumnData) -> ColumnData {
    let ColumnData::TextDictionary(coded) = data else {
        return data.clone();
    };
    let value = |code: &u32| coded.values.get(usize::try_from(*code).ok()?).cloned();
    ColumnData::Text(coded.codes.iter().filter_map(value).collect())
}

/// Appends values of the same kind.
fn append(all: &mut ColumnData, more: &ColumnData) {
    match (all, written_out(more)) {
        (ColumnData::Integer(all), ColumnData::Integer(more))
        | (ColumnData::TimestampMs(all), ColumnData::TimestampMs(more)) => all.extend(more),
        (ColumnData::Float(all), ColumnData::Float(more)) => all.extend(more),
        (ColumnData::Boolean(all), ColumnData::Boolean(more)) => all.extend(more),
        (ColumnData::Text(all), ColumnData::Text(more)) => all.extend(more),
        // A column generates only one kind of data.
        _ => {}
    }
}
