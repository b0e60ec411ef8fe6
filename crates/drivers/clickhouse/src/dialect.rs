//! ClickHouse's SQL.

use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::dialect::{backquoted, escaped};
use highwater_driver::sql::leases::LeaseWords;
use highwater_driver::sql::with_clause::with_engine;
use highwater_model::units::Nanos;

/// Eventually only the newest row of each table remains.
const REGISTRY: &str = "CREATE TABLE IF NOT EXISTS highwater_tables (\
     name String, fingerprint String, seed String, `rows` Nullable(Int64), \
     next_index Int64, writing UInt8, version UInt64) ENGINE = ReplacingMergeTree(version) ORDER BY name";
/// Eventually only the newest row of each event of a claim remains.
const EVENTS: &str = "CREATE TABLE IF NOT EXISTS highwater_leases (\
     table_name String, share UInt32, shares UInt32, token String, plan String, owner String, \
     machine String, process Int64, started Int64, \
     event String, number UInt64, at_ms UInt64) \
     ENGINE = ReplacingMergeTree(at_ms) ORDER BY (table_name, share, token, number, event)";

/// A profile may have a limit at which a query ends early and answers from a part of the rows; here it fails.
macro_rules! whole {
    ($more:literal) => {
        concat!(
            " SETTINGS read_overflow_mode = 'throw', timeout_overflow_mode = 'throw', \
             group_by_overflow_mode = 'throw', sort_overflow_mode = 'throw', \
             set_overflow_mode = 'throw', distinct_overflow_mode = 'throw'",
            $more
        )
    };
}

/// Its SQL.
pub const CLICKHOUSE: Dialect = Dialect {
    rolls_back: false,
    inserts_whole: false,
    only_appends: true,
    // A thread of its own waits for each connection, and lists the statement before it reads the rows: this is a
    // thousand times as long as it takes to wake it.
    unread_inserts: Some(Nanos::SECOND),
    identifier: |name| backquoted(&name.replace('\\', "\\\\")),
    literal: escaped,
    current_rows: " FINAL",
    quotient: "intDiv({dividend}, {divisor})",
    // A literal has the narrowest type that holds it, without a sign where it can, and two integers of which one has a
    // sign have no type in common.
    integer: "toInt64({})",
    // A sum of 64 bits without a sign wraps.
    product: |one, other| format!("toUInt64({one}) * toUInt64({other})"),
    bigint: "toInt64({})",
    boolean: "toInt64({})",
    double: "toFloat64({})",
    // Its points in time are of seconds: milliseconds are integers.
    milliseconds: "toInt64({})",
    exact_milliseconds: "toInt64({})",
    booleans: ["0", "1"],
    // JSON is text. A missing attribute is an empty text.
    attribute: |column, attribute| {
        let name = escaped(attribute);
        let raw = format!("visitParamExtractRaw({column}, {name})");
        format!(
            "multiIf(substring({raw}, 1, 1) = '\"', visitParamExtractString({column}, {name}), \
             {raw} = 'null', '', {raw})"
        )
    },
    // The first eight bytes of the MD5 in big-endian order: 28 bits are seven digits.
    hash: "toInt64(bitShiftRight(halfMD5({}), 36))",
    number_of_hash: str::to_owned,
    inner_prefix: "highwater_",
    groups_by_name: true,
    // Settings for one statement. Smaller parts of a table do not take less memory by themselves: each thread reads
    // each column through a buffer of 1 MiB.
    audit_endings: [
        whole!(""),
        whole!(", max_threads = 1, max_block_size = 4096, max_read_buffer_size = 65536"),
    ],
    with_settings: |create, settings| with_engine(create, settings, escaped),
    options: " ENGINE = MergeTree ORDER BY tuple()",
    registry: Some(REGISTRY),
    forget: Some("ALTER TABLE highwater_tables DELETE WHERE name = {name}"),
    exists: "SELECT count(*) FROM system.tables \
             WHERE database = currentDatabase() AND name = {name}",
    statements_remark: Some("The queries that this server runs are not counted here"),
    ..Dialect::standard(
        &["clickhouse"],
        // It cannot update rows; its clock has a resolution of seconds.
        LeaseWords {
            or_ignore: "",
            appended: Some(EVENTS),
            ..LeaseWords::plain(escaped, "TEXT", "toInt64(toUnixTimestamp(now())) * 1000")
        },
        // Statements sent over HTTP have the client's name.
        "SELECT count(*) FROM system.processes \
         WHERE http_user_agent = {name} AND query NOT LIKE '%FROM system.processes%'",
    )
};
