//! Workload files sketched from tables: they are valid, and generate similar rows.

use super::{integers, parsed, timestamps};
use crate::{Workload, sketch};
use highwater_model::op::{ColumnData, ColumnType};
use highwater_model::table_shape::{
    ColumnShape, IndexShape, RecordedStatements, StatementText, TableShape,
};
use highwater_model::units::Seed;

fn column(name: &str, declared: &str, kind: Option<ColumnType>) -> ColumnShape {
    ColumnShape {
        required: true,
        distinct: 1_000,
        lengths: (4, 9),
        ..ColumnShape::new(name, declared, kind)
    }
}

fn between(shape: ColumnShape, min: &str, max: &str) -> ColumnShape {
    ColumnShape { min: Some(min.to_owned()), max: Some(max.to_owned()), ..shape }
}

fn orders() -> TableShape {
    let few = |shape: ColumnShape, common: &[(&str, u64)]| ColumnShape {
        distinct: common.len() as u64,
        common: common.iter().map(|(v, n)| ((*v).to_owned(), *n)).collect(),
        ..shape
    };
    let text = Some(ColumnType::Text);
    let time = Some(ColumnType::Timestamp);
    TableShape {
        name: "orders".to_owned(),
        dialect: "postgresql".to_owned(),
        schema: Some("public".to_owned()),
        milliseconds: "CAST(extract(epoch FROM {column}) * 1000 AS bigint)".to_owned(),
        quotient: "{dividend} / {divisor}".to_owned(),
        quote: '"',
        rows: 1_000,
        rows_all: Some(5_000_000),
        indexes: Vec::new(),
        create: None,
        checks: Vec::new(),
        without: Vec::new(),
        columns: vec![
            between(column("id", "bigint", Some(ColumnType::Bigint)), "501", "1500"),
            between(
                column("placed", "timestamp with time zone", time),
                "1700000000000",
                "1700000999000",
            ),
            few(column("state", "text", text), &[("new", 700), ("it's \"done\"", 300)]),
            between(column("price", "double precision", Some(ColumnType::Float)), "0.5", "99.25"),
            ColumnShape {
                lengths: (36, 36),
                ..between(
                    column("token", "uuid", text),
                    "00000000-0000-4000-8000-000000000000",
                    "ffffffff-ffff-4fff-bfff-ffffffffffff",
                )
            },
            column("note", "text", text),
            ColumnShape { distinct: 50, ..column("city", "text", text) },
            column("extra", "jsonb", None),
        ],
        recorded: RecordedStatements::default(),
    }
}

#[test]
fn a_sketch_is_a_valid_workload_that_resembles_the_table() {
    let text = sketch(&orders());
    let workload = parsed(&text).instantiate(&[].into(), Seed(1)).unwrap();
    assert_eq!(workload.name(), "orders-like");
    let rows = workload.row_batch(0, 0, 1_000);
    assert!(integers(&rows, 0).iter().copied().eq(501..1_501));
    let times = timestamps(&rows, 1);
    assert_eq!(times[..2], [1_700_000_000_000, 1_700_000_001_000]);
    let ColumnData::TextDictionary(states) = &rows.columns[2] else {
        panic!();
    };
    let new = states.codes.iter().filter(|code| **code == 0).count();
    // 700 of a thousand, within five deviations of √(1,000 · 0.7 · 0.3).
    assert!((628..773).contains(&new), "{new}");
    assert_eq!(&*states.values[1], "it's \"done\"");
    assert_eq!(rows.columns.len(), 7);
    for part in [
        "# left out: extra jsonb\n",
        "generator = \"uuid\"",
        "generator = \"dictionary\"\nsize = 50",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(workload.stream("queries").is_some());
}

#[test]
fn rows_without_a_value_and_uuids_with_a_time_are_like_those_of_the_table() {
    let mut table = orders();
    table.columns[5].nulls = 250;
    let uuid = |part: &str| Some(format!("018cc251-{part}-7000-8000-000000000000"));
    (table.columns[4].min, table.columns[4].max) = (uuid("f400"), uuid("f7e7"));
    let text = sketch(&table);
    for part in [
        "# 250 of 1,000 rows have no value\nnulls = 0.2500\n",
        "generator = \"uuid7\"\nstart = \"2024-01-01T00:00:00Z\"\ninterval = \"1ms\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    parsed(&text);
}

#[test]
fn names_are_in_the_quotes_of_the_target() {
    let table = TableShape { quote: '`', ..orders() };
    let text = sketch(&table);
    assert!(text.contains("(`id` bigint") && text.contains(" WHERE `"));
    assert!(!text.contains("(\"id\"") && !text.contains("(\\\"id"), "{text}");
}

#[test]
fn statistics_of_the_whole_table_are_in_the_sketch() {
    let mut table = orders();
    assert!(sketch(&table).contains("from table orders, which has about 5,000,000\""));
    // Statistics may be older than the rows.
    for all in [None, Some(900), Some(1_000)] {
        table.rows_all = all;
        assert!(!sketch(&table).contains("which has about"), "{all:?}");
    }
    for (all, size) in [(None, 50), (Some(70_000), 70_000), (Some(20), 50)] {
        table.columns[6].distinct_all = all;
        let part = format!("generator = \"dictionary\"\nsize = {size}\n");
        assert!(sketch(&table).contains(&part), "{all:?}");
    }
}

#[test]
fn a_table_with_indistinguishable_rows_is_noted() {
    let mut table = orders();
    table.columns.drain(..2);
    let text = sketch(&table);
    assert!(text.contains("--audit off"), "{text}");
    parsed(&text);
}

/// The sketch of the orders table, with these recorded statements and call counts.
fn sketch_with(texts: &[(&str, u64, u64)]) -> (String, Workload) {
    let mut table = orders();
    let texts = texts.iter().map(|(sql, calls, rows)| StatementText {
        sql: (*sql).to_owned(),
        calls: *calls,
        rows: Some(*rows),
    });
    table.recorded = RecordedStatements {
        source: Some("the_list".to_owned()),
        texts: texts.collect(),
        different: 2_000,
        remark: None,
    };
    let text = sketch(&table);
    let workload = parsed(&text).instantiate(&[].into(), Seed(1)).unwrap();
    (text, workload)
}

/// The statement of an op with the generators of its parameters.
fn statement(text: &str, op: &str) -> String {
    let (_, part) = text.split_once(&format!("[ops.{op}]\n")).unwrap();
    part.split("\n\n").next().unwrap().to_owned()
}

#[test]
fn recorded_statements_become_ops_with_their_calls_as_weights() {
    let (text, workload) = sketch_with(&[
        ("select * FROM public.Orders WHERE ID = $1", 700, 700),
        ("SELECT * FROM orders WHERE id=42", 200, 200),
        ("SELECT $1 FROM orders WHERE $2 < price", 10, 5),
        ("SELECT count(*) FROM orders o WHERE o.state IN ($1, $2) LIMIT $3 OFFSET $4", 80, 200),
        (
            "SELECT orders.note FROM \"orders\" WHERE placed > $1::timestamptz AND price < 3.5",
            20,
            40,
        ),
        ("INSERT INTO orders (id) VALUES ($1)", 55, 55),
        ("SELECT * FROM orders_old WHERE id = $1", 9, 9),
    ]);
    let stream = workload.stream("queries").unwrap();
    let weights: Vec<u32> = stream.ops.iter().map(|(_, weight)| *weight).collect();
    assert_eq!(weights, [900, 80, 20, 10], "{text}");
    for part in [
        "that the_list recorded: the ops `recorded-…` stand for\n# 1,010 of 1,065 calls",
        "# Only the 7 most frequent of 2,000 statements were read.",
        "# 55 × INSERT INTO orders (id) VALUES ($1) · no query",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("orders_old"), "{text}");
    let expected = r#"summary = '900 calls: SELECT * FROM orders_like AS "orders" WHERE id = :id'
sql = { postgresql = 'SELECT * FROM orders_like AS "orders" WHERE id = :id' }
parameters = [
    { name = "id", type = "bigint", generator = "reference", table = "orders_like", column = "id" },
]"#;
    assert_eq!(statement(&text, "recorded-1"), expected);
    let expected = r#"summary = "80 calls: SELECT count(*) FROM orders_like o WHERE o.state IN (:state) LIMIT 3 OFFSET 0"
# the number of its LIMIT was not recorded: it is the mean number of rows of a result
# the number of its OFFSET was not recorded: it is 0
sql = { postgresql = "SELECT count(*) FROM orders_like o WHERE o.state IN (:state) LIMIT 3 OFFSET 0" }
parameters = [
    { name = "state", type = "text", generator = "reference", table = "orders_like", column = "state", count = 2 },
]"#;
    assert_eq!(statement(&text, "recorded-2"), expected);
    let expected = r#"summary = '20 calls: SELECT orders.note FROM orders_like AS "orders" WHERE placed > :placed AND price < :price'
# the ends of a range are sampled independently
sql = { postgresql = 'SELECT orders.note FROM orders_like AS "orders" WHERE placed > :placed AND price < :price' }
parameters = [
    { name = "placed", type = "timestamp", generator = "reference", table = "orders_like", column = "placed" },
    { name = "price", type = "float", generator = "reference", table = "orders_like", column = "price" },
]"#;
    assert_eq!(statement(&text, "recorded-3"), expected);
    let expected = "# a constant of its result was not recorded: it is 1\n\
                    # the ends of a range are sampled independently\n\
                    sql = { postgresql = 'SELECT 1 FROM orders_like AS \"orders\" WHERE :price < price' }";
    assert!(statement(&text, "recorded-4").contains(expected), "{text}");
}

#[test]
fn a_value_used_twice_is_one_parameter() {
    let newest = |state: &str, other: &str| {
        format!(
            "SELECT * FROM orders WHERE state = '{state}' AND placed = \
             (SELECT max(placed) FROM orders WHERE state = '{other}')"
        )
    };
    let (same, different) = (newest("new", "new"), newest("new", "old"));
    let (text, _) =
        sketch_with(&[(&same, 3, 3), (&different, 2, 2), (&newest("old", "old"), 1, 1)]);
    assert!(text.contains("ops = { recorded-1 = 4, recorded-2 = 2 }"), "{text}");
    let (first, second) = (statement(&text, "recorded-1"), statement(&text, "recorded-2"));
    assert_eq!((first.matches(":state").count(), first.matches(":state_2").count()), (4, 0));
    // In the summary and in the SQL.
    assert_eq!(second.matches(":state_2").count(), 2, "{second}");
}

#[test]
fn statements_that_cannot_be_ops_are_reported_with_the_reason() {
    let (text, workload) = sketch_with(&[
        ("SELECT 1 FROM orders WHERE extra = $1", 7, 0),
        ("SELECT max(extra) FROM orders", 8, 0),
        ("SELECT date_trunc($1, placed) FROM orders", 6, 0),
        ("SELECT * FROM orders JOIN people ON true", 5, 0),
        ("SELECT * FROM orders WHERE ((", 4, 0),
        ("WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone", 3, 0),
        ("UPDATE orders SET price = $1", 2, 0),
        ("VACUUM orders", 1, 0),
    ]);
    for (calls, reason) in [
        (8, "column `extra` is left out"),
        (7, "no values can be sampled like those of `extra`"),
        (6, "no column shows what its `$1` is"),
        (5, "it queries `people` too"),
        (4, "its SQL is not understood here"),
        (3, "no query"),
        (2, "no query"),
        (1, "no query"),
    ] {
        let listed: Vec<&str> =
            text.lines().filter(|line| line.starts_with(&format!("# {calls} × "))).collect();
        assert!(listed.len() == 1 && listed[0].ends_with(reason), "{calls}: {listed:?}\n{text}");
    }
    assert!(text.contains("stand for\n# 0 of 36 calls"), "{text}");
    let queries = workload.stream("queries").unwrap();
    assert_eq!(workload.op_name(queries.ops[0].0), "get");
}

#[test]
fn only_the_most_frequent_statements_are_ops_and_weights_stay_in_proportion() {
    let texts: Vec<String> = (1..=25).map(|n| format!("SELECT {n} FROM orders")).collect();
    let texts: Vec<(&str, u64, u64)> =
        (1..).zip(&texts).map(|(n, sql)| (sql.as_str(), n * 4_000_000, 0)).collect();
    let (text, workload) = sketch_with(&texts);
    let stream = workload.stream("queries").unwrap();
    let weights: Vec<u32> = stream.ops.iter().map(|(_, weight)| *weight).collect();
    // The maximum weight in a stream is a million.
    let expected: Vec<u32> = (6..=25).rev().map(|n| n * 40_000).collect();
    assert_eq!(weights, expected);
    assert!(
        text.contains(
            "# 20,000,000 × SELECT 5 FROM orders_like AS \"orders\" · it is not among the 20"
        ),
        "{text}"
    );
}

#[test]
fn keys_and_indexes_are_kept_where_rows_stay_different() {
    let index = |unique, columns: &[&str], text: &str| IndexShape {
        columns: columns.iter().map(|c| (*c).to_owned()).collect(),
        unique,
        text: text.to_owned(),
    };
    let mut table = orders();
    table.indexes = vec![
        index(true, &["id"], "PRIMARY KEY"),
        index(true, &["city", "note"], "unique, but words come again"),
        index(false, &["state", "placed"], "not unique"),
        index(false, &[], "CREATE INDEX e ON orders (lower(note))"),
        index(false, &["extra"], "on a column that is left out"),
    ];
    let text = sketch(&table);
    let bound = parsed(&text)
        .instantiate(&[].into(), Seed(1))
        .unwrap()
        .bind(&["postgresql".to_owned()], highwater_model::op::PlaceholderStyle::Dollar)
        .unwrap();
    assert_eq!(
        bound.tables[0].create[1..],
        [
            "CREATE UNIQUE INDEX orders_like_1 ON orders_like (\"id\")",
            "CREATE INDEX orders_like_2 ON orders_like (\"city\", \"note\")",
            "CREATE INDEX orders_like_3 ON orders_like (\"state\", \"placed\")",
        ]
    );
    for part in ["# left out: CREATE INDEX e ON orders", "# left out: on a column that is left out"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn whole_numbers_of_a_key_stay_different_although_some_are_missing() {
    let mut table = orders();
    table.columns[0] = between(column("id", "bigint", Some(ColumnType::Bigint)), "100", "5600");
    table.columns[1].kind = None;
    let unevenly = sketch(&table);
    assert!(unevenly.contains("generator = \"uniform\"\nmin = 100\nmax = 5600"), "{unevenly}");
    table.indexes =
        vec![IndexShape { columns: vec!["id".to_owned()], unique: true, text: String::new() }];
    let text = sketch(&table);
    assert!(text.contains("start = 100\nstep = 5"), "{text}");
    assert!(text.contains("(\"id\" - (100)) / 5"), "{text}");
}

/// The orders table with a column of objects.
fn orders_with_objects() -> TableShape {
    let mut table = orders();
    let few = ColumnShape {
        distinct: 2,
        common: vec![("rome".to_owned(), 3), ("oslo".to_owned(), 1)],
        ..column("city", "text", Some(ColumnType::Text))
    };
    let inner = ColumnShape {
        fields: vec![between(column("height", "bigint", Some(ColumnType::Bigint)), "3", "9")],
        distinct: 7,
        ..column("size", "object", Some(ColumnType::Object))
    };
    let time = between(column("seen", "timestamp", Some(ColumnType::Timestamp)), "1", "2");
    table.columns.push(ColumnShape {
        fields: vec![few, inner, time, column("name", "text", Some(ColumnType::Text))],
        ..column("tags", "object", Some(ColumnType::Object))
    });
    table
}

#[test]
fn objects_consist_of_fields_and_are_queried_by_them() {
    let mut table = orders_with_objects();
    table.recorded.source = Some("the_list".to_owned());
    let ask = |sql: &str, calls| StatementText { sql: sql.to_owned(), calls, rows: None };
    table.recorded.texts = vec![
        ask("SELECT * FROM orders WHERE tags['size']['height'] > ? AND tags['city'] = ?", 5),
        ask("SELECT * FROM orders WHERE tags['name'] = 'a'", 4),
        ask("SELECT * FROM orders WHERE tags['name'] = 'b'", 3),
        ask("SELECT * FROM orders WHERE tags['seen'] > 1", 2),
        ask("SELECT * FROM orders WHERE tags['seen'] > 2", 1),
    ];
    let text = sketch(&table);
    let workload = parsed(&text).instantiate(&[].into(), Seed(1)).unwrap();
    let rows = workload.row_batch(0, 0, 100);
    let made = super::objects(&rows, 7);
    assert!(made.iter().all(|o| o["city"] == "rome" || o["city"] == "oslo"), "{made:?}");
    let height = |o: &serde_json::Value| o["size"]["height"].as_i64().unwrap();
    assert!(made.iter().all(|o| (3..=9).contains(&height(o))));
    assert!(text.contains("# left out: seen timestamp"), "{text}");
    // Statements that cannot become ops are listed as one if they differ only in values.
    let listed = "# 3 × SELECT * FROM orders WHERE tags['seen'] > 1 and 1 with other values · \
                no values can be sampled like those of `tags.seen`";
    assert!(text.contains(listed), "{text}");
    let part = statement(&text, "recorded-2");
    for line in [
        r#"    { name = "tags_size_height", type = "bigint", generator = "reference", table = "orders_like", column = "tags", field = "size.height" },"#,
        r#"    { name = "tags_city", type = "text", generator = "reference", table = "orders_like", column = "tags", field = "city" },"#,
    ] {
        assert!(part.contains(line), "{line}\n{part}");
    }
    let sql = "tags['size']['height'] > :tags_size_height AND tags['city'] = :tags_city";
    assert!(part.contains(sql), "{part}");
    assert!(text.contains("ops = { recorded-1 = 7, recorded-2 = 5 }"), "{text}");
    assert!(statement(&text, "recorded-1").contains("field = \"name\""), "{text}");
}

#[test]
fn the_create_statement_of_the_target_is_taken_over() {
    let mut table = orders();
    table.create = Some("CREATE TABLE {table} (a int{key}) CLUSTERED".to_owned());
    let key = |columns: &[&str]| IndexShape {
        columns: columns.iter().map(|c| (*c).to_owned()).collect(),
        unique: true,
        text: ", PRIMARY KEY (…)".to_owned(),
    };
    table.indexes = vec![key(&["city", "id"])];
    let text = sketch(&table);
    assert!(
        text.contains("\"CREATE TABLE orders_like (a int, PRIMARY KEY (…)) CLUSTERED\""),
        "{text}"
    );
    table.indexes = vec![key(&["city", "note"])];
    let text = sketch(&table);
    assert!(text.contains("\"CREATE TABLE orders_like (a int) CLUSTERED\""), "{text}");
    assert!(text.contains("# left out: , PRIMARY KEY"), "{text}");
}
