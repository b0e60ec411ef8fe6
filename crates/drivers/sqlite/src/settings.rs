//! The settings of a `sqlite:` URL and the options. Pure: must not touch a file.

use std::path::PathBuf;

use highwater_model::units::Nanos;

use highwater_driver::contract::TargetOptions;
use highwater_driver::target_url::TargetUrl;
use highwater_model::user_error::UserError;

/// Insert modes, the default first.
pub(super) const INSERT_MODES: &[&str] = &["prepared", "values"];

const PARAMETERS: &str = "busy_timeout, cache_size, journal_mode, page_size, synchronous";
/// Without `off`: a batch could not be rolled back.
const JOURNAL_MODES: &[&str] = &["wal", "delete", "truncate", "persist", "memory"];
const SYNCHRONOUS: &[&str] = &["normal", "full", "extra", "off"];
const BUSY_TIMEOUT_DEFAULT_MS: u32 = 5_000;
const BUSY_TIMEOUT_LIMIT_MS: u32 = 600_000;
const FRESH_FILE: &str = "bench.db";

/// How a batch is converted to statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertMode {
    /// One prepared single-row INSERT, executed for each row.
    Prepared,
    /// Multi-row VALUES, with as many rows per statement as the variable limit allows.
    Values,
}

impl InsertMode {
    /// The value of `--insert`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Values => "values",
        }
    }
}

/// A checked URL with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// The database file.
    pub(super) path: PathBuf,
    /// Whether its directory may be created: only the run's own.
    pub(super) own_directory: bool,
    /// One of the journal modes, lower case.
    pub(super) journal_mode: &'static str,
    /// One of the values of `PRAGMA synchronous`, lower case.
    pub(super) synchronous: &'static str,
    /// Pages, or KiB when negative, as in `PRAGMA cache_size`.
    pub(super) cache_size: Option<i64>,
    /// Bytes, a power of two from 512 to 65,536; matters for new files only.
    pub(super) page_size: Option<u32>,
    /// How long to wait for another process's lock, milliseconds.
    pub(super) busy_timeout_ms: u32,
    /// How a batch is converted to statements.
    pub(super) insert: InsertMode,
    /// Time limit of one attempt to open.
    pub(super) connect_timeout: Nanos,
    /// For display: the URL with the actual path.
    pub(super) url: String,
}

impl Settings {
    /// Checks the URLs (there must be one) and the options.
    pub(super) fn new(urls: &[TargetUrl], options: &TargetOptions) -> Result<Self, UserError> {
        let [url] = urls else {
            return Err(UserError::usage("`sqlite:` takes one target, not several")
                .with_hint("a database file cannot be spread over several URLs; name one"));
        };
        if !url.hosts.is_empty() || url.user.is_some() {
            return Err(UserError::usage(format!("target `{url}`: a database file has no host"))
                .with_hint("write `sqlite:PATH`, for instance `sqlite:bench.db`"));
        }
        let (path, own_directory) = path_of(url, options)?;
        let mut shown = url.clone();
        shown.path = path.display().to_string();
        let mut settings = Self {
            path,
            own_directory,
            journal_mode: JOURNAL_MODES[0],
            synchronous: SYNCHRONOUS[0],
            cache_size: None,
            page_size: None,
            busy_timeout_ms: BUSY_TIMEOUT_DEFAULT_MS,
            insert: insert_mode(options.insert.as_deref())?,
            connect_timeout: options.connect_timeout,
            url: shown.to_string(),
        };
        for (name, value) in &url.parameters {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), UserError> {
        match name {
            "journal_mode" => self.journal_mode = one_of(name, value, JOURNAL_MODES)?,
            "synchronous" => self.synchronous = one_of(name, value, SYNCHRONOUS)?,
            "cache_size" => {
                let pages = value.parse::<i32>().map_err(|_| {
                    wrong(name, value)
                        .with_hint("`cache_size` is a number of pages, or of KiB if negative")
                })?;
                self.cache_size = Some(i64::from(pages));
            }
            "page_size" => {
                let bytes = value.parse::<u32>().ok();
                let valid = bytes.filter(|b| b.is_power_of_two() && (512..=65_536).contains(b));
                self.page_size = Some(valid.ok_or_else(|| {
                    wrong(name, value)
                        .with_hint("`page_size` is a power of two from 512 to 65536 bytes")
                })?);
            }
            "busy_timeout" => {
                let millis = value.parse::<u32>().ok();
                let valid = millis.filter(|ms| *ms <= BUSY_TIMEOUT_LIMIT_MS);
                self.busy_timeout_ms = valid.ok_or_else(|| {
                    wrong(name, value).with_hint(format!(
                        "`busy_timeout` is from 0 to {BUSY_TIMEOUT_LIMIT_MS} milliseconds"
                    ))
                })?;
            }
            // The value is omitted: it may be a password.
            _ => {
                return Err(UserError::usage(format!("`sqlite:` has no URL parameter `{name}`"))
                    .with_hint(format!("its parameters are {PARAMETERS}")));
            }
        }
        Ok(())
    }

    /// The write-ahead log, next to the file.
    pub(super) fn log_path(&self) -> PathBuf {
        self.path_with("-wal")
    }

    /// A file next to the database's, whose name has this end.
    pub(super) fn path_with(&self, end: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    }

    /// The durability of an acknowledged batch with these settings.
    pub(super) fn durability(&self) -> &'static str {
        match (self.journal_mode, self.synchronous) {
            ("memory", _) => "a crash of this program may damage the file",
            (_, "off") => {
                "what was acknowledged survives a crash of this program; a power failure may \
                 damage the file"
            }
            ("wal", "normal") => {
                "what was acknowledged survives a crash of this program; a power failure may lose \
                 the latest batches"
            }
            (_, "normal") => {
                "what was acknowledged survives a crash of this program; a power failure may lose \
                 the latest batch and, on some file systems, damage the file"
            }
            ("wal", _) | (_, "extra") => "what was acknowledged survives a power failure",
            (_, _) => {
                "what was acknowledged survives a power failure, but perhaps for the latest batch"
            }
        }
    }
}

fn path_of(url: &TargetUrl, options: &TargetOptions) -> Result<(PathBuf, bool), UserError> {
    if url.path == ":memory:" {
        return Err(UserError::usage(
            "`sqlite::memory:` cannot be used: every session would have a database of its own",
        )
        .with_hint("name a file; on Linux one in /dev/shm stays in memory"));
    }
    if !url.path.is_empty() {
        return Ok((PathBuf::from(&url.path), false));
    }
    let directory = options.data_directory.as_ref().ok_or_else(|| {
        UserError::usage("`sqlite:` without a path needs a run directory to put its file in")
            .with_hint("name the file: `sqlite:bench.db`")
    })?;
    Ok((directory.join(FRESH_FILE), true))
}

fn insert_mode(requested: Option<&str>) -> Result<InsertMode, UserError> {
    match requested {
        None | Some("prepared") => Ok(InsertMode::Prepared),
        Some("values") => Ok(InsertMode::Values),
        Some(other) => Err(UserError::usage(format!("`sqlite:` has no insert mode `{other}`"))
            .with_hint(format!("--insert takes {}", INSERT_MODES.join(" or ")))),
    }
}

fn one_of(name: &str, value: &str, words: &[&'static str]) -> Result<&'static str, UserError> {
    let requested = value.to_ascii_lowercase();
    let accepted = words.iter().find(|word| **word == requested);
    accepted.copied().ok_or_else(|| {
        wrong(name, value).with_hint(format!("`{name}` is one of {}", words.join(", ")))
    })
}

fn wrong(name: &str, value: &str) -> UserError {
    UserError::usage(format!("`sqlite:` cannot take `{value}` as its parameter `{name}`"))
}
