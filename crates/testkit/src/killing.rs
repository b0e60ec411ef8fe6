//! Inserts batches until the server is killed with one of them in flight, for tests of drivers of SQL servers.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use highwater_model::outcome::Certainty;

use crate::points::Client;

/// Inserts batches of `rows` rows, and kills the server while the last batch is in flight. Returns the acknowledged
/// rows, and those of unknown outcome.
pub async fn until_killed(
    client: &mut Client,
    rows: i64,
    batches: i64,
    kill: impl FnOnce(),
) -> (u64, u64) {
    let (mut acknowledged, mut kill) = (0, Some(kill));
    for number in 0..i64::MAX {
        // Between two ops, and with one in flight.
        let mut op = Box::pin(client.insert(number * rows, rows));
        if number + 1 == batches {
            assert!(!is_ready(op.as_mut()).await, "it was answered at once");
            kill.take().expect("it is done once")();
        }
        let outcome = op.await;
        match outcome.certainty {
            Certainty::Applied => acknowledged += outcome.rows_applied,
            Certainty::NotApplied => return (acknowledged, 0),
            Certainty::Unknown => return (acknowledged, rows.unsigned_abs()),
        }
    }
    unreachable!("the server was killed")
}

/// Whether a future is ready when it is polled once.
async fn is_ready(mut future: Pin<&mut impl Future>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}
