//! Parameters with a fixed set of libpq's values. Must not look anything up.

use highwater_driver::contract::TargetError;

/// `target_session_attrs`: which servers are acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum SessionAttributes {
    /// Any server.
    Any,
    /// Servers whose sessions may write.
    ReadWrite,
    /// Servers whose sessions may not write.
    ReadOnly,
    /// Servers other than standbys.
    Primary,
    /// Standbys.
    Standby,
    /// A standby if there is one, otherwise any.
    PreferStandby,
}

/// `load_balance_hosts`: the first host that a session tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum HostOrder {
    /// Not given: each session starts at the host after the previous session's.
    InTurn,
    /// `disable`: the first host.
    AsGiven,
    /// `random`.
    Random,
}

/// `channel_binding`: whether authentication is bound to the TLS connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Binding {
    /// Never.
    Disable,
    /// If the server offers it.
    Prefer,
    /// Always; otherwise, connecting fails.
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
