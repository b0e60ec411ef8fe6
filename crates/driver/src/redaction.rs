//! Removes passwords and tokens from text that may contain a URL: command-line arguments and messages.
//!
//! Works on plain text without parsing URLs, because texts with secrets are often not valid URLs. It rather hides too
//! much: everything from the first `:` after the scheme to the last `@` of a word. Secrets of this run are also removed
//! from a server's texts, wherever they occur. Must not fail on any text.

use std::sync::{PoisonError, RwLock};

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
    // Also in the form that it has in a text of one line.
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
    fn secrets_of_this_run_are_hidden_wherever_a_server_says_them() {
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
        fn no_text_makes_it_fail(text in "\\PC*|[:/@?&=`' ☃a]*") {
            let shown = without_passwords(&text);
            prop_assert!(text.contains(['@', '=']) || shown == text, "{text} -> {shown}");
        }
    }
}
