//! libpq's parameters: which of them are supported, and the source of each value.
//!
//! The order is libpq's: the URL, the service that it or `PGSERVICE` names, the environment. An unsupported parameter
//! is rejected with the reason, whatever its source. Must not know the meaning of values.
//!
//! Parameters that are words of a list: `require_auth` (the methods by which a server may authenticate this client),
//! `channel_binding`, `load_balance_hosts`, `target_session_attrs`. Without it, every implemented method is allowed,
//! except a plain-text password without TLS, which any process listening at the address could request. libpq would send
//! it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_driver::target_url::{Environment, TargetUrl, is_secret, remember};
use highwater_model::user_error::UserError;

/// How a parameter is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As by libpq.
    Obeyed,
    /// Only these values are accepted, because they match the behavior; others are rejected for this reason.
    Only(&'static [&'static str], &'static str),
    /// Any value is rejected for this reason.
    Refused(&'static str),
}

/// A parameter of libpq.
struct Parameter {
    /// Name in a URL and in a service file; empty if it is only a variable.
    name: &'static str,
    /// Environment variable; empty if there is none.
    variable: &'static str,
    rule: Rule,
}

const fn obeyed(name: &'static str, variable: &'static str) -> Parameter {
    parameter(name, variable, Rule::Obeyed)
}

const fn parameter(name: &'static str, variable: &'static str, rule: Rule) -> Parameter {
    Parameter { name, variable, rule }
}

const NO_GSS: &str = "Highwater does not implement GSSAPI";
const NO_SNI: &str = "Highwater always sends the host name in the TLS handshake";
const NO_REVOCATION: &str = "Highwater does not read certificate revocation lists";
const NO_VERSIONS: &str = "Highwater negotiates TLS 1.2 or 1.3";
const NO_PROTOCOL: &str = "Highwater implements version 3.0 of the protocol";
const NO_OAUTH: &str = "Highwater does not implement OAuth";
const NO_KEYS: &str = "Highwater derives SCRAM keys from the password";
const OFF: &[&str] = &["0", "off", "false", "no"];

/// All parameters that libpq documents, up to version 18.
const PARAMETERS: &[Parameter] = &[
    obeyed("application_name", "PGAPPNAME"),
    obeyed("channel_binding", "PGCHANNELBINDING"),
    parameter(
        "client_encoding",
        "PGCLIENTENCODING",
        Rule::Only(&["auto", "utf8", "utf-8", "unicode"], "Highwater sends and reads UTF-8"),
    ),
    obeyed("connect_timeout", "PGCONNECT_TIMEOUT"),
    obeyed("dbname", "PGDATABASE"),
    obeyed("fallback_application_name", ""),
    parameter("gssdelegation", "PGGSSDELEGATION", Rule::Only(OFF, NO_GSS)),
    parameter("gssencmode", "PGGSSENCMODE", Rule::Only(&["disable", "prefer"], NO_GSS)),
    parameter("gsslib", "PGGSSLIB", Rule::Only(&["gssapi"], NO_GSS)),
    obeyed("host", "PGHOST"),
    obeyed("hostaddr", "PGHOSTADDR"),
    obeyed("keepalives", ""),
    obeyed("keepalives_count", ""),
    obeyed("keepalives_idle", ""),
    obeyed("keepalives_interval", ""),
    parameter("krbsrvname", "PGKRBSRVNAME", Rule::Only(&["postgres"], NO_GSS)),
    obeyed("load_balance_hosts", "PGLOADBALANCEHOSTS"),
    parameter(
        "max_protocol_version",
        "PGMAXPROTOCOLVERSION",
        Rule::Only(&["3.0", "3.2", "latest"], NO_PROTOCOL),
    ),
    parameter("min_protocol_version", "PGMINPROTOCOLVERSION", Rule::Only(&["3.0"], NO_PROTOCOL)),
    parameter("oauth_client_id", "", Rule::Refused(NO_OAUTH)),
    parameter("oauth_client_secret", "", Rule::Refused(NO_OAUTH)),
    parameter("oauth_issuer", "", Rule::Refused(NO_OAUTH)),
    parameter("oauth_scope", "", Rule::Refused(NO_OAUTH)),
    obeyed("options", "PGOPTIONS"),
    obeyed("passfile", "PGPASSFILE"),
    obeyed("password", "PGPASSWORD"),
    obeyed("port", "PGPORT"),
    parameter("replication", "", Rule::Only(OFF, "a replication connection takes no load")),
    obeyed("require_auth", "PGREQUIREAUTH"),
    parameter(
        "requirepeer",
        "PGREQUIREPEER",
        Rule::Refused("Highwater does not look up the user of a socket's server"),
    ),
    parameter("scram_client_key", "", Rule::Refused(NO_KEYS)),
    parameter("scram_server_key", "", Rule::Refused(NO_KEYS)),
    obeyed("service", "PGSERVICE"),
    obeyed("servicefile", "PGSERVICEFILE"),
    obeyed("sslcert", "PGSSLCERT"),
    parameter(
        "sslcertmode",
        "PGSSLCERTMODE",
        Rule::Only(
            &["allow"],
            "Highwater presents the certificate of `sslcert` whenever a server requests one",
        ),
    ),
    parameter(
        "sslcompression",
        "PGSSLCOMPRESSION",
        Rule::Only(OFF, "TLS compression is insecure, and not implemented"),
    ),
    parameter("sslcrl", "PGSSLCRL", Rule::Refused(NO_REVOCATION)),
    parameter("sslcrldir", "PGSSLCRLDIR", Rule::Refused(NO_REVOCATION)),
    obeyed("sslkey", "PGSSLKEY"),
    parameter(
        "sslkeylogfile",
        "",
        Rule::Refused("Highwater writes the keys of a connection to no file"),
    ),
    parameter(
        "ssl_max_protocol_version",
        "PGSSLMAXPROTOCOLVERSION",
        Rule::Only(&["TLSv1.3"], NO_VERSIONS),
    ),
    parameter(
        "ssl_min_protocol_version",
        "PGSSLMINPROTOCOLVERSION",
        Rule::Only(&["TLSv1", "TLSv1.1", "TLSv1.2"], NO_VERSIONS),
    ),
    obeyed("sslmode", "PGSSLMODE"),
    parameter(
        "sslnegotiation",
        "PGSSLNEGOTIATION",
        Rule::Only(&["postgres"], "Highwater requests TLS by the protocol's own message"),
    ),
    parameter("sslpassword", "", Rule::Refused("Highwater reads keys without a passphrase only")),
    obeyed("sslrootcert", "PGSSLROOTCERT"),
    parameter("sslsni", "PGSSLSNI", Rule::Only(&["1"], NO_SNI)),
    obeyed("target_session_attrs", "PGTARGETSESSIONATTRS"),
    obeyed("tcp_user_timeout", ""),
    obeyed("user", "PGUSER"),
    obeyed("", "PGGEQO"),
    obeyed("", "PGREQUIRESSL"),
    obeyed("", "PGSYSCONFDIR"),
    parameter(
        "",
        "PGDATESTYLE",
        Rule::Only(
            &["iso", "iso, mdy", "iso, dmy", "iso, ymd"],
            "Highwater reads dates in ISO format",
        ),
    ),
    parameter(
        "",
        "PGTZ",
        Rule::Only(&["utc", "etc/utc", "gmt"], "Highwater's sessions are in UTC"),
    ),
];

/// The settings of one URL and its environment.
pub(super) struct Settings<'a> {
    url: &'a TargetUrl,
    service: BTreeMap<String, String>,
    environment: Environment<'a>,
}

impl<'a> Settings<'a> {
    /// Reads the service file, if one is named.
    ///
    /// # Errors
    ///
    /// An unknown or rejected parameter, or an unreadable service.
    pub(super) fn read(
        url: &'a TargetUrl,
        environment: Environment<'a>,
    ) -> Result<Self, UserError> {
        let named = PARAMETERS.iter().map(|parameter| parameter.name);
        // As in libpq, for URLs written for JDBC.
        let known: Vec<&str> = named.filter(|name| !name.is_empty()).chain(["ssl"]).collect();
        url.check_parameters(&known)?;
        let mut settings = Self { url, service: BTreeMap::new(), environment };
        if let Some(name) = settings.get("service") {
            let file = settings.get("servicefile");
            let found = read(&name, file.as_deref(), environment)?;
            if let Some(unknown) = found.keys().find(|name| !known.contains(&name.as_str())) {
                let cause = format!("service `{name}`: unknown parameter `{unknown}`");
                return Err(UserError::usage(cause).with_hint(known_names(&known)));
            }
            // No other code sees the contents of a service file, and no server's text may show
            // them.
            found.iter().filter(|(name, _)| is_secret(name)).for_each(|(_, value)| remember(value));
            settings.service = found;
        }
        settings.check()?;
        Ok(settings)
    }

    /// The value of a parameter, by its name, or of a variable without a parameter; never empty.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.with_origin(name).map(|(value, _)| value)
    }

    fn with_origin(&self, name: &str) -> Option<(String, String)> {
        let of_url =
            self.url.parameter(name).cloned().map(|value| (value, format!("parameter `{name}`")));
        let of_service = || {
            let value = self.service.get(name).cloned()?;
            Some((value, format!("parameter `{name}` of the service")))
        };
        let of_environment = || {
            let mut known = PARAMETERS.iter();
            let found = known.find(|known| [known.name, known.variable].contains(&name))?;
            let value = (self.environment)(found.variable).filter(|value| !value.is_empty())?;
            Some((value, format!("variable {}", found.variable)))
        };
        of_url.or_else(of_service).or_else(of_environment)
    }

    /// Fails with the first unsupported value.
    fn check(&self) -> Result<(), UserError> {
        for Parameter { name, variable, rule } in PARAMETERS {
            let key = if name.is_empty() { variable } else { name };
            let Some((value, origin)) = self.with_origin(key) else {
                continue;
            };
            let (reason, taken) = match rule {
                Rule::Obeyed => continue,
                Rule::Only(values, _) if values.contains(&value.to_ascii_lowercase().as_str()) => {
                    continue;
                }
                // The names of TLS versions are in mixed case.
                Rule::Only(values, _) if values.contains(&value.as_str()) => continue,
                Rule::Only(values, reason) => (reason, format!("use {}, or ", values.join(", "))),
                Rule::Refused(reason) => (reason, String::new()),
            };
            let shown = if is_secret(key) || taken.is_empty() {
                String::new()
            } else {
                format!(" is `{value}`")
            };
            let cause = format!("target `{}`: {origin}{shown}: {reason}", self.url);
            return Err(UserError::usage(cause).with_hint(format!("{taken}leave it out")));
        }
        Ok(())
    }
}

fn known_names(known: &[&str]) -> String {
    format!("known parameters are {}", known.join(", "))
}

/// Directories of the system's file in Debian's libpq, and elsewhere.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/etc/postgresql-common", "/etc"];
const SYSTEM_FILE: &str = "pg_service.conf";
/// The user's file, in the home directory.
const USER_FILE: &str = ".pg_service.conf";

/// The parameters of a service; `file` is the user's file.
pub(super) fn read(
    service: &str,
    file: Option<&str>,
    environment: Environment<'_>,
) -> Result<BTreeMap<String, String>, UserError> {
    let user = || environment("HOME").map(|home| Path::new(&home).join(USER_FILE));
    let user = file.map(PathBuf::from).or_else(user);
    let system = match environment("PGSYSCONFDIR") {
        Some(directory) => vec![PathBuf::from(directory)],
        None => SYSTEM_DIRECTORIES.map(PathBuf::from).to_vec(),
    };
    let system = system.into_iter().map(|place| place.join(SYSTEM_FILE));
    for (position, path) in user.into_iter().chain(system).enumerate() {
        let is_named = position == 0 && file.is_some();
        if !is_named && !path.exists() {
            continue;
        }
        if let Some(found) = section(service, &path)? {
            return Ok(found);
        }
    }
    let cause = format!("the service `{service}` is defined in no service file");
    Err(UserError::usage(cause)
        .with_hint("define it in ~/.pg_service.conf, or name another file by PGSERVICEFILE"))
}

/// The parameters of a service in a file, if it has the section.
fn section(service: &str, path: &Path) -> Result<Option<BTreeMap<String, String>>, UserError> {
    let failed = |cause: &str| {
        let message = format!("service file `{}`: {cause}", path.display());
        UserError::usage(message).with_hint("PGSERVICEFILE names another file")
    };
    let text = regular_file::read_text(path, WRITTEN_BYTES_MAX)
        .map_err(|error| failed(&error.to_string()))?;
    let mut found: Option<BTreeMap<String, String>> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            let is_it = name.strip_suffix(']') == Some(service);
            found = is_it.then(BTreeMap::new);
            continue;
        }
        let Some(parameters) = &mut found else {
            continue;
        };
        // The line is not quoted: it may contain a password.
        let Some((name, value)) = line.split_once('=') else {
            let cause = format!("line {number} is not `name=value`; LDAP is not looked up");
            return Err(failed(&cause));
        };
        if ["service", "servicefile"].contains(&name) {
            return Err(failed(&format!("line {number}: a service names no other")));
        }
        // As in libpq, the first one counts.
        let entry = parameters.entry(name.to_owned());
        entry.or_insert_with(|| value.to_owned());
    }
    Ok(found)
}

/// An authentication method, in libpq's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
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
pub(crate) struct RequiredAuth {
    /// The named methods, or all except them.
    named: Option<(bool, Vec<Method>)>,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
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
    pub(crate) fn check(&self, method: Method, encrypted: bool) -> Result<(), Refusal> {
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
pub(crate) enum Refusal {
    /// `require_auth` does not allow it.
    NotTaken(Method),
    /// The password would be sent unencrypted.
    ClearText,
}

impl Refusal {
    /// Converts it to the error of a connection to `place`; nothing was sent.
    pub(crate) fn into_error(self, place: &str) -> UserError {
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
pub(crate) enum SessionAttributes {
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
pub(crate) enum HostOrder {
    /// Not given: each session starts at the host after the previous session's.
    InTurn,
    /// `disable`: the first host.
    AsGiven,
    /// `random`.
    Random,
}

/// `channel_binding`: whether authentication is bound to the TLS connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
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
    fn the_documents_name_every_parameter_and_variable() {
        let page = include_str!("../../../../../docs/reference/postgresql.md");
        for parameter in PARAMETERS {
            for word in [parameter.name, parameter.variable] {
                let is_there = word.is_empty() || page.contains(&format!("`{word}`"));
                assert!(is_there, "{word}");
            }
        }
    }

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
