//! Target URLs: `scheme:`, `scheme:PATH`, `scheme://[user[:password]@]host[:port][,…][/path][?k=v&…]`.
//!
//! A password leaves this module only as a [`Secret`], whose `Debug` and `Display` hide it.
//!
//! Passwords and tokens are removed from text that may contain a URL: command-line arguments and messages. This works
//! on plain text without parsing URLs, because texts with secrets are often not valid URLs. It prefers to hide too
//! much: everything from the first `:` after the scheme to the last `@` of a word. Secrets of this run are also
//! removed from a server's texts, wherever they occur.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

/// Characters that must be escaped in a URL parameter's value.
const RESERVED: &AsciiSet = &CONTROLS.add(b' ').add(b'&').add(b'#').add(b'%').add(b'+').add(b'"');

/// Reads the environment; a function, so that tests need no process-wide state.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A value that never appears in text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Wraps a value from a file, and removes it from servers' texts.
    pub fn of_this_run(value: String) -> Self {
        remember(&value);
        Self(value)
    }

    /// The value, for the wire only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// A parsed target URL. Its `Display` omits the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl {
    /// Lower case, without the colon.
    pub scheme: String,
    /// User, percent-decoded.
    pub user: Option<String>,
    /// Password, percent-decoded.
    pub password: Option<Secret>,
    /// Hosts in order; empty for `scheme:PATH`.
    pub hosts: Vec<Host>,
    /// The text after the hosts, without the leading slash, percent-decoded; for `scheme:PATH`, the path.
    pub path: String,
    /// Parameters, percent-decoded.
    pub parameters: BTreeMap<String, String>,
}

/// One host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name or address, IPv6 without its brackets.
    pub name: String,
    /// Port, if the URL has one.
    pub port: Option<u16>,
}

impl Host {
    /// A host with this port.
    pub fn at(name: &str, port: u16) -> Self {
        Self { name: name.to_owned(), port: Some(port) }
    }

    /// A host with the default port.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), port: None }
    }
}

impl TargetUrl {
    /// Fails if the URL has a parameter that the target does not know.
    pub fn check_parameters(&self, known: &[&str]) -> Result<(), UserError> {
        let mut given = self.parameters.keys();
        match given.find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                Err(UserError::usage(format!("target `{self}`: unknown parameter `{name}`"))
                    .with_hint(format!("known parameters are {}", known.join(", "))))
            }
        }
    }

    /// A parameter that has a value.
    pub fn parameter(&self, name: &str) -> Option<&String> {
        self.parameters.get(name).filter(|value| !value.is_empty())
    }

    /// The user, from before the hosts or from a parameter.
    pub fn named_user(&self) -> Option<String> {
        let user = self.user.clone().filter(|user| !user.is_empty());
        user.or_else(|| self.parameter("user").cloned())
    }

    /// The password, from before the hosts or from a parameter, or else from an environment variable.
    pub fn password_or(&self, variable: Option<String>) -> Option<Secret> {
        let parameter = || self.parameter("password").cloned();
        let password = self.password.clone();
        password.or_else(|| parameter().or(variable).map(Secret::new))
    }

    /// The parameter `connect_timeout`, in whole seconds.
    pub fn connect_timeout(&self, default: Nanos) -> Result<Nanos, UserError> {
        let given = self.parameter("connect_timeout");
        connect_timeout(given.map(String::as_str), default)
    }

    /// Reads the URLs of one target.
    pub fn parse_all(texts: &[String]) -> Result<Vec<Self>, UserError> {
        texts.iter().map(|text| Self::parse(text)).collect()
    }

    /// Parses a URL. Errors never quote text that may be part of a password.
    pub fn parse(text: &str) -> Result<Self, UserError> {
        let found = text.split_once(':').filter(|(scheme, _)| is_scheme(scheme.as_bytes()));
        let (scheme, rest) = found.ok_or_else(|| {
            let shown = redacted(text).unwrap_or_else(|| text.to_owned());
            UserError::usage(format!("target `{shown}` is not a URL"))
                .with_hint("a target looks like `scheme:PATH` or `scheme://host:port/name`")
        })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = rest.strip_prefix("//");
        // Nothing of such a text may be shown: any part of it may belong to the password.
        if rest.contains(':') && (query.contains('@') || authority.is_none() && rest.contains('@'))
        {
            return Err(unclear_password(scheme, authority.is_some()));
        }
        let mut url = Self {
            scheme: scheme.to_ascii_lowercase(),
            user: None,
            password: None,
            hosts: Vec::new(),
            path: String::new(),
            parameters: parse_parameters(query),
        };
        match authority {
            None => url.path = decode(rest),
            Some(authority) => url.parse_authority(authority)?,
        }
        Ok(url)
    }

    /// Parameters as in a URL, after `first`, without `server_parameters`, which are elsewhere in it. The password is
    /// omitted, so that the result can be used again.
    pub fn parameters_but(&self, server_parameters: &[&str], first: char) -> String {
        let mut text = String::new();
        for (name, value) in &self.parameters {
            if server_parameters.contains(&name.as_str()) || is_secret(name) || value.is_empty() {
                continue;
            }
            text.push(if text.is_empty() { first } else { '&' });
            text.push_str(&format!("{name}={}", utf8_percent_encode(value, RESERVED)));
        }
        text
    }

    fn parse_authority(&mut self, text: &str) -> Result<(), UserError> {
        // The last `@` before the path ends the user part, so that a raw `@` in a password works.
        let path_start = text.rfind('@').map_or(0, |at| at + 1);
        let slash = text[path_start..].find('/').map_or(text.len(), |i| path_start + i);
        let (authority, path) = text.split_at(slash);
        self.path = decode(path.strip_prefix('/').unwrap_or(path));
        let hosts = match authority.rsplit_once('@') {
            None => authority,
            Some((user, hosts)) => {
                let (name, password) = halves(user);
                self.user = Some(decode(name));
                self.password = password.map(|password| Secret::new(decode(password)));
                hosts
            }
        };
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            self.hosts.push(parse_host(host)?);
        }
        Ok(())
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme)?;
        if self.hosts.is_empty() && self.user.is_none() {
            f.write_str(&self.path)?;
        } else {
            f.write_str("//")?;
            if let Some(user) = &self.user {
                write!(f, "{user}@")?;
            }
            let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
            write!(f, "{}", hosts.join(","))?;
            if !self.path.is_empty() {
                write!(f, "/{}", self.path)?;
            }
        }
        for (position, (name, value)) in self.parameters.iter().enumerate() {
            let separator = if position == 0 { '?' } else { '&' };
            let shown = if is_secret(name) { "***" } else { value };
            write!(f, "{separator}{name}={shown}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracketed = self.name.contains(':');
        match (bracketed, self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.name),
            (true, None) => write!(f, "[{}]", self.name),
            (false, Some(port)) => write!(f, "{}:{port}", self.name),
            (false, None) => f.write_str(&self.name),
        }
    }
}

/// The time limit from libpq's `connect_timeout`, in whole seconds; the default if there is none.
pub fn connect_timeout(given: Option<&str>, default: Nanos) -> Result<Nanos, UserError> {
    let Some(text) = given else {
        return Ok(default);
    };
    match text.trim().parse::<i64>().map(u64::try_from) {
        // libpq then waits forever; Highwater's waits are all limited.
        Ok(Err(_) | Ok(0)) => Ok(default),
        Ok(Ok(seconds)) => Ok(Nanos::from_secs(seconds)),
        Err(_) => Err(UserError::usage(format!("`connect_timeout={text}` is not a number"))
            .with_hint("connect_timeout is in whole seconds")),
    }
}

/// According to RFC 3986, section 3.1.
fn is_scheme(text: &[u8]) -> bool {
    let within = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    text.first().is_some_and(u8::is_ascii_alphabetic) && text.iter().all(within)
}

fn unclear_password(scheme: &str, with_host: bool) -> UserError {
    let (cause, hint) = if with_host {
        (
            "has an `@` behind its `?`",
            "percent-encode `?` in a password (%3F), and `@` in a parameter (%40)",
        )
    } else {
        (
            "has a user and a password, but no `//`",
            "write `scheme://user:password@host`; in a path, percent-encode `@` (%40)",
        )
    };
    UserError::usage(format!("the target `{scheme}:…` {cause}")).with_hint(hint)
}

/// The text before a colon, and the text after it, if there is one.
fn halves(text: &str) -> (&str, Option<&str>) {
    let halves = text.split_once(':');
    halves.map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn parse_host(text: &str) -> Result<Host, UserError> {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => halves(text),
    };
    let port = port
        .map(|port| {
            port.parse::<u16>().map_err(|_| {
                UserError::usage(format!("`{port}` is not a port in the target's host `{name}`"))
                    .with_hint("a port is a number from 1 to 65535; percent-encode `@`, `:` and `/` in a password")
            })
        })
        .transpose()?;
    Ok(Host { name: decode(name), port })
}

fn parse_parameters(query: &str) -> BTreeMap<String, String> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Replaces hidden text.
const HIDDEN: &str = "***";
/// A parameter whose name contains one of these has a secret value.
const SECRET_PARTS: [&str; 9] =
    ["password", "passwd", "pwd", "token", "secret", "apikey", "api_key", "api-key", "credential"];
/// A parameter with exactly one of these names has a secret value.
const SECRET_NAMES: [&str; 6] = ["auth", "key", "pass", "sig", "signature", "access_key"];

/// Secrets with which this process opened its targets; enough for the hosts of a large cluster.
static OF_THIS_RUN: RwLock<Vec<String>> = RwLock::new(Vec::new());
const REMEMBERED_MAX: usize = 4_096;
/// Marks a truncated text.
const CUT: char = '…';

/// Remembers a secret of this run, so that it is removed from servers' texts.
pub fn remember(secret: &str) {
    let mut all = OF_THIS_RUN.write().unwrap_or_else(PoisonError::into_inner);
    // Also in its form within a one-line text.
    let words: Vec<&str> = secret.split_whitespace().collect();
    for form in [secret.to_owned(), words.join(" ")] {
        if !form.is_empty() && all.len() < REMEMBERED_MAX && !all.contains(&form) {
            all.push(form);
        }
    }
    // Longest first, so that a secret containing another one is hidden completely.
    all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
}

/// Removes this run's secrets from a server's text. Only for text on which no decision depends: a password may be `1`.
pub fn without_secrets(text: String) -> String {
    let all = OF_THIS_RUN.read().unwrap_or_else(PoisonError::into_inner);
    hidden(text, &all)
}

fn hidden(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN);
        }
        // The beginning of a secret, if the text was truncated within it.
        if let Some(shown) = text.strip_suffix(CUT) {
            let begin = secret
                .char_indices()
                .skip(1)
                .map(|(end, _)| &secret[..end])
                .filter(|begin| shown.ends_with(begin))
                .last();
            if let Some(shown) = begin.and_then(|begin| shown.strip_suffix(begin)) {
                text = format!("{shown}{HIDDEN}{CUT}");
            }
        }
    }
    text
}

/// Whether a URL parameter of this name contains a secret.
pub fn is_secret(parameter: &str) -> bool {
    let name = parameter.to_ascii_lowercase();
    sounds_secret(&name) || SECRET_NAMES.contains(&name.as_str())
}

fn sounds_secret(name: &str) -> bool {
    SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// The word without its password and the values of secret parameters; `None` if it has none.
///
/// The word may contain blanks: a password may contain anything.
pub fn redacted(word: &str) -> Option<String> {
    // Parameters first: their hidden values may contain a `@`.
    let without_parameters = hide_parameters(word);
    let shown = without_parameters.as_deref().unwrap_or(word);
    hide_password(shown).or(without_parameters)
}

/// Removes the passwords and tokens of all words of the text. Text between backquotes is one word; everything else is
/// split at white space and quotes.
pub fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, quoted, after)) = next_quoted(rest) {
        shown.push_str(&plain_words(before));
        shown.push('`');
        shown.push_str(redacted(quoted).as_deref().unwrap_or(quoted));
        shown.push('`');
        rest = after;
    }
    shown + &plain_words(rest)
}

/// The text before, between, and after the next two backquotes.
fn next_quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (quoted, after) = rest.split_once('`')?;
    Some((before, quoted, after))
}

fn plain_words(text: &str) -> String {
    let separates = |c: char| c.is_whitespace() || "`'\"“”".contains(c);
    text.split_inclusive(separates)
        .map(|piece| {
            let (word, separator) = piece.split_at(piece.trim_end_matches(separates).len());
            redacted(word).map_or_else(|| piece.to_owned(), |clean| clean + separator)
        })
        .collect()
}

/// Hides the text between the first `:` and the last `@`; the `:` of a first `://` does not count.
fn hide_password(word: &str) -> Option<String> {
    let (before, host) = word.rsplit_once('@')?;
    let scheme = before.find(':').filter(|at| before[at + 1..].starts_with("//"));
    let user = scheme.map_or(0, |at| at + 1);
    let colon = user + before[user..].find(':')?;
    let hidden = if scheme.is_some() { "" } else { ":***" };
    Some(format!("{}{hidden}@{host}", &before[..colon]))
}

/// Hides everything after the first secret parameter: its value may contain a `&`.
fn hide_parameters(word: &str) -> Option<String> {
    let mut start = 0;
    let mut in_query = false;
    for part in word.split_inclusive(|c: char| "?&;".contains(c) || c.is_whitespace()) {
        let name = part.split_once('=').map(|(name, _)| name);
        if let Some(name) = name.filter(|name| {
            sounds_secret(&name.to_ascii_lowercase()) || (in_query && is_secret(name))
        }) {
            let value = start + name.len() + 1;
            let shown = &word[..value];
            return (value < word.len()).then(|| format!("{shown}{HIDDEN}"));
        }
        in_query |= part.ends_with(['?', '&']);
        start += part.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_can_be_used_again_and_hold_no_password() {
        let text = "db://u@h?user=u&password=abc&sslmode=require&options=-c a%3Db%26c&gzip=";
        let url = TargetUrl::parse(text).unwrap();
        let shown = url.parameters_but(&["user"], '?');
        assert_eq!(shown, "?options=-c%20a=b%26c&sslmode=require");
        let again = TargetUrl::parse(&format!("db://u@h{shown}")).unwrap();
        assert_eq!(again.parameters["options"], url.parameters["options"]);
        let server_parameters = ["user", "sslmode", "options"];
        assert_eq!(url.parameters_but(&server_parameters, '&'), "");
    }

    #[test]
    fn urls_parse_and_print_without_their_password() {
        for (given, printed) in [
            ("sim:", "sim:"),
            ("sim:?nodes=3", "sim:?nodes=3"),
            ("file:a/b.db", "file:a/b.db"),
            ("db://u:p@h:1,h2,[::1]:3/name?x=1", "db://u@h:1,h2,[::1]:3/name?x=1"),
            ("db://u:p%40ss@h/n", "db://u@h/n"),
            ("db://u:p@ss/w@h/n", "db://u@h/n"),
            ("db://h/n?password=abc", "db://h/n?password=***"),
            ("db://h/n?token=abc", "db://h/n?token=***"),
        ] {
            assert_eq!(TargetUrl::parse(given).unwrap().to_string(), printed);
        }
        let url = TargetUrl::parse("db://u:p%40ss@h/n").unwrap();
        assert_eq!(url.password.unwrap().reveal(), "p@ss");
    }

    #[test]
    fn a_wrong_port_is_named_and_the_password_is_not() {
        let error = TargetUrl::parse("db://u:geheim@h:99999/n").unwrap_err();
        assert!(error.message.contains("99999"));
        assert!(!format!("{error:?}").contains("geheim"));
    }

    #[test]
    fn possible_parts_of_a_password_are_not_quoted() {
        for text in [
            "crate☃://u:geheim@h",
            "postgres//u:geheim@h/d",
            "postgres:u:geheim@h/d",
            "postgres:/u:geheim@h/d",
            "host=h password=geheim",
            "db://u:ge?geheim@h/n",
            "db://u:12?geheim=1@h/n",
        ] {
            let error = TargetUrl::parse(text).unwrap_err();
            assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
        }
    }

    const SECRET: &str = "S3cr3tW0rd";

    #[test]
    fn passwords_and_tokens_do_not_reach_the_text() {
        for (given, shown) in [
            ("bad `db://u:geheim@h/n` here", "bad `db://u@h/n` here"),
            ("--rate=db://u:geheim@h", "--rate=db://u@h"),
            ("db://h?password=geheim", "db://h?password=***"),
            ("db://h?Token=geheim&x=1", "db://h?Token=***"),
            ("db://u:geheim@h:99999/n", "db://u@h:99999/n"),
            ("crate☃://u:geheim@h", "crate☃://u@h"),
            ("postgres//u:geheim@h/d", "postgres//u:***@h/d"),
            ("postgres:/u:ge//heim@h/d", "postgres:***@h/d"),
            ("`db://u:ge he'im@h`", "`db://u@h`"),
            ("`host=h password=geheim`", "`host=h password=***`"),
            ("db://u@h/n stays", "db://u@h/n stays"),
            ("db://h:1/n?key=*** stays", "db://h:1/n?key=*** stays"),
            ("`KEY=VALUE` stays", "`KEY=VALUE` stays"),
            ("http://h/?a=1&key=geheim", "http://h/?a=1&key=***"),
            ("nothing: to @ hide", "nothing: to @ hide"),
            ("queries@10c stays", "queries@10c stays"),
        ] {
            assert_eq!(without_passwords(given), shown);
        }
    }

    #[test]
    fn secrets_of_this_run_are_hidden_in_all_server_messages() {
        let secrets = ["ge heim".to_owned(), "geheim".to_owned(), "1".to_owned()];
        for (given, shown) in [
            ("no role for geheim here", "no role for *** here"),
            ("xgeheimx, ge heim", "x***x, ***"),
            ("relation 1 of 21", "relation *** of 2***"),
            ("cut in ge…", "cut in ***…"),
            ("cut in gehei…", "cut in ***…"),
            ("not cut in gehei", "not cut in gehei"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(hidden(given.to_owned(), &secrets), shown);
        }
        assert_eq!(hidden("a".to_owned(), &[]), "a");
        remember("S3cr3t  of this\nrun");
        let said = "the password is S3cr3t of this run".to_owned();
        assert_eq!(without_secrets(said), "the password is ***");
    }

    proptest! {
        /// A URL's password is never shown, whatever surrounds it.
        #[test]
        fn a_planted_password_is_never_shown(
            scheme in "\\PC{0,12}",
            slashes in "[:/]{0,4}",
            before in "\\PC{0,8}",
            after in "\\PC{0,8}",
            end in "\\PC{0,12}",
        ) {
            let url = format!("{scheme}{slashes}u:x{before}{SECRET}{after}@{end}");
            let shown = redacted(&url).unwrap_or_default();
            prop_assert!(!shown.contains(SECRET), "{url} -> {shown}");
            let parameter = format!("{scheme}?token={before}{SECRET}{after}");
            let shown = redacted(&parameter).unwrap_or_default();
            prop_assert!(!shown.contains(SECRET), "{parameter} -> {shown}");
        }

        #[test]
        fn no_text_causes_a_panic(text in "\\PC*|[:/@?&=`' ☃a]*") {
            let shown = without_passwords(&text);
            prop_assert!(text.contains(['@', '=']) || shown == text, "{text} -> {shown}");
        }
    }
}
