//! Rows in JSONEachRow format, as read by a real ClickHouse: on one server, and on three shards through a `Distributed`
//! table.
//!
//! 18.16 reads some fractions inexactly in this format, so the driver refuses to send them to it. A sink, which refuses
//! nothing, receives the driver's own request, which is then sent to the server. The fractions here are ones that it
//! reads exactly.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use highwater_driver::{Connect, Request, TargetOptions};
use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnData, ColumnType,
    Dictionary, Op, OpBody, OpId, RowBatch,
};
use highwater_testing::clickhouse::{ClickHouse, skipped};
use highwater_testing::clickhouse_shards::{CLUSTER, SHARDS, Shards};

use crate::support;

const ROWS: usize = 600;
/// The sink's description of the table's columns, for which the request is encoded.
const COLUMNS: &str = "(k Int64, i Int32, f Float64, b UInt8, ts Int64, t String, w String, host String, quote String)";
const INTEGERS: [i64; 4] = [0, -1, 2_147_483_647, -2_147_483_648];
/// One of two rows has a key above this.
const GREAT: i64 = i64::MAX - 1_000;
const FRACTIONS: [f64; 5] = [0.0, -0.5, 0.25, 15_000_000_000.0, 1_048_576.125];
const TIMES: [i64; 4] = [0, -1, 1_479_513_600_123, 253_402_300_799_999];
const TEXTS: [&str; 11] = [
    "",
    "plain",
    "it's, isn't it",
    "back\\slash \\\\ \\n \\",
    "tab\there",
    "line\nfeed\r\nreturn",
    "\\N",
    "\"double\" {\"k\":1}",
    "gr\u{fc}\u{df}e \u{6f22}\u{5b57} \u{1f980} e\u{301}",
    " spaces ",
    "\u{1}\u{8}\u{c}\u{7f}\u{feff}",
];
/// Objects, and the two attributes of each that are columns.
const OBJECTS: [(&str, [&str; 2]); 3] = [
    (r#"{"host":"host_0","quote":"7"}"#, ["host_0", "7"]),
    (r#"{"host":"","quote":"it's \"so\" c:\\x"}"#, ["", "it's \"so\" c:\\x"]),
    ("{\"host\":\"a\\nb\",\"quote\":\"\u{1f980}\"}", ["a\nb", "\u{1f980}"]),
];

fn workload() -> Arc<BoundWorkload> {
    let columns = [
        ("k", ColumnType::Bigint),
        ("i", ColumnType::Integer),
        ("f", ColumnType::Float),
        ("b", ColumnType::Boolean),
        ("ts", ColumnType::Timestamp),
        ("t", ColumnType::Text),
        ("w", ColumnType::Text),
        ("o", ColumnType::Object),
    ];
    let columns = columns.map(|(name, kind)| BoundColumn {
        attributes: match kind {
            ColumnType::Object => vec!["host".to_owned(), "quote".to_owned()],
            _ => Vec::new(),
        },
        ..BoundColumn::new(name, kind)
    });
    Arc::new(BoundWorkload {
        tables: vec![BoundTable {
            name: "json_rows".to_owned(),
            columns: columns.to_vec(),
            create: Vec::new(),
            key: "k".to_owned(),
            locate: None,
            replaces: false,
            slice: None,
        }],
        ops: vec![BoundOp {
            name: "insert".to_owned(),
            kind: BoundOpKind::Insert { table: 0, batch: ROWS as u64 },
        }],
        rows: None,
    })
}

fn dictionary(values: impl Iterator<Item = &'static str>) -> Dictionary {
    let values: Arc<[Box<str>]> = values.map(Box::from).collect();
    let codes = (0..ROWS).map(|row| u32::try_from(row % values.len()).unwrap());
    Dictionary { codes: codes.collect(), values }
}

fn key(row: usize) -> i64 {
    let small = i64::try_from(row).unwrap();
    if row.is_multiple_of(2) { small } else { GREAT + small }
}

fn batch() -> RowBatch {
    let rows = 0..ROWS;
    RowBatch {
        first_row: 0,
        rows: ROWS,
        columns: vec![
            ColumnData::Integer(rows.clone().map(key).collect()),
            ColumnData::Integer(rows.clone().map(|row| *at(&INTEGERS, row)).collect()),
            ColumnData::Float(rows.clone().map(|row| *at(&FRACTIONS, row)).collect()),
            ColumnData::Boolean(rows.clone().map(|row| row.is_multiple_of(3)).collect()),
            ColumnData::TimestampMs(rows.clone().map(|row| *at(&TIMES, row)).collect()),
            ColumnData::Text(rows.map(|row| Box::from(*at(&TEXTS, row))).collect()),
            ColumnData::TextDictionary(dictionary(TEXTS.into_iter())),
            ColumnData::ObjectDictionary(dictionary(OBJECTS.into_iter().map(|(text, _)| text))),
        ],
    }
}

fn at<T>(values: &[T], row: usize) -> &T {
    &values[row % values.len()]
}

/// A request of the driver: statement and rows.
async fn request() -> String {
    let options = TargetOptions { insert: Some("jsoneachrow".to_owned()), ..support::options() };
    let target = highwater_drivers::open(&["null:clickhouse".to_owned()], &options).unwrap();
    let connect = Connect {
        workload: workload(),
        number: 0,
        attempt: 0,
        timeline: support::WallTimeline::start(),
    };
    let session = target.connect(connect).await.unwrap();
    let mut request = Request {
        op: Op { id: OpId(0), index: 0, body: OpBody::Insert(batch()) },
        bytes: Vec::new(),
    };
    session.encoder().encode(&mut request);
    String::from_utf8(request.bytes).unwrap()
}

/// As the server prints texts: two digits per byte.
fn hex(text: &str) -> String {
    highwater_model::plan::hex(text.as_bytes()).to_uppercase()
}

/// Every row, in the order of the keys.
fn expected() -> String {
    let mut rows: Vec<usize> = (0..ROWS).collect();
    rows.sort_by_key(|row| key(*row));
    let lines = rows.into_iter().map(|row| {
        let [host, quote] = at(&OBJECTS, row).1;
        let text = hex(at::<&str>(&TEXTS, row));
        format!(
            "{}\t{}\t{}\t{}\t{}\t{text}\t{text}\t{}\t{}",
            key(row),
            at(&INTEGERS, row),
            at(&FRACTIONS, row),
            u8::from(row.is_multiple_of(3)),
            at(&TIMES, row),
            hex(host),
            hex(quote)
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Every row of the request's table.
fn found(server: &ClickHouse) -> String {
    server.sql(
        "SELECT k, i, f, b, ts, hex(t), hex(w), hex(host), hex(quote) FROM sink.json_rows ORDER BY k",
    )
}

#[test]
fn a_server_reads_rows_in_json_as_they_were_meant() {
    if skipped() {
        return;
    }
    let server = ClickHouse::start();
    // The database in which the sink reports its table.
    server.sql("CREATE DATABASE sink");
    server.sql(&format!("CREATE TABLE sink.json_rows {COLUMNS} ENGINE = MergeTree ORDER BY k"));
    let request = support::block_on(request());
    assert!(request.starts_with("INSERT INTO ") && request.contains(" FORMAT JSONEachRow\n"));
    server.sql(&request);
    assert_eq!(found(&server), expected());
}

#[test]
fn three_shards_read_rows_in_json_as_they_were_meant_through_the_table_above_them() {
    if skipped() {
        return;
    }
    let shards = Shards::start();
    for number in 0..SHARDS {
        let server = shards.server(number);
        server.sql(&format!(
            "CREATE TABLE default.json_rows {COLUMNS} ENGINE = MergeTree ORDER BY k"
        ));
        server.sql("CREATE DATABASE sink");
        server.sql(&format!(
            "CREATE TABLE sink.json_rows {COLUMNS} ENGINE = Distributed({CLUSTER}, default, json_rows, k)"
        ));
    }
    shards.server(0).sql(&support::block_on(request()));
    // It responds once it has the rows itself, and forwards them afterwards.
    let all = ROWS.to_string();
    for _ in 0..1_200 {
        if shards.server(2).sql("SELECT count() FROM sink.json_rows") == all {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(found(shards.server(2)), expected());
    for number in 0..SHARDS {
        let own = shards.server(number).sql("SELECT count() FROM default.json_rows");
        assert_ne!(own, "0", "shard {number} has rows");
    }
}
