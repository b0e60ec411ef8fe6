//! The password in section `[client]` of `~/.my.cnf`, for the user and host named there.
//!
//! A file that others can read is rejected. Must not read anything else of the file.

use super::options::{Address, Node};
use highwater_driver::contract::TargetError;
use highwater_driver::private_file::PrivateFile;
use highwater_driver::target_url::Secret;

/// The file with the password.
const OPTION_FILE: PrivateFile =
    PrivateFile { name: "option file", hint: "MYSQL_PWD, or a password in the URL, needs no file" };

/// The password for a server: the given one, or else that of the file; `None` if there is none, which also means an
/// empty password.
pub(super) fn password(node: &Node) -> Result<Option<Secret>, TargetError> {
    if let Some(password) = &node.login.password {
        return Ok(Some(password.clone()));
    }
    let Some(path) = &node.login.option_file else {
        return Ok(None);
    };
    let text = OPTION_FILE.read(path)?.unwrap_or_default();
    let host = match &node.address {
        Address::Tcp(host, _) => host,
        Address::Socket(_) => "localhost",
    };
    Ok(find(&text, &node.login.user, host).map(Secret::of_this_run))
}

/// The last password of the section, if the section applies to any user and host, or to these.
fn find(text: &str, user: &str, host: &str) -> Option<String> {
    let mut in_section = false;
    let (mut password, mut is_for_us) = (None, true);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.strip_suffix(']').unwrap_or(section);
            in_section = ["client", "client-mariadb", "client-server"].contains(&name);
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| in_section) else {
            continue;
        };
        let value = unquoted(value.trim());
        match name.trim() {
            "password" => password = Some(value),
            "user" => is_for_us &= value == user,
            "host" => is_for_us &= value == host,
            _ => {}
        }
    }
    password.filter(|_| is_for_us)
}

fn unquoted(value: &str) -> String {
    let quoted =
        ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_section_counts_for_the_user_and_host_that_it_names() {
        for (text, password) in [
            ("[client]\npassword=one", Some("one")),
            ("# c\n[mysqld]\npassword=no\n[client]\n password = \"a b\"\n", Some("a b")),
            ("[client]\nuser=ann\npassword='x'\nhost=h", Some("x")),
            ("[client]\nuser=bob\npassword=x", None),
            ("[client]\nhost=other\npassword=x", None),
            ("[client]\npassword=x\n[client-mariadb]\npassword=y", Some("y")),
            ("password=x", None),
            ("[client]\npassword", None),
            ("", None),
        ] {
            assert_eq!(find(text, "ann", "h").as_deref(), password, "{text}");
        }
    }
}
