//! SQL by which each dialect computes the integers of the audit's checksums from texts and objects. Must not contain
//! differences in the surrounding statements; see `dialect`.

use postgres_protocol::escape::escape_literal;

use super::dialect::Dialect;
use super::quoting::{backslashed, escaped, literal};

/// Maximum arguments of a function; PostgreSQL allows 100.
const ARGUMENTS_MAX: usize = 64;

impl Dialect {
    /// Concatenates texts, without null ones.
    pub fn concat(self, parts: &[String]) -> String {
        if parts.len() > ARGUMENTS_MAX {
            let groups: Vec<String> =
                parts.chunks(ARGUMENTS_MAX).map(|group| self.concat(group)).collect();
            return self.concat(&groups);
        }
        match self {
            // Its `concat` with a null is null.
            Self::MySql => format!("concat_ws('', {})", parts.join(", ")),
            _ => format!("concat({})", parts.join(", ")),
        }
    }

    /// An attribute of a JSON object as text; the column is quoted, the attribute is not.
    pub fn attribute(self, column: &str, attribute: &str) -> String {
        match self {
            Self::PostgreSql | Self::CockroachDb | Self::YugabyteDb => {
                format!("{column} ->> {}", escape_literal(attribute))
            }
            Self::CrateDb => format!("{column}[{}]", literal(attribute)),
            Self::MySql => {
                let name = attribute.replace('\\', "\\\\").replace('"', "\\\"");
                format!("JSON_VALUE({column}, {})", backslashed(&format!("$.\"{name}\"")))
            }
            // JSON is text; names in a path are not quoted.
            Self::QuestDb => {
                let path = literal(&format!("$.{attribute}"));
                format!("json_extract({column}, {path})")
            }
            // JSON is text there. A missing attribute is an empty text.
            Self::ClickHouse => {
                let name = escaped(attribute);
                let raw = format!("visitParamExtractRaw({column}, {name})");
                format!(
                    "multiIf(substring({raw}, 1, 1) = '\"', visitParamExtractString({column}, {name}), \
                     {raw} = 'null', '', {raw})"
                )
            }
        }
    }

    /// The input of [`Self::number_of_hash`] for a text, computed once per row.
    pub fn hash(self, text: &str) -> String {
        match self {
            Self::PostgreSql | Self::YugabyteDb => {
                format!("CAST(CAST('x' || substr(md5({text}), 1, 7) AS bit(28)) AS integer)")
            }
            Self::CockroachDb | Self::CrateDb => format!("substr(md5({text}), 1, 7)"),
            Self::QuestDb => format!("substring(md5({text}), 1, 7)"),
            // The bytes of UTF-8, whatever the column's character set.
            Self::MySql => format!(
                "CAST(CONV(SUBSTRING(MD5(CONVERT({text} USING utf8mb4)), 1, 7), 16, 10) AS SIGNED)"
            ),
            // The first eight bytes of the MD5 in big-endian order: 28 bits are seven digits.
            Self::ClickHouse => format!("toInt64(bitShiftRight(halfMD5({text}), 36))"),
        }
    }

    /// The first seven hexadecimal digits of an MD5 as an integer.
    pub fn number_of_hash(self, hash: &str) -> String {
        if matches!(self, Self::PostgreSql | Self::YugabyteDb) {
            return format!("CAST({hash} AS bigint)");
        }
        if matches!(self, Self::MySql | Self::ClickHouse) {
            return hash.to_owned();
        }
        let part = if self == Self::QuestDb { "substring" } else { "substr" };
        let digits: Vec<String> = (0..7)
            .map(|at| {
                format!(
                    "(strpos('0123456789abcdef', {part}({hash}, {}, 1)) - 1) * {}",
                    at + 1,
                    1_u64 << (4 * (6 - at))
                )
            })
            .collect();
        format!("CAST({} AS bigint)", digits.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_and_an_attribute_are_in_the_words_of_the_server() {
        let hash = Dialect::QuestDb.hash("t");
        assert_eq!(hash, "substring(md5(t), 1, 7)");
        let number = Dialect::QuestDb.number_of_hash("h");
        let first = "CAST((strpos('0123456789abcdef', substring(h, 1, 1)) - 1) * 16777216 + ";
        assert!(number.starts_with(first), "{number}");
        let last = "substring(h, 7, 1)) - 1) * 1 AS bigint)";
        assert!(number.ends_with(last), "{number}");
        assert!(!Dialect::CrateDb.number_of_hash("h").contains("substring"));
        let attribute = Dialect::QuestDb.attribute("\"tags\"", "host");
        assert_eq!(attribute, "json_extract(\"tags\", '$.host')");
    }

    #[test]
    fn more_texts_than_a_function_takes_are_put_together_in_groups() {
        let parts = |count| vec!["x".to_owned(); count];
        for dialect in [Dialect::PostgreSql, Dialect::MySql, Dialect::ClickHouse] {
            let most = dialect.concat(&parts(ARGUMENTS_MAX));
            assert_eq!(most.matches("concat").count(), 1);
            let more = dialect.concat(&parts(ARGUMENTS_MAX * ARGUMENTS_MAX + 1));
            assert_eq!(more.matches('x').count(), ARGUMENTS_MAX * ARGUMENTS_MAX + 1);
            let inner = more.split("concat").map(|call| call.matches(", x").count());
            assert!(inner.max() < Some(ARGUMENTS_MAX + 1), "{more}");
        }
    }
}
