//! ClickHouse's SQL, and the values of a statement, at `$n` outside texts, quoted names, and comments, with the number
//! of rows in the text of an INSERT. Parses only as much SQL as this requires.

use highwater_driver::sql::dialect::{Dialect, backquoted, escaped, quoted_length};
use highwater_driver::sql::leases::LeaseWords;
use highwater_driver::sql::with_clause::with_engine;
use highwater_model::literal::LiteralSql;
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

/// A profile may have a limit at which a query ends early and returns a result from only a part of the rows;
/// with this setting it fails.
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
    // A separate thread waits for each connection, and lists the statement before it reads the rows. This limit
    // is a thousand times the time to wake that thread.
    unread_inserts: Some(Nanos::SECOND),
    identifier: |name| backquoted(&name.replace('\\', "\\\\")),
    literal: escaped,
    current_rows: " FINAL",
    quotient: "intDiv({dividend}, {divisor})",
    // A literal has the narrowest type that can hold it, unsigned if possible, and a signed and an unsigned integer
    // have no common type.
    integer: "toInt64({})",
    // A sum of unsigned 64-bit integers wraps.
    product: |one, other| format!("toUInt64({one}) * toUInt64({other})"),
    bigint: "toInt64({})",
    boolean: "toInt64({})",
    double: "toFloat64({})",
    // Its timestamps have whole seconds, so milliseconds are integers.
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
    // Settings for one statement. Reading smaller parts of a table does not reduce memory use by itself, because
    // each thread reads each column through a buffer of 1 MiB.
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

/// The statement, split at the values, and the value (from 0) for each placeholder.
pub(super) fn cut(sql: &str) -> (LiteralSql, Vec<usize>) {
    let mut cut = LiteralSql::default();
    let mut values = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match (opaque(rest, first), first) {
            (Some(length), _) => length,
            (None, '$') => {
                let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
                let number = rest.get(1..=digits).and_then(|digits| digits.parse().ok());
                if let Some(position) = number.and_then(|number: usize| number.checked_sub(1)) {
                    cut.push_value(position);
                    values.push(position);
                    rest = rest.get(1 + digits..).unwrap_or_default();
                    continue;
                }
                1
            }
            (None, other) => other.len_utf8(),
        };
        let (taken, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        cut.push_text(taken);
        rest = behind;
    }
    (cut, values)
}

/// Rows in parentheses after the VALUES of an INSERT; 0 in another statement.
pub(super) fn inserted_rows(sql: &str) -> u64 {
    if !first_word(sql).eq_ignore_ascii_case("INSERT") {
        return 0;
    }
    let (mut rows, mut depth, mut is_behind) = (0, 0_u32, false);
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match (opaque(rest, first), first) {
            (Some(length), _) => length,
            (None, '(') => {
                rows += u64::from(is_behind && depth == 0);
                depth = depth.saturating_add(1);
                1
            }
            (None, ')') => {
                depth = depth.saturating_sub(1);
                1
            }
            (None, letter) if letter.is_ascii_alphabetic() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                is_behind |= depth == 0 && word.eq_ignore_ascii_case("VALUES");
                word.len()
            }
            (None, other) => other.len_utf8(),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    rows
}

/// Length in bytes of a text, a quoted name, or a comment at this position.
fn opaque(rest: &str, first: char) -> Option<usize> {
    match first {
        '\'' | '"' | '`' => Some(quoted_length(rest, true)),
        '-' if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => Some(rest.find("*/").map_or(rest.len(), |end| end + 2)),
        _ => None,
    }
}

/// The first word of a statement, after comments.
pub(super) fn first_word(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let comment = match rest.as_bytes() {
            [b'-', b'-', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => break,
        };
        rest = rest.get(comment..).unwrap_or_default().trim_start();
    }
    let end = rest.find(|c: char| !c.is_ascii_alphabetic());
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_an_insert_follow_values() {
        for (sql, rows) in [
            ("INSERT INTO kv (k, v) VALUES ($1, $2), ($3, $4)", 2),
            ("insert into t values(1),((-2)) -- (3)", 2),
            ("INSERT INTO `values (` VALUES ('(', f(x))", 1),
            ("INSERT INTO t (values_of) SELECT (1)", 0),
            ("INSERT INTO t (values) SELECT (1)", 0),
            ("SELECT 1 VALUES (1)", 0),
            ("", 0),
        ] {
            assert_eq!(inserted_rows(sql), rows, "{sql}");
        }
    }

    #[test]
    fn each_placeholder_is_the_value_that_its_number_names() {
        for (sql, marked, values) in [
            ("SELECT $1, $2, $1", "SELECT ?1, ?2, ?1", &[0, 1, 0][..]),
            ("x IN ($10,$11)", "x IN (?10,?11)", &[9, 10]),
            ("'$1' \"$1\" `$1` $1", "'$1' \"$1\" `$1` ?1", &[0]),
            ("'it''s \\' $1' $2", "'it''s \\' $1' ?2", &[1]),
            ("--$1\n$1 /* $3 */$2", "--$1\n?1 /* $3 */?2", &[0, 1]),
            ("$0 $ \u{e4}$1", "$0 $ \u{e4}?1", &[0]),
            ("'not ended $1", "'not ended $1", &[]),
        ] {
            let (cut, found) = cut(sql);
            assert_eq!((cut.numbered('?').as_str(), found.as_slice()), (marked, values));
        }
    }

    #[test]
    fn the_first_word_follows_comments() {
        for (sql, word) in [
            ("SELECT 1", "SELECT"),
            ("-- a\n /* b */ select(1)", "select"),
            ("-- only", ""),
            ("(SELECT 1)", ""),
            ("", ""),
        ] {
            assert_eq!(first_word(sql), word, "{sql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_causes_a_panic(sql in "\\PC*|[$'\"`/*0-9 \\\\-]*") {
            let (text, values) = cut(&sql);
            proptest::prop_assert!(text.numbered('$').len() <= sql.len());
            proptest::prop_assert!(values.len() <= sql.len());
        }
    }
}
