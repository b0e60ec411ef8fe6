//! The types that a table declares, and what becomes there of the values that are sent.
//!
//! Must be the only place that knows what a declared type does to a value.

use highwater_model::op::{BoundTable, ColumnType};
use highwater_model::stored_form::{DeclaredColumn, StoredForm, TimeRounding};

use super::dialect::Dialect;
use crate::sql_query::Texts;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Types that PostgreSQL's checksum takes as they are, or that give back other bytes than were sent.
const POSTGRES_TEXTS: [&str; 5] = ["text", "character varying", "character", "name", "bytea"];
/// Types with several texts for one value; PostgreSQL's, then MySQL's.
const SEVERAL_TEXTS: [&str; 13] = [
    "numeric",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "jsonb",
    "decimal",
    "tinyint",
    "mediumint",
    "int",
    "double",
    "json",
];

/// A declared type in parts: `timestamp(0) with time zone` is `timestamp with time zone` and 0.
struct Parts {
    base: String,
    digits: Vec<u32>,
}

impl Parts {
    fn of(declared: &str) -> Self {
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

/// Times with so few digits behind the second that milliseconds do not stay.
fn times(digits: u32, rounding: TimeRounding) -> StoredForm {
    match 3_u32.checked_sub(digits) {
        None | Some(0) => StoredForm::AsSent,
        Some(fewer) => StoredForm::Times { unit_ms: 10_i64.pow(fewer), rounding },
    }
}

impl Dialect {
    /// The query of a table's columns: name, declared type, and whether times are cut and not rounded.
    /// None where types are not looked at.
    pub fn declared_columns(self, table: &str) -> Option<String> {
        match self {
            Self::PostgreSql | Self::YugabyteDb => Some(format!(
                "SELECT a.attname, CASE t.typtype \
                 WHEN 'd' THEN pg_catalog.format_type(t.typbasetype, t.typtypmod) \
                 ELSE pg_catalog.format_type(a.atttypid, a.atttypmod) END, false \
                 FROM pg_catalog.pg_attribute AS a \
                 JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
                 WHERE a.attrelid = CAST({} AS regclass) AND a.attnum > 0 AND NOT a.attisdropped",
                self.literal(&self.identifier(table))
            )),
            Self::MySql => Some(format!(
                "SELECT column_name, column_type, version() LIKE '%MariaDB%' \
                 FROM information_schema.columns \
                 WHERE table_schema = database() AND table_name = {}",
                self.literal(table)
            )),
            Self::CockroachDb | Self::CrateDb | Self::ClickHouse | Self::QuestDb => None,
        }
    }

    /// The columns of the workload's table, in its order, from the response to
    /// [`Self::declared_columns`].
    pub fn declared(self, table: &BoundTable, rows: &Texts) -> Vec<DeclaredColumn> {
        let columns = table.columns.iter().map(|column| {
            let same = |row: &&Vec<Option<String>>| {
                let name = row.first().and_then(Option::as_deref);
                name == Some(column.name.as_str())
            };
            let mut found = rows.iter().find(same)?.iter().skip(1).cloned();
            let name = found.next()??;
            let cuts = found.next().flatten().as_deref() == Some("1");
            let form = self.form(column.kind, &name, cuts);
            Some(DeclaredColumn { name, form })
        });
        columns.map(Option::unwrap_or_default).collect()
    }

    fn form(self, kind: ColumnType, declared: &str, cuts: bool) -> StoredForm {
        let parts = Parts::of(declared);
        let (base, first) = (parts.base.as_str(), parts.digits.first().copied());
        let is_mysql = self == Self::MySql;
        match (kind, base) {
            (ColumnType::Timestamp, "date") => {
                StoredForm::Times { unit_ms: DAY_MS, rounding: TimeRounding::Cut }
            }
            (ColumnType::Timestamp, "datetime" | "timestamp") if is_mysql => {
                let rounding = if cuts { TimeRounding::Cut } else { TimeRounding::Up };
                times(first.unwrap_or(0), rounding)
            }
            (ColumnType::Timestamp, base) if base.starts_with("timestamp ") => {
                times(first.unwrap_or(6), TimeRounding::From2000)
            }
            (ColumnType::Float, "numeric" | "decimal") => match parts.digits.as_slice() {
                [_, scale] => StoredForm::Decimals { scale: *scale },
                [_] => StoredForm::Decimals { scale: 0 },
                _ => StoredForm::AsSent,
            },
            (ColumnType::Text, base)
                if SEVERAL_TEXTS.contains(&base) && (is_mysql || base != "json") =>
            {
                StoredForm::Equivalent
            }
            (ColumnType::Text, base) if !is_mysql && !POSTGRES_TEXTS.contains(&base) => {
                StoredForm::Text
            }
            // It has no attributes, but it is JSON.
            (ColumnType::Object, base) if !is_mysql && POSTGRES_TEXTS.contains(&base) => {
                StoredForm::Equivalent
            }
            _ => StoredForm::AsSent,
        }
    }

    /// A column of another type as a text: the one that the server sends for it.
    pub(super) fn text_of(self, column: &str, declared: &DeclaredColumn) -> String {
        match (self, declared.form) {
            (
                Self::PostgreSql | Self::YugabyteDb,
                StoredForm::Text | StoredForm::Equivalent | StoredForm::Uncompared,
            ) => {
                // `t` is no word that anybody sends.
                if declared.name == "boolean" {
                    return format!("CAST({column} AS text)");
                }
                // A cast adds to an address the length of its network.
                format!("CASE WHEN {column} IS NOT NULL THEN concat({column}) END")
            }
            _ => column.to_owned(),
        }
    }

    /// The query of the text that the server makes of another one in a column of that type.
    pub fn text_in(self, text: &str, declared: &DeclaredColumn) -> Option<String> {
        let (literal, name) = (self.literal(text), &declared.name);
        let is_postgres = matches!(self, Self::PostgreSql | Self::YugabyteDb);
        (is_postgres && !name.is_empty()).then(|| {
            let cast = format!("CAST({literal} AS {name})");
            format!("SELECT {}", self.text_of(&cast, declared))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_type_says_what_stays_of_a_value() {
        use ColumnType::{Bigint, Float, Object, Text, Timestamp};
        let cut = |unit_ms| StoredForm::Times { unit_ms, rounding: TimeRounding::Cut };
        let away = |unit_ms| StoredForm::Times { unit_ms, rounding: TimeRounding::From2000 };
        let (postgres, mysql) = (Dialect::PostgreSql, Dialect::MySql);
        for (dialect, kind, declared, form) in [
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
            (postgres, Bigint, "numeric(38,4)", StoredForm::AsSent),
            (postgres, Text, "character varying(20)", StoredForm::AsSent),
            (postgres, Text, "inet", StoredForm::Text),
            (postgres, Text, "integer[]", StoredForm::Text),
            (postgres, Text, "json", StoredForm::Text),
            (postgres, Text, "jsonb", StoredForm::Equivalent),
            (postgres, Object, "jsonb", StoredForm::AsSent),
            (postgres, Object, "text", StoredForm::Equivalent),
        ] {
            assert_eq!(dialect.form(kind, declared, true), form, "{kind:?} {declared}");
        }
        let rounds = Dialect::MySql.form(Timestamp, "datetime", false);
        assert!(matches!(rounds, StoredForm::Times { rounding: TimeRounding::Up, .. }));
    }
}
