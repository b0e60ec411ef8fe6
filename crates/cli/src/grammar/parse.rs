//! Parses the arguments of the command line into a command and its flags, as texts. For flags of other load generators,
//! and of other commands of this one, the error names the equivalent flag. Must not judge any value.

use std::collections::BTreeMap;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches};

use highwater_model::user_error::UserError;

use super::{CommandSpec, Flag, Positional, flags};
use crate::exit;
use crate::exit::{did_you_mean, suggestion};

/// Names of positional arguments for the parser: the one that may occur once, and all others.
const FIRST: &str = "first";
const REST: &str = "rest";

/// The action that the command line requests.
#[derive(Debug)]
pub enum Request {
    /// Print this text (help, version) and exit with 0.
    Text(StyledStr),
    /// Print a completion script for a shell.
    Completions(String),
    /// Print a manual page.
    Manual {
        /// The page of this command; of the program if absent.
        command: Option<String>,
        /// Write the pages of all commands to this directory instead.
        directory: Option<String>,
    },
    /// Run a command with these arguments.
    Command(&'static CommandSpec, Arguments),
}

/// The arguments of a command, as texts, by the names of settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Values by long name; a switch has the value `true`.
    pub flags: BTreeMap<&'static str, Vec<String>>,
    /// Positional arguments in order.
    pub positionals: Vec<String>,
}

/// Reads the command line; `arguments` begins with the program's name.
pub fn parse(
    commands: &[&'static CommandSpec],
    arguments: &[String],
) -> Result<Request, UserError> {
    let asked_for_help = help_request(arguments);
    let arguments = asked_for_help.as_deref().unwrap_or(arguments);
    let mut parsed = command_line(commands).try_get_matches_from(arguments);
    if parsed.as_ref().is_err_and(|error| error.kind() == ErrorKind::UnknownArgument)
        && let Some(arguments) = flags::as_settings(commands, arguments)
    {
        parsed = command_line(commands).try_get_matches_from(arguments);
    }
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) => return text_or_failure(&error, commands, arguments),
    };
    let Some((name, given)) = matches.subcommand() else {
        return Ok(Request::Text(command_line(commands).render_help()));
    };
    if let Some(command) = commands.iter().find(|command| command.name == name) {
        return Ok(Request::Command(command, words(command, given)));
    }
    let value = |id: &str| given.try_get_one::<String>(id).ok().flatten().cloned();
    Ok(match value("shell") {
        Some(shell) => Request::Completions(shell),
        None => Request::Manual { command: value("command"), directory: value("dir") },
    })
}

/// Converts `highwater`, `highwater help [COMMAND]`, and `highwater --help-all` to the flag `--help`.
fn help_request(arguments: &[String]) -> Option<Vec<String>> {
    let (program, rest) = arguments.split_first()?;
    let of = match rest {
        [] => None,
        [word] if word == "help" || word == "--help-all" => None,
        [word, command] if word == "help" => Some(command),
        _ => return None,
    };
    let words = std::iter::once(program).chain(of).cloned();
    Some(words.chain(["--help".to_owned()]).collect())
}

/// The grammar as a clap command.
pub fn command_line(commands: &[&CommandSpec]) -> clap::Command {
    let manual = [
        Arg::new("command").value_name("COMMAND").help("The command; without one, the program"),
        Arg::new("dir").long("dir").value_name("DIR").help("Write the pages of all commands here"),
    ];
    clap::Command::new("highwater")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Load-test a SQL database and get a number you can defend")
        .after_help(flags::TOP)
        .help_expected(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(100)
        .subcommands(commands.iter().map(|command| subcommand(command)))
        .subcommand(
            clap::Command::new("completions").about("Print a completion script for a shell").arg(
                Arg::new("shell")
                    .value_name("SHELL")
                    .required(true)
                    .help("bash, elvish, fish, powershell, or zsh"),
            ),
        )
        .subcommand(
            clap::Command::new("man")
                .about("Print the manual page of a command, or write all pages")
                .args(manual),
        )
}

fn subcommand(command: &CommandSpec) -> clap::Command {
    let CommandSpec { name, examples, .. } = command;
    let usage = format!("highwater {name} [OPTIONS] {}", command.usage);
    let (settings, codes) = (flags::SETTINGS, exit::help());
    let flags = command.flags.iter().flat_map(|(heading, flags)| {
        flags.iter().map(|flag| {
            let is_shown = command.shows(flag.name);
            argument(flag).help_heading(*heading).hide_short_help(!is_shown)
        })
    });
    clap::Command::new(*name)
        .about(command.summary)
        .override_usage(usage.trim_end().to_owned())
        .after_help(format!("Examples:\n{examples}\n\n{}", flags::more(command)))
        .after_long_help(format!("Examples:\n{examples}\n\n{settings}\n\n{codes}"))
        .help_expected(true)
        .disable_help_flag(true)
        .args(help_flags(command))
        .args(command.positionals.iter().map(positional))
        .args(flags)
}

/// `--help` shows the flags that matter, `--help-all` everything.
fn help_flags(command: &CommandSpec) -> [Arg; 2] {
    let short = if command.main_flags.is_some() {
        "Print the main flags and examples"
    } else {
        "Print the flags and examples"
    };
    [
        Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help(short),
        Arg::new("help-all").long("help-all").action(ArgAction::HelpLong).help(
            "Also print all other flags, settings from the environment and file, and exit codes",
        ),
    ]
}

fn positional(positional: &Positional) -> Arg {
    let argument =
        |id: &'static str| Arg::new(id).value_name(positional.name).help(positional.help);
    if positional.repeats {
        return argument(REST).num_args(0..).action(ArgAction::Append);
    }
    argument(FIRST)
}

fn argument(flag: &Flag) -> Arg {
    let help = match flag.default {
        Some(default) => format!("{} [default: {default}]", flag.help),
        None => flag.help.to_owned(),
    };
    let argument = Arg::new(flag.name).long(flag.name).help(help).short(flag.short);
    let argument = match flag.alone {
        None => argument,
        Some(alone) => argument.num_args(0..=1).require_equals(true).default_missing_value(alone),
    };
    match flag.value {
        None => argument.action(ArgAction::SetTrue),
        Some(value) => argument
            .value_name(value)
            .allow_negative_numbers(true)
            .action(if flag.repeats { ArgAction::Append } else { ArgAction::Set }),
    }
}

fn words(command: &CommandSpec, matches: &ArgMatches) -> Arguments {
    let values_of = |id: &str| -> Vec<String> {
        match matches.try_get_many::<String>(id) {
            Ok(Some(values)) => values.cloned().collect(),
            _ => Vec::new(),
        }
    };
    let mut arguments = Arguments::default();
    for flag in command.all_flags() {
        let values = match flag.value {
            None if matches.get_flag(flag.name) => vec!["true".to_owned()],
            None => Vec::new(),
            Some(_) => values_of(flag.name),
        };
        if !values.is_empty() {
            arguments.flags.insert(flag.name, values);
        }
    }
    arguments.positionals = values_of(FIRST);
    arguments.positionals.extend(values_of(REST));
    arguments
}

/// The text of help and version; every other clap error is replaced by Highwater's own message.
fn text_or_failure(
    error: &clap::Error,
    commands: &[&'static CommandSpec],
    arguments: &[String],
) -> Result<Request, UserError> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let mut given = arguments.iter().skip(1);
    let command = given.find_map(|word| commands.iter().find(|command| command.name == word));
    let help = match command {
        Some(command) => format!("`highwater {} --help-all` lists the flags", command.name),
        None => "`highwater --help` lists the commands".to_owned(),
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    let cause = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            return Ok(Request::Text(error.render()));
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "no command given".to_owned()
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = did_you_mean(&word, commands.iter().map(|command| command.name));
            let meant = || meant_by(&word).map_or(help, str::to_owned);
            return Err(UserError::usage(format!("unknown command `{word}`"))
                .with_hint(suggestion(near, meant)));
        }
        ErrorKind::UnknownArgument => {
            return Err(negative(flag, arguments)
                .unwrap_or_else(|| unknown_flag(flag, command.copied(), help)));
        }
        ErrorKind::ArgumentConflict => format!("{flag} is given more than once"),
        ErrorKind::TooManyValues => format!("{flag} takes no value"),
        ErrorKind::InvalidValue => format!("{flag} needs a value"),
        ErrorKind::MissingRequiredArgument => format!("{argument} is missing"),
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            first.strip_prefix("error: ").unwrap_or(first).to_owned()
        }
    };
    Err(UserError::usage(cause).with_hint(help))
}

/// The command for a name that is common in similar tools.
fn meant_by(word: &str) -> Option<&'static str> {
    match word {
        "list" | "ls" | "history" | "runs" | "status" | "report" | "results" => Some(
            "`highwater serve` lists what was measured, and `highwater show` prints the last one",
        ),
        "bench" | "benchmark" | "load" | "start" | "test" | "exec" => Some(
            "`highwater run WORKLOAD URL` loads a database, and `highwater workloads` lists what with",
        ),
        "version" => Some("`highwater --version`"),
        url if url.contains("://") => Some(
            "`highwater run URL` loads this database, and `highwater check URL` only looks at it",
        ),
        _ => None,
    }
}

/// The error for a negative number, which looks like a flag; names the flag whose value it is.
fn negative(flag: &str, arguments: &[String]) -> Option<UserError> {
    flag.strip_prefix('-')?.strip_prefix(|c: char| c.is_ascii_digit())?;
    let at = arguments.iter().position(|word| word.starts_with(flag))?;
    let before = arguments[..at].last().filter(|word| word.starts_with('-'));
    let place = before.map_or_else(String::new, |name| format!("{name}: "));
    let hint = "counts, rates, amounts and percentages are given without a sign";
    Some(UserError::usage(format!("{place}`{}` is negative", arguments[at])).with_hint(hint))
}

/// The error for a flag that the command does not have: it may belong to another tool or command, or
/// be misspelled.
fn unknown_flag(flag: &str, command: Option<&CommandSpec>, help: String) -> UserError {
    let instead = command.and_then(|command| instead_of(flag, command.name));
    let hint = instead.map_or_else(
        || {
            let flags = command.into_iter().flat_map(CommandSpec::all_flags);
            let near = flag
                .strip_prefix("--")
                .and_then(|name| did_you_mean(name, flags.map(|flag| flag.name)))
                .map(|name| format!("--{name}"));
            suggestion(near.as_deref(), || help)
        },
        str::to_owned,
    );
    UserError::usage(format!("unknown flag `{flag}`")).with_hint(hint)
}

/// The commands that run a workload.
const LOADS: &str = "run load find tune scale";
/// The ones of these that accept more than filling tables.
const RUNS: &str = "run find tune scale";

/// Flags for the duration of a load.
const TIMES: &str = "--duration -d --time -T --run-time --test-time";
/// Flags for its intensity.
const NUMBERS: &str = "--iterations --transactions --requests --max-ops --max-requests";

/// Equivalent flags, as typed; the commands that lack them and give this answer; and what to type instead: flags of
/// the command itself, or another command with its flags.
type OtherFlags = (&'static str, &'static str, &'static str);

/// Each command has only one answer to a flag.
pub(super) const ALL: &[OtherFlags] = &[
    (
        "--vus --users -u --virtual-users --concurrency --clients --client --threads \
         --connections --workers --num-clients",
        LOADS,
        "use `-c N` (`--sessions N`): N sessions, each with one op in flight",
    ),
    (
        "--rate -R --rps --qps --tps --max-rate --arrival-rate",
        "find",
        "a search offers rates of its own: bound them with `--start RATE` and `--max RATE`, or offer one \
         with `highwater run --rate RATE`",
    ),
    (
        "--rps --qps --tps --max-rate --arrival-rate",
        "run load tune scale",
        "use `--rate RATE`, in rows or queries per second, such as `--rate 50k`",
    ),
    (
        TIMES,
        "find tune",
        "each probe takes `--probe DURATION`, and all together at most `--budget DURATION`",
    ),
    (TIMES, "load", "a load ends with its rows: use `--rows N`"),
    (
        "--time -T --run-time --test-time",
        "run scale",
        "use `-d DURATION` (`--duration`), such as `-d 60s`",
    ),
    (NUMBERS, "run", "use `-d DURATION` for a time, or `--rows N` for a number of rows"),
    (NUMBERS, "load", "use `--rows N`"),
    (NUMBERS, "find tune", "probes are limited by time: use `--probe DURATION`"),
    (
        "--ramp --ramp-up --rampup --hatch-rate --stage --stages",
        "run",
        "use `--stream NAME@50c..200c:10m` for more and more sessions, or `--spawn-rate N` to start N of them \
         per second before the warm-up",
    ),
    (
        "--spawn-rate --ramp --ramp-up --rampup --hatch-rate --stage --stages",
        "find tune scale",
        "sessions start together here; `highwater run --spawn-rate N` starts N per second",
    ),
    (
        "--think-time --wait-time --pause --sleep",
        RUNS,
        "use `--think DURATION`: the pause of a session between a response and its next op",
    ),
    (
        "--jobs -j --processes",
        LOADS,
        "leave it out: one process uses all cores; `-c N` (`--sessions N`) sets the sessions",
    ),
    (
        "--scale -s --scale-factor --table-size --warehouses",
        LOADS,
        "sizes are parameters of the workload: use `--set NAME=VALUE`; `highwater workloads show NAME` lists them",
    ),
    (
        "--tables",
        LOADS,
        "a workload has its own tables: describe yours in a file for `--file FILE`, which \
         `highwater workloads new` begins",
    ),
    ("--batch-size --batch_size --batchsize --bulk-size", LOADS, "use `--batch N`"),
    (
        "--max-p99 --max-latency --latency --latency-limit -L --thresholds --threshold --sla --percentile",
        RUNS,
        "use `--p99 DURATION`, such as `--p99 50ms`: exit code 1 if it is missed",
    ),
    (
        "--tolerate-errors --max-errors --ignore-errors",
        RUNS,
        "errors never end a run; `--errors PERCENT` makes them an objective",
    ),
    (
        "--script --query --sql --lua --test -e",
        LOADS,
        "use `-f FILE` (`--file`): an SQL file with one statement, or a workload file",
    ),
    (
        "--report-interval -P --summary-interval",
        LOADS,
        "leave it out: each second is shown and stored; `--events FILE` writes them as JSON",
    ),
    (
        "--csv --output --log -l --summary-export --histograms --histogram",
        LOADS,
        "every run is stored below `--out DIR`; `highwater show --format csv` prints its seconds",
    ),
    (
        "--host --port --user --username -U --password -W --dbname --database --db-name --url",
        LOADS,
        "the target is a URL, such as `SCHEME://USER@HOST:PORT/DATABASE`, without a flag; a password is read from a prompt",
    ),
    ("--over --by", "run find load", "settings are varied by `highwater tune --over AXIS=VALUES`"),
    (
        "--nodes",
        "run find tune",
        "sizes of a cluster are measured by `highwater scale --nodes SIZES`; `--label nodes=N` notes the size of \
         one run",
    ),
    (
        "--protocol -M --no-prepare",
        RUNS,
        "queries are prepared; `--literals` sends them unprepared",
    ),
    (
        "--initialize --init -i --prepare --cleanup",
        LOADS,
        "a run creates its tables, and `--drop` recreates them; `highwater load WORKLOAD TARGET` fills them",
    ),
    (
        "--headless --non-gui --no-vacuum",
        LOADS,
        "leave it out: nothing has to be switched off for a run without a terminal",
    ),
    ("--warmup-time --warmup-duration", RUNS, "use `--warm-up DURATION`"),
    (
        "--port -p --host --bind --address",
        "serve",
        "use `--listen ADDRESS`, such as `--listen 127.0.0.1:8080`",
    ),
    (
        "--csv --json --junit --markdown --html --output",
        "show",
        "use `--format FORMAT`: text, markdown, csv, json, html or junit",
    ),
    ("--markdown --html --output", "compare", "use `--format FORMAT`: text, markdown or html"),
];

/// What to type instead of a flag that the command does not have.
fn instead_of(flag: &str, command: &str) -> Option<&'static str> {
    let has = |names: &str, name: &str| names.split(' ').any(|one| one == name);
    let mut all = ALL.iter();
    let (.., instead) =
        all.find(|(names, commands, _)| has(names, flag) && has(commands, command))?;
    Some(instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;
    use crate::exit::render;
    use crate::grammar::{CommandSpec, parse};

    fn command(name: &str) -> &'static CommandSpec {
        let mut all = commands::ALL.iter().copied();
        all.find(|command| command.name == name).unwrap()
    }

    fn has(command: &CommandSpec, flag: &str) -> bool {
        let mut flags = command.all_flags();
        match flag.strip_prefix("--") {
            Some(name) => flags.any(|own| own.name == name),
            None => flags.any(|own| {
                flag.strip_prefix('-')
                    .is_some_and(|short| own.short.is_some_and(|of_it| short == of_it.to_string()))
            }),
        }
    }

    /// The flags in a text, each with the command that must have it.
    fn proposed<'a>(instead: &'a str, answering: &'a str) -> Vec<(&'a str, &'a str)> {
        let spans = instead.split('`').skip(1).step_by(2);
        spans
            .flat_map(|span| {
                let of = span.strip_prefix("highwater ").and_then(|rest| rest.split(' ').next());
                span.split(' ')
                    .filter(|word| word.starts_with('-'))
                    .map(move |word| (of.unwrap_or(answering), word))
            })
            .collect()
    }

    #[test]
    fn each_proposed_flag_is_one_of_the_command_that_it_is_proposed_for() {
        let mut checked = 0;
        for (names, commands, instead) in ALL {
            for answering in commands.split(' ') {
                for (of, flag) in proposed(instead, answering) {
                    assert!(has(command(of), flag), "`{of}` has no `{flag}`: {names}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 100, "{checked}");
    }

    #[test]
    fn a_flag_that_the_command_has_itself_is_not_answered() {
        for (names, commands, _) in ALL {
            for answering in commands.split(' ') {
                for name in names.split(' ') {
                    assert!(!has(command(answering), name), "`{answering}` has `{name}`");
                }
            }
        }
    }

    #[test]
    fn a_command_answers_each_flag_in_one_way() {
        let mut seen = std::collections::BTreeSet::new();
        for (names, commands, _) in ALL {
            for answering in commands.split(' ') {
                for name in names.split(' ') {
                    assert!(seen.insert((answering, name)), "{name} of {answering}");
                }
            }
        }
    }

    #[test]
    fn the_answer_is_an_error_of_usage_with_the_flag_of_ours() {
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let failure = parse(commands::ALL, &words).unwrap_err();
            (failure.exit_code(), render(&failure))
        };
        let (exit, text) = said(&["highwater", "run", "cpu", "--vus", "50"]);
        assert_eq!(exit, crate::exit::USAGE);
        insta::assert_snapshot!(text, @"
        error: unknown flag `--vus`

        hint: use `-c N` (`--sessions N`): N sessions, each with one op in flight
        ");
        insta::assert_snapshot!(said(&["highwater", "find", "--over", "batch=1..8"]).1, @"
        error: unknown flag `--over`

        hint: settings are varied by `highwater tune --over AXIS=VALUES`
        ");
        insta::assert_snapshot!(said(&["highwater", "size", "1M", "--headroom", "-5%"]).1, @"
        error: --headroom: `-5%` is negative

        hint: counts, rates, amounts and percentages are given without a sign
        ");
        insta::assert_snapshot!(said(&["highwater", "serve", "--port", "80"]).1, @"
        error: unknown flag `--port`

        hint: use `--listen ADDRESS`, such as `--listen 127.0.0.1:8080`
        ");
        insta::assert_snapshot!(said(&["highwater", "run", "-T", "60"]).1, @"
        error: unknown flag `-T`

        hint: use `-d DURATION` (`--duration`), such as `-d 60s`
        ");
    }
}
