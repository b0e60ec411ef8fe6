//! The list of generators of columns.
//!
//! To add one, write its file and its line here. What must not be here: how any of them works.

mod attribute;
mod making;
mod object;
mod reference;
mod timeline;
mod walk;

use serde::Serialize;

use super::plain::{PLAIN, Plain};
use super::spec::{Spec, Specs, read_generator, reads};
use crate::input::Section;
use making::PlainColumn;

pub(crate) use attribute::attribute_position;
pub(crate) use making::{ColumnScope, Fill, Generate, MadeFor, Scope, TableScope};
pub(crate) use object::{OF_FIELDS, Object, scope_of};
pub(crate) use reference::{Reference, field_of, read_place};

/// From the list of generators to what reads and makes by any of them.
macro_rules! generators {
    ($($(#[$tag:meta])* $name:ident in $module:ident,)*) => {
        /// A generator with its options; it is serialized for fingerprints.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum ColumnGenerator {
            Plain(Plain),
            $($(#[$tag])* $name($module::$name),)*
        }

        /// What those that are for columns only say of themselves.
        pub(crate) static OF_COLUMNS: Specs = &[$(<$module::$name as Generate>::SPECS),*];

        impl ColumnGenerator {
            reads! { OF_COLUMNS: $($name in $module,)* }

            /// What makes the column's values.
            pub(crate) fn made(&self, column: &MadeFor<'_>) -> Box<dyn Fill> {
                match self {
                    Self::Plain(plain) => Box::new(PlainColumn::new(plain, column)),
                    $(Self::$name(it) => Box::new(it.made(column)),)*
                }
            }
        }
    };
}

generators! {
    Timeline in timeline,
    Walk in walk,
    Attribute in attribute,
    Reference in reference,
    #[serde(untagged)]
    Object in object,
}
