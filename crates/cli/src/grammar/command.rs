//! The commands: names, flags, positional arguments and one sentence each. Must not parse anything.

use clap::{Arg, ArgAction};

use super::flags::{self, Flag};
use super::shared_flags;

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
    /// `highwater audit`
    Audit,
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

impl Command {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 13] = [
        Self::Demo,
        Self::Run,
        Self::Load,
        Self::Find,
        Self::Tune,
        Self::Show,
        Self::Audit,
        Self::Compare,
        Self::Import,
        Self::Size,
        Self::Table,
        Self::Check,
        Self::Workloads,
    ];

    /// Name on the command line and of its table in `highwater.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Run => "run",
            Self::Load => "load",
            Self::Find => "find",
            Self::Tune => "tune",
            Self::Show => "show",
            Self::Audit => "audit",
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
            Self::Audit => flags::AUDIT_AGAIN,
            Self::Compare => flags::COMPARE,
            Self::Import => flags::IMPORT,
            Self::Size => flags::SIZE,
            Self::Table => flags::TABLE,
            Self::Check => flags::CHECK,
            Self::Workloads => shared_flags::workloads_flags(),
        }
    }

    /// Settings that its positional arguments give.
    pub const fn positionals(self) -> &'static [&'static str] {
        match self {
            Self::Run | Self::Load | Self::Find | Self::Tune => &["workload", "target"],
            Self::Demo
            | Self::Show
            | Self::Audit
            | Self::Compare
            | Self::Import
            | Self::Size
            | Self::Table
            | Self::Workloads => &[],
            Self::Check => &["target"],
        }
    }

    /// Every setting that the file and the environment can give.
    pub fn settings(self) -> impl Iterator<Item = &'static str> {
        let flags = self.flags().iter().map(|flag| flag.name);
        flags.chain(self.positionals().iter().copied())
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Demo => "Search, growth, and sizing on a simulated cluster, in seconds",
            Self::Run => "Load a database, verify what it stored, and judge the result",
            Self::Load => {
                "Fill a workload's tables to a size for later runs, and verify what they hold"
            }
            Self::Find => "Find the highest rate that a target sustains under an objective",
            Self::Tune => {
                "Find the best batch size, sessions, shards, or other settings with few trials"
            }
            Self::Show => "Show a finished run, or merge the shares of one run",
            Self::Audit => {
                "Compare what a finished or killed run had acknowledged with its database"
            }
            Self::Compare => "Compare groups of runs: better, worse, equal, or inconclusive",
            Self::Import => "Import another tool's output as a record, to show or compare it",
            Self::Size => {
                "Estimate the cluster that a rate needs, from measured or published figures"
            }
            Self::Table => "Tabulate throughput over one setting, from a file or from runs",
            Self::Check => {
                "Check that a target is usable, a workload file is valid, or figures are plausible"
            }
            Self::Workloads => "List workloads, show the file of one, or start your own file",
        }
    }

    pub(super) fn usage(self) -> &'static str {
        match self {
            Self::Demo => "highwater demo [OPTIONS]",
            Self::Run => "highwater run [OPTIONS] [WORKLOAD] [TARGET]...",
            Self::Load => "highwater load [OPTIONS] [WORKLOAD] [TARGET]...",
            Self::Find => "highwater find [OPTIONS] [WORKLOAD] [TARGET]...",
            Self::Tune => "highwater tune [OPTIONS] --over AXIS=VALUES [WORKLOAD] [TARGET]...",
            Self::Show => "highwater show [OPTIONS] [RUN]...",
            Self::Audit => "highwater audit [OPTIONS] [RUN] [TARGET]...",
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

    pub(super) fn positional_arguments(self) -> Vec<Arg> {
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
                    .help("Workload name; the first argument without a colon [default: cpu]"),
                all(
                    "rest",
                    "TARGET",
                    "Database URLs, one per host [default: $HIGHWATER_TARGET, else a new embedded \
                     database]",
                ),
            ],
            Self::Show => vec![all(
                "rest",
                "RUN",
                "Directory, record.json, ID, or unique prefix of an ID. Several are merged as \
                 shares of one run [default: the latest]",
            )],
            Self::Audit => vec![all(
                "rest",
                "RUN|TARGET",
                "Directory, record.json, ID, or unique prefix of an ID [default: the latest run], \
                 and database URLs [default: those of the run]",
            )],
            Self::Compare => vec![all(
                "rest",
                "RUN|GROUP",
                "A run, a directory of runs, or several of these separated by commas. The first is \
                 the baseline",
            )],
            Self::Import => vec![all(
                "rest",
                "FILE",
                "Files that a tool wrote or printed in one run; for pgbench, its logs and output",
            )],
            Self::Size => vec![all(
                "rest",
                "RATE",
                "Rate that the cluster must sustain: `1M` rows per second, `200q/s` queries per \
                 second, or one of each",
            )],
            Self::Table => vec![all(
                "rest",
                "FILE|RUN",
                "CSV files with figures, runs, or directories of runs [default: the run store]",
            )],
            Self::Check => vec![all(
                "rest",
                "TARGET|FILE",
                "Database URLs, one workload file, or figures: CSV files, record.json files, and \
                 directories of runs [default: $HIGHWATER_TARGET, else a new embedded database]",
            )],
            Self::Workloads => vec![all(
                "rest",
                "ACTION",
                "`show NAME` prints a workload's file; `new` prints a commented starting point, or \
                 writes it to a new FILE; `schema` prints the JSON Schema of workload files for \
                 editors; `from TARGET --table NAME` sketches a file from an existing table \
                 [default: list the workloads]",
            )],
        }
    }
}
