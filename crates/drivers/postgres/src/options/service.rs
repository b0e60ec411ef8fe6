//! libpq's service files: sections of parameters, each with the name of a service.
//!
//! The user's file is searched first (`servicefile`, `PGSERVICEFILE`, `~/.pg_service.conf`), then the system's
//! (`pg_service.conf` in `PGSYSCONFDIR`). Must not know the meaning of parameters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use highwater_driver::contract::TargetError;
use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_driver::target_url::Environment;

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
) -> Result<BTreeMap<String, String>, TargetError> {
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
    Err(TargetError::usage(cause)
        .with_hint("define it in ~/.pg_service.conf, or name another file by PGSERVICEFILE"))
}

/// The parameters of a service in a file, if it has the section.
fn section(service: &str, path: &Path) -> Result<Option<BTreeMap<String, String>>, TargetError> {
    let failed = |cause: &str| {
        let message = format!("service file `{}`: {cause}", path.display());
        TargetError::usage(message).with_hint("PGSERVICEFILE names another file")
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
