//! Writes a file so that nobody ever reads half of it. What must not be here: what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// Writes a file that is there in full, or not at all.
pub(super) fn write_whole(whole: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut partial = whole.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, whole));
    written.map_err(|error| {
        // What is left of it only takes room on a full disk.
        drop(fs::remove_file(&partial));
        StoreError::new(whole, error)
    })
}
