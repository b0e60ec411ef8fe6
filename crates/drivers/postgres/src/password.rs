//! The password file: libpq's format, wildcards, and permission rule.
//!
//! Lines are `host:port:database:user:password`; `*` matches anything; a backslash escapes the next character. A file
//! that others can read is rejected, as in libpq.

use super::options::{Address, Node};
use highwater_driver::contract::TargetError;
use highwater_driver::private_file::PrivateFile;
use highwater_driver::target_url::Secret;

/// The file with the passwords.
const PASSWORD_FILE: PrivateFile = PrivateFile {
    name: "password file",
    hint: "PGPASSFILE names another file; PGPASSWORD needs none",
};

/// The password for a server: the given one, or else the first match in the password file.
pub(super) fn password(node: &Node) -> Result<Secret, TargetError> {
    if let Some(password) = &node.login.password {
        return Ok(password.clone());
    }
    let file = node.login.passfile.as_ref();
    let text = file.map(|path| PASSWORD_FILE.read(path)).transpose()?;
    let found = text.flatten().and_then(|text| find(&text, &pgpass_fields(node)));
    found.map(Secret::of_this_run).ok_or_else(|| {
        TargetError::refused(format!(
            "{}: the server requires the password of user `{}`, and none is given",
            node.shown, node.login.user
        ))
        .with_hint(
            "put it in the URL (`://user:password@…`), in PGPASSWORD, or in ~/.pgpass (mode 0600)",
        )
    })
}

/// Host, port, database, and user as in a line.
fn pgpass_fields(node: &Node) -> [String; 4] {
    let (host, port) = match &node.address {
        Address::Tcp(host, port) => (host.clone(), port),
        Address::Socket(_, port) => ("localhost".to_owned(), port),
    };
    // Without a database name, a server uses the user's name.
    let user = &node.login.user;
    [host, port.to_string(), node.login.database.as_ref().unwrap_or(user).clone(), user.clone()]
}

/// The password of the first line whose four fields match.
fn find(text: &str, pgpass_fields: &[String; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for want in pgpass_fields {
            let (field, after) = field(rest)?;
            // A wildcard is an unescaped asterisk; an escaped one is a name.
            if field != "*" && unescape(field) != *want {
                return None;
            }
            rest = after;
        }
        Some(unescape(rest))
    })
}

/// The first field as written, and the text after its colon.
fn field(line: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = line.find(|letter: char| {
        let ends = letter == ':' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    })?;
    Some((line.get(..end)?, line.get(end + 1..)?))
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pgpass_fields() -> [String; 4] {
        ["db.example", "5432", "bench", "ann"].map(str::to_owned)
    }

    #[test]
    fn the_first_matching_line_counts() {
        for (text, password) in [
            ("db.example:5432:bench:ann:one", Some("one")),
            ("other:5432:bench:ann:no\n*:*:*:ann:two\n*:*:*:*:three", Some("two")),
            ("# db.example:5432:bench:ann:no\n*:*:*:*:x", Some("x")),
            ("*:*:*:*:with\\:colon\\\\", Some("with:colon\\")),
            ("*:*:*:*:a:b", Some("a:b")),
            ("\\*:*:*:*:no", None),
            ("*:5433:*:*:no", None),
            ("*:*:*:no", None),
            ("", None),
        ] {
            assert_eq!(find(text, &pgpass_fields()).as_deref(), password, "{text}");
        }
    }
}
