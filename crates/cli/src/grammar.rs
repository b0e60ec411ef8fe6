//! From the words of the command line to a command and its flags, as texts; no value is judged here.
//!
//! The parser, the help texts and the list of settings all come from the table in [`flags`].

use std::collections::BTreeMap;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches};

use crate::exit;
use crate::failure::{Failure, did_you_mean};

mod examples;
pub mod flags;
mod parameters;
mod shared_flags;

#[cfg(test)]
mod tests;

use flags::Flag;

/// A command that takes settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `highwater demo`
    Demo,
    /// `highwater run`
    Run,
    /// `highwater load`
    Load,
    /// `highwater find`
    Find,
    /// `highwater tune`
    Tune,
    /// `highwater show`
    Show,
    /// `highwater compare`
    Compare,
    /// `highwater import`
    Import,
    /// `highwater size`
    Size,
    /// `highwater table`
    Table,
    /// `highwater check`
    Check,
    /// `highwater workloads`
    Workloads,
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Print this (help, version) and end well.
    Text(StyledStr),
    /// A script of completions for a shell.
    Completions(String),
    /// The manual page.
    Manual,
    /// A command with what was given for it.
    Command(Command, Words),
}

/// What was given on the command line, as texts, by the names of settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// Values by long name; a switch has the value `true`.
    pub flags: BTreeMap<&'static str, Vec<String>>,
    /// Positional arguments in order.
    pub positionals: Vec<String>,
}

impl Command {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 12] = [
        Self::Demo,
        Self::Run,
        Self::Load,
        Self::Find,
        Self::Tune,
        Self::Show,
        Self::Compare,
        Self::Import,
        Self::Size,
        Self::Table,
        Self::Check,
        Self::Workloads,
    ];

    /// The word on the command line, and the name of its table in `highwater.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Run => "run",
            Self::Load => "load",
            Self::Find => "find",
            Self::Tune => "tune",
            Self::Show => "show",
            Self::Compare => "compare",
            Self::Import => "import",
            Self::Size => "size",
            Self::Table => "table",
            Self::Check => "check",
            Self::Workloads => "workloads",
        }
    }

    /// Its flags.
    pub fn flags(self) -> &'static [Flag] {
        match self {
            Self::Demo => flags::DEMO,
            Self::Run => flags::RUN,
            Self::Load => shared_flags::load_flags(),
            Self::Find => shared_flags::find_flags(),
            Self::Tune => shared_flags::tune_flags(),
            Self::Show => flags::SHOW,
            Self::Compare => flags::COMPARE,
            Self::Import => flags::IMPORT,
            Self::Size => flags::SIZE,
            Self::Table => flags::TABLE,
            Self::Check => flags::CHECK,
            Self::Workloads => shared_flags::workloads_flags(),
        }
    }

    /// Settings that its positional arguments stand for.
    pub const fn positionals(self) -> &'static [&'static str] {
        match self {
            Self::Run | Self::Load | Self::Find | Self::Tune => &["workload", "target"],
            Self::Demo
            | Self::Show
            | Self::Compare
            | Self::Import
            | Self::Size
            | Self::Table
            | Self::Workloads => &[],
            Self::Check => &["target"],
        }
    }

    /// Every setting that it takes from the file and the environment.
    pub fn settings(self) -> impl Iterator<Item = &'static str> {
        let flags = self.flags().iter().map(|flag| flag.name);
        flags.chain(self.positionals().iter().copied())
    }

    fn about(self) -> &'static str {
        match self {
            Self::Demo => "Show the whole path on a simulated cluster, in seconds",
            Self::Run => "Put load on a target, audit what it kept, judge the result",
            Self::Load => "Fill a workload's tables to a size, audit what is kept, for later runs",
            Self::Find => "Find the highest rate that a target sustains under an objective",
            Self::Tune => {
                "Find the best batch, sessions, shards or other settings, with few probes"
            }
            Self::Show => "Show a finished run, or merge the shares of one",
            Self::Compare => "Compare groups of runs: better, worse, equal, or cannot tell",
            Self::Import => "Make a record of another tool's output, to show it and to compare it",
            Self::Size => "Say which cluster a rate needs, from measured or published figures",
            Self::Table => "Show what one setting does to the throughput, from a file or from runs",
            Self::Check => {
                "Check that a target can be used, a workload file is right, or figures can be right"
            }
            Self::Workloads => "List the workloads, show one's file, or begin a file of your own",
        }
    }

    fn usage(self) -> &'static str {
        match self {
            Self::Demo => "highwater demo [OPTIONS]",
            Self::Run => "highwater run [OPTIONS] [WORKLOAD] [TARGET]...",
            Self::Load => "highwater load [OPTIONS] [WORKLOAD] [TARGET]...",
            Self::Find => "highwater find [OPTIONS] [WORKLOAD] [TARGET]...",
            Self::Tune => "highwater tune [OPTIONS] --over AXIS=VALUES [WORKLOAD] [TARGET]...",
            Self::Show => "highwater show [OPTIONS] [RUN]...",
            Self::Compare => "highwater compare [OPTIONS] A B...",
            Self::Import => "highwater import [OPTIONS] FILE...",
            Self::Size => "highwater size [OPTIONS] RATE...",
            Self::Table => "highwater table [OPTIONS] [FILE | RUN]...",
            Self::Check => "highwater check [OPTIONS] [TARGET... | FILE.toml | FILE.csv | RUN]...",
            Self::Workloads => {
                "highwater workloads [OPTIONS] [show NAME | new [FILE] | schema | from TARGET]"
            }
        }
    }

    fn positional_arguments(self) -> Vec<Arg> {
        let all = |id: &'static str, name: &'static str, help: &'static str| {
            Arg::new(id)
                .value_name(name)
                .num_args(0..)
                .help(help)
                .action(ArgAction::Append)
        };
        match self {
            Self::Demo => Vec::new(),
            Self::Run | Self::Load | Self::Find | Self::Tune => vec![
                Arg::new("first")
                    .value_name("WORKLOAD")
                    .help("Workload by name; the first argument without a colon [default: cpu]"),
                all(
                    "rest",
                    "TARGET",
                    "URLs of the database under load, several for several hosts [default: \
                     HIGHWATER_TARGET, else a fresh embedded database]",
                ),
            ],
            Self::Show => vec![all(
                "rest",
                "RUN",
                "Directory, record.json, id or unique beginning of an id; several are merged as \
                 shares of one run [default: the newest]",
            )],
            Self::Compare => vec![all(
                "rest",
                "RUN|GROUP",
                "A run, a directory of runs, or several of them with commas between; the first is \
                 what the others are compared with",
            )],
            Self::Import => vec![all(
                "rest",
                "FILE",
                "What a tool wrote or printed in one run; of pgbench its logs and its output together",
            )],
            Self::Size => vec![all(
                "rest",
                "RATE",
                "What the cluster must carry: `1M` rows per second, `200q/s` queries per second, or \
                 one of each",
            )],
            Self::Table => vec![all(
                "rest",
                "FILE|RUN",
                "CSV files of figures, runs, or directories of runs [default: the run store]",
            )],
            Self::Check => vec![all(
                "rest",
                "TARGET|FILE",
                "URLs of a database, one workload file, or figures: CSV files, record.json files \
                 and directories of runs [default: HIGHWATER_TARGET, else a fresh embedded \
                 database]",
            )],
            Self::Workloads => vec![all(
                "rest",
                "ACTION",
                "`show NAME` prints a workload's file, `new` a commented one to begin with (or \
                 writes it to a new FILE), `schema` the JSON Schema of such files for editors, `from \
                 TARGET --table NAME` one sketched from a table that is there [default: a list]",
            )],
        }
    }
}

/// Reads the command line; `arguments` begins with the program's name.
pub fn parse(arguments: &[String]) -> Result<Request, Failure> {
    let mut parsed = command_line().try_get_matches_from(arguments);
    if parsed
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::UnknownArgument)
        && let Some(arguments) = parameters::as_settings(arguments)
    {
        parsed = command_line().try_get_matches_from(arguments);
    }
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) => return answer_or_failure(&error, arguments),
    };
    let Some((name, given)) = matches.subcommand() else {
        return Ok(Request::Text(command_line().render_help()));
    };
    if let Some(command) = Command::ALL.into_iter().find(|c| c.name() == name) {
        return Ok(Request::Command(command, words(command, given)));
    }
    match given.try_get_one::<String>("shell") {
        Ok(Some(shell)) => Ok(Request::Completions(shell.clone())),
        _ => Ok(Request::Manual),
    }
}

/// The grammar as clap knows it.
pub fn command_line() -> clap::Command {
    let hidden =
        |name: &'static str, about: &'static str| clap::Command::new(name).hide(true).about(about);
    clap::Command::new("highwater")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Load-test a SQL database and get a number you can defend")
        .after_help(examples::TOP)
        .help_expected(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(100)
        .subcommands(Command::ALL.map(subcommand))
        .subcommand(
            hidden("completions", "Print a script of completions").arg(
                Arg::new("shell")
                    .value_name("SHELL")
                    .required(true)
                    .help("bash, elvish, fish, powershell or zsh"),
            ),
        )
        .subcommand(hidden("man", "Print the manual page"))
}

fn subcommand(command: Command) -> clap::Command {
    let (short, long) = examples::of(command);
    clap::Command::new(command.name())
        .about(command.about())
        .override_usage(command.usage())
        .after_help(short)
        .after_long_help(format!(
            "{long}\n\n{}\n\n{}",
            examples::SETTINGS,
            exit::help()
        ))
        .help_expected(true)
        .args(command.positional_arguments())
        .args(command.flags().iter().map(argument))
}

fn argument(flag: &Flag) -> Arg {
    let help = match flag.default {
        Some(default) => format!("{} [default: {default}]", flag.help),
        None => flag.help.to_owned(),
    };
    let argument = Arg::new(flag.name)
        .long(flag.name)
        .help(help)
        .help_heading(flag.heading)
        .short(flag.short)
        .aliases(flag.alias);
    match flag.value {
        None => argument.action(ArgAction::SetTrue),
        Some(value) => argument
            .value_name(value)
            .allow_negative_numbers(true)
            .action(if flag.repeats {
                ArgAction::Append
            } else {
                ArgAction::Set
            }),
    }
}

fn words(command: Command, matches: &ArgMatches) -> Words {
    let texts = |id: &str| -> Vec<String> {
        match matches.try_get_many::<String>(id) {
            Ok(Some(values)) => values.cloned().collect(),
            _ => Vec::new(),
        }
    };
    let mut words = Words::default();
    for flag in command.flags() {
        let values = match flag.value {
            None if matches.get_flag(flag.name) => vec!["true".to_owned()],
            None => Vec::new(),
            Some(_) => texts(flag.name),
        };
        if !values.is_empty() {
            words.flags.insert(flag.name, values);
        }
    }
    words.positionals = texts("first");
    words.positionals.extend(texts("rest"));
    words
}

/// Help and version are answers; everything else is put into our words.
fn answer_or_failure(error: &clap::Error, arguments: &[String]) -> Result<Request, Failure> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let command = arguments
        .iter()
        .skip(1)
        .find_map(|word| Command::ALL.into_iter().find(|c| c.name() == word));
    let help = match command {
        Some(command) => format!("`highwater {} --help` lists the flags", command.name()),
        None => "`highwater --help` lists the commands".to_owned(),
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Request::Text(error.render())),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(Failure::usage("no command given").with_hint(help))
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = did_you_mean(&word, Command::ALL.map(Command::name));
            Err(Failure::usage(format!("unknown command `{word}`"))
                .with_hint(suggestion(near, help)))
        }
        ErrorKind::UnknownArgument => {
            let known = command.map_or(&[][..], Command::flags);
            let near = flag
                .strip_prefix("--")
                .and_then(|name| did_you_mean(name, known.iter().map(|flag| flag.name)))
                .map(|name| format!("--{name}"));
            Err(Failure::usage(format!("unknown flag `{flag}`"))
                .with_hint(suggestion(near.as_deref(), help)))
        }
        ErrorKind::ArgumentConflict => {
            Err(Failure::usage(format!("{flag} is given more than once")).with_hint(help))
        }
        ErrorKind::TooManyValues => {
            Err(Failure::usage(format!("{flag} takes no value")).with_hint(help))
        }
        ErrorKind::InvalidValue => {
            Err(Failure::usage(format!("{flag} needs a value")).with_hint(help))
        }
        ErrorKind::MissingRequiredArgument => {
            Err(Failure::usage(format!("{argument} is missing")).with_hint(help))
        }
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            let cause = first.strip_prefix("error: ").unwrap_or(first);
            Err(Failure::usage(cause).with_hint(help))
        }
    }
}

fn suggestion(near: Option<&str>, otherwise: String) -> String {
    near.map_or(otherwise, |near| format!("did you mean `{near}`?"))
}
