//! Guarantees of the workload crate, through its public interface.

mod catalog;
mod cpu;
mod distributions;
mod generators;
mod input_errors;
mod kv;
mod made;
mod schema;
mod script;
mod sketch;
mod steps;
mod transactions;
mod walk;

use std::collections::BTreeMap;

use super::{OpContext, Workload, WorkloadSpec, builtin};
use highwater_model::op::{ColumnData, OpBody, RowBatch, Value};
use highwater_model::units::Seed;

/// The cpu workload with some parameters set.
fn cpu(settings: &[(&str, &str)], seed: u64) -> Workload {
    let spec = WorkloadSpec::parse(builtin("cpu").unwrap().text).unwrap();
    spec.instantiate(&owned(settings), Seed(seed)).unwrap()
}

fn owned(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Row identity of a workload in PostgreSQL.
fn identity(workload: &Workload) -> String {
    workload.row_identity(&["postgresql".to_owned()]).unwrap()
}

/// Parses a valid workload file.
fn parsed(text: &str) -> WorkloadSpec {
    WorkloadSpec::parse(text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// The values of an op of the first stream.
fn values(workload: &Workload, index: u64) -> Vec<Value> {
    let stream = &workload.streams()[0];
    match workload.op(stream, index, &OpContext::default()).body {
        OpBody::Query(values) => values,
        OpBody::Insert(_) => panic!(),
    }
}

/// The doubles of a column.
fn floats(batch: &RowBatch, column: usize) -> &[f64] {
    match &batch.columns[column] {
        ColumnData::Float(values) => values,
        other => panic!("{other:?}"),
    }
}

/// The integers of a column.
fn integers(batch: &RowBatch, column: usize) -> &[i64] {
    match &batch.columns[column] {
        ColumnData::Integer(values) => values,
        other => panic!("{other:?}"),
    }
}

/// The timestamps of a column.
fn timestamps(batch: &RowBatch, column: usize) -> &[i64] {
    match &batch.columns[column] {
        ColumnData::TimestampMs(values) => values,
        other => panic!("{other:?}"),
    }
}

/// The objects of a column, row by row.
fn objects(batch: &RowBatch, column: usize) -> Vec<serde_json::Value> {
    let ColumnData::ObjectDictionary(dictionary) = &batch.columns[column] else {
        panic!("no objects");
    };
    dictionary
        .codes
        .iter()
        .map(|code| &dictionary.values[usize::try_from(*code).unwrap()])
        .map(|text| serde_json::from_str(text).unwrap())
        .collect()
}
