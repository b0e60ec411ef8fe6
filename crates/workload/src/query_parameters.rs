//! The parameters of a query: their values for the op of an index.
//!
//! A parameter has random numbers of its own, by stream, op and name; one that stands for a list
//! takes `count` of them for each op.
//!
//! What must not be here: the statements that take the values.

use std::sync::Arc;

use super::definition::{ParameterGenerator, QueryParameter};
use super::instance::{OpContext, Workload};
use super::plain::Plain;
use super::random::Draws;
use super::reference;
use highwater_model::op::{ColumnData, ColumnType, Value};

impl Workload {
    /// All values of an op; `path` names stream and op.
    pub(super) fn values(
        &self,
        path: &[&str],
        parameters: &[QueryParameter],
        index: u64,
        context: OpContext,
    ) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::with_capacity(parameters.len());
        // Where each parameter's values begin.
        let mut begins: Vec<usize> = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            begins.push(values.len());
            let path = [path, &[parameter.name.as_str()]].concat();
            let draws = Draws::of(self.seed, &path);
            match &parameter.generator {
                ParameterGenerator::Plus {
                    parameter: earlier,
                    add,
                } => {
                    let earlier = begins.get(*earlier).and_then(|begin| values.get(*begin));
                    values.push(match earlier {
                        Some(Value::TimestampMs(time)) => {
                            Value::TimestampMs(time.saturating_add(*add))
                        }
                        _ => Value::Null,
                    });
                }
                ParameterGenerator::Written { table, column } => {
                    let rows = (0..parameter.count).map(|n| context.first_row.saturating_add(n));
                    values.extend(rows.map(|row| self.cell(*table, *column, &[], row)));
                }
                ParameterGenerator::Entity {
                    entity,
                    attribute,
                    first,
                    last,
                } => {
                    let numbers = different(&draws, index, last - first + 1, parameter.count);
                    values.extend(numbers.into_iter().map(|number| {
                        self.entities.get(*entity).map_or(Value::Null, |entity| {
                            Value::Text(entity.value(*attribute, first + number).into())
                        })
                    }));
                }
                _ => {
                    let first = index.wrapping_mul(parameter.count);
                    values
                        .extend((0..parameter.count).map(|n| {
                            self.value(parameter, &draws, first.wrapping_add(n), context)
                        }));
                }
            }
        }
        values
    }

    /// One value of a parameter, from the random number at `index`.
    fn value(
        &self,
        parameter: &QueryParameter,
        draws: &Draws,
        index: u64,
        context: OpContext,
    ) -> Value {
        match &parameter.generator {
            ParameterGenerator::Plain(plain) => of_kind(plain, parameter.kind, draws, index),
            ParameterGenerator::Distinct { entity, attribute } => {
                let values = self.distinct.get(&(*entity, *attribute));
                values.map_or(Value::Null, |values| {
                    let pick = draws.below(index, values.len() as u64);
                    let pick = usize::try_from(pick).unwrap_or(0);
                    values
                        .get(pick)
                        .map_or(Value::Null, |v| Value::Text(Arc::clone(v)))
                })
            }
            ParameterGenerator::DataTime {
                table,
                timeline,
                offset,
            } => {
                let tick = self.last_tick(*table, context);
                Value::TimestampMs(timeline.at(tick).saturating_add(*offset))
            }
            ParameterGenerator::Window {
                table,
                timeline,
                length,
                step,
                offset,
            } => {
                let begin = timeline.at(0);
                let end = timeline.at(self.last_tick(*table, context).saturating_add(1));
                let span = end.saturating_sub(begin).saturating_sub(*length).max(0);
                let starts = (span / (*step).max(1)).unsigned_abs().saturating_add(1);
                let start = i64::try_from(draws.below(index, starts)).unwrap_or(0);
                let start = begin.saturating_add(start.saturating_mul(*step));
                Value::TimestampMs(start.saturating_add(*offset))
            }
            ParameterGenerator::Reference(of) => {
                let rows = of.rows.unwrap_or(context.first_row);
                let row = reference::row_of(of.distribution, draws, index, rows);
                match of.column {
                    None => Value::Integer(i64::try_from(row).unwrap_or(i64::MAX)),
                    Some(column) => self.cell(of.table, column, &of.field, row),
                }
            }
            // `values` makes these, because they depend on other values or on the op's rows.
            ParameterGenerator::Entity { .. }
            | ParameterGenerator::Plus { .. }
            | ParameterGenerator::Written { .. } => Value::Null,
        }
    }

    /// What a row has in a column, or in a field of its object; null if there is no such column.
    fn cell(&self, table: usize, column: usize, field: &[String], row: u64) -> Value {
        let table = self.tables.get(table);
        let cell = table.and_then(|table| table.cell(column, row));
        cell.map_or(Value::Null, |cell| {
            first_of(&reference::field_of(cell, field))
        })
    }

    /// The tick of the last row before the op.
    fn last_tick(&self, table: usize, context: OpContext) -> u64 {
        let last_row = context.first_row.saturating_sub(1);
        self.tables
            .get(table)
            .map_or(0, |table| table.tick(last_row))
    }
}

fn of_kind(plain: &Plain, kind: ColumnType, draws: &Draws, index: u64) -> Value {
    match kind {
        ColumnType::Integer | ColumnType::Bigint => Value::Integer(plain.integer(draws, index)),
        ColumnType::Float => Value::Float(plain.float(draws, index)),
        ColumnType::Boolean => Value::Boolean(plain.boolean(draws, index)),
        ColumnType::Timestamp => Value::TimestampMs(plain.integer(draws, index)),
        ColumnType::Text | ColumnType::Object => Value::Text(plain.text(draws, index).into()),
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
        chosen.push(if chosen.contains(&number) {
            last
        } else {
            number
        });
    }
    chosen
}

/// The first value of a column.
fn first_of(data: &ColumnData) -> Value {
    let value = match data {
        ColumnData::Integer(values) => values.first().map(|v| Value::Integer(*v)),
        ColumnData::TimestampMs(values) => values.first().map(|v| Value::TimestampMs(*v)),
        ColumnData::Float(values) => values.first().map(|v| Value::Float(*v)),
        ColumnData::Boolean(values) => values.first().map(|v| Value::Boolean(*v)),
        ColumnData::Text(values) => values.first().map(|v| Value::Text(Arc::from(&**v))),
        ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => coded
            .codes
            .first()
            .and_then(|code| coded.values.get(usize::try_from(*code).ok()?))
            .map(|v| Value::Text(Arc::from(&**v))),
    };
    value.unwrap_or(Value::Null)
}
