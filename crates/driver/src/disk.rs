//! Free space on a file system of this machine.
//!
//! Must not decide how much is enough.

use std::path::Path;

/// Free space on the disk of a target's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskSpace {
    /// A path or the name of a node, for display.
    pub place: String,
    /// Bytes that an ordinary user can still write.
    pub free_bytes: u64,
    /// Total bytes.
    pub total_bytes: u64,
}

impl DiskSpace {
    /// Space of the file system of a path on this machine; `None` if the path does not exist.
    pub fn of_path(path: &Path) -> Option<Self> {
        let found = rustix::fs::statvfs(path).ok()?;
        Some(Self {
            place: path.display().to_string(),
            free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
            total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
        })
    }
}
