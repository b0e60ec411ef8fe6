//! What SQL servers report about themselves and their tables: facts in the settings of a record; the declared types of
//! a table, and how they change sent values; and, for descriptions of a table, statements on a sample of its rows, in
//! SQL that every dialect understands.
//!
//! Must be the only place that knows what a declared type does to a value. Must not know the name of a server's
//! setting.

use std::collections::BTreeMap;

use highwater_model::op::{BoundTable, ColumnType};
use highwater_model::record::MemoryRecord;
use highwater_model::stored::{DeclaredColumn, StoredForm, TimeRounding};
use highwater_model::table_shape::{ColumnShape, IndexShape, LISTED_MAX};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::dialect::{DeclaredTypes, Dialect};
use crate::sql::connection::{SqlQuery, Texts, pairs, values};

/// The rows of settings; empty if the server refuses to show them, which does not end a run.
///
/// # Errors
///
/// The connection was lost.
pub fn readable(rows: Result<Texts, UserError>) -> Result<Texts, UserError> {
    match rows {
        Err(error) if error.kind != UserErrorKind::Unreachable => Ok(Vec::new()),
        rows => rows,
    }
}

/// Settings of the tables themselves, from rows of table, name, and value. If tables differ, each value is followed by
/// the names of its tables; it is then not a number, and does not apply to all of them.
pub(super) fn of_tables(tables: usize, rows: Texts) -> BTreeMap<String, String> {
    let mut by_name: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for row in rows {
        if let [Some(table), Some(name), Some(value)] = row.as_slice() {
            let values = by_name.entry(name.clone()).or_default();
            values.entry(value.clone()).or_default().push(table.clone());
        }
    }
    let shown = by_name.into_iter().map(|(name, values)| {
        let words = values.into_iter().map(|(value, of)| {
            if of.len() == tables { value } else { format!("{value} ({})", of.join(", ")) }
        });
        (name, words.collect::<Vec<_>>().join(", "))
    });
    shown.collect()
}

/// Adds the insert mode, and whether the connection is encrypted.
pub fn add_connection(settings: &mut BTreeMap<String, String>, insert: &str, encrypted: bool) {
    let tls = if encrypted { "on" } else { "off" };
    settings.insert("insert".to_owned(), insert.to_owned());
    settings.insert("tls".to_owned(), tls.to_owned());
}

/// Adds both, and the durability of an acknowledged commit, in the server's own terms: the reported settings among
/// `names`, and `relaxed`, settings that reduce it. Returns the words for the first line of a summary: the insert mode,
/// and `relaxed`.
pub fn add_common(
    settings: &mut BTreeMap<String, String>,
    insert: &str,
    encrypted: bool,
    names: &[&str],
    mut relaxed: Vec<String>,
) -> Vec<String> {
    let reported = names.iter().filter_map(|name| {
        let value = settings.get(*name)?;
        Some(format!("{name}={value}"))
    });
    let mut words = reported.collect::<Vec<String>>().join(" ");
    if words.is_empty() {
        "not reported by the server".clone_into(&mut words);
    }
    settings.insert("durability".to_owned(), words);
    if !relaxed.is_empty() {
        settings.insert("durability.relaxed".to_owned(), relaxed.join(" "));
    }
    add_connection(settings, insert, encrypted);
    relaxed.insert(0, format!("insert={insert}"));
    relaxed
}

/// The data caches that these settings size in bytes; settings with other values are omitted.
pub fn caches(settings: &BTreeMap<String, String>, names: &[&str]) -> MemoryRecord {
    let caches = names.iter().filter_map(|name| {
        let bytes = settings.get(*name)?.parse().ok()?;
        Some(((*name).to_owned(), bytes))
    });
    MemoryRecord { caches: caches.collect(), page_cache: None }
}

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// A declared type in parts: `timestamp(0) with time zone` is `timestamp with time zone` and 0.
struct Parts {
    base: String,
    digits: Vec<u32>,
}

impl Parts {
    fn parse(declared: &str) -> Self {
        let declared = declared.to_ascii_lowercase();
        let inside = declared.split_once('(').and_then(|(before, rest)| {
            let (inside, behind) = rest.split_once(')')?;
            Some((before, inside, behind))
        });
        let (before, inside, behind) = inside.unwrap_or((&declared, "", ""));
        let digits = inside.split(',').map_while(|text| text.trim().parse().ok());
        Self { base: format!("{}{behind}", before.trim_end()), digits: digits.collect() }
    }
}

/// Times with too few fractional digits to store milliseconds.
fn times(digits: u32, rounding: TimeRounding) -> StoredForm {
    match 3_u32.checked_sub(digits) {
        None | Some(0) => StoredForm::AsSent,
        Some(fewer) => StoredForm::Times { unit_ms: 10_i64.pow(fewer), rounding },
    }
}

impl Dialect {
    /// See [`DeclaredTypes::columns`]; `None` if types are not read.
    pub fn declared_columns(&self, table: &str) -> Option<String> {
        self.declared.map(|types| self.about(types.columns, table))
    }

    /// The columns of the workload's table, in its order, from the response to
    /// [`Self::declared_columns`].
    pub fn declared(&self, table: &BoundTable, rows: &Texts) -> Vec<DeclaredColumn> {
        let columns = table.columns.iter().map(|column| {
            let same = |row: &&Vec<Option<String>>| {
                let name = row.first().and_then(Option::as_deref);
                name == Some(column.name.as_str())
            };
            let mut found = rows.iter().find(same)?.iter().skip(1).cloned();
            let name = found.next()??;
            let cuts = found.next().flatten().as_deref() == Some("1");
            let form = self.declared?.form(column.kind, &name, cuts);
            Some(DeclaredColumn { name, form })
        });
        columns.map(Option::unwrap_or_default).collect()
    }

    /// A column of another type as text: the text that the server sends for it.
    pub fn text_of(&self, column: &str, declared: &DeclaredColumn) -> String {
        match declared.form {
            StoredForm::Text | StoredForm::Equivalent | StoredForm::Uncompared
                if self.asks_for_texts() =>
            {
                // The workload never sends the word `t`, the server's text for true; and a fixed
                // width adds spaces that are not part of the value.
                if declared.name == "boolean" || declared.name.starts_with("character(") {
                    return format!("CAST({column} AS text)");
                }
                // A cast appends the length of its network to an address.
                format!("CASE WHEN {column} IS NOT NULL THEN concat({column}) END")
            }
            _ => column.to_owned(),
        }
    }

    /// Queries the text to which the server converts another text in a column of that type.
    pub fn text_in(&self, text: &str, declared: &DeclaredColumn) -> Option<String> {
        let (literal, name) = (self.literal(text), &declared.name);
        (self.asks_for_texts() && !name.is_empty()).then(|| {
            let cast = format!("CAST({literal} AS {name})");
            format!("SELECT {}", self.text_of(&cast, declared))
        })
    }

    fn asks_for_texts(&self) -> bool {
        self.declared.is_some_and(|types| types.as_sent.is_some())
    }
}

impl DeclaredTypes {
    /// What a column of this declared type does to values of this kind.
    pub fn form(&self, kind: ColumnType, declared: &str, cuts: bool) -> StoredForm {
        let parts = Parts::parse(declared);
        let (base, first) = (parts.base.as_str(), parts.digits.first().copied());
        match (kind, base) {
            (ColumnType::Timestamp, "date") => {
                StoredForm::Times { unit_ms: DAY_MS, rounding: TimeRounding::Cut }
            }
            (ColumnType::Timestamp, base) if self.times.contains(&base) => {
                let rounding = if cuts { TimeRounding::Cut } else { TimeRounding::Up };
                times(first.unwrap_or(0), rounding)
            }
            (ColumnType::Timestamp, base) if base.starts_with("timestamp ") => {
                times(first.unwrap_or(6), TimeRounding::From2000)
            }
            (ColumnType::Float, base) if self.singles.contains(&base) => StoredForm::Singles,
            (ColumnType::Float, "numeric" | "decimal") => match parts.digits.as_slice() {
                [_, scale] => StoredForm::Decimals { scale: *scale },
                [_] => StoredForm::Decimals { scale: 0 },
                _ => StoredForm::AsSent,
            },
            (ColumnType::Text, base) if self.several_texts.contains(&base) => {
                StoredForm::Equivalent
            }
            (ColumnType::Text, base)
                if self.as_sent.is_some_and(|types| !types.contains(&base)) =>
            {
                StoredForm::Text
            }
            // It has no attributes, but it is JSON.
            (ColumnType::Object, base)
                if self.as_sent.is_some_and(|types| types.contains(&base)) =>
            {
                StoredForm::Equivalent
            }
            _ => StoredForm::AsSent,
        }
    }
}

/// Rows of the sample.
pub const SAMPLE_ROWS: u64 = 100_000;
/// The alias of the sample; it identifies Highwater's statements.
pub const SAMPLE: &str = "highwater_sample";
/// The alias of the rows that an audit reads; it also identifies Highwater's statements.
pub const AUDITED: &str = "highwater_audited";

/// The error for a missing table; `place` names the target.
pub fn not_there(place: &str, table: &str) -> UserError {
    UserError::usage(format!("{place}: there is no table `{table}` in the schema"))
        .with_hint("--table names it as the target does; the URL names the schema")
}

/// Rows of the sample of `from`, a name in SQL.
pub async fn count_rows(database: &mut impl SqlQuery, from: &str) -> Result<u64, UserError> {
    let sql =
        format!("SELECT count(*) FROM (SELECT 1 AS c FROM {from} LIMIT {SAMPLE_ROWS}) AS {SAMPLE}");
    Ok(number(&database.texts(&sql).await?, 0))
}

/// Fills in the statistics of a column from the sample. `value` is its expression: for times, the milliseconds since
/// 1970; for booleans, 1 and 0. `text` is the dialect's text type in a cast.
pub async fn sample_column(
    database: &mut impl SqlQuery,
    from: &str,
    value: &str,
    text: &str,
    column: &mut ColumnShape,
) -> Result<(), UserError> {
    let sample = format!("(SELECT {value} AS c FROM {from} LIMIT {SAMPLE_ROWS}) AS {SAMPLE}");
    let rows = database
        .texts(&format!(
            "SELECT count(*) - count(c), count(DISTINCT c), CAST(min(c) AS {text}), \
             CAST(max(c) AS {text}), min(length(CAST(c AS {text}))), max(length(CAST(c AS {text}))) \
             FROM {sample}"
        ))
        .await?;
    let value_at = |at: usize| rows.first().and_then(|row| row.get(at)).cloned().flatten();
    (column.nulls, column.distinct) = (number(&rows, 0), number(&rows, 1));
    (column.min, column.max) = (value_at(2), value_at(3));
    column.lengths = (number(&rows, 4), number(&rows, 5));
    let listed = !matches!(column.kind, Some(ColumnType::Float | ColumnType::Timestamp));
    if !listed || column.distinct == 0 || (column.distinct > LISTED_MAX && !column.sampled) {
        return Ok(());
    }
    // Of many values, their hashes choose some of any length.
    let order = if column.distinct > LISTED_MAX { "md5(c)" } else { "times DESC, word" };
    let rows = database
        .texts(&format!(
            "SELECT CAST(c AS {text}) AS word, count(*) AS times FROM {sample} WHERE c IS NOT NULL \
             GROUP BY c ORDER BY {order} LIMIT {LISTED_MAX}"
        ))
        .await?;
    let common = pairs(rows).filter_map(|(value, times)| {
        let value = match column.kind {
            Some(ColumnType::Boolean) => (value == "1").to_string(),
            _ => value,
        };
        Some((value, times.parse().ok()?))
    });
    column.common = common.collect();
    Ok(())
}

/// The indexes of a table. Each row has the text of an index, whether it is unique, whether it is a plain list of
/// columns, and one of its columns. Other indexes have no columns.
pub fn indexes(rows: Texts) -> Vec<IndexShape> {
    let is = |text: &str| ["t", "1"].contains(&text);
    let mut indexes: Vec<IndexShape> = Vec::new();
    for row in rows {
        let [text, unique, plain, column] = values(row);
        if indexes.last().is_none_or(|index| index.text != text) {
            indexes.push(IndexShape { columns: Vec::new(), unique: is(&unique), text });
        }
        if let Some(index) = indexes.last_mut().filter(|_| is(&plain)) {
            index.columns.push(column);
        }
    }
    indexes
}

/// A condition on a list of statements with their text in `column`: excludes Highwater's own.
pub fn not_ours(column: &str) -> String {
    [SAMPLE, AUDITED].map(|name| format!("strpos({column}, '{name}') = 0")).join(" AND ")
}

/// A value of the first row as a number; 0 if it is missing.
pub fn number(rows: &Texts, at: usize) -> u64 {
    let text = rows.first().and_then(|row| row.get(at)?.as_deref());
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_those_that_are_reported_in_bytes() {
        let settings = [("pool", "134217728"), ("cache", "128MB"), ("other", "1")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = caches(&settings.into(), &["pool", "cache", "absent"]).caches;
        assert_eq!(found, [("pool".to_owned(), 134_217_728)].into());
    }

    #[test]
    fn settings_that_a_server_does_not_show_end_nothing_and_a_lost_connection_does() {
        let refused = UserError::statement("no function current_setting");
        assert_eq!(readable(Err(refused)), Ok(Vec::new()));
        let lost = Err(UserError::unreachable("gone"));
        assert_eq!(readable(lost.clone()), lost);
    }

    #[test]
    fn a_setting_of_tables_is_reported_only_for_them_if_all_have_it() {
        let row = |of: [&str; 3]| of.map(|text| Some(text.to_owned())).to_vec();
        let rows = [["cpu", "fill", "70"], ["kv", "fill", "70"], ["cpu", "parts", "150"]];
        let found = of_tables(2, rows.map(row).to_vec());
        let expected = [("fill", "70"), ("parts", "150 (cpu)")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn durability_is_in_the_words_of_the_server() {
        let of = |reported: &[(&str, &str)], relaxed: &[String]| {
            let mut settings = reported
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            add_common(&mut settings, "values", true, &["a", "b"], relaxed.to_vec());
            (settings.remove("durability"), settings.remove("durability.relaxed"))
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of(&[], &[]), (text("not reported by the server"), None));
        assert_eq!(
            of(&[("b", "1"), ("c", "2"), ("a", "0")], &["a=0".to_owned()]),
            (text("a=0 b=1"), text("a=0"))
        );
    }

    #[test]
    fn a_declared_type_determines_the_stored_value() {
        use ColumnType::{Bigint, Float, Object, Text, Timestamp};
        let cut = |unit_ms| StoredForm::Times { unit_ms, rounding: TimeRounding::Cut };
        let away = |unit_ms| StoredForm::Times { unit_ms, rounding: TimeRounding::From2000 };
        let postgres = DeclaredTypes {
            columns: "",
            times: &[],
            singles: &["real"],
            as_sent: Some(&["text", "character varying"]),
            several_texts: &["jsonb"],
        };
        let mysql = DeclaredTypes {
            columns: "",
            times: &["datetime", "timestamp"],
            singles: &["float"],
            as_sent: None,
            several_texts: &["decimal"],
        };
        for (types, kind, declared, form) in [
            (mysql, Timestamp, "datetime", cut(1_000)),
            (mysql, Timestamp, "timestamp(2)", cut(10)),
            (mysql, Timestamp, "datetime(6)", StoredForm::AsSent),
            (mysql, Text, "decimal(10,2)", StoredForm::Equivalent),
            (mysql, Text, "date", StoredForm::AsSent),
            (postgres, Timestamp, "timestamp with time zone", StoredForm::AsSent),
            (postgres, Timestamp, "timestamp(0) without time zone", away(1_000)),
            (postgres, Timestamp, "timestamp(3) with time zone", StoredForm::AsSent),
            (postgres, Timestamp, "date", cut(DAY_MS)),
            (postgres, Float, "numeric(38,4)", StoredForm::Decimals { scale: 4 }),
            (postgres, Float, "numeric", StoredForm::AsSent),
            (postgres, Float, "real", StoredForm::Singles),
            (mysql, Float, "float", StoredForm::Singles),
            (mysql, Float, "double", StoredForm::AsSent),
            (postgres, Bigint, "numeric(38,4)", StoredForm::AsSent),
            (postgres, Text, "character varying(20)", StoredForm::AsSent),
            (postgres, Text, "inet", StoredForm::Text),
            (postgres, Text, "integer[]", StoredForm::Text),
            (postgres, Text, "json", StoredForm::Text),
            (postgres, Text, "jsonb", StoredForm::Equivalent),
            (postgres, Object, "jsonb", StoredForm::AsSent),
            (postgres, Object, "text", StoredForm::Equivalent),
        ] {
            assert_eq!(types.form(kind, declared, true), form, "{kind:?} {declared}");
        }
        let rounds = mysql.form(Timestamp, "datetime", false);
        assert!(matches!(rounds, StoredForm::Times { rounding: TimeRounding::Up, .. }));
    }
}
