//! The list of generators that need only a number: that of an entity, a row or an op.
//!
//! To add one, write its file and its line here. What must not be here: how any of them works.

mod choice;
mod constant;
mod dictionary;
mod keys;
mod literal;
mod making;
mod normal;
mod sequence;
mod skewed;
mod text;
mod uniform;
mod uuid;

use serde::Serialize;

use super::spec::Specs;
use crate::input::Section;
use crate::layout::Segments;
use crate::random::Draws;
use highwater_model::op::{ColumnData, ColumnType, Value};

pub(crate) use choice::{Choice, choice};
pub(crate) use dictionary::{MAX_WORD, MAX_WORDS, letters};
pub(crate) use literal::{Literal, literals};
use making::Make;
pub(crate) use making::Texts;
pub(crate) use text::MAX_LENGTH;

/// From the list of generators to what reads and makes by any of them.
macro_rules! generators {
    ($($(#[$tag:meta])* $name:ident in $module:ident,)*) => {
        /// A generator with its options; it is serialized for fingerprints.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Plain {
            $($(#[$tag])* $name($module::$name),)*
        }

        /// What they say of themselves.
        pub(crate) static PLAIN: Specs = &[$(<$module::$name as Make>::SPECS),*];

        impl Plain {
            /// Reads the options of the generator that `name` is.
            pub(crate) fn read(of: &Section<'_>, name: &str, kind: ColumnType) -> Option<Self> {
                $(if <$module::$name as Make>::SPECS.iter().any(|spec| spec.name == name) {
                    return $module::$name::read(of, name, kind).map(Self::$name);
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

            /// The n-th floating-point number; 0 where the generator makes none.
            pub(crate) fn float(&self, draws: &Draws, n: u64) -> f64 {
                match self { $(Self::$name(it) => it.float(draws, n),)* }
            }

            /// The n-th boolean; false where the generator makes none.
            pub(crate) fn boolean(&self, draws: &Draws, n: u64) -> bool {
                match self { $(Self::$name(it) => it.boolean(draws, n),)* }
            }

            /// What stands before an integer that together are its text.
            pub(crate) fn prefix(&self) -> Option<&str> {
                match self { $(Self::$name(it) => it.prefix(),)* }
            }

            /// The texts that it picks from, if they can be kept.
            pub(crate) fn texts(&self, draws: &Draws) -> Option<Texts> {
                match self { $(Self::$name(it) => it.texts(draws),)* }
            }

            /// The values at the ends of what it may make for a column of that type.
            pub(crate) fn extremes(&self, kind: ColumnType) -> Vec<Value> {
                match self { $(Self::$name(it) => it.extremes(kind),)* }
            }

            /// Makes `data` the values of the rows of all segments; its memory is used again.
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
    Constant in constant,
    Sequence in sequence,
    Normal in normal,
    Choice in choice,
    Skewed in skewed,
    Text in text,
    Keys in keys,
    Dictionary in dictionary,
    #[serde(untagged)]
    Uniform in uniform,
    #[serde(untagged)]
    Uuid in uuid,
}

impl Plain {
    /// Stands for what could not be read.
    pub(crate) fn nothing() -> Self {
        Self::Constant(constant::Constant(Literal::Integer(0)))
    }
}
