//! Reads workload files, and shows every mistake in them at its place.

use std::fs;
use std::io::Read;
use std::path::Path;

use highwater_core::workload::{CatalogueEntry, Mistake, WorkloadSpec, builtin, catalogue};

use crate::failure::{Failure, Place, did_you_mean};
use crate::settings::WorkloadChoice;
use crate::terminal;

/// A workload file beyond this many bytes is not one.
const LARGEST: u64 = 1 << 20;

/// The workload that the settings choose.
pub fn choose(choice: &WorkloadChoice) -> Result<WorkloadSpec, Failure> {
    match choice {
        WorkloadChoice::File(path) => read(path),
        WorkloadChoice::Named(name) => parse(name, builtin_named(name)?.text),
    }
}

/// A workload that comes with the program.
pub fn builtin_named(name: &str) -> Result<&'static CatalogueEntry, Failure> {
    let known = || catalogue().iter().map(|entry| entry.name);
    builtin(name).ok_or_else(|| {
        let hint = match did_you_mean(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
        };
        Failure::usage(format!("unknown workload `{name}`")).with_hint(hint)
    })
}

/// Reads a workload file.
pub fn read(path: &Path) -> Result<WorkloadSpec, Failure> {
    let name = path.display().to_string();
    let mut text = String::new();
    fs::File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_string(&mut text))
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    parse(&name, &text)
}

fn parse(name: &str, text: &str) -> Result<WorkloadSpec, Failure> {
    WorkloadSpec::parse(text).map_err(|mistakes| tell(&mistakes, name, text))
}

/// Shows all mistakes of a file but the last one, which is returned.
pub fn tell(mistakes: &[Mistake], name: &str, text: &str) -> Failure {
    let Some((last, others)) = mistakes.split_last() else {
        return Failure::usage(format!("{name} cannot be read"));
    };
    for mistake in others {
        terminal::fail(&failure(mistake, name, text));
        terminal::note("\n");
    }
    failure(last, name, text)
}

fn failure(mistake: &Mistake, name: &str, text: &str) -> Failure {
    let in_file = mistake.line > 0;
    let failure =
        Failure::usage(&mistake.message).at(in_file.then(|| Place::new(name, text, &mistake.span)));
    match &mistake.hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

impl From<Mistake> for Failure {
    /// A mistake in what is asked of a workload, outside its file.
    fn from(mistake: Mistake) -> Self {
        failure(&mistake, "", "")
    }
}
