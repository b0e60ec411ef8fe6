//! The SQL statements of leases, mostly common to all dialects.
//!
//! The rules are in `lease`. No transaction is needed: the primary key lets only one of two takers win, and ending a
//! lease names its token.

use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::connection::{SqlConnection, TextWire};
use super::facts::number;
use crate::sql::connection::SqlQuery;
use crate::table_registry::{LEASES_TABLE, Lease, LeaseAction, Owner};

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
        LeaseAction::Look => {}
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

/// The columns of an event, after those of its lease.
const EVENT_COLUMNS: &str = "event, number, at_ms";
/// Maximum wait for a taker that was killed while choosing a number, by the server's clock. Choosing takes one
/// statement.
const CHOOSING_MS: u32 = 10_000;
/// Maximum checks whether others have their numbers, each after [`PAUSE`]: longer than [`CHOOSING_MS`] in total.
const LOOKS: usize = 300;
const PAUSE: Nanos = Nanos::from_millis(50);

/// SQL for events of leases.
struct Events<'w> {
    words: &'w LeaseWords,
}

/// Performs an action, and reads the resulting leases; `create` creates the table.
pub async fn perform_appended<W: TextWire>(
    connection: &mut SqlConnection<W>,
    words: &LeaseWords,
    create: &str,
    action: LeaseAction<'_>,
) -> Result<Vec<Lease>, UserError> {
    let events = Events { words };
    match action {
        LeaseAction::Read => events.append(connection, create).await?,
        LeaseAction::Look => {}
        LeaseAction::Take(leases) => {
            let held = events.read(connection).await?;
            let is_free = |lease: &&Lease| {
                let mut held = held.iter();
                !held.any(|held| held.table == lease.table && held.share == lease.share)
            };
            let free: Vec<&Lease> = leases.iter().filter(is_free).collect();
            events.take(connection, &free).await?;
        }
        LeaseAction::Renew(token) => {
            let beat = events.repeat("beat", &events.claims(token));
            events.append(connection, &beat).await?;
        }
        LeaseAction::End(token) => {
            let end = events.repeat("end", &events.claims(token));
            events.append(connection, &end).await?;
        }
    }
    events.read(connection).await
}

impl Events<'_> {
    /// Claims unleased shares, and ends its claim of each that another taker claimed first.
    async fn take<W: TextWire>(
        &self,
        connection: &mut SqlConnection<W>,
        leases: &[&Lease],
    ) -> Result<(), UserError> {
        for lease in leases {
            self.append(connection, &self.choose(lease)).await?;
            self.append(connection, &self.claim(lease)).await?;
        }
        for lease in leases {
            for _ in 0..LOOKS {
                if number(&connection.texts(&self.choosing(lease)).await?, 0) == 0 {
                    break;
                }
                connection.pause(PAUSE).await;
            }
        }
        let won = self.read(connection).await?;
        for lease in leases {
            let is_mine = |won: &Lease| {
                won.table == lease.table && won.share == lease.share && won.token == lease.token
            };
            if !won.iter().any(is_mine) {
                let claims = format!(
                    "{} AND table_name = {} AND share = {}",
                    self.claims(&lease.token),
                    (self.words.literal)(&lease.table),
                    lease.share
                );
                let end = self.repeat("end", &claims);
                self.append(connection, &end).await?;
            }
        }
        Ok(())
    }

    /// Runs a writing statement, and makes its effect visible.
    async fn append(&self, connection: &mut impl SqlQuery, sql: &str) -> Result<(), UserError> {
        connection.texts(sql).await?;
        if let Some(refresh) = self.words.refresh {
            connection.texts(refresh).await?;
        }
        Ok(())
    }

    /// A condition that selects the claims of a token.
    fn claims(&self, token: &str) -> String {
        let token = (self.words.literal)(token);
        format!("token = {token} AND event = 'claim'")
    }

    /// Announces that a number is being chosen.
    fn choose(&self, lease: &Lease) -> String {
        self.insert(&format!("{}, 'choosing', 0", values(self.words, lease)), "")
    }

    /// Chooses the next number.
    fn claim(&self, lease: &Lease) -> String {
        let values = values(self.words, lease);
        self.insert(
            &format!("{values}, 'claim', coalesce(max(number), 0) + 1"),
            &format!(" FROM {LEASES_TABLE}"),
        )
    }

    /// Another event of the claims selected by a condition.
    fn repeat(&self, event: &str, claims: &str) -> String {
        self.insert(
            &format!("{COLUMNS}, '{event}', number"),
            &format!(" FROM {LEASES_TABLE} WHERE {claims}"),
        )
    }

    /// An event with these columns, to which its time is added; `from` is their source.
    fn insert(&self, columns: &str, from: &str) -> String {
        let ([stamp, time], now) = (self.words.stamp, self.words.now_ms);
        format!(
            "INSERT INTO {LEASES_TABLE} ({COLUMNS}, {EVENT_COLUMNS}{stamp}) \
             SELECT {columns}, {now}{time}{from}"
        )
    }

    /// Counts the others that are choosing a number for a share.
    fn choosing(&self, lease: &Lease) -> String {
        let (words, began, claimed) = (self.words, newest("choosing"), newest("claim"));
        format!(
            "SELECT count(*) FROM (SELECT token, {began} AS began, {claimed} AS claimed \
             FROM {LEASES_TABLE} WHERE table_name = {} AND share = {} AND token <> {} GROUP BY token) AS c \
             WHERE claimed < began AND began + {CHOOSING_MS} > {}",
            (words.literal)(&lease.table),
            lease.share,
            (words.literal)(&lease.token),
            words.now_ms
        )
    }

    /// Claims that have not ended; the first one of a share is the valid one.
    fn select(&self) -> String {
        let (now, locked) = (self.words.now_ms, self.words.is_locked);
        let (claimed, ended) = (newest("claim"), newest("end"));
        format!(
            "SELECT table_name, share, of_shares, token, of_plan, of_owner, of_machine, of_process, \
             of_started, {now} - claimed, {now} - seen, {locked} \
             FROM (SELECT table_name, share, max(shares) AS of_shares, token, max(plan) AS of_plan, \
             max(owner) AS of_owner, max(machine) AS of_machine, max(process) AS of_process, \
             max(started) AS of_started, number, {claimed} AS claimed, max(at_ms) AS seen, \
             {ended} AS ended FROM {LEASES_TABLE} WHERE event <> 'choosing' \
             GROUP BY table_name, share, token, number) AS l \
             WHERE ended = 0 ORDER BY table_name, share, number, token LIMIT {LEASES_MAX}"
        )
    }

    async fn read(&self, connection: &mut impl SqlQuery) -> Result<Vec<Lease>, UserError> {
        let rows = connection.texts(&self.select()).await?;
        let mut leases = leases(&rows)?;
        leases.dedup_by(|next, first| next.table == first.table && next.share == first.share);
        Ok(leases)
    }
}

/// Time of the newest event of this name in a group of events; 0 without one.
fn newest(event: &str) -> String {
    format!("max(CASE WHEN event = '{event}' THEN at_ms ELSE 0 END)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::{escaped, literal};

    #[test]
    fn texts_are_literals_and_a_further_event_keeps_the_claim_s_columns() {
        let lease = Lease {
            table: "it's".to_owned(),
            share: 1,
            shares: 2,
            token: "t\\".to_owned(),
            plan: "p".to_owned(),
            ..Lease::default()
        };
        let plain = LeaseWords {
            or_ignore: "",
            appended: Some("CREATE"),
            ..LeaseWords::plain(escaped, "TEXT", "now()")
        };
        let stamped = LeaseWords { literal, stamp: [", ts", ", time()"], ..plain };
        for (words, texts, end, event) in [
            (
                plain,
                "SELECT 'it\\'s', 1, 2, 't\\\\', 'p', '', '', 0, 0, ",
                " FROM highwater_leases",
                "process, started, 'end', number, now()",
            ),
            (
                stamped,
                "at_ms, ts) SELECT 'it''s', 1, 2, 't\\', 'p', '', '', 0, 0, ",
                ", time() FROM highwater_leases",
                "process, started, 'end', number, now(), time()",
            ),
        ] {
            let events = Events { words: &words };
            let [choose, claim] = [events.choose(&lease), events.claim(&lease)];
            assert!(choose.contains(&format!("{texts}'choosing', 0, ")), "{choose}");
            assert!(!choose.contains("FROM"), "{choose}");
            let number = format!("{texts}'claim', coalesce(max(number), 0) + 1, ");
            assert!(claim.contains(&number) && claim.ends_with(end), "{claim}");
            let sql = events.repeat("end", &events.claims("x"));
            assert!(sql.contains(event), "{sql}");
            let claims = " FROM highwater_leases WHERE token = 'x' AND event = 'claim'";
            assert!(sql.ends_with(claims), "{sql}");
        }
    }
}
