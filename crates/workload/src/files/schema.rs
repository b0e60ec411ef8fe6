//! The JSON Schema of workload files, for editors.
//!
//! Generators, their options, and types come from the tables used for reading. The schema is less strict than reading:
//! it does not check references between parts, bounds, or SQL.

use serde_json::{Map, Value, json};

use crate::definition::Unit;
use crate::generators::columns::{OF_COLUMNS, OF_FIELDS};
use crate::generators::parameters::OF_PARAMETERS;
use crate::generators::plain::PLAIN;
use crate::generators::{Shape, Specs};
use crate::parameter::ParameterKind;
use crate::random::DISTRIBUTIONS;
use crate::sql::MAX_STATEMENTS;
use highwater_model::op::ColumnType;

/// A parameter in place of a number.
const PARAMETER: &str = r"^-?\$\{[A-Za-z_][A-Za-z0-9_]*\}$";
const DURATION: &str = r"^-?[0-9]+ ?(ms|s|m|h|d)$|^-?\$\{[A-Za-z_][A-Za-z0-9_]*\}$";
/// A generator given by a parameter.
const CHOSEN: &str = r"\$\{";

/// The schema as indented JSON.
pub fn file_schema() -> String {
    let growth = json!({
        "type": "object",
        "description": "by op, how much the value grows with each that takes effect",
        "additionalProperties": { "type": "integer" },
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highwater workload file",
        "type": "object",
        "required": ["format", "name", "version", "summary", "ops"],
        "additionalProperties": false,
        "properties": {
            "format": { "const": 1, "description": "version of this format" },
            "name": { "type": "string" },
            "version": {
                "type": "integer", "minimum": 1,
                "description": "version of the content; increase it when rows or ops change",
            },
            "summary": { "type": "string", "description": "one line" },
            "source": { "type": "string", "description": "source of the definition" },
            "parameters": named(&parameter()),
            "entities": named(&entity()),
            "tables": named(&table()),
            "ops": named(&op()),
            "streams": named(&stream()),
            "load": object(
                "rows written before the first phase",
                &[("op", text("an insert"), true), ("rows", shape(Shape::Integer), true)],
            ),
            "invariants": named(&object(
                "conditions that the data must meet after a run",
                &[
                    ("summary", text("one line"), false),
                    ("sql", per_dialect("a query of one value, without parameters"), true),
                    ("equals", json!({ "type": ["integer", "string", "boolean"] }), false),
                    ("grows_by", growth, false),
                ],
            )),
            "data_time": object(
                "how the data's time follows the clock",
                &[
                    ("mode", text("fixed, backfill or live"), true),
                    ("start", text("the timestamp parameter with the start"), true),
                    ("interval", shape(Shape::Duration), true),
                    ("rows", shape(Shape::Integer), false),
                ],
            ),
        },
        "$defs": {
            "field": alternatives(&[PLAIN, OF_FIELDS], true, &repeat()),
        },
    });
    // Serializing a schema made of strings and lists cannot fail.
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// A table from names to values.
fn named(of: &Value) -> Value {
    json!({ "type": "object", "additionalProperties": of })
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

/// A statement per dialect.
fn per_dialect(about: &str) -> Value {
    of_dialects(about, &json!({ "type": "string" }))
}

/// A value per dialect.
fn of_dialects(about: &str, of: &Value) -> Value {
    json!({
        "type": "object", "minProperties": 1, "description": about, "additionalProperties": of,
    })
}

/// A table with only these keys: name, value, and whether it is required.
fn object(about: &str, keys: &[(&str, Value, bool)]) -> Value {
    let required: Vec<&str> =
        keys.iter().filter(|(_, _, required)| *required).map(|(name, ..)| *name).collect();
    let properties: Map<String, Value> =
        keys.iter().map(|(name, value, _)| ((*name).to_owned(), value.clone())).collect();
    json!({
        "type": "object", "description": about, "required": required,
        "properties": properties, "additionalProperties": false,
    })
}

fn parameter() -> Value {
    let any = json!({ "type": ["integer", "string"] });
    let mut words = text("the allowed values; for text");
    words["type"] = json!("array");
    words["items"] = json!({ "type": "string" });
    object(
        "parameters that --set NAME=VALUE can change",
        &[
            ("type", json!({ "enum": ParameterKind::ALL.map(ParameterKind::name) }), true),
            ("default", any.clone(), true),
            ("min", any.clone(), false),
            ("max", any, false),
            ("values", words, false),
            ("summary", text("one line"), false),
        ],
    )
}

fn entity() -> Value {
    let attributes = alternatives(&[PLAIN], false, &repeat());
    object(
        "entities that rows describe",
        &[("count", shape(Shape::Integer), true), ("attributes", list(&attributes), false)],
    )
}

fn table() -> Value {
    let nulls = ("nulls", shape(Shape::Float), false);
    let columns = alternatives(&[PLAIN, OF_COLUMNS], true, &[nulls]);
    let two = json!({
        "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2,
    });
    let conditional = object(
        "a statement that is used if two texts are equal, or unless they are",
        &[
            ("sql", text("one statement"), true),
            ("when", two.clone(), false),
            ("unless", two, false),
        ],
    );
    let statement = json!({ "anyOf": [{ "type": "string" }, conditional] });
    let values = json!({
        "type": "object",
        "description": "per dialect and column, an integer expression that represents the value",
        "additionalProperties": named(&json!({ "type": "string" })),
    });
    let statements = json!({ "anyOf": [{ "type": "string" }, list(&statement)] });
    let statements =
        of_dialects("statements that create the table and its indexes, per dialect", &statements);
    object(
        "a table and the rows that fill it",
        &[
            ("entity", text("the entity that the rows describe"), false),
            ("order", json!({ "enum": ["time-major", "drawn"] }), false),
            ("repeat", shape(Shape::Integer), false),
            ("columns", list(&columns), false),
            ("create", statements, true),
            ("key", per_dialect("the row's index as an integer expression"), false),
            ("values", values, false),
            (
                "locate",
                per_dialect("a condition for keys from :first to :last that an index can serve"),
                false,
            ),
            (
                "left_out",
                list(&text(
                    "a column that `create` makes and no generator fills: it keeps its default",
                )),
                false,
            ),
            (
                "replaces",
                text("the bigint column by whose value a later row replaces an earlier one"),
                false,
            ),
        ],
    )
}

fn op() -> Value {
    let [repeat] = repeat();
    let more = [("count", shape(Shape::Integer), false), repeat];
    let parameters = alternatives(&[PLAIN, OF_PARAMETERS], true, &more);
    let answer = object(
        "number of rows in the response",
        &[
            ("min", shape(Shape::Integer), false),
            ("max", shape(Shape::Integer), true),
            ("times", shape(Shape::Integer), false),
        ],
    );
    let columns = json!({
        "type": "object", "description": "per parameter, the column of the answer that is its value",
        "additionalProperties": { "type": "string" },
    });
    let mut step = object(
        "a statement, a pause, or the ROLLBACK, perhaps with a condition",
        &[
            ("sql", text("one statement"), false),
            ("answer", columns, false),
            ("rows", json!({ "enum": ["one", "any"] }), false),
            ("pause_us", text("the parameter with the length of a pause in microseconds"), false),
            ("rollback", json!({ "const": true }), false),
            ("when", text("the boolean parameter for which the step is taken"), false),
        ],
    );
    step["oneOf"] = json!(["sql", "pause_us", "rollback"].map(|key| json!({ "required": [key] })));
    let mut statements = list(&json!({ "anyOf": [{ "type": "string" }, step] }));
    statements["minItems"] = json!(1);
    statements["maxItems"] = json!(MAX_STATEMENTS);
    let about = "the steps of one transaction, per dialect";
    let transaction = of_dialects(about, &statements);
    let mut op = object(
        "an insert, a query, or a transaction",
        &[
            ("summary", text("one line"), false),
            ("insert", text("the table"), false),
            ("batch", shape(Shape::Integer), false),
            ("sql", per_dialect("one statement; :name is a parameter"), false),
            ("transaction", transaction, false),
            ("parameters", list(&parameters), false),
            ("answer", answer, false),
            ("upserts", text("the table whose rows it writes"), false),
            ("deletes", text("the table whose rows it deletes"), false),
            ("key", text("the parameter with the keys"), false),
        ],
    );
    op["oneOf"] = json!([
        { "required": ["insert", "batch"] },
        { "required": ["sql"] },
        { "required": ["transaction"] },
    ]);
    op
}

fn stream() -> Value {
    let weight = json!({ "anyOf": [shape(Shape::Integer), { "const": "rest" }] });
    object(
        "ops that run at one pace",
        &[
            ("unit", json!({ "enum": Unit::ALL.map(Unit::name) }), true),
            ("arrivals", json!({ "enum": ["constant", "poisson"] }), true),
            ("ops", named(&weight), true),
        ],
    )
}

fn repeat() -> [(&'static str, Value, bool); 1] {
    [("repeat", shape(Shape::Integer), false)]
}

fn list(of: &Value) -> Value {
    json!({ "type": "array", "items": of })
}

/// One of these generators, with its own options; or one given by a parameter, with any.
fn alternatives(known: &[Specs], typed: bool, more: &[(&str, Value, bool)]) -> Value {
    let mut all: Vec<Value> = known
        .iter()
        .copied()
        .flatten()
        .copied()
        .flatten()
        .map(|kind| {
            let mut keys = vec![
                ("name", json!({ "type": "string" }), true),
                ("generator", json!({ "const": kind.name }), true),
            ];
            if typed {
                let makes: Vec<&str> = kind.makes.iter().map(|made| made.name()).collect();
                keys.push(("type", json!({ "enum": makes }), true));
            }
            keys.extend(more.iter().cloned());
            let options = kind.options.iter();
            keys.extend(options.map(|(name, of, required)| (*name, shape(*of), *required)));
            object(kind.about, &keys)
        })
        .collect();
    all.push(json!({
        "type": "object", "required": ["name", "generator"],
        "properties": {
            "generator": { "type": "string", "pattern": CHOSEN },
            "type": { "enum": ColumnType::ALL.map(ColumnType::name) },
        },
    }));
    json!({ "anyOf": all })
}

/// The schema of an option.
fn shape(shape: Shape) -> Value {
    let parameter = json!({ "type": "string", "pattern": PARAMETER });
    let duration = json!({ "type": "string", "pattern": DURATION });
    match shape {
        Shape::Literal => json!({ "type": ["integer", "number", "boolean", "string"] }),
        Shape::Literals => json!({ "type": ["array", "object"] }),
        Shape::Integer => json!({ "anyOf": [{ "type": "integer" }, parameter] }),
        Shape::Integers => list(&json!({ "type": "integer" })),
        Shape::Float => json!({ "anyOf": [{ "type": "number" }, parameter] }),
        Shape::Duration => duration,
        Shape::Durations => {
            json!({ "type": "array", "items": duration, "minItems": 2, "maxItems": 2 })
        }
        Shape::Timestamp | Shape::Text => json!({ "type": "string" }),
        Shape::Distribution => json!({ "enum": DISTRIBUTIONS }),
        Shape::Texts => list(&json!({ "type": "string" })),
        Shape::Fields => list(&json!({ "$ref": "#/$defs/field" })),
    }
}
