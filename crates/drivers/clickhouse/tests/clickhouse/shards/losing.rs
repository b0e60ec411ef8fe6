//! A shard that is killed during the load: its acknowledged rows exist when it returns, and uncertain rows are reported
//! as unknown.

use std::future::poll_fn;
use std::task::Poll;

use highwater_driver::Target;
use highwater_model::outcome::{Certainty, Outcome};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_testing::clickhouse_shards::{SHARDS, Shards};

use super::cluster::{client_on, everywhere, own_rows, points, read, started};
use crate::points::{Client, Stage, admin};
use crate::support::block_on;

/// Rows of one batch of a load.
const ROWS: i64 = 1_000;
/// Batches of each session before a shard is killed, and after.
const BATCHES: i64 = 15;

/// Counts of a session's outcomes.
#[derive(Debug, Default)]
struct Tally {
    acknowledged: u64,
    unknown: u64,
    refused: u64,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        match outcome.certainty {
            Certainty::Applied => self.acknowledged += outcome.rows_applied,
            Certainty::Unknown => self.unknown += ROWS.unsigned_abs(),
            Certainty::NotApplied => self.refused += ROWS.unsigned_abs(),
        }
    }

    fn sum(&self) -> u64 {
        self.acknowledged + self.unknown + self.refused
    }
}

/// Rows of the table, once nothing changes them.
async fn counted(target: &dyn Target) -> Result<u64, UserError> {
    let mut audit = admin(target).await?;
    assert!(audit.quiesce(Nanos::from_secs(30)).await?);
    let counts = audit.count_by_key(&points().tables[0], 1 << 40).await?;
    Ok(counts.buckets.iter().map(|(_, rows)| rows).sum())
}

/// Sessions on each shard send batches concurrently; the middle shard is killed with batches in flight.
async fn load(shards: &mut Shards, clients: &mut [Client]) -> Vec<Tally> {
    let mut tallies: Vec<Tally> = clients.iter().map(|_| Tally::default()).collect();
    for round in 0..2 * BATCHES {
        let outcomes = {
            let sent = clients.iter_mut().zip(0..).map(|(client, number)| {
                let first = (round * 10 + number) * ROWS;
                Box::pin(client.insert(first, ROWS))
            });
            let mut sent: Vec<_> = sent.collect();
            if round == BATCHES {
                for op in &mut sent {
                    // It is sent, and not answered at once.
                    let is_answered =
                        poll_fn(|context| Poll::Ready(op.as_mut().poll(context).is_ready()));
                    assert!(!is_answered.await);
                }
                shards.server_mut(1).kill();
            }
            futures_util::future::join_all(sent).await
        };
        for (tally, outcome) in tallies.iter_mut().zip(&outcomes) {
            tally.add(outcome);
        }
    }
    tallies
}

#[test]
fn all_acknowledged_rows_of_a_killed_shard_are_stored() {
    let Some(mut shards) = started() else {
        return;
    };
    for mode in ["native", "distributed"] {
        let target = everywhere(&shards, Some(mode));
        let tallies = block_on(async {
            let stage = Stage::set(target.as_ref(), points()).await;
            let mut clients = Vec::new();
            for number in 0..u32::try_from(SHARDS).unwrap() {
                clients.push(client_on(target.as_ref(), &stage.workload, number).await);
            }
            let tallies = load(&mut shards, &mut clients).await;
            // A query does not skip a shard.
            let question = read(&mut clients[0], 1).await;
            assert!(!question.is_success(), "{question:?}");
            // Neither does the audit.
            assert!(counted(target.as_ref()).await.is_err());
            tallies
        });
        shards.server_mut(1).restart();
        let sent = u64::try_from(2 * BATCHES * ROWS).unwrap();
        assert!(tallies.iter().all(|tally| tally.sum() == sent), "{tallies:?}");
        let found = block_on(counted(target.as_ref())).unwrap();
        let own = own_rows(&shards);
        assert_eq!(found, own.iter().sum::<u64>());
        let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
        let (acknowledged, unknown) = (sum(|tally| tally.acknowledged), sum(|tally| tally.unknown));
        assert!(
            (acknowledged..=acknowledged + unknown).contains(&found),
            "{mode}: {found} found: {tallies:?}"
        );
        if mode == "native" {
            // Each server has the rows of its own sessions, and each batch as a whole or not at all.
            for (tally, own) in tallies.iter().zip(&own) {
                let surplus = own - tally.acknowledged;
                let is_whole = surplus.is_multiple_of(ROWS.unsigned_abs());
                assert!(surplus <= tally.unknown && is_whole, "{tally:?} {own}");
            }
            assert_eq!((tallies[0].acknowledged, tallies[2].acknowledged), (sent, sent));
            // One was in flight; later ones could not connect.
            assert!(tallies[1].unknown <= 2_000 && tallies[1].refused >= 13_000, "{tallies:?}");
        } else {
            // Each of the others needs all shards.
            assert!(
                tallies.iter().all(|tally| tally.acknowledged <= sent / 2 + 1_000),
                "{tallies:?}"
            );
            assert!(tallies[0].unknown > 0 && tallies[2].unknown > 0, "{tallies:?}");
        }
    }
}
