//! A compatible server that cannot be installed everywhere: a double that identifies itself as CockroachDB and responds
//! according to its documentation ("Transaction retry error reference", "Common errors and solutions"); and the only
//! statement of its own dialect that PostgreSQL can execute.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use highwater_model::op::{BoundTable, ColumnType, OpBody, PlaceholderStyle, Value};
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_model::units::Seed;
use highwater_testing::postgres::{Postgres, skipped};
use highwater_workload::{WorkloadSpec, builtin};

use crate::client::{Client, admin, open, points, queries};
use crate::support;
use crate::transaction::transaction;

/// The response to executing a statement: a command tag, or SQLSTATE and message.
pub(crate) type Answer = Result<&'static str, (&'static str, &'static str)>;

/// Maximum unread texts.
const TEXTS_MAX: usize = 1_000;

/// A server of this version for one connection: its received texts, and its URL up to the database.
fn listening(version: &'static str, answers: Vec<Answer>) -> (Receiver<String>, String) {
    introduced("crdb_version", format!("CockroachDB CCL {version}"), answers)
}

/// The same for a server that reports this parameter.
pub(crate) fn introduced(
    name: &'static str,
    value: String,
    answers: Vec<Answer>,
) -> (Receiver<String>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (received, texts) = sync_channel(TEXTS_MAX);
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let reported = format!("{name}\0{value}\0");
        let greeted = greet(&mut stream, &reported, &received);
        drop(greeted.and_then(|()| serve(&mut stream, answers.into_iter(), &received)));
    });
    (texts, format!("cockroach://root@127.0.0.1:{port}"))
}

/// A server for one connection; its URL.
fn server(answers: Vec<Answer>) -> String {
    let (_, url) = listening("v23.1.11", answers);
    url + "/defaultdb?sslmode=disable"
}

/// Passes the client's message to the test, if the test reads it.
fn report(received: &SyncSender<String>, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    drop(received.send(text.trim_matches('\0').replace('\0', " ")));
}

/// Start-up, up to the reported parameter.
fn greet(
    stream: &mut TcpStream,
    reported: &str,
    received: &SyncSender<String>,
) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let body = take(stream, length)?;
    report(received, body.get(4..).unwrap_or_default());
    let mut out = message(b'R', &0_u32.to_be_bytes());
    out.extend(message(b'S', reported.as_bytes()));
    out.extend(message(b'Z', b"I"));
    stream.write_all(&out)
}

fn serve(
    stream: &mut TcpStream,
    mut answers: impl Iterator<Item = Answer>,
    received: &SyncSender<String>,
) -> std::io::Result<()> {
    let mut out = Vec::new();
    let (mut parameters, mut failed) = (0, false);
    // As in `ReadyForQuery`.
    let mut status = b'I';
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let [tag, length @ ..] = head;
        let body = take(stream, length)?;
        match tag {
            b'S' => {
                if status == b'T' && more_is_there(stream)? {
                    // A statement of a transaction must wait for the response to the previous one.
                    return Ok(());
                }
                out.extend(message(b'Z', &[status]));
                stream.write_all(&out)?;
                out.clear();
                failed = false;
            }
            b'Q' => {
                report(received, &body);
                status = b'I';
                out.extend(message(b'C', b"ROLLBACK\0"));
                out.extend(message(b'Z', &[status]));
                stream.write_all(&out)?;
                out.clear();
            }
            b'X' => return Ok(()),
            // After an error, everything is skipped until Sync.
            _ if failed => {}
            b'P' => {
                report(received, &body);
                parameters = body.split(|byte| *byte == b'$').count() - 1;
                out.extend(message(b'1', b""));
            }
            b'D' => {
                let mut types = u16::try_from(parameters).unwrap().to_be_bytes().to_vec();
                [20_u32, 17]
                    .iter()
                    .take(parameters)
                    .for_each(|oid| types.extend(oid.to_be_bytes()));
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
        Err(("40003", "result is ambiguous (error=rpc error: code = Unavailable)")),
        Ok("INSERT 0 1"),
    ]);
    let upsert = "UPSERT INTO kv (k, v) VALUES ($1, $2)";
    let workload = queries(&[(upsert, &[ColumnType::Bigint, ColumnType::Text])]);
    let parameters = || OpBody::Query(vec![Value::Integer(-5), Value::Text("value".into())]);
    support::block_on(async {
        let target = open(&url, None).unwrap();
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let outcome = client.send(0, parameters()).await;
        let error = outcome.error.unwrap();
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert_eq!(error.class, ErrorClass::Conflict);
        assert!(error.class.is_transient() && outcome.session_usable);
        let again = client.send(0, parameters()).await;
        assert_eq!((again.certainty, again.rows_applied), (Certainty::Applied, 1));
        let ambiguous = client.send(0, parameters()).await;
        assert_eq!(ambiguous.certainty, Certainty::Unknown);
        assert_eq!(ambiguous.error.unwrap().code.as_deref(), Some("40003"));
        assert!(client.send(0, parameters()).await.is_success());
    });
}

#[test]
fn a_transaction_is_sent_statement_by_statement_and_retried_completely() {
    let restart = || Err(("40001", "restart transaction: RETRY_SERIALIZABLE"));
    let ambiguous = || Err(("40003", "result is ambiguous"));
    let whole = [Ok("BEGIN"), Ok("UPDATE 1"), Ok("INSERT 0 1"), Ok("COMMIT")];
    let mut answers = vec![Ok("BEGIN"), Ok("UPDATE 1"), restart()];
    answers.extend(whole);
    answers.extend([Ok("BEGIN"), Ok("UPDATE 1"), Ok("INSERT 0 1"), restart()]);
    answers.extend([Ok("BEGIN"), Ok("UPDATE 1"), Ok("INSERT 0 1"), ambiguous()]);
    let url = server(answers);
    let workload =
        transaction(&["UPDATE account SET balance = balance + $1", "INSERT INTO note VALUES ($1)"]);
    let parameters = || OpBody::Query(vec![Value::Integer(-5)]);
    support::block_on(async {
        let target = open(&url, None).unwrap();
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let mut send = async || client.send(0, parameters()).await;
        let in_the_middle = send().await;
        let error = in_the_middle.error.unwrap();
        assert_eq!(in_the_middle.certainty, Certainty::NotApplied);
        assert!(error.class.is_transient() && in_the_middle.session_usable);
        let again = send().await;
        assert!(again.is_success(), "{again:?}");
        assert_eq!(again.rows_applied, 2);
        let by_commit = send().await;
        assert_eq!(by_commit.certainty, Certainty::NotApplied);
        assert!(by_commit.session_usable, "{by_commit:?}");
        assert_eq!(send().await.certainty, Certainty::Unknown);
    });
}

#[test]
fn only_a_rollback_is_sent_after_a_statement_that_failed() {
    let restart = || Err(("40001", "restart transaction: RETRY_SERIALIZABLE"));
    let first = vec![Ok("BEGIN"), restart()];
    let commit = vec![Ok("BEGIN"), Ok("UPDATE 1"), Ok("INSERT 0 1"), restart()];
    for answers in [first, commit] {
        let (texts, url) = listening("v23.1.11", answers);
        let workload = transaction(&[
            "UPDATE account SET balance = balance + $1",
            "INSERT INTO note VALUES ($1)",
        ]);
        support::block_on(async {
            let target = open(&format!("{url}/defaultdb?sslmode=disable"), None).unwrap();
            let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
            let outcome = client.send(0, OpBody::Query(vec![Value::Integer(1)])).await;
            assert_eq!(outcome.certainty, Certainty::NotApplied, "{outcome:?}");
            assert!(outcome.session_usable, "{outcome:?}");
        });
        let received: Vec<String> = texts.iter().collect();
        assert_eq!(received.last().unwrap(), "ROLLBACK", "{received:?}");
    }
}

#[test]
fn an_ambiguous_response_before_commit_is_unknown_too() {
    let url = server(vec![Ok("BEGIN"), Err(("40003", "result is ambiguous"))]);
    let workload = transaction(&["UPDATE account SET balance = balance + $1"]);
    support::block_on(async {
        let target = open(&url, None).unwrap();
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let outcome = client.send(0, OpBody::Query(vec![Value::Integer(1)])).await;
        assert_eq!(outcome.certainty, Certainty::Unknown, "{outcome:?}");
    });
}

#[test]
fn a_url_without_a_database_means_the_default_one() {
    let (texts, url) = listening("v23.1.11", vec![]);
    support::block_on(async {
        let target = open(&format!("{url}?sslmode=disable"), None).unwrap();
        drop(Client::connect(target.as_ref(), &queries(&[])).await.unwrap());
    });
    let texts: Vec<String> = texts.iter().collect();
    assert!(!texts[0].contains("database"), "{texts:?}");
    assert_eq!(texts[1], "SET database = defaultdb");
}

#[test]
fn rows_are_inserted_by_statements_because_copy_is_not_atomic_and_needs_an_administrator() {
    let (texts, url) = listening("v20.1.8", vec![]);
    support::block_on(async {
        let target = open(&format!("{url}/bench?sslmode=disable"), None).unwrap();
        drop(Client::connect(target.as_ref(), &points()).await.unwrap());
    });
    let values: Vec<String> = texts.iter().filter(|t| t.contains("VALUES")).collect();
    assert!(values.last().unwrap().contains("($199, $200)"), "{values:?}");
    let (_, url) = listening("v20.1.8", vec![]);
    let refused = support::block_on(async {
        let target = open(&format!("{url}/bench?sslmode=disable"), Some("copy")).unwrap();
        Client::connect(target.as_ref(), &points()).await.err()
    });
    let message = refused.unwrap().message;
    assert!(message.contains("commits every 100 rows of a COPY"), "{message}");
}

#[test]
fn a_sketch_of_a_table_leaves_out_columns_that_the_server_hides() {
    let (texts, url) = listening("v23.1.11", vec![]);
    support::block_on(async {
        let target = open(&format!("{url}/bench?sslmode=disable"), None).unwrap();
        let mut admin = admin(target.as_ref()).await.unwrap();
        assert!(admin.describe("kv").await.is_err());
    });
    let texts: Vec<String> = texts.iter().collect();
    let columns = texts.iter().find(|text| text.contains("information_schema.columns"));
    assert!(columns.unwrap().contains("AND is_hidden = 'NO'"), "{texts:?}");
}

/// The table of kv in the dialect of CockroachDB or PostgreSQL.
fn kv(dialect: &str, settings: &[(&str, &str)]) -> BoundTable {
    let spec = WorkloadSpec::parse(builtin("kv").unwrap().text).unwrap();
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let workload = spec.instantiate(&settings.collect(), Seed(1)).unwrap();
    let dialects = [dialect.to_owned(), "postgresql".to_owned()];
    let bound = workload.bind(&dialects, PlaceholderStyle::Dollar).unwrap();
    bound.tables[0].clone()
}

#[test]
fn a_table_of_kv_is_split_evenly_over_the_keys_of_its_order_or_between_its_buckets() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let (half, quarter) = (1_i64 << 61, 1_i64 << 62);
    let positive = vec![half, quarter, 3 * half];
    for (settings, expected) in [
        ("", vec![-quarter, 0, quarter]),
        ("order=sequential cycle_length=1000", vec![250, 500, 750]),
        // Fewer keys than possible values.
        ("order=sequential cycle_length=2", vec![1]),
        ("order=sequential", positive.clone()),
        ("order=zipfian cycle_length=9", positive),
        ("num_shards=8", vec![2, 4, 6]),
        ("num_shards=3 order=sequential", vec![1, 2]),
    ] {
        let pairs: Vec<(&str, &str)> = settings
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .chain([("splits", "3")])
            .collect();
        let table = kv("cockroachdb", &pairs);
        let mut created = table.create.iter();
        let split = created.find_map(|sql| sql.strip_prefix("ALTER TABLE kv SPLIT AT "));
        let received = server.sql("postgres", &format!("{} ORDER BY place", split.unwrap()));
        let places: Vec<i64> = received.lines().map(|line| line.trim().parse().unwrap()).collect();
        assert_eq!(places.len(), expected.len(), "{settings}: {places:?}");
        for (place, expected) in places.iter().zip(expected) {
            // Divisions of numbers with 19 digits are rounded.
            let within = u64::from(expected == 0 || expected.abs() >= 1_000);
            assert!(place.abs_diff(expected) <= within, "{settings}: {places:?}");
        }
    }
}

#[test]
fn substitutes_of_kv_values_are_computed_as_in_postgresql() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let ours = kv("cockroachdb", &[]);
    let theirs = kv("postgresql", &[]);
    let pair = |table: &BoundTable| {
        let value = table.columns[1].value.clone().unwrap();
        format!("{}, {value}", table.key)
    };
    let values =
        "(VALUES ('AAAAAAAB'::bytea), ('Zz09-_Aax'), ('short'), ('abcdefgh'), ('________'))";
    let explained =
        |pair: &str| server.sql("postgres", &format!("SELECT {pair} FROM {values} AS kv (v)"));
    // Its integers have 64 bits.
    let received = explained(&pair(&ours).replace("- 1) *", "- 1::int8) *"));
    assert_eq!(received, explained(&pair(&theirs)));
    assert!(received.starts_with("1|"), "{received}");
}
