//! Reads files that contain passwords, and that only their owner may read. Must not know their format.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use highwater_model::user_error::UserError;

use crate::regular_file::{self, WRITTEN_BYTES_MAX};

/// A kind of such a file, for errors.
#[derive(Debug, Clone, Copy)]
pub struct PrivateFile {
    /// Its name in messages, such as `password file`.
    pub name: &'static str,
    /// The alternative to the file.
    pub hint: &'static str,
}

impl PrivateFile {
    /// The file's text; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Others may read it, or it is not a regular file of at most 1 MiB.
    pub fn read(self, path: &Path) -> Result<Option<String>, UserError> {
        let bytes = match regular_file::read(path, WRITTEN_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unreadable(path, &error.to_string())),
        };
        let about = fs::metadata(path);
        let about = about.map_err(|error| self.unreadable(path, &error.to_string()))?;
        if about.permissions().mode() & 0o077 != 0 {
            let error = self.unreadable(path, "others may read it");
            return Err(error.with_hint(format!("chmod 0600 {}", path.display())));
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn unreadable(self, path: &Path, cause: &str) -> UserError {
        UserError::refused(format!("{} `{}`: {cause}", self.name, path.display()))
            .with_hint(self.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let file = PrivateFile { name: "password file", hint: "none is needed" };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("passwords");
        fs::write(&path, "geheim").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = file.read(&path).unwrap_err();
        assert!(error.hint.as_ref().unwrap().contains("chmod 0600"));
        assert!(!format!("{error:?}").contains("geheim"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(file.read(&path).unwrap().as_deref(), Some("geheim"));
        let absent = directory.path().join("absent");
        assert!(file.read(&absent).unwrap().is_none());
        let error = file.read(directory.path()).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("none is needed"));
    }
}
