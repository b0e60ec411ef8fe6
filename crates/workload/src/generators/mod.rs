//! Generators: their names, types, and options, how options are read and checked, and the values that they
//! generate.
//!
//! Generators in `plain` need only a number; `columns` are for columns of tables, and `parameters` for parameters of
//! queries. Reading, the schema of the format, and the generation of values are derived from the list in each of them.
//! Must not contain a list of generators.

pub(crate) mod columns;
pub(crate) mod parameters;
pub(crate) mod plain;

use highwater_model::op::ColumnType;
use highwater_model::user_error::suggest;

use crate::input::Section;

/// The name of a generator in files.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// One line about its values.
    pub(crate) about: &'static str,
    pub(crate) makes: &'static [ColumnType],
    /// Options by name, and whether they are required.
    pub(crate) options: &'static [(&'static str, Shape, bool)],
}

/// The generators for one kind of place.
pub(crate) type Specs = &'static [&'static [Spec]];

/// The form of an option in a file.
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

/// Specifications by name: its values, their types, the required options, and after a semicolon the
/// optional ones.
macro_rules! specs {
    ($($name:literal, $about:literal, $makes:expr,
        [$($must:literal: $a:ident),*; $($may:literal: $b:ident),*];)*) => {
        &[$($crate::generators::Spec {
            name: $name,
            about: $about,
            makes: $makes,
            options: &[
                $(($must, $crate::generators::Shape::$a, true),)*
                $(($may, $crate::generators::Shape::$b, false),)*
            ],
        },)*]
    };
}
pub(crate) use specs;

/// Reads a generator of a list, or a plain one, as a variant of the enum of all of them.
macro_rules! reads {
    ($own:ident: $($name:ident,)*) => {
        /// Reads a generator and its options.
        pub(crate) fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
            let name = read_generator(of, scope.kind, &[PLAIN, $own])?;
            let is_one_of = |specs: &[Spec]| specs.iter().any(|spec| spec.name == name);
            let read = match name {
                $(_ if is_one_of($name::SPECS) => {
                    $name::read(of, scope).map(Self::$name)
                })*
                plain => Plain::read(of, plain, scope.kind).map(Self::Plain),
            };
            of.finish();
            read
        }
    };
}
pub(crate) use reads;

const NUMBERS: &[ColumnType] = &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Float];

/// Whole numbers, alone or after a prefix.
const NUMBERED: &[ColumnType] = &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Text];

/// All types except objects, the last one.
const SCALARS: &[ColumnType] = ColumnType::ALL.split_at(6).0;

const TEXT: &[ColumnType] = &[ColumnType::Text];
const TIMESTAMP: &[ColumnType] = &[ColumnType::Timestamp];
const OBJECT: &[ColumnType] = &[ColumnType::Object];

/// Reads the `type` of a column or a field.
pub(crate) fn read_column_type(of: &Section<'_>) -> Option<ColumnType> {
    read_type(of, ColumnType::ALL, ColumnType::name)
}

/// Reads a `type`, one of `all`.
pub(crate) fn read_type<T: Copy, const N: usize>(
    of: &Section<'_>,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Option<T> {
    let entry = of.required("type", "\"integer\"")?;
    all.get(entry.position("type", &all.map(name))?).copied()
}

/// Reads the `generator`, one of `known` that supports `kind`; marks its options as known.
pub(crate) fn read_generator(
    of: &Section<'_>,
    kind: ColumnType,
    known: &[Specs],
) -> Option<&'static str> {
    let entry = of.required("generator", "\"uniform\"")?;
    let word = entry.text()?;
    let all = || known.iter().copied().flatten().copied().flatten();
    let Some(spec) = all().find(|known| known.name == word) else {
        let hint = suggest(&word, all().map(|known| known.name));
        return entry.error(format!("unknown generator `{word}` for {}", of.place), hint);
    };
    if !spec.makes.contains(&kind) {
        let types: Vec<&str> = spec.makes.iter().map(|kind| kind.name()).collect();
        let message = format!("generator `{word}` does not make type `{}`", kind.name());
        return entry.error(message, format!("it makes {}", types.join(", ")));
    }
    spec.options.iter().for_each(|(option, ..)| of.know(option));
    Some(spec.name)
}
