//! The SQL statements of leases, mostly common to all dialects.
//!
//! The rules are in `lease`. No transaction is needed: the primary key lets only one of two takers win, and ending a
//! lease names its token.

use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::lease::{LEASES_TABLE, Lease, LeaseAction, Owner};
use crate::sql_query::SqlQuery;

/// Maximum leases read; if there are as many, others may be missing.
pub(super) const LEASES_MAX: usize = 1_000;

/// The leases in these rows.
///
/// # Errors
/// There are more than can be read, so it is unknown which tables are free.
pub(super) fn leases(rows: &[Vec<Option<String>>]) -> Result<Vec<Lease>, UserError> {
    if rows.len() >= LEASES_MAX {
        let message = format!("{LEASES_TABLE} holds {LEASES_MAX} leases or more");
        return Err(UserError::refused(message).with_hint(format!(
            "runs that are over left them there: DELETE FROM {LEASES_TABLE} when none is running"
        )));
    }
    Ok(rows.iter().filter_map(|row| lease(row)).collect())
}

/// The columns that stay constant while a lease is held.
pub(super) const COLUMNS: &str =
    "table_name, share, shares, token, plan, owner, machine, process, started";

/// A dialect's own SQL.
#[derive(Debug, Clone, Copy)]
pub struct LeaseWords {
    /// A text literal.
    pub literal: fn(&str) -> String,
    /// The text type in a primary key.
    pub key_text: &'static str,
    /// The end of an INSERT that keeps an existing row with the same table and share.
    pub or_ignore: &'static str,
    /// Milliseconds since 1970 by the target's clock, an integer.
    pub now_ms: &'static str,
    /// Follows the columns of a CREATE TABLE.
    pub table_options: &'static str,
    /// Makes writes visible.
    pub refresh: Option<&'static str>,
    /// Takes a lock that ends with this connection, named by the literal `{token}`; the same connection may take it
    /// again.
    pub lock: Option<&'static str>,
    /// Whether the lock of `l.token` is held: 0 or 1; NULL without such locks.
    pub is_locked: &'static str,
    /// Creates the table of events, if it does not exist, for servers on which every event of a lease is another row;
    /// see `appended_leases`.
    pub appended: Option<&'static str>,
    /// An additional column that such a row needs, and its value, the same in all rows; each after a comma.
    pub stamp: [&'static str; 2],
}

impl LeaseWords {
    /// A dialect without specifics, and without connection locks.
    pub const fn plain(
        literal: fn(&str) -> String,
        key_text: &'static str,
        now_ms: &'static str,
    ) -> Self {
        Self {
            literal,
            key_text,
            or_ignore: "ON CONFLICT (table_name, share) DO NOTHING",
            now_ms,
            table_options: "",
            refresh: None,
            lock: None,
            is_locked: "NULL",
            appended: None,
            stamp: ["", ""],
        }
    }
}

/// Performs an action, and reads the resulting leases.
pub async fn perform(
    connection: &mut impl SqlQuery,
    words: &LeaseWords,
    action: LeaseAction<'_>,
) -> Result<Vec<Lease>, UserError> {
    let now = words.now_ms;
    match action {
        LeaseAction::Read => create(connection, words).await?,
        LeaseAction::Take(leases) => {
            for lease in leases {
                let insert = format!(
                    "INSERT INTO {LEASES_TABLE} ({COLUMNS}, since_ms, heartbeat_ms) \
                     VALUES ({}, {now}, {now}) {}",
                    values(words, lease),
                    words.or_ignore,
                );
                connection.texts(&insert).await?;
            }
        }
        LeaseAction::Renew(token) => {
            let token = (words.literal)(token);
            let update =
                format!("UPDATE {LEASES_TABLE} SET heartbeat_ms = {now} WHERE token = {token}");
            connection.texts(&update).await?;
            if let Some(lock) = words.lock {
                let lock = lock.replace("{token}", &token);
                connection.texts(&lock).await?;
            }
        }
        LeaseAction::End(token) => {
            let token = (words.literal)(token);
            let delete = format!("DELETE FROM {LEASES_TABLE} WHERE token = {token}");
            connection.texts(&delete).await?;
        }
    }
    if let Some(refresh) = words.refresh {
        connection.texts(refresh).await?;
    }
    let select = format!(
        "SELECT l.table_name, l.share, l.shares, l.token, l.plan, l.owner, l.machine, l.process, \
         l.started, {now} - l.since_ms, {now} - l.heartbeat_ms, {} \
         FROM {LEASES_TABLE} AS l LIMIT {LEASES_MAX}",
        words.is_locked
    );
    let rows = connection.texts(&select).await?;
    leases(&rows)
}

async fn create(connection: &mut impl SqlQuery, words: &LeaseWords) -> Result<(), UserError> {
    let create = format!(
        "CREATE TABLE IF NOT EXISTS {LEASES_TABLE} (table_name {} NOT NULL, share INTEGER NOT NULL, \
         shares INTEGER NOT NULL, token TEXT NOT NULL, plan TEXT NOT NULL, owner TEXT NOT NULL, \
         machine TEXT NOT NULL, process BIGINT NOT NULL, started BIGINT NOT NULL, \
         since_ms BIGINT NOT NULL, heartbeat_ms BIGINT NOT NULL, \
         PRIMARY KEY (table_name, share)){}",
        words.key_text, words.table_options
    );
    if connection.texts(&create).await.is_err() {
        // Another run created it at the same moment; a permanent error will recur.
        connection.texts(&create).await?;
    }
    Ok(())
}

/// The values of [`COLUMNS`].
pub(super) fn values(words: &LeaseWords, lease: &Lease) -> String {
    let (owner, literal) = (&lease.owner, words.literal);
    format!(
        "{}, {}, {}, {}, {}, {}, {}, {}, {}",
        literal(&lease.table),
        lease.share,
        lease.shares,
        literal(&lease.token),
        literal(&lease.plan),
        literal(&owner.name),
        literal(&owner.machine),
        owner.process,
        owner.started.min(i64::MAX.unsigned_abs()),
    )
}

/// The lease in a row.
fn lease(row: &[Option<String>]) -> Option<Lease> {
    let text = |position: usize| row.get(position).cloned().flatten();
    let number = |position| text(position)?.parse::<u64>().ok();
    // The target's clock may have been set back.
    let passed = |position| {
        let ms = text(position)?.parse::<i64>().ok()?;
        Some(Nanos::from_millis(ms.max(0).unsigned_abs()))
    };
    let small = |position| u32::try_from(number(position)?).ok();
    Some(Lease {
        table: text(0)?,
        share: small(1)?,
        shares: small(2)?,
        token: text(3)?,
        plan: text(4)?,
        owner: Owner { name: text(5)?, machine: text(6)?, process: small(7)?, started: number(8)? },
        held: passed(9)?,
        silent: passed(10)?,
        is_locked: number(11).map(|found| found > 0),
    })
}
