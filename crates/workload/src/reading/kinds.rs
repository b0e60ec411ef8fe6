//! The generators that there are: where each may stand, what types it makes, and its options.
//!
//! Reading looks names and types up here; the schema of the format is written from it. What the
//! options mean is in the functions that read them.

use highwater_model::op::ColumnType;

/// Names of the types, in the order of [`TYPES`].
pub(crate) const TYPE_NAMES: [&str; 7] = [
    "integer",
    "bigint",
    "float",
    "boolean",
    "timestamp",
    "text",
    "object",
];

const TYPES: [ColumnType; 7] = [
    ColumnType::Integer,
    ColumnType::Bigint,
    ColumnType::Float,
    ColumnType::Boolean,
    ColumnType::Timestamp,
    ColumnType::Text,
    ColumnType::Object,
];

/// The type of a name.
pub(super) fn type_named(name: &str) -> Option<ColumnType> {
    let position = TYPE_NAMES.iter().position(|known| *known == name)?;
    TYPES.get(position).copied()
}

/// The name of a type.
pub(crate) fn name_of(kind: ColumnType) -> &'static str {
    let position = TYPES.iter().position(|known| *known == kind);
    position
        .and_then(|position| TYPE_NAMES.get(position))
        .copied()
        .unwrap_or("integer")
}

/// A generator.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// One line on what it makes.
    pub(crate) about: &'static str,
    pub(crate) makes: &'static [ColumnType],
    /// Options by name, and whether they must be there.
    pub(crate) options: &'static [(&'static str, Shape, bool)],
}

/// What an option looks like in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A literal of the generator's own type.
    Literal,
    /// A list of such literals, or lists by the value of another attribute.
    Literals,
    Integer,
    /// A list of whole numbers.
    Integers,
    Float,
    Duration,
    /// Two durations.
    Durations,
    Timestamp,
    Text,
    /// A list of texts.
    Texts,
    /// The name of a distribution.
    Distribution,
    /// A list of fields.
    Fields,
}

use Shape::{
    Distribution, Duration, Durations, Fields, Float, Integer, Integers, Literal, Literals, Text,
    Texts, Timestamp,
};

const NUMBERS: &[ColumnType] = &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Float];

/// Whole numbers, alone or behind a prefix.
const NUMBERED: &[ColumnType] = &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Text];

const SCALARS: &[ColumnType] = &[
    ColumnType::Integer,
    ColumnType::Bigint,
    ColumnType::Float,
    ColumnType::Boolean,
    ColumnType::Timestamp,
    ColumnType::Text,
];

/// Generators that need only a number: for attributes, columns, fields and parameters.
pub(crate) const PLAIN: &[Kind] = &[
    Kind {
        name: "constant",
        about: "always the same",
        makes: SCALARS,
        options: &[("value", Literal, true)],
    },
    Kind {
        name: "sequence",
        about: "start + step × number, of which the multiple of step modulo `modulo`",
        makes: NUMBERED,
        options: &[
            ("start", Integer, false),
            ("step", Integer, false),
            ("modulo", Integer, false),
            ("prefix", Text, false),
        ],
    },
    Kind {
        name: "uniform",
        about: "all of min to max alike",
        makes: &[
            ColumnType::Integer,
            ColumnType::Bigint,
            ColumnType::Float,
            ColumnType::Text,
        ],
        options: &[
            ("min", Float, true),
            ("max", Float, true),
            ("prefix", Text, false),
        ],
    },
    Kind {
        name: "normal",
        about: "around a mean, clamped to min and max",
        makes: NUMBERS,
        options: &[
            ("mean", Float, true),
            ("deviation", Float, true),
            ("min", Float, false),
            ("max", Float, false),
        ],
    },
    Kind {
        name: "choice",
        about: "one of a list, by weight",
        makes: SCALARS,
        options: &[
            ("values", Literals, true),
            ("weights", Integers, false),
            ("by", Text, false),
        ],
    },
    Kind {
        name: "zipfian",
        about: "few of min to max often, most of them rarely",
        makes: NUMBERED,
        options: &[
            ("min", Integer, true),
            ("max", Integer, true),
            ("theta", Float, false),
            ("order", Text, false),
            ("prefix", Text, false),
        ],
    },
    Kind {
        name: "latest",
        about: "zipfian counted back from max",
        makes: NUMBERED,
        options: &[
            ("min", Integer, true),
            ("max", Integer, true),
            ("theta", Float, false),
            ("prefix", Text, false),
        ],
    },
    Kind {
        name: "hotspot",
        about: "a share of min to max gets a share of the draws",
        makes: NUMBERED,
        options: &[
            ("min", Integer, true),
            ("max", Integer, true),
            ("data", Float, false),
            ("asked", Float, false),
            ("prefix", Text, false),
        ],
    },
    Kind {
        name: "exponential",
        about: "exponentially fewer from min to max",
        makes: NUMBERED,
        options: &[
            ("min", Integer, true),
            ("max", Integer, true),
            ("percentile", Float, false),
            ("data", Float, false),
            ("prefix", Text, false),
        ],
    },
    Kind {
        name: "text",
        about: "random text of a length and a compressibility",
        makes: &[ColumnType::Text],
        options: &[
            ("length", Integer, true),
            ("least", Integer, false),
            ("repeat", Float, false),
            ("digits", Integer, false),
            ("marked", Literal, false),
        ],
    },
    Kind {
        name: "keys",
        about: "the key of a row where the same keys come again: hash, sequential or zipfian",
        makes: &[ColumnType::Bigint],
        options: &[
            ("order", Text, true),
            ("cycle", Integer, false),
            ("different", Integer, false),
            ("apart", Integer, false),
            ("s", Float, false),
            ("v", Float, false),
        ],
    },
    Kind {
        name: "dictionary",
        about: "one of many made words",
        makes: &[ColumnType::Text],
        options: &[
            ("size", Integer, true),
            ("length", Integer, false),
            ("distribution", Distribution, false),
            ("theta", Float, false),
            ("data", Float, false),
            ("asked", Float, false),
            ("percentile", Float, false),
            ("order", Text, false),
        ],
    },
    Kind {
        name: "uuid",
        about: "a UUID of version 4",
        makes: &[ColumnType::Text],
        options: &[],
    },
];

/// Generators of columns only.
pub(crate) const OF_COLUMNS: &[Kind] = &[
    Kind {
        name: "timeline",
        about: "start + tick × interval",
        makes: &[ColumnType::Timestamp],
        options: &[
            ("start", Timestamp, true),
            ("interval", Duration, true),
            ("jitter", Durations, false),
        ],
    },
    Kind {
        name: "walk",
        about: "up and down between min and max, for each entity",
        makes: NUMBERS,
        options: &[
            ("min", Float, true),
            ("max", Float, true),
            ("epoch", Integer, false),
            ("noise", Float, false),
        ],
    },
    Kind {
        name: "attribute",
        about: "an attribute of the row's entity",
        makes: &[ColumnType::Text],
        options: &[("attribute", Text, true)],
    },
    Kind {
        name: "object",
        about: "attributes of the row's entity, or fields that are made for each row",
        makes: &[ColumnType::Object],
        options: &[("attributes", Texts, false), ("fields", Fields, false)],
    },
    Kind {
        name: "reference",
        about: "what an earlier row, or a row of an earlier table, has in a column",
        makes: SCALARS,
        options: REFERENCE,
    },
];

const REFERENCE: &[(&str, Shape, bool)] = &[
    ("table", Text, true),
    ("column", Text, false),
    ("field", Text, false),
    ("rows", Integer, false),
    ("distribution", Distribution, false),
    ("theta", Float, false),
    ("data", Float, false),
    ("asked", Float, false),
    ("percentile", Float, false),
    ("order", Text, false),
];

/// Generators of query parameters only.
pub(crate) const OF_PARAMETERS: &[Kind] = &[
    Kind {
        name: "entity",
        about: "an attribute of an entity drawn uniformly",
        makes: &[ColumnType::Text],
        options: &[
            ("entity", Text, true),
            ("attribute", Text, true),
            ("from", Float, false),
            ("to", Float, false),
        ],
    },
    Kind {
        name: "distinct",
        about: "one of the different values of an attribute",
        makes: &[ColumnType::Text],
        options: &[("entity", Text, true), ("attribute", Text, true)],
    },
    Kind {
        name: "data-time",
        about: "the time of the last row before the stream, and an offset",
        makes: &[ColumnType::Timestamp],
        options: &[("table", Text, true), ("offset", Duration, false)],
    },
    Kind {
        name: "window",
        about: "the start of a window of the data's time",
        makes: &[ColumnType::Timestamp],
        options: &[
            ("table", Text, true),
            ("length", Duration, true),
            ("step", Duration, false),
            ("offset", Duration, false),
        ],
    },
    Kind {
        name: "plus",
        about: "an earlier parameter and a duration",
        makes: &[ColumnType::Timestamp],
        options: &[("parameter", Text, true), ("add", Duration, true)],
    },
    Kind {
        name: "reference",
        about: "what a row that was there before the op has in a column",
        makes: SCALARS,
        options: REFERENCE,
    },
    Kind {
        name: "written",
        about: "what the rows that the op upserts have in a column; `count` rows",
        makes: SCALARS,
        options: &[("table", Text, true), ("column", Text, true)],
    },
];

/// The generator of a field that is an object itself.
pub(crate) const OF_FIELDS: &[Kind] = &[Kind {
    name: "object",
    about: "fields that are made for each row",
    makes: &[ColumnType::Object],
    options: &[("fields", Fields, true)],
}];
