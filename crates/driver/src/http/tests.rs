//! Exchanges with a server whose responses each test defines.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::thread;

use tokio::net::TcpStream;

use super::*;

/// What a sink received.
#[derive(Debug, Default, PartialEq, Eq)]
struct Kept {
    status: u16,
    /// Headers of the answer, in lower case.
    headers: Vec<String>,
    body: Vec<u8>,
    /// Stops after this many bytes.
    enough: Option<usize>,
}

impl Sink for Kept {
    fn status(&mut self, status: u16) {
        self.status = status;
    }

    fn header(&mut self, name: &str, value: &[u8]) {
        let value = String::from_utf8_lossy(value);
        let line = format!("{name}: {value}");
        self.headers.push(line.to_lowercase());
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        self.body.extend_from_slice(bytes);
        self.enough.is_none_or(|enough| self.body.len() < enough)
    }
}

/// Sends a request of `length` bytes to a server that reads `reads` of them, writes these pieces, and closes. Returns
/// what was received, and whether the connection can be used for another request.
fn exchange(
    length: usize,
    reads: usize,
    pieces: &[&[u8]],
    mut kept: Kept,
) -> (io::Result<bool>, Kept, bool) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = vec![0; reads];
        stream.read_exact(&mut request).unwrap();
        // A client that stops early closes before everything is written.
        let written = pieces.iter().try_for_each(|piece| stream.write_all(piece));
        drop(written.and_then(|()| stream.shutdown(Shutdown::Write)));
        // Until the client closes: a reset would discard the response.
        drop(stream.read_to_end(&mut request));
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let body = vec![b'x'; length];
    let (result, all_sent) = runtime.unwrap().block_on(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut connection = HttpConnection::new(Stream::Tcp(stream));
        let result = connection.exchange(b"head", &body, &mut kept).await;
        (result, connection.all_sent())
    });
    server.join().unwrap();
    (result, kept, all_sent)
}

fn check(answer: &[&[u8]], status: u16, body: &str, reusable: bool) {
    let (result, kept, _) = exchange(10, 14, answer, Kept::default());
    let head = (result.ok(), kept.status, String::from_utf8(kept.body).unwrap());
    assert_eq!(head, (Some(reusable), status, body.to_owned()), "{answer:?}");
}

#[test]
fn bodies_end_by_length_by_chunks_or_with_the_connection() {
    check(&[b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"], 200, "abc", true);
    check(&[b"HTTP/1.1 413 Request Entity Too Large\r\ncontent-length: 0\r\n\r\n"], 413, "", true);
    check(
        &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nA: b\r\n\r\n"],
        200,
        "abc",
        true,
    );
    check(&[b"HTTP/1.1 200 OK\r\n\r\nabc"], 200, "abc", false);
    check(&[b"HTTP/1.1 204 No Content\r\n\r\n"], 204, "", true);
    check(
        &[b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz"],
        200,
        "z",
        true,
    );
}

#[test]
fn a_connection_that_the_server_will_close_is_not_used_again() {
    check(
        &[b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"],
        200,
        "a",
        false,
    );
    check(&[b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"], 200, "a", false);
}

#[test]
fn responses_may_arrive_in_any_pieces() {
    let whole =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n";
    let pieces: Vec<&[u8]> = whole.chunks(1).collect();
    check(&pieces, 200, "abcde", true);
    let body = "y".repeat(100_000);
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{body}");
    check(&[long.as_bytes()], 200, &body, true);
}

#[test]
fn an_answer_that_does_not_end_is_an_error() {
    for cut in [
        &b""[..],
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    ] {
        let (result, _, all_sent) = exchange(10, 14, &[cut], Kept::default());
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{cut:?}");
        assert!(all_sent);
    }
}

#[test]
fn responses_other_than_http_violate_the_protocol() {
    let endless = [&b"HTTP/1.1 200 OK\r\nA: "[..], &*vec![b'a'; 40_000]].concat();
    for text in [
        &b"SSH-2.0-x\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        &endless,
    ] {
        let (result, _, _) = exchange(10, 14, &[text], Kept::default());
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}

#[test]
fn an_answer_before_the_end_of_the_request_is_read_and_ends_the_connection() {
    // More than the sockets hold: the server responds without reading the rest.
    let refused = b"HTTP/1.1 413 Request Entity Too Large\r\ncontent-length: 0\r\n\r\n";
    let (result, kept, all_sent) = exchange(64 << 20, 1_000, &[refused], Kept::default());
    assert_eq!((result.ok(), kept.status, all_sent), (Some(false), 413, false));
}

#[test]
fn a_sink_that_has_enough_ends_the_connection() {
    let long = [
        &b"HTTP/1.1 400 Bad Request\r\nContent-Length: 1000000\r\n\r\n"[..],
        &*vec![b'e'; 100_000],
    ];
    let kept = Kept { enough: Some(10), ..Kept::default() };
    let (result, kept, _) = exchange(10, 14, &[&long.concat()], kept);
    assert_eq!((result.ok(), kept.status), (Some(false), 400));
    assert!(kept.body.len() < 100_000);
}

#[test]
fn headers_of_the_answer_are_handed_on_and_those_of_an_interim_one_are_not() {
    let answer = b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n\
                   HTTP/1.1 200 OK\r\nX-Code:  241 \r\nContent-Length: 0\r\n\r\n";
    let (result, kept, _) = exchange(10, 14, &[answer], Kept::default());
    assert_eq!(result.ok(), Some(true));
    assert_eq!(kept.headers, ["x-code: 241", "content-length: 0"]);
}

#[test]
fn a_connection_is_kept_for_the_time_that_the_server_states() {
    for (text, expected) in [
        ("timeout=3", Some(3)),
        ("max=5, timeout=30", Some(30)),
        ("timeout=soon", None),
        ("", None),
    ] {
        assert_eq!(timeout(text.as_bytes()), expected, "{text}");
    }
}
