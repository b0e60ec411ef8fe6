//! Variants of a target: their names, and the commands that configure it before each run. Must not run or compare them.

mod secrets;

use std::process::Command;
use std::time::Duration;

use highwater_driver::clock::RealClock;
use highwater_driver::interrupts::Interrupts;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

pub(crate) use self::secrets::shown;

use self::secrets::HIDDEN;
use crate::intent::parsers;
use crate::layers::Layers;
use crate::secret_variables;

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
    for name in secret_variables::all() {
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
