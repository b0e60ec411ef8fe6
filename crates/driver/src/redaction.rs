//! Cuts passwords and tokens out of text that may hold a URL: words of a command line, messages.
//!
//! Works on the text alone and reads no URL, because what is to be hidden is often no valid one. It
//! rather hides too much: between the first `:` behind the scheme and the last `@` of a word nothing
//! is shown. Secrets of this run are cut out of what a server says besides, wherever they stand in it. Must not fail on
//! any text.

use std::sync::{PoisonError, RwLock};

/// Stands in place of what is hidden.
const HIDDEN: &str = "***";
/// A parameter whose name holds one of these has a secret as its value.
const SECRET_PARTS: [&str; 9] =
    ["password", "passwd", "pwd", "token", "secret", "apikey", "api_key", "api-key", "credential"];
/// A parameter of exactly one of these names has a secret as its value.
const SECRET_NAMES: [&str; 6] = ["auth", "key", "pass", "sig", "signature", "access_key"];

/// What the targets of this process were opened with; as many as hosts of a large cluster have.
static OF_THIS_RUN: RwLock<Vec<String>> = RwLock::new(Vec::new());
const REMEMBERED_MAX: usize = 4_096;
/// Ends a text that was cut.
const CUT: char = '…';

/// Remembers a secret of this run, so that no server's text shows it.
pub fn remember(secret: &str) {
    let mut all = OF_THIS_RUN.write().unwrap_or_else(PoisonError::into_inner);
    // As it stands in a text of one line, too.
    let words: Vec<&str> = secret.split_whitespace().collect();
    for form in [secret.to_owned(), words.join(" ")] {
        if !form.is_empty() && all.len() < REMEMBERED_MAX && !all.contains(&form) {
            all.push(form);
        }
    }
    // One that holds another one is hidden as a whole.
    all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
}

/// A server's words without the secrets of this run. Only for text that nothing decides by: a password may be `1`.
pub fn without_secrets(text: String) -> String {
    let all = OF_THIS_RUN.read().unwrap_or_else(PoisonError::into_inner);
    hidden(text, &all)
}

fn hidden(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN);
        }
        // The begin of one, where the text was cut within it.
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

/// Whether a URL's parameter of this name holds a secret.
pub fn is_secret(parameter: &str) -> bool {
    let name = parameter.to_ascii_lowercase();
    sounds_secret(&name) || SECRET_NAMES.contains(&name.as_str())
}

fn sounds_secret(name: &str) -> bool {
    SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// The word without its password and without the values of secret parameters, if it has any.
///
/// A word is taken as a whole, blanks included: a password may hold anything.
pub fn redacted(word: &str) -> Option<String> {
    // The parameters first: what they hide may hold a `@`.
    let without_parameters = hide_parameters(word);
    let shown = without_parameters.as_deref().unwrap_or(word);
    hide_password(shown).or(without_parameters)
}

/// The text with the passwords and tokens of all its words cut out. What stands between backquotes
/// is one word; everything else is split at white space and quotes.
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

/// What stands before, between and behind the next two backquotes.
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

/// Hides what stands between the first `:` and the last `@`; the `:` of a first `://` is not counted.
fn hide_password(word: &str) -> Option<String> {
    let (before, host) = word.rsplit_once('@')?;
    let scheme = before.find(':').filter(|at| before[at + 1..].starts_with("//"));
    let user = scheme.map_or(0, |at| at + 1);
    let colon = user + before[user..].find(':')?;
    let hidden = if scheme.is_some() { "" } else { ":***" };
    Some(format!("{}{hidden}@{host}", &before[..colon]))
}

/// Hides everything behind the first secret parameter: its value may hold a `&`.
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
        /// Whatever stands around it: a password of a URL is not shown.
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
