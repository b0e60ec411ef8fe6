//! The list of generators of the parameters of queries.
//!
//! To add one, write its file and its line here. What must not be here: how any of them works.

mod data_time;
mod distinct;
mod entity;
mod making;
mod plus;
mod reference;
mod window;
mod written;

use serde::Serialize;

use super::columns::Scope;
use super::plain::{PLAIN, Plain};
use super::spec::{Spec, Specs, read_generator, reads};
use crate::input::Section;
use highwater_model::op::{ColumnType, Value};
use making::Parameter;

pub(crate) use distinct::Distinct;
pub(crate) use making::{DistinctValues, OpScope};
pub(crate) use written::Written;

/// Values of one parameter, at most.
pub(crate) const MAX_COUNT: i64 = 1_000;

/// From the list of generators to what reads and makes by any of them.
macro_rules! generators {
    ($($name:ident in $module:ident,)*) => {
        /// A generator with its options; it is serialized for fingerprints.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum ParameterGenerator {
            Plain(Plain),
            $($name($module::$name),)*
        }

        /// What those that are for parameters only say of themselves.
        pub(crate) static OF_PARAMETERS: Specs = &[$(<$module::$name as Parameter>::SPECS),*];

        impl ParameterGenerator {
            reads! { OF_PARAMETERS: $($name in $module,)* }

            /// Appends the values of the parameter for an op.
            pub(crate) fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
                match self {
                    Self::Plain(plain) => op.append_each(values, |n| of_kind(plain, op, n)),
                    $(Self::$name(it) => it.append(op, values),)*
                }
            }
        }
    };
}

generators! {
    Entity in entity,
    Distinct in distinct,
    DataTime in data_time,
    Window in window,
    Plus in plus,
    Reference in reference,
    Written in written,
}

fn of_kind(plain: &Plain, op: &OpScope<'_>, n: u64) -> Value {
    let draws = &op.draws;
    match op.kind {
        ColumnType::Integer | ColumnType::Bigint => Value::Integer(plain.integer(draws, n)),
        ColumnType::Float => Value::Float(plain.float(draws, n)),
        ColumnType::Boolean => Value::Boolean(plain.boolean(draws, n)),
        ColumnType::Timestamp => Value::TimestampMs(plain.integer(draws, n)),
        ColumnType::Text | ColumnType::Object => Value::Text(plain.text(draws, n).into()),
    }
}
