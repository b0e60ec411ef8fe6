//! Parameters that are words of a list: `require_auth` (the methods by which a server may authenticate this client),
//! `channel_binding`, `load_balance_hosts`, `target_session_attrs`. Must not exchange messages.
//!
//! Without it, every implemented method is allowed, except a plain-text password without TLS, which any process
//! listening at the address could request. libpq would send it.

use highwater_model::user_error::UserError;

/// An authentication method, in libpq's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Method {
    /// The password in clear text.
    Password,
    Md5,
    ScramSha256,
    /// The server accepts the client without a request, or by its certificate.
    None,
    Gss,
    Sspi,
    Oauth,
}

const METHODS: [(&str, Method); 7] = [
    ("password", Method::Password),
    ("md5", Method::Md5),
    ("scram-sha-256", Method::ScramSha256),
    ("none", Method::None),
    ("gss", Method::Gss),
    ("sspi", Method::Sspi),
    ("oauth", Method::Oauth),
];

/// The methods that a login allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct RequiredAuth {
    /// The named methods, or all except them.
    named: Option<(bool, Vec<Method>)>,
}

impl Method {
    pub(in super::super) fn name(self) -> &'static str {
        let mut known = METHODS.iter();
        known.find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }

    fn is_implemented(self) -> bool {
        !matches!(self, Self::Gss | Self::Sspi | Self::Oauth)
    }
}

impl RequiredAuth {
    /// Parses libpq's list: names, or names that all begin with `!`.
    pub(super) fn parse(text: &str) -> Result<Self, UserError> {
        let failed = |cause: &str| {
            let names: Vec<&str> = METHODS.iter().map(|(name, _)| *name).collect();
            let hint = format!(
                "require_auth is a list of {}, or of methods to exclude, each after a `!`",
                names.join(", ")
            );
            UserError::usage(format!("`require_auth={text}`: {cause}")).with_hint(hint)
        };
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        let excludes = words.iter().filter(|word| word.starts_with('!')).count();
        if excludes > 0 && excludes < words.len() {
            return Err(failed("it names methods and excludes others"));
        }
        let mut methods = Vec::new();
        for word in words {
            let name = word.trim_start_matches('!');
            let found = METHODS.iter().find(|(known, _)| *known == name);
            let (_, method) = found.ok_or_else(|| failed(&format!("`{name}` is not known")))?;
            if methods.contains(method) {
                return Err(failed(&format!("`{name}` is named twice")));
            }
            methods.push(*method);
        }
        let required = Self { named: Some((excludes == 0, methods)) };
        let mut implemented = METHODS.iter().map(|(_, method)| *method);
        if !implemented.any(|method| method.is_implemented() && required.takes(method)) {
            return Err(failed("Highwater implements none of what is left"));
        }
        Ok(required)
    }

    fn takes(&self, method: Method) -> bool {
        self.named
            .as_ref()
            .is_none_or(|(are_taken, methods)| methods.contains(&method) == *are_taken)
    }

    /// Why the server may not use this method; `encrypted` means that TLS is used.
    pub(in super::super) fn check(&self, method: Method, encrypted: bool) -> Result<(), Refusal> {
        if !self.takes(method) {
            return Err(Refusal::NotTaken(method));
        }
        let is_named = matches!(&self.named, Some((true, _)));
        if method == Method::Password && !encrypted && !is_named {
            return Err(Refusal::ClearText);
        }
        Ok(())
    }
}

/// Why a server's authentication request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Refusal {
    /// `require_auth` does not allow it.
    NotTaken(Method),
    /// The password would be sent unencrypted.
    ClearText,
}

impl Refusal {
    /// Converts it to the error of a connection to `place`; nothing was sent.
    pub(in super::super) fn into_error(self, place: &str) -> UserError {
        match self {
            Self::NotTaken(Method::None) => UserError::refused(format!(
                "{place}: the server requires no authentication, which `require_auth` excludes"
            ))
            .with_hint("correct the URL, or require_auth (PGREQUIREAUTH)"),
            Self::NotTaken(method) => UserError::refused(format!(
                "{place}: the server requires the authentication method `{}`, which `require_auth` excludes",
                method.name()
            ))
            .with_hint("correct the URL, or require_auth (PGREQUIREAUTH)"),
            Self::ClearText => UserError::refused(format!(
                "{place}: the server requires the password in clear text, and the connection is not encrypted"
            ))
            .with_hint(
                "use TLS (`?sslmode=require`), or send it all the same (`?require_auth=password`, or \
                 PGREQUIREAUTH)",
            ),
        }
    }
}

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
    pub(super) fn parse(text: &str) -> Result<Self, UserError> {
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
    pub(super) fn parse(text: &str) -> Result<Self, UserError> {
        let words = [("disable", Self::AsGiven), ("random", Self::Random)];
        word("load_balance_hosts", text, &words)
    }
}

impl Binding {
    pub(super) fn parse(text: &str) -> Result<Self, UserError> {
        let words =
            [("disable", Self::Disable), ("prefer", Self::Prefer), ("require", Self::Require)];
        word("channel_binding", text, &words)
    }
}

fn word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, UserError> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        UserError::usage(format!("`{name}={text}` is not known"))
            .with_hint(format!("{name} is one of {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_methods_or_excludes_them() {
        let required = RequiredAuth::parse("scram-sha-256,md5").unwrap();
        assert_eq!(required.check(Method::Md5, false), Ok(()));
        let refused = required.check(Method::Password, true);
        assert_eq!(refused, Err(Refusal::NotTaken(Method::Password)));
        let required = RequiredAuth::parse("!password,!none").unwrap();
        assert_eq!(required.check(Method::ScramSha256, false), Ok(()));
        assert!(required.check(Method::None, true).is_err());
        for wrong in [
            "",
            "md5,!none",
            "pasword",
            "md5,md5",
            "gss,sspi",
            "!password,!md5,!scram-sha-256,!none",
        ] {
            assert!(RequiredAuth::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_password_in_clear_text_needs_tls_or_its_name() {
        for (list, encrypted, taken) in [
            (None, true, true),
            (None, false, false),
            (Some("password"), false, true),
            (Some("scram-sha-256,password"), false, true),
            // Excluding only MD5 does not allow sending a readable password.
            (Some("!md5"), false, false),
            (Some("!md5"), true, true),
        ] {
            let required =
                list.map_or(RequiredAuth::default(), |list| RequiredAuth::parse(list).unwrap());
            let checked = required.check(Method::Password, encrypted);
            assert_eq!(checked.is_ok(), taken, "{list:?} {encrypted}");
        }
    }
}
