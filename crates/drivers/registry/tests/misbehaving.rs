//! Servers whose responses are endless, much too long, missing, or in another protocol: each ends with one clear error
//! in bounded memory and time. Runs on loopback, from a script.

#![expect(clippy::unwrap_used, reason = "a test fails where it finds something else")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use highwater_driver::Connect;
use highwater_model::op::{BoundOp, BoundOpKind, BoundWorkload};
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_testkit::support;
use support::{WallTimeline, block_on, options};

/// Checks all cases concurrently: they wait for time limits.
fn at_once<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| check(case));
        }
    });
}

/// Maximum memory of all these tests together, including the program itself; without a limit, each used a gibibyte or
/// more.
#[cfg(target_os = "linux")]
const PEAK_KIB_MAX: u64 = 700 * 1024;

/// Serves every connection with a function, on a port of loopback.
fn serve(connection: fn(&mut TcpStream) -> std::io::Result<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || drop(connection(&mut stream)));
        }
    });
    port
}

/// Speaks PostgreSQL up to the client's first request, which it reads.
fn postgres_start(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut rest = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap() - 4];
    stream.read_exact(&mut rest)?;
    stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")?;
    assert!(stream.read(&mut [0; 4096])? > 0 || rest.is_empty());
    Ok(())
}

/// Reads until the client disconnects.
fn wait_for_the_end(stream: &mut TcpStream) -> std::io::Result<()> {
    while stream.read(&mut [0; 4096])? > 0 {}
    Ok(())
}

fn endless_rows(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_start(stream)?;
    let row = b"D\0\0\0\x0b\0\x01\0\0\0\x01x";
    let many = row.repeat(4_096);
    loop {
        stream.write_all(&many)?;
    }
}

fn endless_notices(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_start(stream)?;
    let many = b"N\0\0\0\x05\0".repeat(4_096);
    loop {
        stream.write_all(&many)?;
    }
}

fn silent_postgres(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_start(stream)?;
    wait_for_the_end(stream)
}

/// Responds to CrateDB's health check, and to everything else with the function.
fn crate_start(
    stream: &mut TcpStream,
    otherwise: fn(&mut TcpStream) -> std::io::Result<()>,
) -> std::io::Result<()> {
    loop {
        let mut bytes = [0; 8_192];
        let count = stream.read(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        if count == 0 || !text.starts_with("POST") {
            return Ok(());
        }
        if !text.contains("health") {
            return otherwise(stream);
        }
        let body = r#"{"cols":["h","m"],"rows":[[1,0]],"rowcount":1}"#;
        let length = body.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")?;
    }
}

fn tiny_rows(stream: &mut TcpStream) -> std::io::Result<()> {
    crate_start(stream, |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"rows\":[[1]")?;
        let many = b",[1]".repeat(1_000);
        for _ in 0..15_000 {
            stream.write_all(&many)?;
        }
        stream.write_all(b"],\"rowcount\":1}")
    })
}

fn silent_crate(stream: &mut TcpStream) -> std::io::Result<()> {
    crate_start(stream, wait_for_the_end)
}

/// Why a target's facts cannot be read.
fn facts(url: &str) -> UserError {
    block_on(async {
        let target = highwater_drivers::open(&[url.to_owned()], &options()).unwrap();
        let mut admin = target.administer(WallTimeline::start()).await.unwrap();
        let error = admin.facts().await.unwrap_err();
        // A late response is not taken for that to another request.
        assert!(admin.facts().await.is_err());
        error
    })
}

/// Why a session cannot prepare its only statement.
fn preparing(url: &str) -> UserError {
    let query = BoundOpKind::Query { sql: "SELECT 1".to_owned(), parameters: Vec::new() };
    let workload = Arc::new(BoundWorkload {
        ops: vec![BoundOp { name: "q".to_owned(), kind: query }],
        ..BoundWorkload::default()
    });
    block_on(async {
        let target = highwater_drivers::open(&[url.to_owned()], &options()).unwrap();
        let connect = Connect { workload, number: 0, attempt: 0, timeline: WallTimeline::start() };
        target.connect(connect).await.err().unwrap()
    })
}

fn postgres(connection: fn(&mut TcpStream) -> std::io::Result<()>) -> String {
    let port = serve(connection);
    format!("postgres://u@127.0.0.1:{port}/d?sslmode=disable&connect_timeout=1")
}

fn crate_db(connection: fn(&mut TcpStream) -> std::io::Result<()>) -> String {
    let port = serve(connection);
    format!("crate://127.0.0.1:{port}/doc?sslmode=disable&connect_timeout=1")
}

#[cfg(target_os = "linux")]
fn assert_memory_is_bounded() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < PEAK_KIB_MAX, "{kib} KiB");
}

#[cfg(not(target_os = "linux"))]
fn assert_memory_is_bounded() {}

/// A responding server is waited for, even on a busy machine.
fn waited_for(url: &str) -> String {
    url.replace("connect_timeout=1", "connect_timeout=60")
}

#[test]
fn an_answer_of_endless_rows_is_left() {
    let error = facts(&waited_for(&postgres(endless_rows)));
    assert!(error.message.contains("more than 250,000 rows"), "{error}");
    assert_memory_is_bounded();
}

#[test]
fn an_answer_of_too_many_values_is_not_read() {
    let error = facts(&waited_for(&crate_db(tiny_rows)));
    assert!(error.message.contains("more than 2,000,000 values"), "{error}");
    assert_memory_is_bounded();
}

#[test]
fn a_server_that_is_silent_after_the_handshake_is_left() {
    at_once(
        &[postgres(silent_postgres), postgres(endless_notices), crate_db(silent_crate)],
        |url| {
            let error = facts(url);
            assert_eq!(error.kind, UserErrorKind::Unreachable);
            assert!(error.message.contains("did not respond within 3 s"), "{error}");
            assert!(error.hint.unwrap().contains("connect_timeout"));
        },
    );
    assert_memory_is_bounded();
}

#[test]
fn a_server_that_is_silent_while_statements_are_prepared_is_left() {
    let error = preparing(&postgres(silent_postgres));
    assert!(error.message.contains("did not respond within 3 s"), "{error}");
}

/// An HTTP server that waits for the end of a request's first line, and responds with a page.
fn web_server(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut byte = [0];
    while byte != *b"\n" {
        stream.read_exact(&mut byte)?;
    }
    stream.set_read_timeout(Some(std::time::Duration::from_millis(50)))?;
    drop(stream.read(&mut [0; 4096]));
    stream.write_all(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n<!DOCTYPE html><html>\n")
}

/// Like PostgreSQL: rejects TLS, and closes the connection after an invalid start-up message.
fn postgres_without_tls(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    if bytes == [0, 0, 0, 8, 4, 210, 22, 47] {
        stream.write_all(b"N")?;
        wait_for_the_end(stream)?;
    }
    Ok(())
}

/// Why the connection before and after the load cannot be opened.
fn first_contact(url: &str) -> UserError {
    block_on(async {
        let target = highwater_drivers::open(&[url.to_owned()], &options()).unwrap();
        target.administer(WallTimeline::start()).await.err().unwrap()
    })
}

#[test]
fn the_actual_server_is_named() {
    let cases = [
        (postgres(web_server), "an HTTP server answers there"),
        (crate_db(postgres_without_tls), "PostgreSQL protocol answers there"),
        (crate_db(web_server), "a page (HTTP 404), not CrateDB"),
    ];
    at_once(&cases, |(url, named)| {
        // The first of them waits for a line that PostgreSQL's driver does not send.
        let error = first_contact(&url.replace("connect_timeout=1", "connect_timeout=5"));
        assert_eq!(error.kind, UserErrorKind::Unreachable);
        assert!(error.message.contains(named), "{error}");
        assert!(error.hint.is_some(), "{error}");
    });
}
