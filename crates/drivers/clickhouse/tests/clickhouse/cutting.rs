//! Batches whose request or response is cut by a proxy.

use std::sync::Arc;

use highwater_model::outcome::Certainty;
use highwater_model::units::Nanos;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Client, Stage, admin, count, open, points, started, target};
use crate::support::block_on;

/// The position at which a proxy cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// It forwards this many bytes of the first insert, and then closes both connections.
    Request(usize),
    /// It forwards the complete request, and closes the client's connection instead of responding.
    Answer,
}

/// Forwards bytes between clients and a server, and cuts the first insert of a batch.
async fn proxy(listener: TcpListener, port: u16, cut: Cut) {
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        tokio::task::spawn_local(async move {
            let mut request = vec![0; 1 << 20];
            let mut answer = vec![0; 1 << 20];
            loop {
                tokio::select! {
                    read = client.read(&mut request) => {
                        let Ok(count @ 1..) = read else { return };
                        let bytes = &request[..count];
                        let is_insert = bytes.windows(13).any(|w| w == b"FORMAT Native");
                        match cut {
                            Cut::Request(length) if is_insert => {
                                server.write_all(&bytes[..length.min(count)]).await.unwrap();
                                return;
                            }
                            Cut::Answer if is_insert => {
                                server.write_all(bytes).await.unwrap();
                                // Completely: the response begins when the insert is done.
                                server.read_exact(&mut answer[..1]).await.unwrap();
                                return;
                            }
                            _ => server.write_all(bytes).await.unwrap(),
                        }
                    }
                    read = server.read(&mut answer) => {
                        let Ok(count @ 1..) = read else { return };
                        client.write_all(&answer[..count]).await.unwrap();
                    }
                }
            }
        });
    }
}

/// Inserts a batch through a proxy that cuts it; returns the certainty of the outcome.
async fn inserted(server: &ClickHouse, cut: Cut) -> Certainty {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let through = listener.local_addr().unwrap().port();
    let set = tokio::task::LocalSet::new();
    set.spawn_local(proxy(listener, server.port(), cut));
    let url = server.url(SUPERUSER);
    let url = url.replace(&format!(":{}/", server.port()), &format!(":{through}/"));
    set.run_until(async {
        let workload = points();
        let target = open(&url).unwrap();
        let mut client = Client::connect(target.as_ref(), &Arc::clone(&workload)).await.unwrap();
        let outcome = client.insert(0, 100).await;
        assert!(!outcome.is_success() && !outcome.session_usable, "{outcome:?}");
        // The truncated request may still be read.
        let mut admin = admin(target.as_ref()).await.unwrap();
        assert!(admin.quiesce(Nanos::from_secs(30)).await.unwrap());
        outcome.certainty
    })
    .await
}

#[test]
fn of_a_block_that_was_cut_nothing_is_stored_and_of_one_that_was_not_answered_all() {
    let Some(server) = started() else {
        return;
    };
    block_on(async {
        let target = target(&server);
        let _stage = Stage::set(target.as_ref(), points()).await;
        // In the head, after it, in the columns, and before the last byte of 100 rows of 12 bytes.
        for length in [50, 300, 700, 1_000] {
            let certainty = inserted(&server, Cut::Request(length)).await;
            assert_eq!(certainty, Certainty::Unknown, "{length}");
            assert_eq!(count(&server), 0, "{length}");
        }
        assert_eq!(inserted(&server, Cut::Answer).await, Certainty::Unknown);
        assert_eq!(count(&server), 100);
    });
}
