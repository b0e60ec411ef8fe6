//! Whether acknowledged rows are still waiting on a server to be forwarded, in the spools of its `Distributed` tables.
//!
//! Newer versions list them in `system.distribution_queue`. Older ones do not show them: their files are counted if the
//! server is on this machine; otherwise, its own tables must have been unchanged for a while. Must not wait.
//!
//! Whether a `Distributed` table acknowledges an insert before other servers have its rows, as set by `--with`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

use highwater_driver::network::is_loopback;
use highwater_driver::sql::connection::SqlConnection;
use highwater_driver::sql::facts::number;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::options::Node;
use super::plan::Mode;
use super::wire::Wire;
use crate::dialect::CLICKHOUSE;

/// Whether the server lists its spools.
const HAS_QUEUE: &str =
    "SELECT count() FROM system.tables WHERE database = 'system' AND name = 'distribution_queue'";
/// Files in the spools of the database, excluding those that the server marked as broken.
const QUEUED: &str =
    "SELECT sum(data_files) FROM system.distribution_queue WHERE database = currentDatabase()";
/// Directories of the spools.
const PLACES: &str = "SELECT data_path FROM system.tables \
    WHERE database = currentDatabase() AND engine = 'Distributed'";
/// How long tables must be unchanged before no other server is assumed to have rows for them. A server that could not
/// forward rows retries after at most 30 s; a run waits at most that long for an earlier one.
const SETTLED_AFTER: Nanos = Nanos::from_secs(29);
/// Counts that are further apart belong to different waits.
const COUNTED_WITHIN: Nanos = Nanos::from_secs(5);

/// The spools of a server.
pub(super) struct Spools {
    own_database: String,
    is_local: bool,
    spooling: Spooling,
    /// Whether the server lists them, once known.
    has_queue: Option<bool>,
    settling: Settling,
}

/// How long a table has had this many rows.
#[derive(Default)]
struct Settling {
    rows: u64,
    since: Nanos,
    /// Time of the last count.
    counted: Option<Nanos>,
}

impl Spools {
    /// For the tables in the database of this server's URL.
    pub(super) fn new(node: &Node) -> Self {
        Self {
            own_database: node.own_database(),
            is_local: is_loopback(&node.host),
            spooling: node.spooling.clone(),
            has_queue: None,
            settling: Settling::default(),
        }
    }

    /// Whether nothing waits there, as far as visible; uses that server's connection.
    pub(super) async fn are_empty(
        &mut self,
        connection: &mut SqlConnection<Wire>,
    ) -> Result<bool, UserError> {
        let has_queue = match self.has_queue {
            Some(known) => known,
            None => number(&connection.rows(HAS_QUEUE).await?, 0) > 0,
        };
        self.has_queue = Some(has_queue);
        if has_queue {
            return Ok(number(&connection.rows(QUEUED).await?, 0) == 0);
        }
        if let Some(files) = self.files(connection).await? {
            return Ok(files == 0);
        }
        if !self.spooling.is_used() {
            return Ok(true);
        }
        let sql = format!(
            "SELECT sum(rows) FROM system.parts WHERE active AND database = {}",
            CLICKHOUSE.literal(&self.own_database)
        );
        let rows = number(&connection.rows(&sql).await?, 0);
        Ok(self.settling.is_over(rows, connection.now()))
    }

    /// Files in the spools; `None` if they are not visible from here.
    async fn files(
        &self,
        connection: &mut SqlConnection<Wire>,
    ) -> Result<Option<usize>, UserError> {
        if !self.is_local {
            return Ok(None);
        }
        let rows = match connection.rows(PLACES).await {
            // Versions in between return several directories.
            Err(error) if error.kind == UserErrorKind::Statement => return Ok(None),
            rows => rows?,
        };
        let places: Vec<PathBuf> =
            rows.into_iter().flatten().flatten().map(PathBuf::from).collect();
        if !places.iter().all(|place| place.is_absolute()) {
            return Ok(None);
        }
        let files = places.iter().map(|place| files_of(place).ok());
        Ok(files.sum())
    }
}

/// Files waiting in the spools of one table: it has a directory for each other server, with a numbered file for each
/// part of a batch.
fn files_of(table: &Path) -> io::Result<usize> {
    let mut files = 0;
    for spool in fs::read_dir(table)? {
        let spool = spool?;
        if !spool.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(spool.path())? {
            let is_batch = file?.path().extension().is_some_and(|ending| ending == "bin");
            files += usize::from(is_batch);
        }
    }
    Ok(files)
}

impl Settling {
    /// Adds a count; returns whether the number of rows was constant for long enough.
    fn is_over(&mut self, rows: u64, now: Nanos) -> bool {
        let is_same = self.rows == rows
            && self.counted.is_some_and(|counted| now.saturating_sub(counted) <= COUNTED_WITHIN);
        if !is_same {
            (self.rows, self.since) = (rows, now);
        }
        self.counted = Some(now);
        now.saturating_sub(self.since) >= SETTLED_AFTER
    }
}

/// The setting's original name, the only one in old versions, and its name in newer ones: 1 if the response waits for
/// all rows.
const NAMES: [&str; 2] = ["insert_distributed_sync", "distributed_foreground_insert"];
/// Recorded if the response does not wait.
pub(super) const SETTING: &str = NAMES[0];
/// The value if the response does not wait.
pub(super) const OFF: &str = "0";
/// The value if it waits.
const ON: &str = "1";

/// Whether servers keep acknowledged rows in spools until other servers have them. Clones share the value.
#[derive(Debug, Clone, Default)]
pub(super) struct Spooling(Arc<AtomicBool>);

impl Spooling {
    /// Whether they do.
    pub(super) fn is_used(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Applies to connections that are made later.
    pub(super) fn set(&self, is_used: bool) {
        self.0.store(is_used, Ordering::Relaxed);
    }

    /// The value of a request's setting, replacing `usual`.
    pub(super) fn value<'v>(&self, name: &str, usual: &'v str) -> &'v str {
        if self.is_used() && is_name(name) { OFF } else { usual }
    }
}

/// Whether a `--with` setting controls insert responses rather than table creation.
pub(super) fn is_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether `--with` settings allow rows to wait in spools. An error if they contradict each other, or if the insert
/// mode has no spools.
pub(super) fn is_requested(settings: &[(String, String)], mode: Mode) -> Result<bool, UserError> {
    let mut given = settings.iter().filter(|(name, _)| is_name(name));
    let Some((name, value)) = given.next() else {
        return Ok(false);
    };
    let this = format!("`--with {name}={value}`");
    if !mode.is_distributed {
        return Err(UserError::usage(format!(
            "{this}: with `--insert {}` no server passes rows on to others",
            mode.name()
        ))
        .with_hint("it is for `--insert distributed`: give that too, or leave it out"));
    }
    if ![OFF, ON].contains(&value.as_str()) {
        return Err(UserError::usage(format!("{this}: the value is 0 or 1")).with_hint(
            "1, the default: a batch is answered when all servers have their rows; 0: before that",
        ));
    }
    if let Some((other, second)) = given.find(|(_, second)| second != value) {
        return Err(UserError::usage(format!(
            "{this} and `--with {other}={second}` contradict each other"
        ))
        .with_hint("these are two names of one setting: give one of them"));
    }
    Ok(value == OFF)
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    #[test]
    fn only_files_of_batches_are_counted() {
        let table = std::env::temp_dir().join(format!("highwater-spools-{}", process::id()));
        let (first, second) = (table.join("default@h1:9000"), table.join("default@h2:9000"));
        for spool in [&first, &second] {
            fs::create_dir_all(spool.join("broken")).unwrap();
            fs::create_dir_all(spool.join("tmp")).unwrap();
        }
        assert_eq!(files_of(&table).unwrap(), 0);
        for file in ["1.bin", "12.bin", "current_batch.txt", "tmp/13.bin", "broken/2.bin"] {
            fs::write(first.join(file), "").unwrap();
        }
        fs::write(second.join("7.bin"), "").unwrap();
        assert_eq!(files_of(&table).unwrap(), 3);
        fs::remove_dir_all(&table).unwrap();
        // If it is not visible, it does not count as empty.
        assert!(files_of(&table).is_err());
    }

    #[test]
    fn rows_have_settled_once_each_count_of_a_wait_was_the_same() {
        let mut settling = Settling::default();
        let last = SETTLED_AFTER.0 / Nanos::SECOND.0;
        let mut is_over = |rows, at| settling.is_over(rows, Nanos::from_secs(at));
        for at in 1..last {
            assert!(!is_over(7, at), "{at}");
        }
        // More rows arrived.
        assert!(!is_over(8, last));
        for at in last + 1..2 * last {
            assert!(!is_over(8, at), "{at}");
        }
        assert!(is_over(8, 2 * last));
        // A count before a load shows nothing about the time after it.
        assert!(!is_over(8, 9 * last));
    }

    fn read(settings: &[(&str, &str)], insert: &str) -> Result<bool, UserError> {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings: Vec<(String, String)> = settings.collect();
        is_requested(&settings, Mode::from_name(insert).unwrap())
    }

    #[test]
    fn rows_wait_in_spools_only_if_requested() {
        let [old, new] = NAMES;
        for (settings, expected) in [
            (&[][..], false),
            (&[("cluster", "c"), ("index_granularity", "0")], false),
            (&[(old, "1")], false),
            (&[(old, "0")], true),
            (&[("cluster", "c"), (new, "0")], true),
            (&[(old, "0"), (new, "0")], true),
        ] {
            for insert in ["distributed", "distributed-rowbinary"] {
                assert_eq!(read(settings, insert).unwrap(), expected, "{settings:?}");
            }
        }
        assert!(!read(&[], "native").unwrap());
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_hint() {
        let [old, new] = NAMES;
        for (settings, insert, says, hints) in [
            (&[(old, "2")][..], "distributed", "=2`: the value", "default"),
            (&[(new, "off")], "distributed", "=off`: the value", "default"),
            (&[(old, "0"), (new, "1")], "distributed", "contradict", "one"),
            (&[(old, "0")], "native", "--insert native", "distributed"),
            (&[(old, "1")], "rowbinary", "--insert rowbinary", "distributed"),
        ] {
            let error = read(settings, insert).unwrap_err();
            assert!(error.message.contains(says), "{error}");
            assert!(error.hint.unwrap().contains(hints));
        }
    }

    #[test]
    fn requests_say_it_by_both_names_and_copies_are_one() {
        let spooling = Spooling::default();
        let copy = spooling.clone();
        for is_used in [false, true, false] {
            spooling.set(is_used);
            let value = if is_used { OFF } else { ON };
            for name in NAMES {
                assert_eq!(copy.value(name, ON), value);
            }
            assert_eq!(copy.value("skip_unavailable_shards", ON), ON);
        }
    }
}
