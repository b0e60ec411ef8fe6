//! What differs between the runs of an experiment: variants of a target with the commands that configure it before each run,
//! and the values of a tuning's axes as settings of a run, in each trial and with `--tuned RUN`.
//!
//! The best values of a tuning have precedence over everything except the command line. Must not run, compare, or judge.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use highwater_driver::clock::RealClock;
use highwater_driver::interrupts::Interrupts;
use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_model::tune::TuneOutcome;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::{record, store};

use super::secrets::HIDDEN;
use crate::intent::parsers;
use crate::layers::{Layers, Origin, Strength};
use crate::{secrets, stored_files};

pub(crate) use super::secrets::shown;

/// Maximum variants of one call.
pub(crate) const VARIANTS_MAX: usize = 16;

/// A variant as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedVariant {
    /// Name in the directory, and in the comparison.
    pub(crate) name: String,
    /// Command that configures the target before each run.
    pub(crate) command: Option<String>,
}

/// The given variants; a name without a command is allowed only if no command is needed.
pub(crate) fn given(layers: &Layers, needs_command: bool) -> Result<Vec<NamedVariant>, UserError> {
    let mut variants: Vec<NamedVariant> = Vec::new();
    for given in layers.list("variant") {
        let (name, command) = if needs_command || given.text.contains('=') {
            let (name, command) = given.parse(parsers::pair)?;
            (name, Some(command))
        } else {
            (given.parse(parsers::word)?, None)
        };
        if !name.chars().all(is_fit) || name.starts_with('.') {
            return Err(given.failure(format!("`{name}` is no name for a directory")));
        }
        if variants.iter().any(|other| other.name == name) {
            return Err(given.failure(format!("variant `{name}` is given twice")));
        }
        if command.as_ref().is_some_and(|command| command.contains(HIDDEN)) {
            let message = format!("variant `{name}`: {HIDDEN} stands in place of a password");
            return Err(given.failure(message));
        }
        variants.push(NamedVariant { name, command });
    }
    if variants.len() > VARIANTS_MAX {
        return Err(UserError::usage(format!("more than {VARIANTS_MAX} variants")));
    }
    Ok(variants)
}

/// Whether a character may be part of a variant's name, which is part of a directory's name.
pub(crate) fn is_fit(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Runs the user's command in a shell, if there is one, without the passwords in this program's environment; its output
/// is for the reader.
///
/// # Errors
/// If it cannot be run, or ends with a code other than 0; with the exit code of an interrupt if the user stopped
/// meanwhile.
pub(crate) fn configure(
    name: &str,
    command: Option<&str>,
    interrupts: &Interrupts,
) -> Result<(), UserError> {
    let Some(command) = command else {
        return Ok(());
    };
    let place = format!("--variant {name}");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    for name in secrets::all() {
        shell.env_remove(name);
    }
    match shell.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) if is_stopped(interrupts) => {
            Err(UserError::interrupted("interrupted while the command of a variant ran"))
        }
        Ok(status) => Err(UserError::usage(format!("{place}: the command ended with {status}"))
            .with_hint("make the command configure the target and exit with 0")),
        Err(error) => Err(UserError::usage(format!("{place}: cannot start a shell: {error}"))),
    }
}

/// Whether the user stops: the shell gets the signal, too, and may end shortly before this process receives it.
fn is_stopped(interrupts: &Interrupts) -> bool {
    const HEARD: Nanos = Nanos::from_millis(200);
    let is_requested = || interrupts.requested().is_some();
    let clock = RealClock::start();
    while !is_requested() && clock.now() < HEARD {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_requested()
}

/// Axes that are flags with the same name.
pub(crate) const FLAGS: [&str; 4] = ["batch", "sessions", "shards", "replicas"];
/// Prefix of axes that are settings of new tables.
pub(crate) const WITH: &str = "with.";
/// Prefix of axes that are parameters of a simulated cluster.
pub(crate) const SIM: &str = "sim.";
/// A setting without a flag: parameters of the simulated cluster.
pub(crate) const SIM_PARAMETERS: &str = "sim";

/// Adds the values of the tuning that `--tuned` names, if any.
pub fn apply(layers: &mut Layers) -> Result<(), UserError> {
    let Some(given) = layers.value("tuned").cloned() else {
        return Ok(());
    };
    let out = layers.value("out").map(|out| PathBuf::from(&out.text));
    let path = store::find(&out.unwrap_or_default(), Some(&given.text))?;
    stored_files::of_settings(layers, &path)?;
    let record = record::read(&path)?;
    let id = &record.header().id;
    let tune = RecordRef::from(&record).experiment().and_then(ExperimentRecord::tune);
    match tune.and_then(|tune| tune.outcome.as_ref()) {
        Some(TuneOutcome::Best(best)) => {
            for (axis, value) in &best.values {
                set_axis(layers, Strength::Tuned, axis, value);
            }
            Ok(())
        }
        Some(TuneOutcome::NoBest(_)) => Err(given
            .failure(format!("the tuning {id} found no best configuration"))
            .with_hint("resume it: highwater tune … --resume")),
        None => Err(given
            .failure(format!("{id} is not a finished tuning"))
            .with_hint("name the directory or ID of a `highwater tune` run")),
    }
}

/// Sets a value of an axis like the flag of that axis.
pub(crate) fn set_axis(layers: &mut Layers, strength: Strength, axis: &str, value: &str) {
    let (name, text) = if let Some(name) = FLAGS.into_iter().find(|name| *name == axis) {
        (name, value.to_owned())
    } else if let Some(name) = axis.strip_prefix(WITH) {
        ("with", format!("{name}={value}"))
    } else if let Some(name) = axis.strip_prefix(SIM) {
        (SIM_PARAMETERS, format!("{name}={value}"))
    } else {
        ("set", format!("{axis}={value}"))
    };
    layers.add(strength, name, text, Origin::CommandLine);
}
