//! The leases of shares whose target is a sink: each is a file in a folder that all load generators see.
//!
//! The clock is that of the folder's file system, read from the time that it gives to a new file: on a network file
//! system that is the server's, the same for all. A lease belongs to whoever created its file; no file is locked, because
//! network file systems differ in what a lock means. Must not delete a lease of a token other than the given one.

use std::fs::{self, DirEntry, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use highwater_driver::clock::wall_clock;
use highwater_driver::regular_file::{WRITTEN_BYTES_MAX, read};
use highwater_driver::table_registry::Owner;
use highwater_driver::{Lease, LeaseAction};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use serde_json::{Value, json};

/// Maximum leases read: more than 64 shares take in their eight stages.
const LEASES_MAX: usize = 1_000;
/// The file system's clock is read in steps of this. Linux updates the clock of its local file systems every 10 ms or
/// more often, so a time lags by less than two steps.
const STEP_MS: u64 = 10;
/// A file without a lease in it is that of a taker that was killed while it wrote, if it is as old as this.
const WRITING_MS: u64 = 10_000;
const BEAT: &str = "beat ";
const CLOCK: &str = "clock ";
const NEW: &str = ".new";

/// The leases in a folder.
#[derive(Debug, Clone)]
pub(crate) struct FolderLeases {
    folder: PathBuf,
}

impl FolderLeases {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Performs an action, and reads the resulting leases.
    ///
    /// # Errors
    /// The folder cannot be read or written, or holds more leases than can be read.
    pub(crate) fn perform(&self, action: LeaseAction<'_>) -> Result<Vec<Lease>, UserError> {
        self.change(action).and_then(|()| self.leases()).map_err(|error| {
            UserError::cannot(
                format!("keep the leases of shares in {}", self.folder.display()),
                &error,
            )
            .with_hint("name a folder for -o that all load generators can write")
        })
    }

    fn change(&self, action: LeaseAction<'_>) -> io::Result<()> {
        match action {
            LeaseAction::Read => fs::create_dir_all(&self.folder),
            LeaseAction::Look => Ok(()),
            LeaseAction::Take(leases) => leases.iter().try_for_each(|lease| self.take(lease)),
            LeaseAction::Renew(token) => {
                // Others never find it missing.
                let new = self.folder.join(format!("{BEAT}{token}{NEW}"));
                create(&new, "")?;
                fs::rename(new, self.beat(token))
            }
            LeaseAction::End(token) => {
                for (path, _, lease) in self.files()? {
                    if lease.is_some_and(|lease| lease.token == token) {
                        remove(&path)?;
                    }
                }
                remove(&self.beat(token))?;
                // Fails as long as it holds other leases.
                drop(fs::remove_dir(&self.folder));
                Ok(())
            }
        }
    }

    fn take(&self, lease: &Lease) -> io::Result<()> {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || " _-".contains(*c);
        let table: String = lease.table.chars().filter(is_plain).collect();
        match create(&self.folder.join(format!("{table}.{}", lease.share)), &text(lease)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            created => created,
        }
    }

    fn beat(&self, token: &str) -> PathBuf {
        self.folder.join(format!("{BEAT}{token}"))
    }

    /// The files of leases: their times, and what is in them unless it is being written.
    fn files(&self) -> io::Result<Vec<(PathBuf, u64, Option<Lease>)>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry: DirEntry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(BEAT) || name.starts_with(CLOCK) {
                continue;
            }
            if files.len() >= LEASES_MAX {
                let message = format!("it holds {LEASES_MAX} leases or more");
                return Err(io::Error::other(message));
            }
            let path = entry.path();
            // Its holder may have ended it since.
            if let (Some(at), Ok(bytes)) = (modified(&path)?, read(&path, WRITTEN_BYTES_MAX)) {
                files.push((path, at, lease(&bytes)));
            }
        }
        Ok(files)
    }

    fn leases(&self) -> io::Result<Vec<Lease>> {
        let files = self.files()?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.now()?;
        let since = |at: u64| Nanos::from_millis(now.saturating_sub(at));
        let mut leases = Vec::new();
        for (path, at, lease) in files {
            let Some(lease) = lease else {
                if now.saturating_sub(at) > WRITING_MS {
                    remove(&path)?;
                }
                continue;
            };
            let beat = modified(&self.beat(&lease.token))?.unwrap_or(at);
            leases.push(Lease { held: since(at), silent: since(beat.max(at)), ..lease });
        }
        Ok(leases)
    }

    /// The file system's time, in milliseconds since 1970.
    fn now(&self) -> io::Result<u64> {
        static READS: AtomicU64 = AtomicU64::new(0);
        let (process, read) = (std::process::id(), READS.fetch_add(1, Ordering::Relaxed));
        // Process numbers of two machines may be equal.
        let path = self.folder.join(format!("{CLOCK}{process} {read} {}", wall_clock().0));
        create(&path, "")?;
        let now = modified(&path);
        remove(&path)?;
        now?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// When a file was written, in milliseconds since 1970 and in whole steps; `None` without one.
fn modified(path: &Path) -> io::Result<Option<u64>> {
    let at = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        about => about?.modified()?,
    };
    let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    Ok(Some(ms - ms % STEP_MS))
}

fn text(lease: &Lease) -> String {
    let Owner { name, machine, process, started } = &lease.owner;
    json!([
        lease.table,
        lease.share,
        lease.shares,
        lease.token,
        lease.plan,
        name,
        machine,
        process,
        started
    ])
    .to_string()
}

fn lease(bytes: &[u8]) -> Option<Lease> {
    let values: Vec<Value> = serde_json::from_slice(bytes).ok()?;
    let text = |position: usize| Some(values.get(position)?.as_str()?.to_owned());
    let number = |position: usize| values.get(position)?.as_u64();
    let small = |position| u32::try_from(number(position)?).ok();
    Some(Lease {
        table: text(0)?,
        share: small(1)?,
        shares: small(2)?,
        token: text(3)?,
        plan: text(4)?,
        owner: Owner { name: text(5)?, machine: text(6)?, process: small(7)?, started: number(8)? },
        ..Lease::default()
    })
}
