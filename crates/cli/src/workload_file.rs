//! Reads workload files and SQL files, and shows every error in them at its place. Must not validate a workload itself.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_model::units::Seed;
use highwater_model::user_error::{Place, RefusedStatement, UserError, UserErrorKind};
use highwater_workload::{CatalogEntry, Script, Workload, WorkloadSpec, builtin, catalog};

use crate::exit::{did_you_mean, suggestion};
use crate::intent::WorkloadChoice;
use crate::terminal;

/// The selected workload, with these values of its parameters.
pub fn choose(
    choice: &WorkloadChoice,
    parameters: &BTreeMap<String, String>,
) -> Result<WorkloadSpec, UserError> {
    match choice {
        WorkloadChoice::File(path) => read(path),
        WorkloadChoice::Scripts(files) => scripts(files, parameters),
        WorkloadChoice::Named(name) => parse(name, builtin_named(name)?.text),
    }
}

/// A built-in workload.
pub fn builtin_named(name: &str) -> Result<&'static CatalogEntry, UserError> {
    let names = || catalog().iter().map(|entry| entry.name);
    builtin(name).ok_or_else(|| {
        let all = || format!("there are {}", names().collect::<Vec<_>>().join(", "));
        let hint = suggestion(did_you_mean(name, names()), all);
        UserError::usage(format!("unknown workload `{name}`")).with_hint(hint)
    })
}

/// Reads a workload file.
pub fn read(path: &Path) -> Result<WorkloadSpec, UserError> {
    parse(&path.display().to_string(), &text_of(path)?)
}

/// Reads SQL files; every error is shown with its own file.
fn scripts(
    files: &[(PathBuf, u32)],
    parameters: &BTreeMap<String, String>,
) -> Result<WorkloadSpec, UserError> {
    let texts: Vec<String> =
        files.iter().map(|(path, _)| text_of(path)).collect::<Result<_, _>>()?;
    let scripts: Vec<Script<'_>> = files
        .iter()
        .zip(&texts)
        .map(|((path, weight), text)| Script {
            name: path.file_stem().and_then(OsStr::to_str).unwrap_or("sql"),
            text,
            weight: *weight,
        })
        .collect();
    WorkloadSpec::from_scripts(&scripts, parameters).map_err(|errors| {
        let named = errors.into_iter().map(|(number, error)| {
            match number.and_then(|number| files.get(number)) {
                Some((path, _)) => error.in_file(&path.display().to_string()),
                None => error,
            }
        });
        last_of(named.collect())
    })
}

/// The text of a file written by a person.
pub fn text_of(path: &Path) -> Result<String, UserError> {
    regular_file::read_text(path, WRITTEN_BYTES_MAX)
        .map_err(|error| UserError::usage(format!("cannot read {}: {error}", path.display())))
}

/// Shows all failures except the last one, which is returned.
fn last_of(mut failures: Vec<UserError>) -> UserError {
    let last = failures.pop();
    for failure in failures {
        terminal::fail(&failure);
        terminal::note("\n");
    }
    last.unwrap_or_else(|| UserError::usage("the files cannot be read"))
}

fn parse(name: &str, text: &str) -> Result<WorkloadSpec, UserError> {
    WorkloadSpec::parse(text).map_err(|errors| report_errors(errors, name))
}

/// Shows all errors of a file except the last one, which is returned.
pub fn report_errors(errors: Vec<UserError>, name: &str) -> UserError {
    last_of(errors.into_iter().map(|error| error.in_file(name)).collect())
}

/// A workload with its parameters. A setting can invalidate another place in the file; the error is reported
/// there.
pub fn instantiate(
    spec: &WorkloadSpec,
    choice: &WorkloadChoice,
    parameters: &BTreeMap<String, String>,
    seed: Seed,
) -> Result<Arc<Workload>, UserError> {
    let made = spec.instantiate(parameters, seed).map_err(|error| match choice {
        WorkloadChoice::File(path) => error.in_file(&path.display().to_string()),
        WorkloadChoice::Named(name) => error.in_file(&format!("the workload {name}")),
        // The generated text is not that of the files.
        WorkloadChoice::Scripts(_) => error.at(None),
    });
    made.map(Arc::new)
}

/// A failed run; if the target rejected a statement of a file, with its place there.
pub fn located(error: UserError, choice: &WorkloadChoice, workload: &Workload) -> UserError {
    match error.kind {
        UserErrorKind::Preparation(refused) => error.at(place_of(refused, choice, workload)),
        _ => error,
    }
}

/// The place of a statement in its file; absent if the file contains it in another form.
fn place_of(
    refused: RefusedStatement,
    choice: &WorkloadChoice,
    workload: &Workload,
) -> Option<Place> {
    let in_file = |path: &Path| Some((path.display().to_string(), text_of(path).ok()?));
    let (name, text) = match choice {
        WorkloadChoice::File(path) => in_file(path)?,
        WorkloadChoice::Scripts(files) => in_file(&files.get(refused.op)?.0)?,
        WorkloadChoice::Named(name) => {
            let file = builtin(name)?;
            (format!("the workload {name}"), file.text.to_owned())
        }
    };
    let written = workload.written(refused.op, refused.statement, refused.position);
    let mut found = written.iter().filter_map(|statement| {
        let start = text.find(&statement.text)? + statement.at.unwrap_or(0);
        let rest = text.get(start..)?;
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let width = match statement.at {
            Some(_) => rest.find(|c| !word(c)).unwrap_or(rest.len()).max(1),
            None => rest.find('\n').unwrap_or(rest.len()),
        };
        Some(start..start + width)
    });
    let span = found.next()?;
    // With several dialects it is unknown here which one the target uses.
    found.next().is_none().then(|| Place::new(&name, &text, &span))
}
