//! A relative that cannot be installed everywhere: a server that introduces itself as CockroachDB
//! and gives the answers of its documentation ("Transaction retry error reference", "Common
//! errors and solutions").

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use highwater_core::model::op::{ColumnType, OpBody, Value};
use highwater_core::model::outcome::{Certainty, ErrorClass};

use crate::client::{Client, asking, open};
use crate::support;
use crate::transactions::transaction;

/// What the execution of a statement is answered with: a command tag, or SQLSTATE and message.
type Answer = Result<&'static str, (&'static str, &'static str)>;

/// A server for one connection; its URL.
fn server(answers: Vec<Answer>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(serve(&mut stream, answers.into_iter()));
    });
    format!("cockroach://root@127.0.0.1:{port}/defaultdb?sslmode=disable")
}

fn serve(stream: &mut TcpStream, mut answers: impl Iterator<Item = Answer>) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    take(stream, length)?;
    let mut out = message(b'R', &0_u32.to_be_bytes());
    out.extend(message(b'S', b"crdb_version\0CockroachDB CCL v23.1.11\0"));
    out.extend(message(b'Z', b"I"));
    stream.write_all(&out)?;
    out.clear();
    let (mut parameters, mut failed) = (0, false);
    // As `ReadyForQuery` tells it.
    let mut status = b'I';
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let [tag, length @ ..] = head;
        let body = take(stream, length)?;
        match tag {
            b'S' => {
                if status == b'T' && more_is_there(stream)? {
                    // A statement of a transaction waits for the answer to the one before.
                    return Ok(());
                }
                out.extend(message(b'Z', &[status]));
                stream.write_all(&out)?;
                out.clear();
                failed = false;
            }
            b'Q' => {
                assert_eq!(body, b"ROLLBACK\0");
                status = b'I';
                out.extend(message(b'C', b"ROLLBACK\0"));
                out.extend(message(b'Z', &[status]));
                stream.write_all(&out)?;
                out.clear();
            }
            b'X' => return Ok(()),
            // After an error all is passed over until Sync.
            _ if failed => {}
            b'P' => {
                parameters = body.split(|byte| *byte == b'$').count() - 1;
                out.extend(message(b'1', b""));
            }
            b'D' => {
                let mut types = u16::try_from(parameters).unwrap().to_be_bytes().to_vec();
                let known = [20_u32, 17].iter().take(parameters);
                known.for_each(|oid| types.extend(oid.to_be_bytes()));
                out.extend(message(b't', &types));
                out.extend(message(b'n', b""));
            }
            b'B' => out.extend(message(b'2', b"")),
            b'E' => match answers.next() {
                Some(Ok(tag)) => {
                    status = match tag {
                        "BEGIN" => b'T',
                        "COMMIT" => b'I',
                        _ => status,
                    };
                    out.extend(message(b'C', format!("{tag}\0").as_bytes()));
                }
                Some(Err((code, text))) => {
                    let fields = format!("SERROR\0VERROR\0C{code}\0M{text}\0\0");
                    out.extend(message(b'E', fields.as_bytes()));
                    failed = true;
                    status = if status == b'T' { b'E' } else { status };
                }
                None => return Ok(()),
            },
            _ => {}
        }
    }
}

fn more_is_there(stream: &TcpStream) -> std::io::Result<bool> {
    stream.set_nonblocking(true)?;
    let there = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false)?;
    Ok(there)
}

fn take(stream: &mut TcpStream, length: [u8; 4]) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap();
    let mut body = vec![0; length.saturating_sub(4)];
    stream.read_exact(&mut body)?;
    Ok(body)
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], length.to_be_bytes().as_slice(), body].concat()
}

#[test]
fn a_retry_error_was_not_applied_and_an_ambiguous_result_is_unknown() {
    let url = server(vec![
        Err((
            "40001",
            "restart transaction: TransactionRetryWithProtoRefreshError: WriteTooOldError",
        )),
        Ok("INSERT 0 1"),
        Err((
            "40003",
            "result is ambiguous (error=rpc error: code = Unavailable)",
        )),
        Ok("INSERT 0 1"),
    ]);
    let upsert = "UPSERT INTO kv (k, v) VALUES ($1, $2)";
    let workload = asking(&[(upsert, &[ColumnType::Bigint, ColumnType::Text])]);
    let parameters = || OpBody::Query(vec![Value::Integer(-5), Value::Text("value".into())]);
    support::block_on(async {
        let target = open(&url, None).unwrap();
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let outcome = client.ask(0, parameters()).await;
        let error = outcome.error.unwrap();
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert_eq!(error.class, ErrorClass::Conflict);
        assert!(error.class.is_transient() && outcome.session_usable);
        let again = client.ask(0, parameters()).await;
        assert_eq!(
            (again.certainty, again.rows_applied),
            (Certainty::Applied, 1)
        );
        let ambiguous = client.ask(0, parameters()).await;
        assert_eq!(ambiguous.certainty, Certainty::Unknown);
        assert_eq!(ambiguous.error.unwrap().code.as_deref(), Some("40003"));
        assert!(client.ask(0, parameters()).await.is_success());
    });
}

#[test]
fn a_transaction_is_sent_statement_by_statement_and_retried_as_a_whole() {
    let restart = || Err(("40001", "restart transaction: RETRY_SERIALIZABLE"));
    let ambiguous = || Err(("40003", "result is ambiguous"));
    let whole = [Ok("BEGIN"), Ok("UPDATE 1"), Ok("INSERT 0 1"), Ok("COMMIT")];
    let mut answers = vec![Ok("BEGIN"), Ok("UPDATE 1"), restart()];
    answers.extend(whole);
    answers.extend([Ok("BEGIN"), Ok("UPDATE 1"), Ok("INSERT 0 1"), restart()]);
    answers.extend([Ok("BEGIN"), Ok("UPDATE 1"), Ok("INSERT 0 1"), ambiguous()]);
    let url = server(answers);
    let workload = transaction(&[
        "UPDATE account SET balance = balance + $1",
        "INSERT INTO note VALUES ($1)",
    ]);
    let parameters = || OpBody::Query(vec![Value::Integer(-5)]);
    support::block_on(async {
        let target = open(&url, None).unwrap();
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let mut ask = async || client.ask(0, parameters()).await;
        let in_the_middle = ask().await;
        let error = in_the_middle.error.unwrap();
        assert_eq!(in_the_middle.certainty, Certainty::NotApplied);
        assert!(error.class.is_transient() && in_the_middle.session_usable);
        let again = ask().await;
        assert!(again.is_success(), "{again:?}");
        assert_eq!(again.rows_applied, 2);
        let by_commit = ask().await;
        assert_eq!(by_commit.certainty, Certainty::NotApplied);
        assert!(by_commit.session_usable, "{by_commit:?}");
        assert_eq!(ask().await.certainty, Certainty::Unknown);
    });
}

#[test]
fn an_ambiguous_answer_before_commit_is_unknown_too() {
    let url = server(vec![Ok("BEGIN"), Err(("40003", "result is ambiguous"))]);
    let workload = transaction(&["UPDATE account SET balance = balance + $1"]);
    support::block_on(async {
        let target = open(&url, None).unwrap();
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let outcome = client.ask(0, OpBody::Query(vec![Value::Integer(1)])).await;
        assert_eq!(outcome.certainty, Certainty::Unknown, "{outcome:?}");
    });
}
