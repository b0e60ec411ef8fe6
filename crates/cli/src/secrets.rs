//! Hides passwords: in a variant's command, because records must not show them; in the environment of commands that are
//! started for the user; and from other users of the machine who look at this process.
//!
//! All users can read the arguments of a running command (`ps`), and its user can read the environment. If a URL in
//! them contains a password or a token, the process restarts itself (with `exec`, so the process ID stays the same)
//! with the password removed from arguments and environment. The originals are passed in a sealed memory file in place
//! of standard input. The new image reads it and restores the real standard input, which closes the file: without
//! unsafe code, a descriptor that is only known by its number could not be closed.
//!
//! Linux only; elsewhere, the user is warned. The time before the restart cannot be hidden.

use std::ffi::OsString;

use highwater_driver::target_url::{
    is_secret, redacted, without_passwords as without_passwords_in,
};
use highwater_drivers::drivers;
use highwater_live::OTLP_HEADER_VARIABLES;
use highwater_model::user_error::UserError;

use crate::sources::{Invocation, PREFIX};

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
    use crate::sources::HANDOVER;

    /// A size that exceeds what the kernel accepts as arguments and environment of a process.
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

/// The variables from which drivers take a password, those with headers for a collector, and those of Highwater that
/// contain a URL with a password.
pub fn all() -> Vec<OsString> {
    let of_drivers = drivers().iter().flat_map(|driver| driver.secret_variables());
    let ours = std::env::vars_os().filter(|(name, value)| {
        name.to_string_lossy().starts_with(PREFIX) && redacted(&value.to_string_lossy()).is_some()
    });
    of_drivers
        .copied()
        .chain(OTLP_HEADER_VARIABLES)
        .map(OsString::from)
        .chain(ours.map(|(name, _)| name))
        .collect()
}

/// Replaces hidden text; a command that contains it cannot be run.
pub(super) const HIDDEN: &str = "***";
/// Words that look like `-pPASSWORD`, but are conditions of `find`.
const NO_PASSWORDS: [&str; 5] = ["-path", "-perm", "-print", "-print0", "-prune"];

/// A shell command for records and output. If in doubt, it hides a word: a password may be the value of a variable or
/// of a flag, part of a URL, or the word after `-p` or `--user NAME:`.
pub(crate) fn shown(command: &str) -> String {
    let mut shown = String::with_capacity(command.len());
    let mut flag = "";
    for word in words(command) {
        if word.trim().is_empty() {
            shown += word;
            continue;
        }
        shown += &after(flag, word);
        flag = word;
    }
    shown
}

/// A word that follows another one.
fn after(flag: &str, word: &str) -> String {
    let is_flag = |word: &str| word.starts_with('-') && !word.contains('=');
    if is_flag(flag) && is_secret(flag.trim_start_matches('-')) {
        return HIDDEN.to_owned();
    }
    if ["-u", "--user"].contains(&flag)
        && let Some((user, _)) = word.split_once(':')
    {
        return format!("{user}:{HIDDEN}");
    }
    if word.starts_with("-p") && word.len() > 2 && !NO_PASSWORDS.contains(&word) {
        return format!("-p{HIDDEN}");
    }
    let name = word.split_once('=').map(|(name, _)| name);
    if let Some(name) = name.filter(|name| is_secret(name.trim_start_matches('-'))) {
        return format!("{name}={HIDDEN}");
    }
    let within = within_quotes(word);
    let word = within.as_deref().unwrap_or(word);
    redacted(word).unwrap_or_else(|| word.to_owned())
}

/// A quoted command inside the command.
fn within_quotes(word: &str) -> Option<String> {
    let quote = word.chars().next().filter(|c| "'\"".contains(*c))?;
    let inner = word.strip_prefix(quote)?.strip_suffix(quote)?;
    let is_command = inner.contains(char::is_whitespace);
    is_command.then(|| format!("{quote}{}{quote}", shown(inner)))
}

/// The words of a command and the blanks between them; quoted text belongs to its word.
fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut was_blank) = (0, None, None);
    for (at, c) in command.char_indices() {
        let is_blank = quote.is_none() && (c.is_whitespace() || "|;&()".contains(c));
        if was_blank.is_some_and(|was| was != is_blank) {
            words.push(&command[start..at]);
            start = at;
        }
        was_blank = Some(is_blank);
        match quote {
            Some(open) if open == c => quote = None,
            None if "'\"".contains(c) => quote = Some(c),
            _ => {}
        }
    }
    words.push(&command[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_a_command_are_hidden() {
        for (given, expected) in [
            ("./restart.sh wal", "./restart.sh wal"),
            ("mkdir -p a && touch 'a b'", "mkdir -p a && touch 'a b'"),
            ("find a -path b", "find a -path b"),
            ("PGPASSWORD=geheim psql -c x", "PGPASSWORD=*** psql -c x"),
            ("PGPASSWORD='ge heim' psql", "PGPASSWORD=*** psql"),
            ("PASS=geheim ./x", "PASS=*** ./x"),
            ("x --password geheim -v", "x --password *** -v"),
            ("x --password 'ge heim'; y", "x --password ***; y"),
            ("x --pass=geheim", "x --pass=***"),
            ("mysql -u root -pgeheim", "mysql -u root -p***"),
            ("curl -u me:geheim h", "curl -u me:*** h"),
            ("psql db://u:geheim@h/n|cat", "psql db://u@h/n|cat"),
            ("ssh h 'x --token geheim; y'; z", "ssh h 'x --token ***; y'; z"),
        ] {
            assert_eq!(shown(given), expected);
        }
    }
}
