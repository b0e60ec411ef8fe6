//! The password of the section `[client]` of `~/.my.cnf`, for the user and host that it names.
//!
//! A file that others may read is refused. Must not read anything else of the file.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::options::{Address, Node};
use highwater_driver::contract::{TargetError, TargetErrorKind};
use highwater_driver::target_url::Secret;

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The password for a server: the one given, else that of the file; none if there is none, which is
/// a password too.
pub(super) fn password(node: &Node) -> Result<Option<Secret>, TargetError> {
    if let Some(password) = &node.login.password {
        return Ok(Some(password.clone()));
    }
    let Some(path) = &node.login.option_file else {
        return Ok(None);
    };
    let text = read(path)?.unwrap_or_default();
    let host = match &node.address {
        Address::Tcp(host, _) => host,
        Address::Socket(_) => "localhost",
    };
    Ok(find(&text, &node.login.user, host).map(Secret::new))
}

/// The file's text; none where there is no file.
fn read(path: &Path) -> Result<Option<String>, TargetError> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error.to_string())),
    };
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Err(unreadable(path, "not a plain file of at most 1 MiB"));
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err(unreadable(path, "others may read it")
            .with_hint(format!("chmod 0600 {}", path.display())));
    }
    fs::read(path)
        .map(|bytes| Some(String::from_utf8_lossy(&bytes).into_owned()))
        .map_err(|error| unreadable(path, &error.to_string()))
}

fn unreadable(path: &Path, cause: &str) -> TargetError {
    TargetError {
        kind: TargetErrorKind::Refused,
        message: format!("option file `{}`: {cause}", path.display()),
        hint: Some("MYSQL_PWD, or a password in the URL, needs no file".to_owned()),
    }
}

/// The last password of the section, if the section is for any user and host, or for these.
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
    let quoted = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_section_counts_for_the_user_and_host_that_it_names() {
        for (text, password) in [
            ("[client]\npassword=one", Some("one")),
            (
                "# c\n[mysqld]\npassword=no\n[client]\n password = \"a b\"\n",
                Some("a b"),
            ),
            ("[client]\nuser=ann\npassword='x'\nhost=h", Some("x")),
            ("[client]\nuser=bob\npassword=x", None),
            ("[client]\nhost=other\npassword=x", None),
            (
                "[client]\npassword=x\n[client-mariadb]\npassword=y",
                Some("y"),
            ),
            ("password=x", None),
            ("[client]\npassword", None),
            ("", None),
        ] {
            assert_eq!(find(text, "ann", "h").as_deref(), password, "{text}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        fs::write(&path, "[client]\npassword=geheim").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.hint.as_ref().unwrap().contains("chmod 0600"));
        assert!(!format!("{error:?}").contains("geheim"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read(&path).unwrap().is_some());
        assert!(read(&directory.path().join("absent")).unwrap().is_none());
    }
}
