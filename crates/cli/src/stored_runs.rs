//! Finds stored runs by what people type: a directory, a `record.json`, an id or its beginning.
//!
//! Reads only. An id begins with the time of the run, so the greatest one is the newest.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use highwater_core::model::record::RunRecord;
use highwater_core::report;

use crate::failure::{Failure, did_you_mean};

/// The file of a run's directory that holds its record.
const RECORD: &str = "record.json";
/// A record beyond this many bytes is not one of ours; one hour of a dozen ops has about 20 MiB.
const LARGEST: u64 = 1 << 30;
/// Most ids that a message lists.
const MOST_LISTED: usize = 8;

/// A run with the place where it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// Its directory, as the user would type it.
    pub directory: PathBuf,
    /// What was measured.
    pub record: RunRecord,
}

/// Reads the run that `name` means; `store` is where ids are looked up.
pub fn find(name: &str, store: &Path) -> Result<StoredRun, Failure> {
    let path = Path::new(name);
    if path.is_dir() {
        return read(path);
    }
    if path.is_file() {
        return read_file(path, path.parent().unwrap_or(Path::new(".")));
    }
    let ids = ids(store)?;
    if ids.iter().any(|id| id == name) {
        return read(&store.join(name));
    }
    let beginning_so: Vec<&str> = ids
        .iter()
        .map(String::as_str)
        .filter(|id| id.starts_with(name))
        .collect();
    match beginning_so[..] {
        [id] => read(&store.join(id)),
        [] => Err(none_of(&format!("no run `{name}`"), name, &ids, store)),
        [..] => Err(Failure::usage(format!(
            "{} runs in {} begin with `{name}`",
            beginning_so.len(),
            store.display()
        ))
        .with_hint(format!("name one of them: {}", listed(&beginning_so)))),
    }
}

/// Reads the newest run of the store.
pub fn newest(store: &Path) -> Result<StoredRun, Failure> {
    match ids(store)?.last() {
        Some(id) => read(&store.join(id)),
        None => Err(none_of("no run yet", "", &[], store)),
    }
}

fn none_of(what: &str, name: &str, ids: &[String], store: &Path) -> Failure {
    let failure = Failure::usage(format!("{what} in {}", store.display()));
    let words: Vec<&str> = ids.iter().map(String::as_str).collect();
    match did_you_mean(name, words.iter().copied()) {
        Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
        None if words.is_empty() => {
            failure.with_hint("`highwater run` makes one; --out says where")
        }
        None => failure.with_hint(format!("there are {}", listed(&words))),
    }
}

/// The newest of these ids, which are in ascending order.
fn listed(ids: &[&str]) -> String {
    let newest: Vec<&str> = ids.iter().rev().take(MOST_LISTED).copied().collect();
    let more = ids.len().saturating_sub(MOST_LISTED);
    let rest = if more == 0 {
        String::new()
    } else {
        format!(" and {more} older ones")
    };
    format!("{}{rest}", newest.join(", "))
}

/// Directories of the store that hold a record, ascending.
fn ids(store: &Path) -> Result<Vec<String>, Failure> {
    let fail = |error: &std::io::Error| {
        Failure::usage(format!("cannot read {}: {error}", store.display()))
    };
    let entries = match fs::read_dir(store) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(&error)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| fail(&error))?;
        if entry.path().join(RECORD).is_file()
            && let Ok(id) = entry.file_name().into_string()
        {
            ids.push(id);
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

fn read(directory: &Path) -> Result<StoredRun, Failure> {
    read_file(&directory.join(RECORD), directory)
}

fn read_file(path: &Path, directory: &Path) -> Result<StoredRun, Failure> {
    let fail = |cause: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read {}: {cause}", path.display()))
    };
    let file = fs::File::open(path).map_err(|error| fail(&error))?;
    let mut text = String::new();
    file.take(LARGEST)
        .read_to_string(&mut text)
        .map_err(|error| fail(&error))?;
    let record = report::parse(&text).map_err(|error| fail(&error))?;
    Ok(StoredRun {
        directory: directory.to_owned(),
        record,
    })
}
