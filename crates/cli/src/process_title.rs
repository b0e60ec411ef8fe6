//! Hides passwords from other users of the machine who look at this process.
//!
//! All users can read the arguments of a running command (`ps`), and its user can read the environment. If a URL in
//! them contains a password or a token, the process restarts itself (with `exec`, so the process ID stays the same)
//! with the password removed from arguments and environment. The originals are passed in a sealed memory file in place
//! of standard input. The new image reads it and restores the real standard input, which closes the file: without
//! unsafe code, a descriptor that is only known by its number could not be closed.
//!
//! Linux only; elsewhere, the user is warned. The time before the restart cannot be hidden.

use highwater_driver::redaction::{redacted, without_passwords as without_passwords_in};
use highwater_model::user_error::UserError;

use crate::invocation::Invocation;

/// The invocation of this process, which shows no passwords from outside. Does not return if the process restarts
/// itself. Also returns a warning, if there is one.
pub fn invocation() -> Result<(Invocation, Option<String>), UserError> {
    let given = Invocation::new(std::env::args_os(), std::env::vars_os())?;
    if let Some(original) = platform::handed_over(&given)? {
        return Ok((original, None));
    }
    let clean = without_passwords(&given);
    if clean == given {
        return Ok((given, None));
    }
    let cause = platform::start_again(&given, &clean);
    let warning = format!(
        "a password or token of a URL can be seen in the list of processes ({cause}); \
         leave it out to be prompted for it"
    );
    Ok((given, Some(warning)))
}

/// The same arguments and environment, with passwords removed from URLs.
fn without_passwords(given: &Invocation) -> Invocation {
    let clean = |text: &String| redacted(text).unwrap_or_else(|| text.clone());
    Invocation {
        arguments: given.arguments.iter().map(clean).collect(),
        environment: given
            .environment
            .iter()
            .map(|(name, value)| (name.clone(), without_passwords_in(value)))
            .collect(),
    }
}

#[cfg(target_os = "linux")]
mod platform {
    //! With a sealed memory file.

    use std::fs::File;
    use std::io::{self, Read, Seek, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};

    use super::{Invocation, UserError};
    use crate::invocation::HANDOVER;

    /// More than the kernel accepts as arguments and environment of a process.
    const LARGEST: u64 = 8 << 20;

    /// The original invocation, if this process was started by [`start_again`].
    pub(super) fn handed_over(given: &Invocation) -> Result<Option<Invocation>, UserError> {
        let mine = format!("{}:", std::process::id());
        let variable = given.environment.iter().find(|(name, _)| name == HANDOVER);
        // Children inherit the variable, but it contains this process' ID.
        let Some(stdin) = variable.and_then(|(_, value)| value.strip_prefix(&mine)) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
        restore_stdin(stdin);
        let fail = |cause: String| {
            UserError::usage(format!("cannot read the words of this command again: {cause}"))
        };
        read.map_err(|error| fail(error.to_string()))?;
        let (arguments, environment) =
            serde_json::from_slice(&bytes).map_err(|_| fail("they are damaged".to_owned()))?;
        Ok(Some(Invocation { arguments, environment }))
    }

    /// Restarts this program in this process. Returns the cause if that fails.
    pub(super) fn start_again(original: &Invocation, clean: &Invocation) -> io::Error {
        match prepare(original, clean) {
            Ok(mut command) => command.exec(),
            Err(error) => error,
        }
    }

    fn prepare(original: &Invocation, clean: &Invocation) -> io::Result<Command> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut memory = File::from(rustix::fs::memfd_create("highwater", flags)?);
        let content = serde_json::to_vec(&(&original.arguments, &original.environment))?;
        memory.write_all(&content)?;
        memory.rewind()?;
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&memory, seals)?;
        // A copy for the new image, which finds it by its number and never closes it.
        let stdin = rustix::io::dup(rustix::stdio::stdin())?;
        let mut words = clean.arguments.iter();
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg0(words.next().map_or("highwater", String::as_str))
            .args(words)
            .envs(clean.environment.iter().map(|(name, value)| (name, value)))
            .env(HANDOVER, format!("{}:{}", std::process::id(), stdin.as_raw_fd()))
            .stdin(memory);
        std::mem::forget(stdin);
        Ok(command)
    }

    /// Replaces the memory file by the real standard input, or by an empty one.
    fn restore_stdin(number: &str) {
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        let open = |path: &str| rustix::fs::open(path, flags, Mode::empty());
        let real = open(&format!("/proc/self/fd/{number}")).or_else(|_| open("/dev/null"));
        if let Ok(real) = real {
            // Fails only if there are no descriptors left; then the memory file stays, fully read.
            let _ = rustix::stdio::dup2_stdin(&real);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    //! Not supported.

    use super::{Invocation, UserError};

    pub(super) fn handed_over(_: &Invocation) -> Result<Option<Invocation>, UserError> {
        Ok(None)
    }

    pub(super) fn start_again(_: &Invocation, _: &Invocation) -> &'static str {
        "it can be hidden on Linux only"
    }
}
