//! Fields: the keys of objects that are made for each row.

use super::kinds::{OF_FIELDS, PLAIN};
use super::names::{MAX_ITEMS, named_element};
use super::parts::{read_kind, read_type};
use super::plain::read_plain;
use super::section::{Reader, Section};
use crate::definition::{Field, FieldGenerator};

/// Objects within objects, at most.
const MAX_DEPTH: usize = 8;

/// Reads `fields`; `depth` objects are around them.
pub(super) fn read_fields(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    depth: usize,
) -> Option<Vec<Field>> {
    let entry = section.required(reader, "fields", "[{ name = \"…\", … }]")?;
    let elements = section.list(reader, "fields");
    if elements.is_empty() || depth >= MAX_DEPTH {
        let message = match elements.len() {
            0 => format!("`fields` of {} names none", section.place),
            _ => format!("more than {MAX_DEPTH} objects in each other"),
        };
        let hint = "fields = [{ name = \"a\", type = \"integer\", generator = \"sequence\" }]";
        reader.report(entry.span(), message, Some(hint.to_owned()));
        return None;
    }
    let mut fields: Vec<Field> = Vec::new();
    let mut complete = true;
    for element in elements.into_iter().take(MAX_ITEMS) {
        let place = format!("a field of {}", section.place);
        let Some(mut part) = section.as_section(reader, "fields", element, place) else {
            continue;
        };
        let taken: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let name = named_element(reader, &mut part, "field", &taken);
        if !name.is_empty() {
            part.place = format!("field `{name}` of {}", section.place);
        }
        let repeat = part.optional("repeat").is_some();
        let count = part.integer(reader, "repeat", 0..=1_000, Some(1));
        match read_field(reader, part, name, depth) {
            Some(field) if repeat => fields.extend((0..count.unwrap_or(0)).map(|n| Field {
                name: format!("{}{n}", field.name),
                ..field.clone()
            })),
            Some(field) => fields.push(field),
            None => complete = false,
        }
    }
    complete.then_some(fields)
}

fn read_field(
    reader: &mut Reader<'_>,
    mut part: Section<'_, '_>,
    name: String,
    depth: usize,
) -> Option<Field> {
    let kind = read_type(reader, &mut part)?;
    let generator = match read_kind(reader, &mut part, kind, &[PLAIN, OF_FIELDS])? {
        "object" => read_fields(reader, &mut part, depth + 1).map(FieldGenerator::Object),
        plain => read_plain(reader, &mut part, plain, kind).map(FieldGenerator::Plain),
    };
    part.finish(reader);
    Some(Field {
        name,
        kind,
        generator: generator?,
    })
}
