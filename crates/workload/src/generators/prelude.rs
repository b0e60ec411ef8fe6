//! The names that almost every generator's file needs, in one place.
//!
//! What must not be here: anything of its own.

pub(crate) use super::spec::{NUMBERED, NUMBERS, OBJECT, SCALARS, Spec, TEXT, TIMESTAMP, specs};
pub(crate) use crate::input::{Entry, Section};
pub(crate) use crate::layout::Segments;
pub(crate) use crate::layout::Ticks;
pub(crate) use crate::random::Draws;
pub(crate) use highwater_model::op::{ColumnData, ColumnType, Value};
pub(crate) use serde::Serialize;
