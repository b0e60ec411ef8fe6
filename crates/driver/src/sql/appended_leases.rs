//! Leases on a server that can only append rows: every event of a lease is another row.
//!
//! A lease is a *claim* with a number, which *beats* repeat and an *end* closes. Of several claims of a share, the
//! lowest number wins; ties are broken by token. Numbers are assigned as in Lamport's bakery algorithm (Communications
//! of the ACM 17, 8, 1974): a taker announces itself first, and looks for the winner only after everyone choosing a
//! number has it. So two takers see the same winner, without a lock, a transaction, or a clock. The rules of leases are
//! in `lease`, and must not be known here.

use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::connection::{SqlConnection, TextWire};
use super::describe::number;
use super::leases::{COLUMNS, LEASES_MAX, LeaseWords, leases, values};
use crate::lease::{LEASES_TABLE, Lease, LeaseAction};
use crate::sql_query::SqlQuery;

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
pub async fn perform<W: TextWire>(
    connection: &mut SqlConnection<W>,
    words: &LeaseWords,
    create: &str,
    action: LeaseAction<'_>,
) -> Result<Vec<Lease>, UserError> {
    let events = Events { words };
    match action {
        LeaseAction::Read => events.append(connection, create).await?,
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
    use crate::sql::quoting::{escaped, literal};

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
