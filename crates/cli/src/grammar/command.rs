//! What a command is: how it is called, and what it does. Must not hold any command, or parse
//! anything.

use highwater_model::user_error::UserError;

use super::flag::{Flag, Reach};
use crate::layers::Layers;

/// All that is particular to one command; help, completions, environment, file and parser are made
/// of it.
#[derive(Debug)]
pub struct CommandSpec {
    /// Name on the command line and of its table in `highwater.toml`.
    pub name: &'static str,
    /// One sentence of the help.
    pub summary: &'static str,
    /// What follows the name and its options in the help.
    pub usage: &'static str,
    /// Positional arguments, in order; only the last one is taken several times.
    pub positionals: &'static [Positional],
    /// Its flags, below their headings of the help.
    pub flags: &'static [(&'static str, &'static [Flag])],
    /// The flags that `--help` shows, which most people need, separated by blanks; `--help-all` shows the rest.
    /// Absent where it shows all of them.
    pub main_flags: Option<&'static str>,
    /// The end of the long help: command lines and what they are for.
    pub examples: &'static str,
    /// Does what the words ask for; returns the exit code.
    pub run: fn(&Layers) -> Result<u8, UserError>,
}

/// A positional argument.
#[derive(Debug)]
pub struct Positional {
    /// Placeholder in the help.
    pub name: &'static str,
    /// One or two sentences, with the default.
    pub help: &'static str,
    /// The setting that it is, also of the environment and the file.
    pub setting: Option<&'static str>,
    /// Whether it is taken any number of times.
    pub repeats: bool,
}

/// The positional arguments of commands that run a workload. The first word without a scheme is the
/// workload; all others are targets.
pub const WORKLOAD_AND_TARGETS: &[Positional] = &[
    Positional {
        name: "WORKLOAD",
        help: "Workload name; the first argument without a colon [default: cpu]",
        setting: Some("workload"),
        repeats: false,
    },
    Positional {
        name: "TARGET",
        help: "Database URLs, one per host [default: $HIGHWATER_TARGET, else a new embedded \
               database]",
        setting: Some("target"),
        repeats: true,
    },
];

/// Words that are settings of nothing else.
pub(crate) const fn words(name: &'static str, help: &'static str) -> Positional {
    Positional { name, help, setting: None, repeats: true }
}

impl CommandSpec {
    /// Its flags, in the order of the help.
    pub fn all_flags(&self) -> impl Iterator<Item = &'static Flag> {
        self.flags.iter().flat_map(|(_, flags)| *flags)
    }

    /// Whether `--help` shows this flag.
    pub(super) fn shows(&self, flag: &str) -> bool {
        self.main_flags.is_none_or(|shown| shown.split(' ').any(|name| name == flag))
    }

    /// Every setting that the file and the environment can give.
    pub fn settings(&self) -> impl Iterator<Item = &'static str> {
        let positionals = self.positionals.iter().filter_map(|positional| positional.setting);
        self.all_flags().map(|flag| flag.name).chain(positionals)
    }

    /// What a setting of it reaches; absent where it has none of this name.
    pub fn reach(&self, setting: &str) -> Option<Reach> {
        let mut flags = self.all_flags();
        let of_flag = flags.find(|flag| flag.name == setting).map(|flag| flag.reach);
        let mut settings = self.settings();
        let is_own = settings.any(|name| name == setting);
        let of_positional = match setting {
            "target" => Reach::Outside,
            _ => Reach::Behavior,
        };
        of_flag.or_else(|| is_own.then_some(of_positional))
    }

    /// Whether it runs a workload, whose parameters are flags, too.
    pub fn takes_workload(&self) -> bool {
        let mut positionals = self.positionals.iter();
        positionals.any(|positional| positional.setting == Some("workload"))
    }
}
