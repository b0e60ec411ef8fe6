//! Leases on a server whose rows can only be added: what happens to one is a further row.
//!
//! A lease is a *claim* with a number, which *beats* repeat and an *end* closes; of several claims of a
//! share, the one with the lowest number counts, and equal numbers go by their tokens. Numbers are given
//! out as in Lamport's bakery (Communications of the ACM 17, 8, 1974): who takes one says so before, and
//! looks for the winner only when everybody who was taking one has it. So both of two takers see the same
//! winner, without a lock, a transaction or a clock. The rules of leases are in `lease`; must not know them.

use super::describe::number;
use super::leases::{COLUMNS, LEASES_MAX, LeaseWords, lease, values};
use crate::contract::TargetError;
use crate::lease::{LEASES_TABLE, Lease, LeaseAction};
use crate::sql_query::SqlQuery;

/// The columns of an event, behind those of its lease.
const EVENT_COLUMNS: &str = "event, number, at_ms";
/// Whoever is killed while he takes a number has it never: no longer is waited for him, by the server's
/// clock. A number takes one statement.
const CHOOSING_MS: u32 = 10_000;
/// How often is looked whether others have their numbers, each time after a pause of the server's:
/// longer than [`CHOOSING_MS`] in all.
const LOOKS: usize = 300;
/// A pause of the server's, in which it does nothing.
const PAUSE: &str = "SELECT sleep(0.05)";

/// Does what is to be done, and reads the leases that are there then.
pub async fn perform(
    connection: &mut impl SqlQuery,
    words: &LeaseWords,
    action: LeaseAction<'_>,
) -> Result<Vec<Lease>, TargetError> {
    match action {
        LeaseAction::Read => drop(connection.texts(&create()).await?),
        LeaseAction::Take(leases) => {
            let held = read(connection, words).await?;
            let is_free = |lease: &&Lease| {
                let mut held = held.iter();
                !held.any(|held| held.table == lease.table && held.share == lease.share)
            };
            let free: Vec<&Lease> = leases.iter().filter(is_free).collect();
            take(connection, words, &free).await?;
        }
        LeaseAction::Renew(token) => {
            let token = (words.literal)(token);
            let claims = format!("token = {token} AND event = 'claim'");
            connection.texts(&repeat(words, "beat", &claims)).await?;
        }
        LeaseAction::End(token) => {
            let token = (words.literal)(token);
            let claims = format!("token = {token} AND event = 'claim'");
            connection.texts(&repeat(words, "end", &claims)).await?;
        }
    }
    read(connection, words).await
}

/// Claims shares that nobody holds, and gives up each that somebody else claimed before.
async fn take(
    connection: &mut impl SqlQuery,
    words: &LeaseWords,
    leases: &[&Lease],
) -> Result<(), TargetError> {
    for lease in leases {
        connection
            .texts(&insert(words, lease, "choosing", "0"))
            .await?;
        let next = format!("(SELECT max(number) + 1 FROM {LEASES_TABLE})");
        connection
            .texts(&insert(words, lease, "claim", &next))
            .await?;
    }
    for lease in leases {
        for _ in 0..LOOKS {
            if number(&connection.texts(&choosing(words, lease)).await?, 0) == 0 {
                break;
            }
            connection.texts(PAUSE).await?;
        }
    }
    let won = read(connection, words).await?;
    for lease in leases {
        let is_mine = |won: &Lease| {
            won.table == lease.table && won.share == lease.share && won.token == lease.token
        };
        if !won.iter().any(is_mine) {
            let claims = format!(
                "token = {} AND table_name = {} AND share = {} AND event = 'claim'",
                (words.literal)(&lease.token),
                (words.literal)(&lease.table),
                lease.share
            );
            connection.texts(&repeat(words, "end", &claims)).await?;
        }
    }
    Ok(())
}

/// Of each event of a claim only the newest is kept, sooner or later.
fn create() -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {LEASES_TABLE} (table_name String, share UInt32, shares UInt32, \
         token String, plan String, owner String, machine String, process Int64, started Int64, \
         event String, number UInt64, at_ms UInt64) \
         ENGINE = ReplacingMergeTree(at_ms) ORDER BY (table_name, share, token, number, event)"
    )
}

fn insert(words: &LeaseWords, lease: &Lease, event: &str, number: &str) -> String {
    format!(
        "INSERT INTO {LEASES_TABLE} ({COLUMNS}, {EVENT_COLUMNS}) SELECT {}, '{event}', {number}, {}",
        values(words, lease),
        words.now_ms,
    )
}

/// A further event of the claims that fulfil a condition.
fn repeat(words: &LeaseWords, event: &str, claims: &str) -> String {
    format!(
        "INSERT INTO {LEASES_TABLE} ({COLUMNS}, {EVENT_COLUMNS}) \
         SELECT {COLUMNS}, '{event}', number, {} FROM {LEASES_TABLE} WHERE {claims}",
        words.now_ms
    )
}

/// Counts the others who are taking a number for a share, and have none yet.
fn choosing(words: &LeaseWords, lease: &Lease) -> String {
    format!(
        "SELECT count(*) FROM (SELECT token, maxIf(at_ms, event = 'choosing') AS began, \
         maxIf(at_ms, event = 'claim') AS claimed FROM {LEASES_TABLE} \
         WHERE table_name = {} AND share = {} AND token <> {} GROUP BY token) AS c \
         WHERE claimed < began AND began + {CHOOSING_MS} > {}",
        (words.literal)(&lease.table),
        lease.share,
        (words.literal)(&lease.token),
        words.now_ms
    )
}

async fn read(
    connection: &mut impl SqlQuery,
    words: &LeaseWords,
) -> Result<Vec<Lease>, TargetError> {
    let now = words.now_ms;
    let rows = connection
        .texts(&format!(
            "SELECT table_name, share, any(shares), token, any(plan), any(owner), any(machine), \
             any(process), any(started), {now} - minIf(toInt64(at_ms), event = 'claim'), \
             {now} - toInt64(max(at_ms)), {} \
             FROM {LEASES_TABLE} WHERE event <> 'choosing' GROUP BY table_name, share, token, number \
             HAVING countIf(event = 'end') = 0 ORDER BY table_name, share, number, token \
             LIMIT 1 BY table_name, share LIMIT {LEASES_MAX}",
            words.is_locked
        ))
        .await?;
    Ok(rows.iter().filter_map(|row| lease(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Owner;
    use crate::sql::dialect::Dialect;
    use highwater_model::units::Nanos;

    #[test]
    fn texts_are_literals_and_a_further_event_keeps_the_claim_s_columns() {
        let words = Dialect::ClickHouse.lease_words();
        let lease = Lease {
            table: "it's".to_owned(),
            share: 1,
            shares: 2,
            token: "t\\".to_owned(),
            plan: "p".to_owned(),
            owner: Owner::default(),
            held: Nanos::ZERO,
            silent: Nanos::ZERO,
            is_locked: None,
        };
        let sql = insert(&words, &lease, "claim", "7");
        let values = "SELECT 'it\\'s', 1, 2, 't\\\\', 'p', '', '', 0, 0, 'claim', 7, ";
        assert!(sql.contains(values), "{sql}");
        let sql = repeat(&words, "end", "token = 'x'");
        assert!(
            sql.contains("process, started, 'end', number, toInt64"),
            "{sql}"
        );
    }
}
