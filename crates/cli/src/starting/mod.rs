//! What the page of `highwater serve` may start: the fields of its form become arguments, which are parsed like any
//! command line and have only what is allowed. Must not serve, nor start a process itself.

mod processes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use highwater_driver::redaction::redacted;
use highwater_driver::{TargetError, TargetUrl};
use highwater_live::{StartField, StartedCommand, Starter};
use highwater_model::units::Seed;
use highwater_next::quoted;
use highwater_workload::{builtin, catalog};

use crate::failure::Failure;
use crate::grammar::{self, Arguments, CommandSpec, Request};
use crate::prepare::target;
use crate::tuned::WITH;
use processes::Processes;

/// Flags that say how a load is to be, and neither run a command, nor read, write or serve anything. Whatever is not
/// here needs `--allow-commands`. Separated by blanks.
const ALLOWED: &str = "abort-on-miss arrivals audit audit-timeout axis batch budget by confirm \
     drop duration errors insert label literals max max-cpu min-rate no-telemetry over p50 p90 \
     p95 p99 p999 probe quick rate rejected repeat replicas require-steady retries row-p99 rows seed \
     sessions set settle shards spawn-rate start steady-within step stream then think timeout \
     tolerance until verbose warm-up";
/// Commands that start or resize clusters, by commands of a file.
const OF_CLUSTERS: [&str; 1] = ["scale"];
/// What the page sets itself.
const OWN: [&str; 2] = ["out", "quiet"];
/// Fields that become a flag of the same name.
const FLAGS: [(&str, &str, &str); 5] = [
    (
        "rate",
        "rate (--rate)",
        "such as 20k; empty: as fast as the sessions go",
    ),
    ("sessions", "sessions (--sessions)", "set by the target"),
    ("duration", "duration of a run (--duration)", "20s"),
    (
        "p99",
        "p99 at most (--p99)",
        "such as 100ms, or insert<50ms",
    ),
    ("label", "label (--label)", "such as version=2"),
];

/// Starts commands for a page.
pub(crate) struct PageStarter {
    commands: &'static [&'static CommandSpec],
    out: PathBuf,
    allows_all: bool,
    processes: Processes,
}

impl PageStarter {
    /// Starts some of these commands, which store their runs below `out`; with `allows_all` any of them with any flag.
    pub(crate) fn new(
        commands: &'static [&'static CommandSpec],
        out: PathBuf,
        allows_all: bool,
    ) -> Self {
        Self {
            commands,
            out,
            allows_all,
            processes: Processes::default(),
        }
    }

    fn commands(&self) -> impl Iterator<Item = &'static CommandSpec> {
        let all = self.commands.iter().copied();
        all.filter(|command| self.allows_all || !OF_CLUSTERS.contains(&command.name))
    }

    /// Whether the page may start this.
    fn check(&self, command: &CommandSpec, given: &Arguments) -> Result<(), String> {
        let flags = || given.flags.keys();
        if let Some(own) = flags().find(|flag| OWN.contains(flag)) {
            return Err(format!("--{own} is set by the page: leave it out"));
        }
        if self.allows_all {
            return Ok(());
        }
        let is_allowed = |flag: &str| ALLOWED.split(' ').any(|allowed| allowed == flag);
        let needs = "needs `highwater serve --allow-start --allow-commands`: it can run commands, or read, write or \
                     serve files";
        if !self.commands().any(|allowed| allowed.name == command.name) {
            return Err(format!("{} {needs}", command.name));
        }
        if let Some(flag) = flags().find(|flag| !is_allowed(flag)) {
            return Err(format!("--{flag} {needs}"));
        }
        // Settings of new tables, which are a flag of their own, can name files.
        let mut axes = given.flags.get("over").into_iter().flatten();
        if let Some(axis) = axes.find(|axis| axis.trim_start().starts_with(WITH)) {
            return Err(format!("--over {axis} {needs}"));
        }
        for word in &given.positionals {
            if word.contains(':') {
                self.check_target(word)?;
            } else if builtin(word).is_none() {
                return Err(format!(
                    "`{word}` is no workload of Highwater's own, and {needs}"
                ));
            }
        }
        Ok(())
    }

    /// Files of this machine are named by nobody but its user.
    fn check_target(&self, text: &str) -> Result<(), String> {
        let given = [text.to_owned()];
        let said = |error: TargetError| words(Failure::from(error), &given);
        let url = TargetUrl::parse(text).map_err(said)?;
        // Certificates, keys and passwords; before anything is opened, which would look for them. Names are those that
        // drivers see, without percent-encoding.
        let is_file =
            |name: &str| name == "passfile" || name.starts_with("ssl") && name != "sslmode";
        if let Some(name) = url.parameters.keys().find(|name| is_file(name)) {
            return Err(format!(
                "`{name}` in the URL names a file of this machine: give it to `highwater serve` in HIGHWATER_TARGET"
            ));
        }
        let options = target::options("highwater serve", Some(&self.out), Seed(0));
        let target = highwater_drivers::open(&given, &options).map_err(said)?;
        // A sink is in this process, too, but its path is the name of what it stands for.
        if target.capabilities().embedded && !target.is_sink() && !url.path.is_empty() {
            let hint =
                "name a server, or leave the path out for a new database in the run's directory";
            return Err(format!("`{text}` is a file of this machine: {hint}"));
        }
        Ok(())
    }
}

impl Starter for PageStarter {
    fn runs_commands(&self) -> bool {
        self.allows_all
    }

    fn fields(&self) -> Vec<StartField> {
        let field = |name, label, hint| StartField {
            name,
            label,
            hint,
            choices: Vec::new(),
        };
        let choice = |name, label, choices| StartField {
            choices,
            ..field(name, label, "")
        };
        let commands = self.commands().map(|command| command.name).collect();
        let workloads = catalog().iter().map(|workload| workload.name).collect();
        let mut fields = vec![
            choice("command", "command", commands),
            choice("workload", "workload", workloads),
            field(
                "target",
                "target",
                "a URL without a password; empty: as the server's environment says, or a new database",
            ),
        ];
        fields.extend(FLAGS.map(|(name, label, hint)| field(name, label, hint)));
        fields.push(field(
            "more",
            "further arguments",
            "such as --drop --batch 500",
        ));
        fields
    }

    fn arguments(&self, filled: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        let get = |name: &str| filled.get(name).map(|value| value.trim().to_owned());
        let more = get("more").unwrap_or_default();
        let more = shlex::split(&more).ok_or("further arguments: a quote has no end")?;
        let mut arguments: Vec<String> = get("command").into_iter().collect();
        // A file of the user's own stands in the place of the workload.
        let has_file = more
            .iter()
            .any(|word| word.starts_with("-f") || word.starts_with("--file"));
        arguments.extend(get("workload").filter(|_| !has_file));
        arguments.extend(get("target"));
        let flags = FLAGS.iter().filter_map(|(name, ..)| {
            let value = get(name)?;
            // One word, so that no value is taken for a flag.
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
        // Right behind the command, which is the first word: a `--` further back would make words of them.
        let own = [
            format!("--out={}", self.out.display()),
            "--quiet".to_owned(),
        ];
        arguments.splice(1..1, own);
        Ok(arguments)
    }

    fn command_line(&self, arguments: &[String]) -> String {
        let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        format!("highwater {}", words.join(" "))
    }

    fn start(&self, arguments: Vec<String>) -> Result<(), String> {
        let command_line = self.command_line(&arguments);
        self.processes.start(&arguments, command_line, &self.out)
    }

    fn started(&self) -> Vec<StartedCommand> {
        self.processes.started()
    }

    fn stop(&self, number: u32) -> Result<(), String> {
        self.processes.stop(number)
    }
}

/// A failure on one line, without the passwords of these words.
fn words(failure: Failure, of: &[String]) -> String {
    let failure = failure.without_passwords_of(of.iter().map(String::as_str));
    match failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message,
    }
}
