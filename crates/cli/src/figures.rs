//! Reads figures: points from CSV files, run records, and directories of runs.
//!
//! Must not define a point, or draw conclusions; that is the core's job.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use highwater_driver::regular_file;
use highwater_model::record::{ExperimentRecord, Record, RecordRef};
use highwater_model::user_error::UserError;
use highwater_runner::{record, store};
use highwater_sizing::series::{self, SeriesSet};

use crate::workload_file;

/// Maximum bytes of a file of figures.
const LARGEST: u64 = 16 << 20;
/// Maximum runs of one directory.
const MOST_RUNS: usize = 10_000;

/// The points of everything that is named, in its order. `out` is the run store, for looking up IDs.
pub fn read(names: &[String], out: &Path) -> Result<SeriesSet, UserError> {
    let mut set = SeriesSet::default();
    for name in names {
        add(&mut set, from_name(name, out)?);
    }
    Ok(set)
}

/// Adds points that are not present yet: a resumed experiment also contains the trials of the original one.
fn add(set: &mut SeriesSet, mut more: SeriesSet) {
    let known: BTreeSet<&str> = set.points.iter().filter_map(|point| point.origin.run()).collect();
    more.points.retain(|point| point.origin.run().is_none_or(|run| !known.contains(run)));
    set.append(more);
}

fn from_name(name: &str, out: &Path) -> Result<SeriesSet, UserError> {
    let path = Path::new(name);
    let extension = path.extension().and_then(OsStr::to_str);
    if path.is_file() && extension != Some("json") {
        return csv(path);
    }
    if path.is_dir() && !path.join("plan.json").exists() {
        return directory(path);
    }
    if !path.exists() && extension == Some("csv") {
        let cause = format!("cannot read {name}: there is no such file");
        return Err(UserError::usage(cause));
    }
    run(&store::find(out, Some(name))?)
}

/// Points of a record; for a group of runs, those of each.
fn run(path: &Path) -> Result<SeriesSet, UserError> {
    let record = record::read(path)?;
    let group = RecordRef::from(&record).experiment();
    let Some(group) = group.and_then(ExperimentRecord::group) else {
        return Ok(of_record(&record));
    };
    let mut set = SeriesSet::default();
    for trial in (0..group.variants.len()).flat_map(|variant| group.complete(variant)) {
        let path = store::directory_of(path).join(&trial.run);
        add(&mut set, of_record(&record::read(&path)?));
    }
    Ok(set)
}

fn of_record(record: &Record) -> SeriesSet {
    SeriesSet { points: series::of_record(record), ..SeriesSet::default() }
}

/// The runs of a directory, in the order of their names and therefore of their times; at most one more than `most`.
pub fn runs(directory: &Path, most: usize) -> Result<Vec<PathBuf>, UserError> {
    let entries = fs::read_dir(directory).map_err(|error| {
        UserError::usage(format!("cannot read {}: {error}", directory.display()))
    })?;
    let mut runs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|run| run.join("plan.json").exists())
        .take(most + 1)
        .collect();
    runs.sort();
    Ok(runs)
}

/// All runs of a directory. Runs without a result are skipped and named: those in progress, and those that cannot be
/// read. Of an experiment in progress, the finished trials count.
fn directory(path: &Path) -> Result<SeriesSet, UserError> {
    let shown = path.display();
    let runs = runs(path, MOST_RUNS)?;
    if runs.len() > MOST_RUNS {
        return Err(UserError::usage(format!("{shown} holds more than {MOST_RUNS} runs")));
    }
    if runs.is_empty() {
        return Err(UserError::usage(format!("{shown} holds no runs"))
            .with_hint("name a CSV file, a run, or a directory of runs"));
    }
    let mut set = SeriesSet::default();
    for path in &runs {
        let name = path.file_name().unwrap_or_default().display();
        let is_running = store::at_work(path).is_some();
        match run(path) {
            Ok(more) if !is_running => add(&mut set, more),
            Ok(more) if store::has_record(path) && !more.points.is_empty() => {
                add(&mut set, more);
                set.notes.push(format!("{name} is still running: what it measured so far is used"));
            }
            Ok(_) | Err(_) if is_running => {
                set.notes.push(format!("{name} is still running, and is left out"));
            }
            Ok(_) => {}
            Err(error) => set.notes.push(format!("{name} is left out: {}", error.message)),
        }
    }
    Ok(set)
}

fn csv(path: &Path) -> Result<SeriesSet, UserError> {
    let name = path.display().to_string();
    let text = regular_file::read_text(path, LARGEST)
        .map_err(|error| UserError::usage(format!("cannot read {name}: {error}")))?;
    series::read(&text).map_err(|errors| workload_file::report_errors(errors, &name))
}
