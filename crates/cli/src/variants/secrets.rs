//! Hides passwords in a variant's command, because records must not show them. Must not run a command.

use highwater_driver::redaction::{is_secret, redacted};

/// Replaces hidden text; a command that contains it cannot be run.
pub(super) const HIDDEN: &str = "***";
/// Words that look like `-pPASSWORD`, but are conditions of `find`.
const NO_PASSWORDS: [&str; 5] = ["-path", "-perm", "-print", "-print0", "-prune"];

/// A shell command for records and output. If in doubt, it hides a word: a password may be the value of a variable or
/// of a flag, part of a URL, or the word after `-p` or `--user NAME:`.
pub(crate) fn shown(command: &str) -> String {
    let mut shown = String::with_capacity(command.len());
    let mut flag = "";
    for word in words(command) {
        if word.trim().is_empty() {
            shown += word;
            continue;
        }
        shown += &after(flag, word);
        flag = word;
    }
    shown
}

/// A word that follows another one.
fn after(flag: &str, word: &str) -> String {
    let is_flag = |word: &str| word.starts_with('-') && !word.contains('=');
    if is_flag(flag) && is_secret(flag.trim_start_matches('-')) {
        return HIDDEN.to_owned();
    }
    if ["-u", "--user"].contains(&flag)
        && let Some((user, _)) = word.split_once(':')
    {
        return format!("{user}:{HIDDEN}");
    }
    if word.starts_with("-p") && word.len() > 2 && !NO_PASSWORDS.contains(&word) {
        return format!("-p{HIDDEN}");
    }
    let name = word.split_once('=').map(|(name, _)| name);
    if let Some(name) = name.filter(|name| is_secret(name.trim_start_matches('-'))) {
        return format!("{name}={HIDDEN}");
    }
    let within = within_quotes(word);
    let word = within.as_deref().unwrap_or(word);
    redacted(word).unwrap_or_else(|| word.to_owned())
}

/// A quoted command inside the command.
fn within_quotes(word: &str) -> Option<String> {
    let quote = word.chars().next().filter(|c| "'\"".contains(*c))?;
    let inner = word.strip_prefix(quote)?.strip_suffix(quote)?;
    let is_command = inner.contains(char::is_whitespace);
    is_command.then(|| format!("{quote}{}{quote}", shown(inner)))
}

/// The words of a command and the blanks between them; quoted text belongs to its word.
fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut was_blank) = (0, None, None);
    for (at, c) in command.char_indices() {
        let is_blank = quote.is_none() && (c.is_whitespace() || "|;&()".contains(c));
        if was_blank.is_some_and(|was| was != is_blank) {
            words.push(&command[start..at]);
            start = at;
        }
        was_blank = Some(is_blank);
        match quote {
            Some(open) if open == c => quote = None,
            None if "'\"".contains(c) => quote = Some(c),
            _ => {}
        }
    }
    words.push(&command[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_a_command_are_hidden() {
        for (given, expected) in [
            ("./restart.sh wal", "./restart.sh wal"),
            ("mkdir -p a && touch 'a b'", "mkdir -p a && touch 'a b'"),
            ("find a -path b", "find a -path b"),
            ("PGPASSWORD=geheim psql -c x", "PGPASSWORD=*** psql -c x"),
            ("PGPASSWORD='ge heim' psql", "PGPASSWORD=*** psql"),
            ("PASS=geheim ./x", "PASS=*** ./x"),
            ("x --password geheim -v", "x --password *** -v"),
            ("x --password 'ge heim'; y", "x --password ***; y"),
            ("x --pass=geheim", "x --pass=***"),
            ("mysql -u root -pgeheim", "mysql -u root -p***"),
            ("curl -u me:geheim h", "curl -u me:*** h"),
            ("psql db://u:geheim@h/n|cat", "psql db://u@h/n|cat"),
            ("ssh h 'x --token geheim; y'; z", "ssh h 'x --token ***; y'; z"),
        ] {
            assert_eq!(shown(given), expected);
        }
    }
}
