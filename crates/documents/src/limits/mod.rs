//! The confusion matrix of `docs/concepts/limit.md`: which resource is named for each limited one, from complete runs
//! on simulated clusters sampled from a seed. Must not know how a limit is found.

mod case;
mod run;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::limit::Resource;
use highwater_model::record::RunRecord;

use crate::accuracy;

pub use case::{Case, LimitedResource};

/// Runs per kind in the documents.
const RUNS: u64 = 10;

/// The table for the documents.
pub fn matrix() -> String {
    table(&Matrix::new(RUNS))
}

/// How often each resource was named, by limited resource.
#[derive(Debug, Default)]
pub struct Matrix {
    named: BTreeMap<(LimitedResource, Option<Resource>), u64>,
    /// Runs per kind.
    runs: u64,
    /// Each run for which another resource was named, or none.
    pub wrong: Vec<String>,
    /// Wrong names among records with parts of their telemetry withheld, and the number of such records.
    pub withheld: (u64, u64),
}

impl Matrix {
    /// The matrix of this number of runs per kind.
    pub fn new(runs: u64) -> Self {
        let mut matrix = Self { runs, ..Self::default() };
        for &limited in LimitedResource::ALL {
            for seed in highwater_analysis::synthetic::seeds_of_version(runs) {
                let case = Case::new(limited, seed);
                let record = run::record(&case);
                let named = named(&record);
                if !limited.is(named) {
                    let limit = &record.limit;
                    matrix.wrong.push(format!("{limited:?}: {case:?}: {limit:?}"));
                }
                *matrix.named.entry((limited, named)).or_default() += 1;
                for less in withheld(&record) {
                    matrix.withheld.1 += 1;
                    let is_wrong = name_of(&less).is_some_and(|name| !limited.is(Some(name)));
                    matrix.withheld.0 += u64::from(is_wrong);
                }
            }
        }
        matrix
    }

    /// Fraction of the runs for which the limited resource was named.
    pub fn right(&self, limited: LimitedResource) -> f64 {
        let right: u64 = self
            .named
            .iter()
            .filter(|((of, named), _)| *of == limited && limited.is(*named))
            .map(|(_, runs)| runs)
            .sum();
        highwater_model::display::ratio(right, self.runs.max(1))
    }
}

/// The resource named in the record of a run.
fn named(record: &RunRecord) -> Option<Resource> {
    let limit = record.limit.as_ref();
    Some(limit?.by.as_ref()?.resource)
}

/// The resource named when the limit is computed again.
fn name_of(record: &RunRecord) -> Option<Resource> {
    Some(highwater_analysis::limit(record)?.by?.resource)
}

/// The record without any telemetry, without each series name, and without each node.
fn withheld(record: &RunRecord) -> Vec<RunRecord> {
    let mut records = vec![RunRecord { target_telemetry: None, ..record.clone() }];
    let Some(telemetry) = &record.target_telemetry else {
        return records;
    };
    let mut keys: Vec<(Option<&str>, Option<&str>)> = Vec::new();
    for series in &telemetry.series {
        keys.push((Some(&series.name), None));
        keys.extend(series.node.as_deref().map(|node| (None, Some(node))));
    }
    keys.sort_unstable();
    keys.dedup();
    for (name, node) in keys {
        let mut less = record.clone();
        if let Some(telemetry) = &mut less.target_telemetry {
            telemetry.series.retain(|series| {
                name.is_none_or(|name| series.name != name)
                    && node.is_none_or(|node| series.node.as_deref() != Some(node))
            });
        }
        records.push(less);
    }
    records
}

fn table(matrix: &Matrix) -> String {
    let named = matrix.named.keys().map(|(_, named)| *named);
    // The unidentified limit comes last.
    let columns: BTreeSet<_> = named.map(|named| (named.is_none(), named)).collect();
    let heads: Vec<&str> = columns.iter().map(|(_, named)| head(*named)).collect();
    let mut text = accuracy::head(&format!("limited | {}", heads.join(" | ")));
    for &limited in LimitedResource::ALL {
        let cells: Vec<String> = columns
            .iter()
            .map(|(_, named)| match matrix.named.get(&(limited, *named)) {
                Some(runs) if limited.is(*named) => format!("**{runs}**"),
                Some(runs) => runs.to_string(),
                None => String::new(),
            })
            .collect();
        text += &format!("| {} | {} |\n", limited.words(), cells.join(" | "));
    }
    let (wrong, records) = matrix.withheld;
    text += &format!(
        "\nWith parts of the telemetry withheld: {wrong} wrong names in {} records.\n",
        highwater_model::display::count(records)
    );
    text
}

/// The head of a column.
const fn head(named: Option<Resource>) -> &'static str {
    match named {
        None => "not identified",
        Some(Resource::Cpu) => "CPU",
        Some(Resource::HotNode) => "hot node",
        Some(Resource::Disk) => "disk",
        Some(Resource::Locks) => "locks",
        Some(Resource::WritePool) => "write pool",
        Some(Resource::Sessions) => "sessions",
        Some(Resource::Batch) => "batch",
        Some(Resource::LoadGenerator) => "load generator",
        Some(_) => "another",
    }
}
