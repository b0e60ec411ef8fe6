//! The command line: the definition of commands and flags, help texts, and the parser. Must not judge a
//! value.
//!
//! The parser, the help texts, and the list of settings are all generated from the table of
//! commands.

pub(crate) mod flags;
mod parse;

#[cfg(test)]
mod tests;

use highwater_model::user_error::UserError;

use crate::layers::{Layers, Next};

pub use parse::{Arguments, Request, command_line, parse};

/// The definition of one command; help, completions, environment, settings file, and parser are
/// generated from it.
#[derive(Debug)]
pub struct CommandSpec {
    /// Its name on the command line, and that of its table in `highwater.toml`.
    pub name: &'static str,
    /// One sentence for the help.
    pub summary: &'static str,
    /// The text after the name and its options in the help.
    pub usage: &'static str,
    /// Positional arguments, in order; only the last one may be repeated.
    pub positionals: &'static [Positional],
    /// Its flags, by heading of the help.
    pub flags: &'static [(&'static str, &'static [Flag])],
    /// The most common flags, which `--help` shows, separated by blanks; `--help-all` shows the rest. Absent if
    /// `--help` shows all of them.
    pub main_flags: Option<&'static str>,
    /// The end of the long help: example command lines and their purpose.
    pub examples: &'static str,
    /// Executes the command; returns the exit code.
    pub run: fn(&Layers) -> Result<u8, UserError>,
}

/// A positional argument.
#[derive(Debug)]
pub struct Positional {
    /// Placeholder in the help.
    pub name: &'static str,
    /// One or two sentences that include the default.
    pub help: &'static str,
    /// The setting that it sets, which the environment and the file can set as well.
    pub setting: Option<&'static str>,
    /// Whether it may be repeated.
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

/// Positional arguments that are not settings.
pub(crate) const fn words(name: &'static str, help: &'static str) -> Positional {
    Positional { name, help, setting: None, repeats: true }
}

impl CommandSpec {
    /// Its flags, in the order of the help.
    pub fn all_flags(&self) -> impl Iterator<Item = &'static Flag> {
        self.flags.iter().flat_map(|(_, flags)| *flags)
    }

    /// Whether `--help` shows this flag.
    fn shows(&self, flag: &str) -> bool {
        self.main_flags.is_none_or(|shown| shown.split(' ').any(|name| name == flag))
    }

    /// Every setting that the file and the environment can set.
    pub fn settings(&self) -> impl Iterator<Item = &'static str> {
        let positionals = self.positionals.iter().filter_map(|positional| positional.setting);
        self.all_flags().map(|flag| flag.name).chain(positionals)
    }

    /// The reach of one of its settings; absent if it has no setting of this name.
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

/// How far the effects of a setting reach, which determines its allowed sources: the greater, the fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only the command itself: any source is allowed.
    Behavior,
    /// A file or a directory: the working directory's file may only name one in that directory.
    File,
    /// A target, polled endpoints, a sink, allowed clients, other users' tables, or the storage of new tables: not
    /// from the working directory's file.
    Outside,
    /// Commands to execute: only from the command line, or from a file that it names with
    /// `--config`.
    Shell,
    /// The settings file itself: only from the command line.
    Settings,
}

/// A flag, which is also a setting of files and of the environment.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Long name without dashes.
    pub name: &'static str,
    /// Short name.
    pub short: Option<char>,
    /// Placeholder of its value in the help; `None` for a switch.
    pub value: Option<&'static str>,
    /// Its value if none is given; a given value then follows `=`. `None` if a value is required.
    pub alone: Option<&'static str>,
    /// Whether it may be repeated.
    pub repeats: bool,
    /// The default as text, parsed like any other value, so that the help cannot deviate from it.
    pub default: Option<&'static str>,
    /// How far its effects reach.
    pub reach: Reach,
    /// How a command that repeats or continues a run treats it, such as the one after `next:`.
    pub next: Next,
    /// One or two sentences with the unit, and with the default if it is a rule instead of a value.
    pub help: &'static str,
}

/// A flag as the help spells it, such as `-c, --sessions <N>`: a switch without a value, and with
/// `...` at the end it may be given several times.
pub(crate) const fn flag(spelled: &'static str, help: &'static str) -> Flag {
    let (short, long) = match spelled.as_bytes() {
        [b'-', short, b',', ..] => (Some(*short as char), spelled.split_at(4).1),
        _ => (None, spelled),
    };
    let (_dashes, long) = long.split_at(2);
    let (long, repeats) = match long.as_bytes() {
        [.., b'.', b'.', b'.'] => (long.split_at(long.len() - 3).0, true),
        _ => (long, false),
    };
    let (name, value) = match blank(long) {
        Some(at) => {
            let (_bracket, value) = long.split_at(at + 2);
            (long.split_at(at).0, Some(value.split_at(value.len() - 1).0))
        }
        None => (long, None),
    };
    Flag {
        name,
        short,
        value,
        alone: None,
        repeats,
        default: None,
        reach: Reach::Behavior,
        next: Next::Repeated,
        help,
    }
}

/// Position of the first blank.
const fn blank(text: &str) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        if text.as_bytes()[at] == b' ' {
            return Some(at);
        }
        at += 1;
    }
    None
}

impl Flag {
    pub(crate) const fn alone(mut self, value: &'static str) -> Self {
        self.alone = Some(value);
        self
    }

    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    pub(crate) const fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    pub(crate) const fn next(mut self, next: Next) -> Self {
        self.next = next;
        self
    }

    /// Not repeated: it is about the output, or about this call alone.
    pub(crate) const fn once(self) -> Self {
        self.next(Next::LeftOut)
    }

    pub(crate) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}
