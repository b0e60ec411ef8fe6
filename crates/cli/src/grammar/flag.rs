//! One flag: its names, its value and its help. Must not hold any command's list of flags.

use crate::layers::Next;

/// What a setting reaches, by which it is decided where it may come from. The greater, the fewer origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// No more than what the command does: from anywhere.
    Behavior,
    /// A file or a directory: from the working directory's file only one in that directory.
    File,
    /// A target, what is polled, a sink, who is let in, tables of others, storage of new tables: not from the working
    /// directory's file.
    Outside,
    /// It runs commands: from the command line, or from a file that `--config` names there.
    Shell,
    /// The file of settings itself: from the command line.
    Settings,
}

/// A flag, and at the same time a setting of files and of the environment.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Long name without dashes.
    pub name: &'static str,
    /// Short name.
    pub short: Option<char>,
    /// Placeholder of its value in the help; `None` for a switch.
    pub value: Option<&'static str>,
    /// What it means without a value; a value then follows `=`. `None`: a value must follow.
    pub alone: Option<&'static str>,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// The default as text, parsed like any other value, so that the help cannot drift.
    pub default: Option<&'static str>,
    /// What it reaches.
    pub reach: Reach,
    /// What becomes of it in a command that repeats or continues a run, such as that after `next:`.
    pub next: Next,
    /// One or two sentences with the unit, and with the default where it is a rule, not a text.
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
        next: Next::LeftOut,
        help,
    }
}

/// Where the first blank is.
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

    /// Repeated as it was given.
    pub(crate) const fn repeated(self) -> Self {
        match self.value {
            Some(_) => self.next(Next::Repeated),
            None => self.next(Next::RepeatedSwitch),
        }
    }

    pub(crate) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}
