//! Generators of the parameters of queries, with a list of their properties and of their inputs from the op. To add
//! one, write it and its line in the list.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use highwater_model::numbers::{to_f64, truncate_to_u64};
use highwater_model::op::{ColumnType, Value};
use highwater_model::units::Seed;

use super::columns::Scope;
use super::plain::{PLAIN, Plain};
use super::{Spec, Specs, read_generator, reads};
use crate::expression::{ErrorKind, Expression, Inputs};
use crate::generators::columns::{self, Generate as _, attribute_position, field_of, read_place};
use crate::generators::{SCALARS, TEXT, TIMESTAMP, specs};
use crate::input::{Entry, Section};
use crate::random::Draws;
use crate::rows::{Attributes, TableRows, Ticks};

/// Maximum number of values of one parameter.
pub(crate) const MAX_COUNT: i64 = 1_000;

/// Expands the list of generators to the code that reads each of them and generates its values.
macro_rules! generators {
    ($($name:ident,)*) => {
        /// A generator with its options; it is serialized for fingerprints.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum ParameterGenerator {
            Plain(Plain),
            $($name($name),)*
        }

        /// The properties of generators that are only for parameters.
        pub(crate) static OF_PARAMETERS: Specs = &[$(<$name as Parameter>::SPECS),*];

        impl ParameterGenerator {
            reads! { OF_PARAMETERS: $($name,)* }

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
    Entity,
    Distinct,
    DataTime,
    Window,
    Plus,
    Computed,
    Answer,
    Reference,
    Written,
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

/// A generator of parameters.
pub(crate) trait Parameter: Sized {
    const SPECS: &'static [Spec];

    /// Reads its options.
    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self>;

    /// Appends the parameter's number of values for an op.
    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>);
}

/// The different values of attributes, by the positions of entity and attribute.
pub(crate) type DistinctValues = BTreeMap<(usize, usize), Vec<Arc<str>>>;

/// The inputs of a parameter's values.
pub(crate) struct OpScope<'o> {
    pub(crate) entities: &'o [Attributes],
    pub(crate) tables: &'o [TableRows],
    pub(crate) distinct: &'o DistinctValues,
    /// The first row that the op writes; all rows before it exist.
    pub(crate) first_row: u64,
    /// Number of the op in its stream.
    pub(crate) index: u64,
    /// The type of the parameter.
    pub(crate) kind: ColumnType,
    /// Number of values of the parameter.
    pub(crate) count: u64,
    /// The parameter's separate random numbers.
    pub(crate) draws: Draws,
    /// Start positions of the values of each earlier parameter.
    pub(crate) begins: &'o [usize],
    pub(crate) seed: Seed,
    /// Why a value of the op cannot be computed, if so.
    pub(crate) failure: &'o RefCell<Option<String>>,
}

impl OpScope<'_> {
    /// Appends all values, each from a separate random number.
    fn append_each(&self, values: &mut Vec<Value>, value: impl Fn(u64) -> Value) {
        let first = self.index.wrapping_mul(self.count);
        values.extend((0..self.count).map(|n| value(first.wrapping_add(n))));
    }

    /// The value of a row in a column, or in a field of its object; null if there is no such
    /// column.
    fn cell(&self, table: usize, column: usize, field: &[String], row: u64) -> Value {
        let table = self.tables.get(table);
        let cell = table.and_then(|table| table.cell(column, row));
        cell.map_or(Value::Null, |cell| field_of(cell, field).value(0))
    }

    /// The tick of the last row before the op.
    fn last_tick(&self, table: usize) -> u64 {
        let last_row = self.first_row.saturating_sub(1);
        self.tables.get(table).map_or(0, |table| table.tick(last_row))
    }
}

/// Reads a `table` with a timeline.
fn read_ticks(of: &Section<'_>, scope: &Scope<'_>) -> Option<(usize, Ticks)> {
    let entry: Entry<'_> = of.required("table", "\"…\"")?;
    let table = entry.position("table", scope.tables)?;
    let scope = scope.tables.get(table)?;
    let Some(timeline) = scope.ticks else {
        let message = format!("table `{}` has no column made by `timeline`", scope.name);
        let hint = "give it a timestamp column with generator = \"timeline\"";
        return entry.error(message, hint);
    };
    Some((table, timeline))
}

/// `entity`: an attribute of different entities, all equally probable.
///
/// An attribute of an entity out of `first..=last`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are part of fingerprints")]
pub(crate) struct Entity {
    entity: usize,
    attribute: usize,
    first: u64,
    last: u64,
}

impl Parameter for Entity {
    const SPECS: &'static [Spec] = specs!(
        "entity", "an attribute of a uniformly chosen entity", TEXT,
        ["entity": Text, "attribute": Text; "from": Float, "to": Float];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let from = of.float("from", Some(0.0));
        let to = of.float("to", Some(1.0));
        let (entity, attribute) = read_attribute(of, scope)?;
        let good = 0.0 <= from && from <= to && to <= 1.0;
        let message = format!("`from` and `to` of {} are not shares", of.place);
        of.check(good, message, "0 ≤ from ≤ to ≤ 1, such as from = 0.25, to = 0.75");
        let count = of.good(scope.entities.get(entity)?.count)?;
        // The number of the entity at a fraction of all entities, at most the last one.
        let at = |share| truncate_to_u64(to_f64(count) * share).min(count.saturating_sub(1));
        let (first, last) = (at(from), at(to));
        let (there, requested) = (last - first + 1, scope.count);
        let message = format!("{} wants {requested} of {there} entities", of.place);
        of.check(there >= requested, message, "a smaller `count`, or more entities");
        of.good(Self { entity, attribute, first, last })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let numbers = different(&op.draws, op.index, self.last - self.first + 1, op.count);
        let entity = op.entities.get(self.entity);
        values.extend(numbers.into_iter().map(|number| {
            entity.map_or(Value::Null, |entity| {
                Value::Text(entity.value(self.attribute, self.first + number).into())
            })
        }));
    }
}

/// `count` different numbers below `items`, each set equally probable: Floyd's sample (Bentley and Floyd,
/// "A sample of brilliance", CACM 1987). Fewer if there are fewer.
fn different(draws: &Draws, index: u64, items: u64, count: u64) -> Vec<u64> {
    let count = count.min(items);
    let first = index.wrapping_mul(count);
    let mut chosen = Vec::new();
    for n in 0..count {
        let last = items - count + n;
        let number = draws.below(first.wrapping_add(n), last + 1);
        let is_taken = chosen.contains(&number);
        chosen.push(if is_taken { last } else { number });
    }
    chosen
}

/// `distinct`: one of the different values that an attribute has among all entities.
///
/// Positions of entity and attribute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Distinct {
    pub(crate) entity: usize,
    pub(crate) attribute: usize,
}

impl Parameter for Distinct {
    const SPECS: &'static [Spec] = specs!(
        "distinct", "one of the distinct values of an attribute", TEXT,
        ["entity": Text, "attribute": Text;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let (entity, attribute) = read_attribute(of, scope)?;
        Some(Self { entity, attribute })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let all = op.distinct.get(&(self.entity, self.attribute));
        let all = all.map(Vec::as_slice).unwrap_or_default();
        op.append_each(values, |n| {
            let pick = usize::try_from(op.draws.below(n, all.len() as u64)).unwrap_or(0);
            all.get(pick).map_or(Value::Null, |value| Value::Text(Arc::clone(value)))
        });
    }
}

/// The positions of the `entity` and of one `attribute` of it.
fn read_attribute(of: &Section<'_>, scope: &Scope<'_>) -> Option<(usize, usize)> {
    let entity = of.required("entity", "\"…\"");
    let attribute = of.required("attribute", "\"…\"");
    let position = entity?.position("entity", scope.entities)?;
    let entity = scope.entities.get(position);
    Some((position, attribute_position(attribute?, &of.place, entity)?))
}

/// `data-time`: the time of the last row before the stream, and an offset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DataTime {
    table: usize,
    timeline: Ticks,
    /// Milliseconds that are added.
    offset: i64,
}

impl Parameter for DataTime {
    const SPECS: &'static [Spec] = specs!(
        "data-time", "the time of the last row before the stream, plus an offset", TIMESTAMP,
        ["table": Text; "offset": Duration];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let offset = of.duration("offset", Some(0));
        let (table, timeline) = read_ticks(of, scope)?;
        of.good(Self { table, timeline, offset })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let time = self.timeline.at(op.last_tick(self.table)).saturating_add(self.offset);
        op.append_each(values, |_| Value::TimestampMs(time));
    }
}

/// `window`: the start of a window of the data's time, uniform over the windows filled by the rows
/// before the stream.
///
/// All fields except the table are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Window {
    table: usize,
    timeline: Ticks,
    length: i64,
    /// Between possible starts.
    step: i64,
    /// Added to the start.
    offset: i64,
}

impl Parameter for Window {
    const SPECS: &'static [Spec] = specs!(
        "window", "the start of a time window within the data", TIMESTAMP,
        ["table": Text, "length": Duration; "step": Duration, "offset": Duration];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let length = of.positive("length", None);
        let step = of.positive("step", Some(1));
        let offset = of.duration("offset", Some(0));
        let (table, timeline) = read_ticks(of, scope)?;
        of.good(Self { table, timeline, length, step, offset })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let begin = self.timeline.at(0);
        let end = self.timeline.at(op.last_tick(self.table).saturating_add(1));
        let span = end.saturating_sub(begin).saturating_sub(self.length).max(0);
        let starts = (span / self.step.max(1)).unsigned_abs().saturating_add(1);
        op.append_each(values, |n| {
            let start = i64::try_from(op.draws.below(n, starts)).unwrap_or(0);
            let start = begin.saturating_add(start.saturating_mul(self.step));
            Value::TimestampMs(start.saturating_add(self.offset))
        });
    }
}

/// `plus`: an earlier parameter and a duration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plus {
    /// Position of the earlier parameter.
    parameter: usize,
    /// Milliseconds.
    add: i64,
}

impl Parameter for Plus {
    const SPECS: &'static [Spec] = specs!(
        "plus", "an earlier parameter plus a duration", TIMESTAMP,
        ["parameter": Text, "add": Duration;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let add = of.duration("add", None);
        let entry = of.required("parameter", "\"…\"")?;
        let parameter = entry.position("earlier parameter", scope.parameters)?;
        let earlier = scope.parameters.get(parameter)?;
        if earlier.kind != ColumnType::Timestamp {
            let message = format!("parameter `{}` is not of type `timestamp`", earlier.name);
            return entry.error(message, "a duration is added to points in time");
        }
        of.good(Self { parameter, add })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let earlier = op.begins.get(self.parameter).and_then(|begin| values.get(*begin));
        values.push(match earlier {
            Some(Value::TimestampMs(time)) => Value::TimestampMs(time.saturating_add(self.add)),
            _ => Value::Null,
        });
    }
}

/// `expression`: a value that is computed, from earlier parameters or random numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Computed(Expression);

impl Computed {
    pub(crate) fn expression(&self) -> &Expression {
        &self.0
    }
}

/// `answer`: a column in the answer to a statement of the same transaction, whose step names it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Answer {
    /// Position of the earlier parameter whose value it has if there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<usize>,
}

impl Answer {
    pub(crate) fn otherwise(&self) -> Option<usize> {
        self.otherwise
    }
}

impl Parameter for Answer {
    const SPECS: &'static [Spec] = specs!(
        "answer", "a column in the answer to a statement of the transaction, whose step names it", TEXT,
        [; "otherwise": Text];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let otherwise = match of.optional("otherwise") {
            Some(entry) => Some(entry.position("earlier parameter", scope.parameters)?),
            None => None,
        };
        of.good(Self { otherwise })
    }

    /// The op has no answer yet.
    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        op.append_each(values, |_| Value::Null);
    }
}

impl Parameter for Computed {
    const SPECS: &'static [Spec] = specs!(
        "expression", "a value in the expression language of pgbench, from earlier parameters",
        &[ColumnType::Bigint, ColumnType::Float, ColumnType::Boolean, ColumnType::Text],
        ["value": Text;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let entry = of.required("value", "\"random(1, 100)\"")?;
        let text = entry.text()?;
        let names: Vec<&str> = scope.parameters.iter().map(|p| p.name.as_str()).collect();
        let kinds: Vec<ColumnType> = scope.parameters.iter().map(|p| p.kind).collect();
        let expression = match Expression::parse(&text, &names, &kinds) {
            Ok(expression) => expression,
            Err(error) => {
                let word = text.get(error.at).unwrap_or_default().to_owned();
                let (message, hint) = match error.kind {
                    ErrorKind::Invalid(message) => {
                        (format!("{message} in {}", of.place), "see pgbench's documentation")
                    }
                    ErrorKind::UnknownVariable(name) => (
                        format!("unknown earlier parameter `:{name}` in {}", of.place),
                        "parameters are computed in the order of the list",
                    ),
                };
                entry.error_word(&word, message, hint.to_owned());
                return None;
            }
        };
        let is_late = |position: &usize| scope.parameters.get(*position).is_some_and(|of| of.late);
        let is_text = |position: &usize| {
            let kind = kinds.get(*position);
            let is_text =
                matches!(kind, Some(ColumnType::Text | ColumnType::Timestamp | ColumnType::Object));
            is_text && !is_late(position)
        };
        if let Some(position) = expression.variables().into_iter().find(is_text) {
            let name = names.get(position).copied().unwrap_or_default();
            let message = format!("parameter `{name}` is neither a number nor a truth value");
            return entry.error(message, "an expression computes with these only");
        }
        let made = expression.kind();
        let is_any = scope.kind == ColumnType::Text && expression.variables().iter().any(is_late);
        let is_made =
            made == scope.kind || (made, scope.kind) == (ColumnType::Bigint, ColumnType::Float);
        if !is_any && !is_made {
            let message = format!("{} makes type `{}`", of.place, made.name());
            return entry.error(message, format!("type = \"{}\"", made.name()));
        }
        of.good(Self(expression))
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let first = op.index.wrapping_mul(op.count);
        for n in 0..op.count {
            let inputs = Inputs {
                values,
                begins: op.begins,
                seed: op.seed,
                draws: &op.draws,
                index: first.wrapping_add(n),
            };
            let value = self.0.evaluate(&inputs).unwrap_or_else(|message| {
                op.failure.borrow_mut().get_or_insert(message);
                Value::Null
            });
            values.push(value);
        }
    }
}

/// `reference`: the value in a column of a row that existed before the op, or that row's index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Reference(pub(crate) columns::Reference);

impl Parameter for Reference {
    const SPECS: &'static [Spec] = specs!(
        "reference", "the value of a column in a row that existed before the op", SCALARS,
        ["table": Text; "column": Text, "field": Text, "rows": Integer, "distribution": Distribution,
            "theta": Float, "data": Float, "asked": Float, "percentile": Float, "order": Text];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        columns::Reference::read(of, scope).map(Self)
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let of = &self.0;
        op.append_each(values, |n| {
            let row = of.row(&op.draws, n, op.first_row);
            match of.column {
                None => Value::Integer(i64::try_from(row).unwrap_or(i64::MAX)),
                Some(column) => op.cell(of.table, column, &of.field, row),
            }
        });
    }
}

/// `written`: the values in a column of the rows that the op upserts.
///
/// Positions of table and column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Written {
    pub(crate) table: usize,
    pub(crate) column: usize,
}

impl Parameter for Written {
    const SPECS: &'static [Spec] = specs!(
        "written", "the values of a column in the rows that the op upserts; `count` rows", SCALARS,
        ["table": Text, "column": Text;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let place = read_place(of, scope)?;
        let (table, column) = (place.table, place.column);
        match column {
            Some(column) => of.good(Self { table, column }),
            None => of.error(format!("{} names no column", of.place), "add column = \"…\""),
        }
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let rows = (0..op.count).map(|n| op.first_row.saturating_add(n));
        values.extend(rows.map(|row| op.cell(self.table, self.column, &[], row)));
    }
}
