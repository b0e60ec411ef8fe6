//! One flag: its names, its value and its help. Must not hold any command's list of flags.

/// A flag, and at the same time a setting of `highwater.toml` and of the environment.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Long name without dashes.
    pub name: &'static str,
    /// Short name.
    pub short: Option<char>,
    /// A retired long name. It still works, also in the file and in the environment, but no help
    /// text or completion shows it.
    pub old_name: Option<&'static str>,
    /// Placeholder of its value in the help; `None` for a switch.
    pub value: Option<&'static str>,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// The default as text, parsed like any other value, so that the help cannot drift.
    pub default: Option<&'static str>,
    /// Heading of the help that lists it.
    pub heading: &'static str,
    /// One or two sentences with the unit, and with the default where it is a rule, not a text.
    pub help: &'static str,
}

pub(super) const fn value(name: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        short: None,
        old_name: None,
        value: Some(value),
        repeats: false,
        default: None,
        heading: "",
        help,
    }
}

pub(super) const fn switch(name: &'static str, help: &'static str) -> Flag {
    Flag {
        value: None,
        ..value(name, "", help)
    }
}

impl Flag {
    pub(super) const fn short(self, short: char) -> Self {
        Self {
            short: Some(short),
            ..self
        }
    }

    pub(super) const fn old_name(self, old_name: &'static str) -> Self {
        Self {
            old_name: Some(old_name),
            ..self
        }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    pub(super) const fn repeats(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    pub(super) const fn under(self, heading: &'static str) -> Self {
        Self { heading, ..self }
    }
}
