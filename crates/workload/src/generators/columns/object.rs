//! `object`: attributes of the row's entity, or fields that are made for each row and may be
//! objects again.
//!
//! The text is JSON without insignificant spaces, written straight from the row's index.

use std::fmt::Write as _;

use toml::de::DeValue;

use super::attribute::attribute_position;
use super::making::{ColumnScope, Scope};
use super::making::{Fill, Generate, MadeFor};
use crate::entity::{Entity, quoted};
use crate::generators::plain::{Choice, Literal, PLAIN, Plain, Texts};
use crate::generators::prelude::{
    ColumnData, ColumnType, Draws, Entry, OBJECT, Section, Segments, Serialize, Spec, specs,
};
use crate::generators::spec::{Specs, read_generator, read_type};
use crate::input::named;
use crate::layout::Segment;
use crate::layout::codes;
use highwater_model::op::Dictionary;
use highwater_model::units::Seed;

named!(Field);

/// Objects within objects, at most.
const MAX_DEPTH: usize = 8;

/// Where the keys of an object come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Object {
    /// Positions of the entity's attributes, in the order of the object's keys.
    Object(Vec<usize>),
    /// An object that is made for each row.
    Fields(Vec<Field>),
}

/// A key of an object that is made for each row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    generator: FieldGenerator,
}

/// How a field is made from the row's index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum FieldGenerator {
    Plain(Plain),
    Object(Vec<Field>),
}

/// What makes a field that is an object itself.
pub(crate) static OF_FIELDS: Specs = &[specs!(
    "object", "fields that are made for each row", OBJECT, ["fields": Fields;];
)];

impl Generate for Object {
    const SPECS: &'static [Spec] = specs!(
        "object", "attributes of the row's entity, or fields that are made for each row", OBJECT,
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

/// The positions of an attribute, or of all that a repeated one became: `name*`.
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

/// Reads `fields`; `depth` objects are around them.
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
        let repeat = part.optional("repeat").is_some();
        let count = part.integer("repeat", 0..=1_000, Some(1));
        match read_field(&part, name, depth) {
            Some(field) if repeat => fields.extend(
                (0..count).map(|n| Field { name: format!("{}{n}", field.name), ..field.clone() }),
            ),
            Some(field) => fields.push(field),
            None => complete = false,
        }
    }
    complete.then_some(fields)
}

fn read_field(of: &Section<'_>, name: String, depth: usize) -> Option<Field> {
    let kind = read_type(of)?;
    let generator = match read_generator(of, kind, &[PLAIN, OF_FIELDS])? {
        "object" => read_fields(of, depth + 1).map(FieldGenerator::Object),
        plain => Plain::read(of, plain, kind).map(FieldGenerator::Plain),
    };
    of.finish();
    let generator = generator?;
    Some(Field { name, kind, generator })
}

/// Fields, as far as others refer to them.
pub(crate) fn scope_of(fields: &[Field]) -> Vec<ColumnScope> {
    let scope = |field: &Field| ColumnScope {
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
    /// An object of its own for each row.
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
            FieldGenerator::Plain(plain) => value_of(plain, field.kind, Draws::of(seed, &path)),
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
