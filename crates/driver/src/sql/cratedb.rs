//! CrateDB's SQL, which two drivers use: its telemetry, and the description of a table for generating a workload file
//! from it.
//!
//! Telemetry is three small statements, the same over HTTP and over the PostgreSQL wire: nodes, write and search thread
//! pools, health. Circuit breakers are not included: SQL does not show their use. Must not do I/O.
//!
//! A description has the columns and fields of objects, a sample of their values, its CREATE statement, and the logged
//! statements about it.

use highwater_model::op::ColumnType;
use highwater_model::table_shape::{
    ColumnShape, IndexShape, RecordedStatements, StatementText, TEXT_MAX, TEXTS_MAX, TableShape,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::dialect::{Dialect, literal, quoted};
use super::facts::{count_rows, not_ours, not_there, number, sample_column};
use super::leases::LeaseWords;
use super::with_clause::with_settings;
use crate::contract::TableFeatures;
use crate::sql::connection::{SqlQuery, Texts, first_value, pairs};
use crate::telemetry::{Measure, MetricSample, names, units};

/// Its SQL.
pub const CRATEDB: Dialect = Dialect {
    table_features: TableFeatures { shards: true, settings: true },
    // It ignores BEGIN.
    rolls_back: false,
    inserts_whole: false,
    // It lists inserts too briefly to be observed.
    unread_inserts: Some(Nanos::from_secs(10)),
    refresh: Some("REFRESH TABLE {quoted}"),
    milliseconds: "CAST({} AS bigint)",
    exact_milliseconds: "CAST({} AS bigint)",
    attribute: |column, attribute| format!("{column}[{}]", literal(attribute)),
    // In PostgreSQL, a setting may be two names joined by a dot; here it is one name with dots in it.
    with_settings: |create, settings| with_settings(create, settings, quoted),
    registry_options: ONE_SHARD,
    exists: "SELECT count(*) FROM information_schema.tables \
             WHERE table_schema = current_schema AND table_name = {name}",
    ..Dialect::standard(
        &["cratedb", "postgresql"],
        LeaseWords {
            table_options: ONE_SHARD,
            refresh: Some("REFRESH TABLE highwater_leases"),
            ..LeaseWords::plain(literal, "TEXT", "CAST(CURRENT_TIMESTAMP AS BIGINT)")
        },
        // Statements whose client disconnected sometimes stay listed forever.
        "SELECT count(*) FROM sys.jobs WHERE username = current_user \
         AND stmt LIKE 'INSERT INTO \"%' \
         AND started > now() - INTERVAL '90 seconds'",
    )
};

/// Follows the columns of Highwater's own tables.
const ONE_SHARD: &str = " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')";

/// Nodes; pools of nodes; the cluster. All rows: the record counts those beyond its limit.
pub const TELEMETRY: [&str; 3] = [
    "SELECT name, load['1'], os['cpu']['used'], heap['used'], heap['max'], \
     fs['total']['bytes_written'], fs['total']['bytes_read'], fs['total']['available'] \
     FROM sys.nodes ORDER BY name",
    "SELECT node, pool['name'], pool['active'], pool['queue'], pool['rejected'] FROM \
     (SELECT name AS node, unnest(thread_pools) AS pool FROM sys.nodes) AS pools \
     WHERE pool['name'] IN ('write', 'search') ORDER BY 1, 2",
    "SELECT (SELECT severity FROM sys.cluster_health), \
     (SELECT count(*) FROM sys.shards WHERE state = 'STARTED'), (SELECT count(*) FROM sys.jobs), \
     (SELECT sum(total_count) FROM sys.jobs_metrics), \
     (SELECT sum(failed_count) FROM sys.jobs_metrics), \
     (SELECT sum(total_affected_row_count) FROM sys.jobs_metrics \
     WHERE classification['type'] = 'INSERT'), \
     (SELECT count(*) FROM sys.nodes), \
     (SELECT count(*) FROM sys.shards WHERE routing_state = 'UNASSIGNED')",
];

/// Adds the samples of a row.
type Reader = fn(&[Option<String>], &mut Vec<MetricSample>);

/// Converts the responses to [`TELEMETRY`], in order, to samples.
pub fn metric_samples(responses: &[Texts]) -> Vec<MetricSample> {
    let readers: [Reader; 3] = [node, pool, cluster];
    let mut samples = Vec::new();
    for (rows, read) in responses.iter().zip(readers) {
        for row in rows {
            read(row, &mut samples);
        }
    }
    samples
}

/// A cell as a number; a node reports a negative number for a missing value.
fn sample_number(row: &[Option<String>], column: usize) -> Option<f64> {
    let number: f64 = row.get(column)?.as_deref()?.parse().ok()?;
    (number >= 0.0).then_some(number)
}

fn text(row: &[Option<String>], column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

fn node(row: &[Option<String>], samples: &mut Vec<MetricSample>) {
    let Some(name) = text(row, 0) else { return };
    let mut push = |sample: Option<MetricSample>| samples.extend(sample.map(|r| r.on_node(name)));
    let level = |name, unit, value| MetricSample::level(name, unit, value);
    let count = |name, value| MetricSample::count(name, "bytes", value);
    push(sample_number(row, 1).map(|load| level(names::LOAD, "1", load)));
    push(
        sample_number(row, 2).map(|percent| level(names::CPU_BUSY, units::SHARE, percent / 100.0)),
    );
    let heap = sample_number(row, 3).zip(sample_number(row, 4).filter(|most| *most > 0.0));
    push(heap.map(|(used, most)| level(names::HEAP_USED, units::SHARE, used / most)));
    push(sample_number(row, 5).map(|bytes| count(names::DISK_WRITTEN, bytes)));
    push(sample_number(row, 6).map(|bytes| count(names::DISK_READ, bytes)));
    push(sample_number(row, 7).map(|bytes| level(names::DISK_FREE, "bytes", bytes)));
}

/// The write pool uses the common names: its rejections affect inserts.
fn pool(row: &[Option<String>], samples: &mut Vec<MetricSample>) {
    let (Some(node), Some(pool)) = (text(row, 0), text(row, 1)) else {
        return;
    };
    let named = if pool == "write" {
        [names::ACTIVE, names::QUEUE, names::REJECTED]
    } else {
        ["search_active", "search_queue", "search_rejected"]
    };
    let mut push = |sample: Option<MetricSample>| samples.extend(sample.map(|r| r.on_node(node)));
    push(sample_number(row, 2).map(|number| MetricSample::level(named[0], "1", number)));
    push(sample_number(row, 3).map(|number| MetricSample::level(named[1], "1", number)));
    push(sample_number(row, 4).map(|number| MetricSample::count(named[2], "1", number)));
}

fn cluster(row: &[Option<String>], samples: &mut Vec<MetricSample>) {
    let figures = [
        ("health_severity", "1", Measure::Level),
        ("shards_started", "1", Measure::Level),
        ("statements_running", "1", Measure::Level),
        ("statements", "1", Measure::Count),
        ("statements_failed", "1", Measure::Count),
        ("rows_inserted", "rows", Measure::Count),
        (names::CLUSTER_SIZE, "1", Measure::Level),
        (names::COPIES_UNASSIGNED, "1", Measure::Level),
    ];
    for (column, (name, unit, measure)) in figures.into_iter().enumerate() {
        let sample = |value| MetricSample::new(name, unit, measure, value);
        samples.extend(sample_number(row, column).map(sample));
    }
}

/// The list of completed statements.
const STATEMENTS: &str = "sys.jobs_log";

/// Describes a table of the schema; `place` is for messages.
pub async fn describe(
    database: &mut impl SqlQuery,
    place: &str,
    table: &str,
) -> Result<TableShape, UserError> {
    let named = literal(table);
    let columns = database
        .texts(&format!(
            "SELECT column_name, data_type, is_nullable, is_generated, table_schema \
             FROM information_schema.columns \
             WHERE table_name = {named} AND table_schema = current_schema ORDER BY ordinal_position"
        ))
        .await?;
    let Some(schema) = columns.first().map(|row| row.get(4).cloned().flatten()) else {
        return Err(not_there(place, table));
    };
    let from = quoted(table);
    let created = database.texts(&format!("SHOW CREATE TABLE {from}")).await?;
    let (create, key) = created_as(&first_value(created).unwrap_or_default());
    let mut shape = TableShape {
        rows: count_rows(database, &from).await?,
        columns: tree(&columns),
        indexes: key.into_iter().collect(),
        create: Some(create),
        ..CRATEDB.table_shape(table, schema)
    };
    for column in &mut shape.columns {
        let value = quoted(&column.name);
        Box::pin(sample_fields(database, &from, value, column)).await?;
    }
    statistics(database, &named, &mut shape).await?;
    shape.recorded = statements(database, table).await?;
    Ok(shape)
}

/// Samples a column, or the fields of an object.
async fn sample_fields(
    database: &mut impl SqlQuery,
    from: &str,
    value: String,
    column: &mut ColumnShape,
) -> Result<(), UserError> {
    let value = match column.kind {
        None => return Ok(()),
        Some(_) if column.generated => return Ok(()),
        Some(ColumnType::Object) => {
            for field in &mut column.fields {
                let value = format!("{value}[{}]", literal(&field.name));
                Box::pin(sample_fields(database, from, value, field)).await?;
            }
            return Ok(());
        }
        Some(ColumnType::Timestamp) => format!("CAST({value} AS bigint)"),
        Some(ColumnType::Boolean) => {
            format!("CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END")
        }
        Some(_) => value,
    };
    sample_column(database, from, &value, "text", column).await
}

/// Columns with the fields of objects in them, from names such as `tags['host']`.
fn tree(rows: &Texts) -> Vec<ColumnShape> {
    let mut columns = Vec::new();
    for row in rows {
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let (first, rest) = match text(0).split_once("['") {
            Some((first, rest)) => (first, rest.strip_suffix("']").unwrap_or(rest)),
            None => (text(0), ""),
        };
        let fields = rest.split("']['").filter(|field| !field.is_empty());
        let path: Vec<&str> = std::iter::once(first).chain(fields).collect();
        let mut shape =
            ColumnShape::new(path.last().copied().unwrap_or_default(), text(1), kind_of(text(1)));
        shape.required = text(2).eq_ignore_ascii_case("no");
        shape.generated = text(3) == "ALWAYS";
        add(&mut columns, &path, shape);
    }
    columns
}

/// Adds a column at its path; its object was added before.
fn add(columns: &mut Vec<ColumnShape>, path: &[&str], shape: ColumnShape) {
    match path {
        [] | [_] => columns.push(shape),
        [first, rest @ ..] => {
            if let Some(parent) = columns.iter_mut().find(|column| column.name == *first) {
                add(&mut parent.fields, rest, shape);
            }
        }
    }
}

/// The workload type for a server type; `None` if no generator supports it.
fn kind_of(declared: &str) -> Option<ColumnType> {
    match declared {
        "smallint" | "integer" => Some(ColumnType::Integer),
        "bigint" => Some(ColumnType::Bigint),
        // A `real` would not return the written value.
        "double precision" => Some(ColumnType::Float),
        "boolean" => Some(ColumnType::Boolean),
        "timestamp with time zone" | "timestamp without time zone" => Some(ColumnType::Timestamp),
        "text" | "character varying" => Some(ColumnType::Text),
        "object" => Some(ColumnType::Object),
        _ => None,
    }
}

/// The statement that creates a table, with `{table}` for its name and `{key}` for its primary key, and that key.
/// Settings that forbid writing are removed.
fn created_as(statement: &str) -> (String, Option<IndexShape>) {
    let body = statement.find('(').and_then(|at| statement.get(at..)).unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    let mut key = None;
    for line in body.lines() {
        let entry = line.trim_start();
        if entry.starts_with("\"blocks.") {
            continue;
        }
        let clause = entry.trim_end_matches(',');
        if key.is_none()
            && let Some(columns) = primary_key(clause)
            && let Some(before) = lines.last_mut()
        {
            let kept = before.trim_end_matches(',').to_owned();
            let goes_on = if entry.ends_with(',') { "," } else { "" };
            *before = format!("{kept}{{key}}{goes_on}");
            key = Some(IndexShape { columns, unique: true, text: format!(",\n   {clause}") });
            continue;
        }
        // The comma before the removed entry.
        if let Some(before) = lines.last_mut().filter(|_| entry.starts_with(')')) {
            before.truncate(before.trim_end_matches(',').len());
        }
        lines.push(line.to_owned());
    }
    (format!("CREATE TABLE {{table}} {}", lines.join("\n")), key)
}

/// The columns of `PRIMARY KEY ("a", "b")`, with an optional constraint name before it.
fn primary_key(clause: &str) -> Option<Vec<String>> {
    let is_key = clause.starts_with("PRIMARY KEY (") || clause.starts_with("CONSTRAINT ");
    let (_, list) = clause.split_once("PRIMARY KEY (").filter(|_| is_key)?;
    let list = list.strip_suffix(')')?;
    let name = |name: &str| name.trim().trim_matches('"').to_owned();
    Some(list.split(',').map(name).collect())
}

/// Adds the statistics of the whole table, from its shards and ANALYZE: rows and distinct values.
async fn statistics(
    database: &mut impl SqlQuery,
    named: &str,
    shape: &mut TableShape,
) -> Result<(), UserError> {
    let rows = database
        .texts(&format!(
            "SELECT CAST(sum(num_docs) AS bigint) FROM sys.shards \
             WHERE primary = TRUE AND schema_name = current_schema AND table_name = {named}"
        ))
        .await?;
    shape.rows_all = Some(number(&rows, 0)).filter(|rows| *rows > 0);
    let rows = database
        .texts(&format!(
            "SELECT attname, CAST(n_distinct AS bigint) FROM pg_catalog.pg_stats \
             WHERE schemaname = current_schema AND tablename = {named} AND n_distinct >= 0"
        ))
        .await?;
    for (name, distinct) in pairs(rows) {
        if let Some(column) = shape.columns.iter_mut().find(|column| column.name == name) {
            column.distinct_all = distinct.parse().ok();
        }
    }
    Ok(())
}

/// Statements about the table from the cluster's log.
async fn statements(
    database: &mut impl SqlQuery,
    table: &str,
) -> Result<RecordedStatements, UserError> {
    let on_table = format!(
        "FROM {STATEMENTS} WHERE error IS NULL AND strpos(lower(stmt), {}) > 0 \
         AND {} AND stmt NOT LIKE 'SHOW CREATE%'",
        literal(&table.to_lowercase()),
        not_ours("stmt")
    );
    let listed = database
        .texts(&format!(
            "SELECT substr(stmt, 1, {TEXT_MAX}) AS text, count(*) AS calls {on_table} \
             GROUP BY substr(stmt, 1, {TEXT_MAX}) ORDER BY calls DESC, text LIMIT {TEXTS_MAX}"
        ))
        .await;
    let rows = match listed {
        Ok(rows) => rows,
        // Only an administrator can read it.
        Err(error) => {
            return Ok(RecordedStatements {
                remark: Some(format!("{STATEMENTS} cannot be read: {}", error.message)),
                ..RecordedStatements::default()
            });
        }
    };
    let different = database.texts(&format!("SELECT count(DISTINCT stmt) {on_table}")).await?;
    let texts = pairs(rows).filter_map(|(sql, calls)| {
        Some(StatementText { sql, calls: calls.parse().ok()?, rows: None })
    });
    Ok(RecordedStatements {
        source: Some(STATEMENTS.to_owned()),
        texts: texts.collect(),
        different: number(&different, 0),
        remark: None,
    })
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn row(cells: &[&str]) -> Vec<Option<String>> {
        let cell = |cell: &&str| (*cell != "null").then(|| (*cell).to_owned());
        cells.iter().map(cell).collect()
    }

    #[test]
    fn responses_become_samples_and_missing_values_are_absent() {
        let answers = [
            vec![row(&["n1", "1.5", "-1", "250", "1000", "7000", "900", "39710302208"])],
            vec![row(&["n1", "search", "0", "0", "2"]), row(&["n1", "write", "3", "11", "5"])],
            vec![row(&["1", "6", "4", "12", "0", "null", "2", "4"])],
        ];
        let samples = metric_samples(&answers);
        let value = |name: &str| {
            let found = samples.iter().find(|sample| sample.name == name)?;
            Some((found.value, found.measure, found.node.as_deref()))
        };
        assert_eq!(value(names::CPU_BUSY), None, "-1 is not a fraction");
        let level = |value| Some((value, Measure::Level, None));
        assert_eq!(value(names::CLUSTER_SIZE), level(2.0));
        assert_eq!(value(names::COPIES_UNASSIGNED), level(4.0));
        assert_eq!(value(names::HEAP_USED), Some((0.25, Measure::Level, Some("n1"))));
        assert_eq!(value(names::REJECTED), Some((5.0, Measure::Count, Some("n1"))));
        assert_eq!(value(names::QUEUE), Some((11.0, Measure::Level, Some("n1"))));
        assert_eq!(value("search_rejected"), Some((2.0, Measure::Count, Some("n1"))));
        assert_eq!(value("shards_started"), Some((6.0, Measure::Level, None)));
        assert_eq!(value("rows_inserted"), None, "nothing was inserted yet");
    }

    #[test]
    fn malformed_responses_do_no_harm() {
        assert_eq!(metric_samples(&[]), Vec::new());
        let short = [vec![row(&["n1"]), row(&["null"])], vec![row(&["n1", "write", "x"])]];
        assert_eq!(metric_samples(&short), Vec::new());
    }

    /// The response of 6.4.3 to `SHOW CREATE TABLE`, with the settings of older versions at its end.
    const CREATED: &str = r#"CREATE TABLE IF NOT EXISTS "own"."shop" (
   "id" TEXT NOT NULL,
   "ts" TIMESTAMP WITH TIME ZONE NOT NULL,
   "week" TIMESTAMP WITH TIME ZONE GENERATED ALWAYS AS date_trunc('week', "ts") NOT NULL,
   "tags" OBJECT(DYNAMIC) AS (
      "host" TEXT,
      "size" OBJECT(DYNAMIC) AS (
         "height" INTEGER
      )
   ),
   "at" GEO_POINT,
   PRIMARY KEY ("id", "week")
)
CLUSTERED BY ("id") INTO 3 SHARDS
PARTITIONED BY ("week")
WITH (
   column_policy = 'strict',
   number_of_replicas = '0',
   "blocks.read" = false,
   "blocks.write" = false
)"#;

    /// A 6.4.3 server, as its responses to these statements, in order.
    struct Recorded(Vec<(&'static str, Vec<Vec<&'static str>>)>, Vec<String>);

    impl SqlQuery for Recorded {
        async fn texts(&mut self, sql: &str) -> Result<Texts, UserError> {
            self.1.push(sql.to_owned());
            let found = self.0.iter().find(|(part, _)| sql.contains(part));
            let (_, rows) = found.unwrap_or_else(|| panic!("{sql}"));
            let text = |text: &&str| (*text != "NULL").then(|| (*text).to_owned());
            Ok(rows.iter().map(|row| row.iter().map(text).collect()).collect())
        }
    }

    fn recorded() -> Recorded {
        let column = |name, kind, null, computed| vec![name, kind, null, computed, "own"];
        Recorded(
            vec![
                (
                    "information_schema.columns",
                    vec![
                        column("id", "text", "NO", "NEVER"),
                        column("ts", "timestamp with time zone", "NO", "NEVER"),
                        column("week", "timestamp with time zone", "NO", "ALWAYS"),
                        column("tags", "object", "YES", "NEVER"),
                        column("tags['host']", "text", "YES", "NEVER"),
                        column("tags['size']", "object", "YES", "NEVER"),
                        column("tags['size']['height']", "integer", "YES", "NEVER"),
                        column("at", "geo_point", "YES", "NEVER"),
                    ],
                ),
                ("SHOW CREATE TABLE \"shop\"", vec![vec![CREATED]]),
                ("SELECT 1 AS c FROM \"shop\" LIMIT 100000", vec![vec!["2000"]]),
                ("GROUP BY c", vec![vec!["host_0", "500"], vec!["host_1", "1500"]]),
                (
                    "SELECT CAST(\"ts\" AS bigint) AS c",
                    vec![vec!["0", "2000", "1700000000000", "1700001999000", "13", "13"]],
                ),
                (
                    "SELECT \"tags\"['host'] AS c",
                    vec![vec!["0", "2", "host_0", "host_1", "6", "6"]],
                ),
                (
                    "SELECT \"tags\"['size']['height'] AS c",
                    vec![vec!["3", "90", "0", "99", "1", "2"]],
                ),
                ("SELECT \"id\" AS c", vec![vec!["0", "2000", "a", "z", "20", "20"]]),
                ("sys.shards", vec![vec!["9000000"]]),
                ("pg_catalog.pg_stats", vec![vec!["id", "8999999"], vec!["tags['host']", "4"]]),
                ("count(DISTINCT stmt)", vec![vec!["1234"]]),
                (
                    "sys.jobs_log",
                    vec![
                        vec!["SELECT count(*) FROM shop WHERE tags['host'] = ?", "40"],
                        vec!["INSERT INTO shop (id) VALUES (?)", "7"],
                    ],
                ),
            ],
            Vec::new(),
        )
    }

    /// The value of a future that never waits.
    fn at_once<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn a_table_is_described_from_responses_of_the_cluster() {
        let mut server = recorded();
        let shape = at_once(describe(&mut server, "n1", "shop")).unwrap();
        assert_eq!((shape.rows, shape.rows_all), (2_000, Some(9_000_000)));
        assert_eq!(shape.schema.as_deref(), Some("own"));
        let names: Vec<&str> = shape.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["id", "ts", "week", "tags", "at"]);
        let [id, ts, week, tags, at] = shape.columns.as_slice() else {
            panic!("{shape:?}");
        };
        assert_eq!(id.distinct_all, Some(8_999_999));
        assert_eq!(ts.min.as_deref(), Some("1700000000000"));
        assert!(week.generated && week.distinct == 0);
        assert_eq!((tags.kind, at.kind), (Some(ColumnType::Object), None));
        assert_eq!(tags.fields[0].common[1], ("host_1".to_owned(), 1_500));
        let height = &tags.fields[1].fields[0];
        assert_eq!((height.name.as_str(), height.nulls), ("height", 3));
        assert_eq!((height.distinct, height.max.as_deref()), (90, Some("99")));
        let recorded: Vec<(&str, u64)> =
            shape.recorded.texts.iter().map(|text| (text.sql.as_str(), text.calls)).collect();
        assert_eq!(recorded[0], ("SELECT count(*) FROM shop WHERE tags['host'] = ?", 40));
        assert_eq!((recorded.len(), shape.recorded.different), (2, 1_234));
        // Computed columns, and types without a generator, are not sampled.
        assert!(!server.1.iter().any(|sql| sql.contains("\"week\"") || sql.contains("\"at\"")));
    }

    #[test]
    fn the_statement_of_a_table_is_taken_over_without_name_and_blocks() {
        let (create, key) = created_as(CREATED);
        let key = key.unwrap();
        assert_eq!(key.columns, ["id", "week"]);
        assert_eq!(key.text, ",\n   PRIMARY KEY (\"id\", \"week\")");
        assert!(create.starts_with("CREATE TABLE {table} (\n   \"id\" TEXT NOT NULL,"));
        assert!(
            create.contains("   \"at\" GEO_POINT{key}\n)\nCLUSTERED BY (\"id\") INTO 3 SHARDS\n")
        );
        assert!(create.ends_with("PARTITIONED BY (\"week\")\nWITH (\n   column_policy = 'strict',\n   number_of_replicas = '0'\n)"), "{create}");
        let named = CREATED.replace("PRIMARY KEY", "CONSTRAINT \"k\" PRIMARY KEY");
        assert_eq!(created_as(&named).1.unwrap().columns, ["id", "week"]);
    }

    #[test]
    fn an_unreadable_log_is_reported() {
        struct Refusing(Recorded);
        impl SqlQuery for Refusing {
            async fn texts(&mut self, sql: &str) -> Result<Texts, UserError> {
                if sql.contains("sys.jobs_log") {
                    return Err(UserError::usage("missing 'AL' privilege"));
                }
                self.0.texts(sql).await
            }
        }
        let shape = at_once(describe(&mut Refusing(recorded()), "n1", "shop")).unwrap();
        assert_eq!(shape.recorded.source, None);
        let remark = shape.recorded.remark.unwrap();
        assert_eq!(remark, "sys.jobs_log cannot be read: missing 'AL' privilege");
    }

    #[test]
    fn a_missing_table_is_a_user_error() {
        let mut server = Recorded(vec![("information_schema", Vec::new())], Vec::new());
        let error = at_once(describe(&mut server, "n1", "shopp")).unwrap_err();
        assert!(error.message.contains("n1: there is no table `shopp`"), "{error}");
    }
}
