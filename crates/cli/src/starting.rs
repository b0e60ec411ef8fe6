//! What the page of `highwater serve` may start: the fields of its form become arguments, which are parsed like any
//! command line and may contain only allowed flags; and the processes that it started.
//!
//! One at a time, because two loads on one machine distort each other's measurement. They are in separate process groups, so
//! that signals to the server do not end them. Must not serve.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use highwater_driver::TargetUrl;
use highwater_driver::clock::RealClock;
use highwater_driver::system::{self, interrupt};
use highwater_driver::target_url::{redacted, without_passwords};
use highwater_live::{StartField, StartedCommand, StartedState, Starter};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_next::quoted;
use highwater_runner::store;
use highwater_workload::{builtin, catalog};

use crate::exit::without_passwords_of;
use crate::grammar::{self, Arguments, CommandSpec, Reach, Request};
use crate::sources::HANDOVER;
use crate::variants::WITH;
use crate::{prepare, secrets};

/// Flags that the page sets itself.
const OWN: [&str; 4] = ["out", "quiet", "config", "json"];
/// Fields that become a flag of the same name.
const FLAGS: [(&str, &str, &str, &[&str]); 8] = [
    ("over", "Settings to try (--over)", "such as batch=500..8k", &["tune"]),
    ("nodes", "Sizes (--nodes)", "such as 1..5, with {nodes} in the target", &["scale"]),
    ("rate", "Rate (--rate)", "such as 20k; if empty, as fast as the sessions go", &["run"]),
    ("sessions", "Sessions (--sessions)", "if empty, as many as suit the target", &[]),
    (
        "spawn-rate",
        "Ramp (--spawn-rate)",
        "sessions started per second; if empty, all at once",
        &["run"],
    ),
    ("duration", "Duration (--duration)", "such as 5m", &["run"]),
    ("p99", "p99 at most (--p99)", "such as 100ms, or insert<50ms", &[]),
    ("label", "Label (--label)", "such as version=2", &[]),
];

/// Starts commands for a page.
pub(crate) struct PageStarter {
    commands: &'static [&'static CommandSpec],
    rights: StartRights,
    processes: Processes,
}

/// What the page may start, according to the command line of `highwater serve`.
#[derive(Debug, Default)]
pub(crate) struct StartRights {
    /// Where runs are stored.
    pub(crate) out: PathBuf,
    /// The settings file, which also applies to started commands.
    pub(crate) config: Option<String>,
    /// Databases that may be loaded in addition to new ones inside the process, without passwords.
    pub(crate) targets: Vec<TargetUrl>,
    /// Any command with any flag.
    pub(crate) allows_all: bool,
}

impl PageStarter {
    /// Starts commands from this list, within these rights.
    pub(crate) fn new(commands: &'static [&'static CommandSpec], rights: StartRights) -> Self {
        Self { commands, rights, processes: Processes::default() }
    }

    fn commands(&self) -> impl Iterator<Item = &'static CommandSpec> {
        self.commands.iter().copied()
    }

    /// Whether the page may start this.
    fn check(&self, command: &CommandSpec, given: &Arguments) -> Result<(), String> {
        let flags = || given.flags.keys();
        if let Some(own) = flags().find(|flag| OWN.contains(flag)) {
            return Err(format!("--{own} is set by the page: leave it out"));
        }
        let words = given.positionals.iter();
        let others = given.flags.get("interleave").into_iter().flatten();
        for target in words.filter(|word| word.contains(':')).chain(others) {
            self.check_target(target)?;
        }
        if self.rights.allows_all {
            return Ok(());
        }
        // Settings with a further reach execute commands, or read, write, or serve something.
        let is_allowed = |flag: &str| command.reach(flag) == Some(Reach::Behavior);
        let needs = "needs `highwater serve --allow-start --allow-commands`: it can run commands, or read, write or \
                     serve files";
        if !self.commands().any(|allowed| allowed.name == command.name) {
            return Err(format!("{} {needs}", command.name));
        }
        if let Some(flag) = flags().find(|flag| !is_allowed(flag)) {
            return Err(format!("--{flag} {needs}"));
        }
        // Settings of new tables, which have a separate flag, can name files.
        let mut axes = given.flags.get("over").into_iter().flatten();
        if let Some(axis) = axes.find(|axis| axis.trim_start().starts_with(WITH)) {
            return Err(format!("--over {axis} {needs}"));
        }
        let mut workloads = given.positionals.iter();
        match workloads.find(|word| !word.contains(':') && builtin(word).is_none()) {
            Some(word) => Err(format!("`{word}` is no workload of Highwater's own, and {needs}")),
            None => Ok(()),
        }
    }

    /// Only the machine's user may name servers and files.
    fn check_target(&self, text: &str) -> Result<(), String> {
        if self.is_named(text)? || self.is_new(text)? {
            return Ok(());
        }
        Err(format!(
            "`{text}` is no target that `highwater serve` was started with: add --allow-target '{text}' there"
        ))
    }

    /// Whether it is a target that the user named.
    fn is_named(&self, text: &str) -> Result<bool, String> {
        let url = TargetUrl::parse(text).map_err(|error| said(error, text))?;
        Ok(self.rights.targets.contains(&url))
    }

    /// Whether it is inside the started process, without access to a file or a server.
    fn is_new(&self, text: &str) -> Result<bool, String> {
        // A growth inserts the number of nodes there.
        let text = &text.replace("{nodes}", "3");
        let url = TargetUrl::parse(text).map_err(|error| said(error, text))?;
        if !url.hosts.is_empty() {
            return Ok(false);
        }
        let options = prepare::options("highwater serve", Some(&self.rights.out), Seed(0));
        let target = highwater_drivers::open(&[text.to_owned()], &options);
        let target = target.map_err(|error| said(error, text))?;
        let of_process = target.capabilities();
        // A sink is also inside the process, but its path is the name of its protocol.
        Ok(target.is_sink() || (of_process.embedded || of_process.simulated) && url.path.is_empty())
    }

    /// The named targets, as a form may send them.
    fn targets(&self) -> Vec<String> {
        let named = self.rights.targets.iter().map(ToString::to_string);
        // One with a hidden parameter is not what was named.
        named.filter(|target| self.is_named(target).unwrap_or(false)).collect()
    }

    /// Whether the started command gets passwords from the environment: only for targets that the user named, or, if
    /// the form names none, that the user's environment and settings name.
    fn has_passwords(&self, arguments: &[String]) -> bool {
        let all: Vec<String> =
            ["highwater".to_owned()].into_iter().chain(arguments.iter().cloned()).collect();
        let Ok(Request::Command(_, given)) = grammar::parse(self.commands, &all) else {
            return false;
        };
        let is_named = |word: &&String| self.is_named(word).unwrap_or(false);
        let mut targets = given.positionals.iter().filter(|word| word.contains(':'));
        !given.flags.contains_key("cluster") && targets.all(|word| is_named(&word))
    }
}

impl Starter for PageStarter {
    fn fields(&self) -> Vec<StartField> {
        let field = |name, label, hint| StartField {
            name,
            label,
            hint,
            choices: Vec::new(),
            suggestions: Vec::new(),
            commands: &[],
        };
        let choice = |name, label, choices| StartField { choices, ..field(name, label, "") };
        let commands = self.commands().map(|command| command.name).collect();
        let workloads = catalog().iter().map(|workload| workload.name).collect();
        let mut fields = vec![
            choice("command", "Command", commands),
            choice("workload", "Workload", workloads),
            StartField {
                suggestions: self.targets(),
                ..field(
                    "target",
                    "Target",
                    "one that `serve` was started with (--allow-target), or sim:; if empty, the one of the server's \
                     environment, or a new database",
                )
            },
        ];
        fields.extend(FLAGS.map(|(name, label, hint, commands)| StartField {
            commands,
            ..field(name, label, hint)
        }));
        fields.push(field("more", "Further arguments", "such as --drop --batch 500"));
        fields
    }

    fn arguments(&self, filled: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        let get = |name: &str| filled.get(name).map(|value| value.trim().to_owned());
        let more = get("more").unwrap_or_default();
        let more = shlex::split(&more).ok_or("further arguments: a quote has no end")?;
        let mut arguments: Vec<String> = get("command").into_iter().collect();
        // The user's own file replaces the workload.
        let has_file = more.iter().any(|word| word.starts_with("-f") || word.starts_with("--file"));
        arguments.extend(get("workload").filter(|_| !has_file));
        arguments.extend(get("target"));
        let flags = FLAGS.iter().filter_map(|(name, ..)| {
            let value = get(name)?;
            // As one word, so that a value is never parsed as a flag.
            Some(format!("--{name}={value}"))
        });
        arguments.extend(flags);
        arguments.extend(more);
        if arguments.iter().any(|word| redacted(word).is_some()) {
            let hint =
                "give it to `highwater serve` in its environment, from where each run has it";
            return Err(format!("the page takes no password: {hint}"));
        }
        let mut all = vec!["highwater".to_owned()];
        all.extend(arguments.iter().cloned());
        let request =
            grammar::parse(self.commands, &all).map_err(|failure| words(failure, &all))?;
        let Request::Command(command, given) = request else {
            return Err("these arguments print a text, and start nothing".to_owned());
        };
        self.check(command, &given)?;
        // Directly after the command, which is the first word: after a `--` they would be positional
        // arguments.
        let config = self.rights.config.as_ref();
        let own = [format!("--out={}", self.rights.out.display()), "--quiet".to_owned()];
        let own = own.into_iter().chain(config.map(|file| format!("--config={file}")));
        arguments.splice(1..1, own);
        Ok(arguments)
    }

    fn command_line(&self, arguments: &[String]) -> String {
        let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        format!("highwater {}", words.join(" "))
    }

    fn rehearse(&self, arguments: &[String]) -> Result<String, String> {
        let mut rehearsed = arguments.to_vec();
        rehearsed.insert(1, "--dry-run".to_owned());
        let hidden = if self.has_passwords(arguments) { Vec::new() } else { secrets::all() };
        rehearsal(&rehearsed, &hidden).unwrap_or(Ok(String::new()))
    }

    fn start(&self, arguments: Vec<String>) -> Result<(), String> {
        let command_line = self.command_line(&arguments);
        let hidden = if self.has_passwords(&arguments) { Vec::new() } else { secrets::all() };
        self.processes.start(&arguments, &hidden, command_line, &self.rights.out)
    }

    fn running(&self) -> Option<String> {
        going_on(&self.rights.out)
    }

    fn started(&self) -> Vec<StartedCommand> {
        self.processes.started()
    }

    fn stop(&self, number: u32) -> Result<(), String> {
        self.processes.stop(number)
    }
}

/// The error of a target, on one line.
fn said(error: UserError, text: &str) -> String {
    words(error, &[text.to_owned()])
}

/// A failure on one line, without the passwords of these words.
fn words(failure: UserError, of: &[String]) -> String {
    let failure = without_passwords_of(failure, of.iter().map(String::as_str));
    match failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message,
    }
}

/// Maximum number of commands shown; older ones are in the list of runs.
const SHOWN_MAX: usize = 20;
/// Maximum bytes at the end of an output that are shown.
const OUTPUT_MAX: u64 = 4_096;
/// Maximum number of newest runs that are checked for being in progress.
const GOING_ON_MAX: usize = 1_000;

/// The processes.
#[derive(Default)]
struct Processes(Mutex<Vec<StartedProcess>>);

struct StartedProcess {
    number: u32,
    command_line: String,
    child: Child,
    /// A file without a name, which disappears when both processes have ended.
    output: File,
    /// Exit status, once it has ended.
    ended: Option<ExitStatus>,
}

impl Processes {
    /// Starts a process that stores its runs below `root`, without the environment variables `hidden`. Fails if a run
    /// is in progress there, whichever process started it.
    fn start(
        &self,
        arguments: &[String],
        hidden: &[OsString],
        command_line: String,
        root: &Path,
    ) -> Result<(), String> {
        let mut all = self.seen();
        if let Some(running) = all.iter().find(|one| one.ended.is_none()) {
            let line = &running.command_line;
            return Err(format!("`{line}` is still running: stop it, or wait until it has ended"));
        }
        if let Some(run) = going_on(root) {
            return Err(format!(
                "`{run}`, which was started elsewhere, is still running: stop it there, or wait until it has ended"
            ));
        }
        let number = all.last().map_or(1, |last| last.number + 1);
        let (child, output) =
            spawned(arguments, hidden).map_err(|error| format!("it cannot be started: {error}"))?;
        all.push(StartedProcess { number, command_line, child, output, ended: None });
        if all.len() > SHOWN_MAX {
            all.remove(0);
        }
        Ok(())
    }

    /// Started commands, newest first.
    fn started(&self) -> Vec<StartedCommand> {
        let all = self.seen();
        all.iter()
            .rev()
            .map(|one| StartedCommand {
                number: one.number,
                command_line: one.command_line.clone(),
                state: match one.ended {
                    None => StartedState::Running,
                    Some(status) => StartedState::Ended {
                        code: status.code(),
                        output: tail(&one.output).unwrap_or_default(),
                    },
                },
            })
            .collect()
    }

    fn stop(&self, number: u32) -> Result<(), String> {
        let all = self.seen();
        let running = all.iter().find(|one| one.number == number);
        // Its process ID cannot be reused until its end was observed.
        match running.filter(|one| one.ended.is_none()) {
            Some(one) => interrupt(&one.child).map_err(|error| error.to_string()),
            None => Err("it is over".to_owned()),
        }
    }

    /// All processes, with their current state.
    fn seen(&self) -> MutexGuard<'_, Vec<StartedProcess>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for one in all.iter_mut().filter(|one| one.ended.is_none()) {
            if let Ok(Some(status)) = one.child.try_wait() {
                one.ended = Some(status);
            }
        }
        all
    }
}

/// The ID of a run below `root` that a process is running.
fn going_on(root: &Path) -> Option<String> {
    let runs = store::list(root).unwrap_or_default();
    let mut newest = runs.iter().take(GOING_ON_MAX);
    let run = newest.find(|run| store::underway(run).is_some())?;
    Some(run.file_name()?.to_string_lossy().into_owned())
}

/// Maximum time of a rehearsal, which needs no target.
const REHEARSAL_MAX: Nanos = Nanos::from_secs(5);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What a rehearsal prints, or its error on one line. An error of the system, or a rehearsal that takes long, says
/// nothing about the arguments.
fn rehearsal(arguments: &[String], hidden: &[OsString]) -> io::Result<Result<String, String>> {
    let (mut child, output) = spawned(arguments, hidden)?;
    let clock = RealClock::start();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if clock.now() > REHEARSAL_MAX {
            // It has no target, and writes nothing.
            child.kill()?;
            child.wait()?;
            return Ok(Ok(String::new()));
        }
        std::thread::sleep(LOOK);
    };
    let text = tail(&output)?;
    if status.success() {
        return Ok(Ok(text));
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line: Vec<&str> = lines.map(|line| line.strip_prefix("error: ").unwrap_or(line)).collect();
    Ok(Err(line.join("; ")))
}

fn spawned(arguments: &[String], hidden: &[OsString]) -> io::Result<(Child, File)> {
    let output = tempfile::tempfile()?;
    let mut command = Command::new(std::env::current_exe()?);
    system::set_own_group(&mut command)?;
    for name in hidden {
        command.env_remove(name);
    }
    let child = command
        .args(arguments)
        .env_remove(HANDOVER)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()?;
    Ok((child, output))
}

/// The end of an output; reading does not move the position of its writer.
fn tail(output: &File) -> io::Result<String> {
    let length = output.metadata()?.len();
    let begin = length.saturating_sub(OUTPUT_MAX);
    let mut bytes = vec![0; usize::try_from(length - begin).unwrap_or(0)];
    let count = system::read_at_unmoved(output, &mut bytes, begin)?;
    bytes.truncate(count);
    Ok(without_passwords(&String::from_utf8_lossy(&bytes)))
}
