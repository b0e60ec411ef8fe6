//! Parameters whose values are words of libpq. Must not look anything up.

use highwater_driver::contract::TargetError;

/// `target_session_attrs`: which servers are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum SessionAttributes {
    /// Every one.
    Any,
    /// Those whose sessions may write.
    ReadWrite,
    /// Those whose sessions may not.
    ReadOnly,
    /// Those that are no standby.
    Primary,
    /// Standbys.
    Standby,
    /// A standby if there is one, else any.
    PreferStandby,
}

/// `load_balance_hosts`: where a session begins to look for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum HostOrder {
    /// Not given: each session at the host after that of the session before it.
    InTurn,
    /// `disable`: at the first host.
    AsGiven,
    /// `random`.
    Random,
}

/// `channel_binding`: whether authentication is tied to the TLS connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Binding {
    /// Never.
    Disable,
    /// Where the server offers it.
    Prefer,
    /// Or there is no connection.
    Require,
}

impl SessionAttributes {
    pub(super) fn parse(text: &str) -> Result<Self, TargetError> {
        let words = [
            ("any", Self::Any),
            ("read-write", Self::ReadWrite),
            ("read-only", Self::ReadOnly),
            ("primary", Self::Primary),
            ("standby", Self::Standby),
            ("prefer-standby", Self::PreferStandby),
        ];
        word("target_session_attrs", text, &words)
    }
}

impl HostOrder {
    pub(super) fn parse(text: &str) -> Result<Self, TargetError> {
        let words = [("disable", Self::AsGiven), ("random", Self::Random)];
        word("load_balance_hosts", text, &words)
    }
}

impl Binding {
    pub(super) fn parse(text: &str) -> Result<Self, TargetError> {
        let words =
            [("disable", Self::Disable), ("prefer", Self::Prefer), ("require", Self::Require)];
        word("channel_binding", text, &words)
    }
}

fn word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, TargetError> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        TargetError::usage(format!("`{name}={text}` is not known"))
            .with_hint(format!("{name} is one of {}", known.join(", ")))
    })
}
