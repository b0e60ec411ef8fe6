//! Connecting to servers that respond, refuse, or are not ready yet.
#![expect(clippy::unwrap_used, reason = "a server that cannot start fails its test")]

use std::net::TcpListener;

use highwater_model::user_error::{UserError, UserErrorKind};

use crate::client::{CPU, Client, open};
use crate::double::{Double, Recording};
use crate::support::block_on;

/// Serves the same response to every request.
fn always(answer: &str) -> String {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = answer.replace('\n', "\r\n");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                // It responds to TLS like CrateDB: with nothing useful.
                if bytes[..count].first() != Some(&b'P')
                    || stream.write_all(answer.as_bytes()).is_err()
                {
                    break;
                }
            }
        }
    });
    format!("crate://bench:geheim@127.0.0.1:{port}/doc?connect_timeout=1")
}

fn refused(url: &str) -> UserError {
    block_on(async {
        let target = open(url, "bulk").unwrap();
        match Client::connect(target.as_ref(), 0).await {
            Ok(_) => panic!("{url} was accepted"),
            Err(error) => error,
        }
    })
}

#[test]
fn a_wrong_password_is_refused_with_a_hint_and_without_the_password() {
    let answer = "HTTP/1.1 401 Unauthorized\ncontent-length: 47\n\
        www-authenticate: Basic realm=\"CrateDB Authenticator\"\n\n\
        password authentication failed for user \"bench\"";
    let recorded = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cratedb/recordings/10d-user-bench-wrong-password.txt"
    ));
    assert!(recorded.unwrap().contains("failed for user \"bench\""));
    let url = always(answer).replace("connect_timeout=1", "connect_timeout=60");
    let error = refused(&url);
    assert_eq!(error.kind, UserErrorKind::Refused);
    assert!(error.hint.as_deref().unwrap().contains("CRATEDB_PASSWORD"));
    assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
}

#[test]
fn a_port_without_a_server_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = refused(&format!("crate://127.0.0.1:{port}/doc"));
    assert_eq!(error.kind, UserErrorKind::Unreachable);
}

#[test]
fn a_server_without_http_is_unreachable() {
    let error = refused(&always("E\0\0\0 not this protocol\n\n"));
    assert_eq!(error.kind, UserErrorKind::Unreachable, "{error}");
}

#[test]
fn a_cluster_without_a_master_is_waited_for_and_then_unreachable() {
    let answer = "HTTP/1.1 503 Service Unavailable\n\
        content-type: application/json; charset=UTF-8\ncontent-length: 66\n\n\
        {\"error\":{\"message\":\"MasterNotDiscoveredException[]\",\"code\":5031}}";
    let error = refused(&always(answer));
    assert_eq!(error.kind, UserErrorKind::Unreachable);
    assert!(error.message.contains("5031") && error.hint.is_some(), "{error:?}");
}

#[test]
fn a_node_that_starts_is_waited_for() {
    // As seen in `32-startup-window`: no master, then an unhealthy cluster, then GREEN.
    let double = Double::start(&["44-look-no-master", "41-look-yellow", "40-look-green"]);
    block_on(async {
        let target = open(&double.url(), "bulk").unwrap();
        assert!(Client::connect(target.as_ref(), 0).await.is_ok());
    });
    assert_eq!(double.requests(), 3);
    double.finish();
}

#[test]
fn sessions_go_round_the_hosts_and_an_attempt_takes_the_next() {
    let doubles = [(); 2].map(|()| Double::start(&["40-look-green", "06-bulk-insert-3-good"]));
    let ports =
        doubles.each_ref().map(|double| double.url()["crate://".len()..].replace("/doc", ""));
    let url = format!("crate://{}/doc", ports.join(","));
    block_on(async {
        let target = open(&url, "bulk").unwrap();
        assert_eq!(target.urls().len(), 2);
        for number in 0..3 {
            let mut client = Client::connect(target.as_ref(), number).await.unwrap();
            assert!(client.insert(CPU, "06-bulk-insert-3-good").await.is_success());
        }
        assert_eq!(target.host_of(0, 1), 1);
    });
    assert_eq!(doubles.each_ref().map(Double::requests), [4, 2]);
    doubles.iter().for_each(Double::finish);
}

#[test]
fn the_double_reports_a_request_that_was_not_recorded() {
    let double = Double::start(&["40-look-green"]);
    block_on(async {
        let target = open(&double.url(), "bulk").unwrap();
        let mut client = Client::connect(target.as_ref(), 0).await.unwrap();
        assert!(!client.insert(CPU, "06-bulk-insert-3-good").await.is_success());
    });
    let wrong = double.wrong();
    assert!(wrong.len() == 1 && wrong[0].starts_with("not recorded: "), "{wrong:?}");
    let request = Recording::read("06-bulk-insert-3-good").body();
    assert!(wrong[0].contains(&request["bulk_args"][0].to_string()));
}
