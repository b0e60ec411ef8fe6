//! The list of generators that need only a number (of an entity, a row, or an op), with their properties.
//!
//! To add one, write it and its line here. Must not contain their implementation.

mod numbers;
mod texts;

use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::Serialize;

use highwater_model::op::{ColumnData, ColumnType, Value};

use super::{Spec, Specs};
use crate::input::Section;
use crate::random::Draws;
use crate::rows::{Segment, Segments, codes, floats, integers, timestamps};

use self::numbers::{Keys, Normal, Sequence, SkewedInteger, Uniform};
use self::texts::{Constant, Dictionary, Pattern, Text, Uuid};

pub(crate) use self::texts::{
    Choice, Literal, MAX_LENGTH, MAX_WORD, MAX_WORDS, choice, letters, literals,
};

/// Expands the list of generators to the code that reads each of them and generates its values.
macro_rules! generators {
    ($($(#[$tag:meta])* $name:ident,)*) => {
        /// A generator with its options; it is serialized for fingerprints.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Plain {
            $($(#[$tag])* $name($name),)*
        }

        /// Their properties.
        pub(crate) static PLAIN: Specs = &[$(<$name as Make>::SPECS),*];

        impl Plain {
            /// Reads the options of the generator called `name`.
            pub(crate) fn read(of: &Section<'_>, name: &str, kind: ColumnType) -> Option<Self> {
                $(if <$name as Make>::SPECS.iter().any(|spec| spec.name == name) {
                    return $name::read(of, name, kind).map(Self::$name);
                })*
                None
            }

            /// The n-th text.
            pub(crate) fn text(&self, draws: &Draws, n: u64) -> String {
                match self { $(Self::$name(it) => it.text(draws, n),)* }
            }

            /// The n-th integer, or point in time; floating-point numbers are rounded down.
            pub(crate) fn integer(&self, draws: &Draws, n: u64) -> i64 {
                match self { $(Self::$name(it) => it.integer(draws, n),)* }
            }

            /// The n-th floating-point number; 0 if the generator has none.
            pub(crate) fn float(&self, draws: &Draws, n: u64) -> f64 {
                match self { $(Self::$name(it) => it.float(draws, n),)* }
            }

            /// The n-th boolean; false if the generator has none.
            pub(crate) fn boolean(&self, draws: &Draws, n: u64) -> bool {
                match self { $(Self::$name(it) => it.boolean(draws, n),)* }
            }

            /// The prefix of an integer; together they form its text.
            pub(crate) fn prefix(&self) -> Option<&str> {
                match self { $(Self::$name(it) => it.prefix(),)* }
            }

            /// The texts that it picks from, if they can be kept.
            pub(crate) fn texts(&self, draws: &Draws) -> Option<Texts> {
                match self { $(Self::$name(it) => it.texts(draws),)* }
            }

            /// The extreme values of its range for a column of that type.
            pub(crate) fn extremes(&self, kind: ColumnType) -> Vec<Value> {
                match self { $(Self::$name(it) => it.extremes(kind),)* }
            }

            /// Fills `data` with the values of the rows of all segments, reusing its memory.
            pub(crate) fn fill(
                &self,
                kind: ColumnType,
                draws: &Draws,
                segments: Segments,
                data: &mut ColumnData,
            ) {
                match self { $(Self::$name(it) => it.fill(kind, draws, segments, data),)* }
            }

            /// The same with codes of `texts`.
            pub(crate) fn fill_codes(
                &self,
                texts: &Texts,
                draws: &Draws,
                segments: Segments,
                data: &mut ColumnData,
            ) {
                match self { $(Self::$name(it) => it.fill_codes(texts, draws, segments, data),)* }
            }
        }
    };
}

generators! {
    Constant,
    Sequence,
    Normal,
    Choice,
    SkewedInteger,
    Text,
    Pattern,
    Keys,
    Dictionary,
    #[serde(untagged)]
    Uniform,
    #[serde(untagged)]
    Uuid,
}

impl Plain {
    /// Replaces a generator that could not be read.
    pub(crate) fn nothing() -> Self {
        Self::Constant(Constant(Literal::Integer(0)))
    }
}

/// Texts from which values are picked.
pub(crate) type Texts = Arc<[Box<str>]>;

/// A generator. Types that it does not support are 0, false, or empty.
pub(crate) trait Make: Sized {
    const SPECS: &'static [Spec];

    /// Reads the options of the generator called `name`.
    fn read(of: &Section<'_>, name: &str, kind: ColumnType) -> Option<Self>;

    /// The n-th text.
    fn text(&self, draws: &Draws, n: u64) -> String;

    fn integer(&self, _: &Draws, _: u64) -> i64 {
        0
    }

    fn float(&self, _: &Draws, _: u64) -> f64 {
        0.0
    }

    fn boolean(&self, _: &Draws, _: u64) -> bool {
        false
    }

    /// The prefix of an integer; together they form its text.
    fn prefix(&self) -> Option<&str> {
        None
    }

    /// The texts that it picks from, if they can be kept.
    fn texts(&self, _: &Draws) -> Option<Texts> {
        None
    }

    /// Position of the n-th text among its texts.
    fn pick(&self, _: &Draws, _: u64) -> u64 {
        0
    }

    /// Values that include the extremes of its range for a column of that type; none if values follow
    /// from the row, or if none of them is extreme.
    fn extremes(&self, _: ColumnType) -> Vec<Value> {
        Vec::new()
    }

    /// Fills `data` with the values of the rows of all segments, reusing its memory.
    fn fill(&self, kind: ColumnType, draws: &Draws, segments: Segments, data: &mut ColumnData) {
        let rows = Segment::row_indexes;
        match kind {
            ColumnType::Integer | ColumnType::Bigint => integers(data, segments, |segment, all| {
                all.extend(rows(segment).map(|row| self.integer(draws, row)));
            }),
            ColumnType::Timestamp => timestamps(data, segments, |segment, all| {
                all.extend(rows(segment).map(|row| self.integer(draws, row)));
            }),
            ColumnType::Float => floats(data, segments, |segment, all| {
                all.extend(rows(segment).map(|row| self.float(draws, row)));
            }),
            ColumnType::Boolean => {
                let all = segments.flat_map(rows).map(|row| self.boolean(draws, row));
                *data = ColumnData::Boolean(all.collect());
            }
            ColumnType::Text | ColumnType::Object => {
                let all = segments.flat_map(rows).map(|row| self.text(draws, row).into());
                *data = ColumnData::Text(all.collect());
            }
        }
    }

    /// The same with codes of `texts`.
    fn fill_codes(&self, texts: &Texts, draws: &Draws, segments: Segments, data: &mut ColumnData) {
        codes(data, texts, segments, ColumnData::TextDictionary, |segment, all| {
            let picks = segment.row_indexes().map(|row| self.pick(draws, row));
            all.extend(picks.map(|pick| u32::try_from(pick).unwrap_or(0)));
        });
    }
}

/// The range of integers of a type.
fn range_of(kind: ColumnType) -> RangeInclusive<i64> {
    match kind {
        ColumnType::Integer => i64::from(i32::MIN)..=i64::from(i32::MAX),
        _ => i64::MIN..=i64::MAX,
    }
}

/// The ends of a range of integers, as values of a column of that type.
fn ends(kind: ColumnType, prefix: &str, ends: [i64; 2]) -> Vec<Value> {
    let value = |number: i64| match kind {
        ColumnType::Integer | ColumnType::Bigint => Value::Integer(number),
        _ => Value::Text(format!("{prefix}{number}").into()),
    };
    ends.map(value).to_vec()
}

/// The `prefix` of a text; other types have none.
fn prefix_of(of: &Section<'_>, kind: ColumnType) -> String {
    match kind {
        ColumnType::Text => of.text_or_empty("prefix"),
        _ => String::new(),
    }
}
