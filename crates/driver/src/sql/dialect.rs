//! A SQL dialect as a value: how a server's SQL differs from the standard. A driver provides its server's value; the
//! statements of tables, registry, leases, and audit use it. Must not know a server.

use highwater_model::op::{BoundColumn, BoundTable, ColumnType, Value};
use highwater_model::table_shape::{RecordedStatements, TableShape};
use highwater_model::units::Nanos;

use super::leases::LeaseWords;
use crate::contract::TableFeatures;

/// Maximum arguments of a function; some servers allow 100.
const ARGUMENTS_MAX: usize = 64;

/// The SQL of a server. In a template, `{}` is replaced by an expression, `{quoted}` by the quoted name of a table,
/// and `{name}` by that name as a text literal, unless a field states otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Names of the dialects that it understands, best first.
    pub names: &'static [&'static str],
    /// Properties of tables other than columns.
    pub table_features: TableFeatures,
    /// Whether there are transactions, so that a failed statement requires a ROLLBACK.
    pub rolls_back: bool,
    /// Whether an insert of several rows is atomic.
    pub inserts_whole: bool,
    /// Whether rows can only be added: a change is then another row, and the newest one counts.
    pub only_appends: bool,
    /// How long an insert whose client disconnected may stay unread in the server's sockets while no statement is
    /// listed; absent if the list of backends shows it.
    pub unread_inserts: Option<Nanos>,
    /// Makes writes to a table visible, or waits until they are, if that requires a statement.
    pub refresh: Option<&'static str>,
    /// A quoted identifier, whatever the name contains.
    pub identifier: fn(&str) -> String,
    /// A text literal.
    pub literal: fn(&str) -> String,
    /// Follows the name of a table whose rows are replaced by later ones with the same key, if the server merges
    /// them later.
    pub current_rows: &'static str,

    /// The integer quotient of `{dividend}` by `{divisor}`.
    pub quotient: &'static str,
    /// A literal that is a signed 64-bit integer, even in a list of such literals.
    pub integer: &'static str,
    /// The product of two non-negative integers, to be summed; the reader of a sum allows for wrapping.
    pub product: fn(&str, &str) -> String,
    /// An expression as a 64-bit integer.
    pub bigint: &'static str,
    /// A boolean as 1 or 0; null stays null.
    pub boolean: &'static str,
    /// An expression in double precision.
    pub double: &'static str,
    /// A timestamp as whole milliseconds since 1970, a bigint.
    pub milliseconds: &'static str,
    /// A timestamp as milliseconds since 1970, with all its digits.
    pub exact_milliseconds: &'static str,
    /// The literals for false and true in a comparison.
    pub booleans: [&'static str; 2],
    /// The beginning of a call that concatenates texts, without null ones.
    pub concat: &'static str,
    /// An attribute of a JSON object as text; the column is quoted, the attribute is not.
    pub attribute: fn(&str, &str) -> String,
    /// The input of `number_of_hash` for a text, computed once per row.
    pub hash: &'static str,
    /// The first seven hexadecimal digits of an MD5 as an integer.
    pub number_of_hash: fn(&str) -> String,
    /// Whether the bigint `{}` is in the list of integers `{list}`; servers look it up by hash if they can.
    pub one_of: &'static str,

    /// Prefix of the names of values in an inner query. If such a name would shadow a column of the same name in that
    /// query, the prefix makes it unique.
    pub inner_prefix: &'static str,
    /// Whether groups and their order are given by a column's name, because a number is a constant there.
    pub groups_by_name: bool,
    /// The end of an inner query that prevents a planner from recomputing its expressions in each outer expression.
    pub fence: &'static str,
    /// A query of one row, sent with an audit's statement, that sets the settings of its transaction: settings of
    /// the database or the user may have changed since the load, and affect how values are returned.
    pub audit_settings: Option<&'static str>,
    /// The end of an audit's statement, and of one that must use little memory.
    pub audit_endings: [&'static str; 2],
    /// Queries whether rows of a table may be hidden from this user: `t` if so. `{}` is the quoted name as a
    /// literal.
    pub hides_rows: Option<&'static str>,
    /// How a table's declared types are read, and how they change values; absent if they are not read.
    pub declared: Option<DeclaredTypes>,

    /// Returns a statement that creates a table, with these settings.
    pub with_settings: fn(&str, &[(String, String)]) -> String,
    /// Follows the columns of a CREATE TABLE without other options.
    pub options: &'static str,
    /// The text type in a primary key.
    pub key_text: &'static str,
    /// If a table needs a time that is part of its key: the time column of Highwater's own tables, and its value, the
    /// same in all rows; each after a comma.
    pub stamp: [&'static str; 2],
    /// Follows the columns of the registry when it is created.
    pub registry_options: &'static str,
    /// Creates the registry if it does not exist; present if options alone are not enough.
    pub registry: Option<&'static str>,
    /// Removes the entry of a table from the registry, if entries can be removed.
    pub forget: Option<&'static str>,
    /// The end of an INSERT into a table with this key that replaces these columns of a row with the same key.
    pub on_duplicate: fn(&str, &[String]) -> String,
    /// Counts the tables of that name.
    pub exists: &'static str,
    /// Returns the engine of the table, if it has no transactions.
    pub without_transactions: Option<&'static str>,
    /// Whether DDL can be rolled back together with rows.
    pub transactional: bool,
    /// Waits for other writers of a table before it is emptied.
    pub lock: Option<&'static str>,
    /// SQL of leases.
    pub leases: LeaseWords,
    /// Counts running statements of this program's other sessions. `{name}` is the program's name as a literal;
    /// `{lingering}` is a list of backends that count while they exist; its first element never exists.
    pub count_running: &'static str,
    /// A remark about the statements in a table's description.
    pub statements_remark: Option<&'static str>,
}

/// How a dialect's declared types are read, and how they change sent values.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredTypes {
    /// The query of a table's columns: name, declared type, and whether times are truncated instead of rounded. A
    /// template about the table.
    pub columns: &'static str,
    /// Time types that have whole seconds by default.
    pub times: &'static [&'static str],
    /// Types of single precision.
    pub singles: &'static [&'static str],
    /// Types that store a text unchanged, or that return other bytes than were sent; a column of another type is
    /// compared by its text. Absent if texts are not queried.
    pub as_sent: Option<&'static [&'static str]>,
    /// Types with several texts for one value.
    pub several_texts: &'static [&'static str],
}

impl Dialect {
    /// Standard SQL. The names, the SQL of leases, and the list of running statements are arguments, because the
    /// standard has none; a dialect replaces whatever else differs.
    pub const fn standard(
        names: &'static [&'static str],
        leases: LeaseWords,
        count_running: &'static str,
    ) -> Self {
        Self {
            names,
            table_features: TableFeatures { shards: false, settings: true },
            rolls_back: true,
            inserts_whole: true,
            only_appends: false,
            unread_inserts: None,
            refresh: None,
            identifier: quoted,
            literal,
            current_rows: "",
            quotient: "{dividend} / {divisor}",
            integer: "{}",
            product: |one, other| format!("({one}) * {other}"),
            bigint: "CAST({} AS bigint)",
            boolean: "CASE WHEN {} THEN 1 WHEN NOT {} THEN 0 END",
            double: "CAST({} AS double precision)",
            milliseconds: "CAST(extract(epoch FROM {}) * 1000 AS bigint)",
            exact_milliseconds: "extract(epoch FROM {}) * 1000",
            booleans: ["FALSE", "TRUE"],
            concat: "concat(",
            attribute: |column, attribute| format!("{column} ->> {}", literal(attribute)),
            hash: "substr(md5({}), 1, 7)",
            number_of_hash: |hash| number_of_digits("substr", hash),
            one_of: "{} IN ({list})",
            inner_prefix: "",
            groups_by_name: false,
            fence: "",
            audit_settings: None,
            audit_endings: ["", ""],
            hides_rows: None,
            declared: None,
            with_settings: |create, _| create.to_owned(),
            options: "",
            key_text: "TEXT",
            stamp: ["", ""],
            registry_options: "",
            registry: None,
            forget: Some("DELETE FROM highwater_tables WHERE name = {name}"),
            on_duplicate: |key, columns| {
                let set: Vec<String> =
                    columns.iter().map(|name| format!("{name} = excluded.{name}")).collect();
                format!("ON CONFLICT ({key}) DO UPDATE SET {}", set.join(", "))
            },
            exists: "SELECT count(*) FROM information_schema.tables \
                     WHERE table_schema = current_schema() AND table_name = {name}",
            without_transactions: None,
            transactional: false,
            lock: None,
            leases,
            count_running,
            statements_remark: None,
        }
    }

    /// The names of the dialects that it understands, best first.
    pub fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// See [`Self::identifier`](field@Self::identifier).
    pub fn identifier(&self, name: &str) -> String {
        (self.identifier)(name)
    }

    /// See [`Self::literal`](field@Self::literal).
    pub fn literal(&self, text: &str) -> String {
        (self.literal)(text)
    }

    /// A template about the table of that name, with one kind of placeholder.
    pub(super) fn about(&self, template: &str, table: &str) -> String {
        let quoted = self.identifier(table);
        if template.contains("{quoted}") {
            template.replace("{quoted}", &quoted)
        } else if template.contains("{name}") {
            template.replace("{name}", &self.literal(table))
        } else {
            template.replace("{}", &self.literal(&quoted))
        }
    }

    /// The statement that makes writes to that table visible, if one is needed.
    pub fn refresh(&self, table: &str) -> Option<String> {
        self.refresh.map(|statement| self.about(statement, table))
    }

    /// `key / width` of integers, rounded down, for keys that are not negative.
    pub fn divide(&self, key: &str, width: i64) -> String {
        let quotient = self.quotient.replace("{dividend}", key);
        quotient.replace("{divisor}", &self.integer(width))
    }

    /// See [`Self::integer`](field@Self::integer).
    pub fn integer(&self, number: i64) -> String {
        self.integer.replace("{}", &number.to_string())
    }

    /// See [`Self::bigint`](field@Self::bigint).
    pub fn bigint(&self, expression: &str) -> String {
        self.bigint.replace("{}", expression)
    }

    /// See [`Self::boolean`](field@Self::boolean).
    pub fn boolean(&self, name: &str) -> String {
        self.boolean.replace("{}", name)
    }

    /// See [`Self::double`](field@Self::double).
    pub fn double(&self, expression: &str) -> String {
        self.double.replace("{}", expression)
    }

    /// See [`Self::milliseconds`](field@Self::milliseconds).
    pub fn milliseconds(&self, column: &str) -> String {
        self.milliseconds.replace("{}", column)
    }

    /// See [`Self::exact_milliseconds`](field@Self::exact_milliseconds).
    pub fn exact_milliseconds(&self, column: &str) -> String {
        self.exact_milliseconds.replace("{}", column)
    }

    /// The name of a value in an inner query.
    pub fn inner_name(&self, name: &str) -> String {
        format!("{}{name}", self.inner_prefix)
    }

    /// Concatenates texts, without null ones.
    pub fn concat(&self, parts: &[String]) -> String {
        if parts.len() > ARGUMENTS_MAX {
            let groups: Vec<String> =
                parts.chunks(ARGUMENTS_MAX).map(|group| self.concat(group)).collect();
            return self.concat(&groups);
        }
        format!("{}{})", self.concat, parts.join(", "))
    }

    /// See [`Self::hash`](field@Self::hash).
    pub fn hash(&self, text: &str) -> String {
        self.hash.replace("{}", text)
    }

    /// See [`Self::one_of`](field@Self::one_of).
    pub fn one_of(&self, value: &str, list: &str) -> String {
        self.one_of.replace("{}", value).replace("{list}", list)
    }

    /// See [`crate::contract::TableReader::condition`].
    pub fn condition(&self, table: &BoundTable, row: &[Value]) -> String {
        let words = ConditionWords {
            quoted: self.identifier,
            // Without backslashes, all dialects write a text in the same way.
            literal,
            booleans: self.booleans,
            milliseconds: &|column| self.exact_milliseconds(column),
            attribute: &self.attribute,
        };
        condition(&words, table, row)
    }

    /// A table description with only its name and the schema.
    pub fn table_shape(&self, table: &str, schema: Option<String>) -> TableShape {
        TableShape {
            name: table.to_owned(),
            schema,
            dialect: self.names().into_iter().next().unwrap_or_default(),
            milliseconds: self.milliseconds("{column}"),
            quotient: self.quotient.to_owned(),
            quote: self.identifier("").chars().next().unwrap_or('"'),
            rows: 0,
            rows_all: None,
            columns: Vec::new(),
            indexes: Vec::new(),
            create: None,
            checks: Vec::new(),
            without: Vec::new(),
            recorded: RecordedStatements {
                remark: self.statements_remark.map(str::to_owned),
                ..RecordedStatements::default()
            },
        }
    }

    /// See [`Self::count_running`](field@Self::count_running); `name` is a literal.
    pub fn count_running(&self, name: &str, lingering: &[i64]) -> String {
        let listed: String = lingering.iter().map(|backend| format!(",{backend}")).collect();
        self.count_running.replace("{lingering}", &format!("0{listed}")).replace("{name}", name)
    }
}

/// Seven hexadecimal digits as an integer, for a server without a conversion; `part` is its function for a part of a
/// text.
pub fn number_of_digits(part: &str, hash: &str) -> String {
    let digits: Vec<String> = (0..7)
        .map(|at| {
            let weight = 1_u64 << (4 * (6 - at));
            format!("(strpos('0123456789abcdef', {part}({hash}, {}, 1)) - 1) * {weight}", at + 1)
        })
        .collect();
    format!("CAST({} AS bigint)", digits.join(" + "))
}

#[cfg(test)]
pub(super) const STANDARD: Dialect =
    Dialect::standard(&["standard"], LeaseWords::plain(literal, "TEXT", "now()"), "SELECT 0");

/// A quoted identifier; any name is allowed.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text literal, in a dialect without backslash escapes.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A quoted identifier of a dialect in which double quotes enclose texts.
pub fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text literal of a dialect with backslash escapes.
pub fn backslashed(text: &str) -> String {
    literal(&text.replace('\\', "\\\\"))
}

/// A text literal of a dialect in which a backslash also escapes quotes, and a zero byte ends a statement.
pub fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{}'", text.replace('\0', "\\0"))
}

/// Length in bytes of the quoted part at the start of a text, including both quotes; with `escapes`, a backslash
/// escapes the next character.
pub fn quoted_length(text: &str, escapes: bool) -> usize {
    let mut letters = text.char_indices();
    let quote = letters.next().map(|(_, quote)| quote);
    let mut escaped = false;
    for (at, letter) in letters {
        match letter {
            _ if escaped => escaped = false,
            '\\' if escapes => escaped = true,
            _ if Some(letter) == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Maximum characters of a compared text: a few others distinguish the rows.
const TEXT_MAX: usize = 200;

/// A dialect's SQL for parts of a condition.
pub struct ConditionWords<'a> {
    /// A quoted identifier.
    pub quoted: fn(&str) -> String,
    /// A text literal.
    pub literal: fn(&str) -> String,
    /// The literals for false and true in a comparison.
    pub booleans: [&'static str; 2],
    /// A timestamp, given as a quoted name, in milliseconds since 1970 with all its digits.
    pub milliseconds: &'a dyn Fn(&str) -> String,
    /// An attribute of an object as text, from the quoted column and the attribute's name.
    pub attribute: &'a dyn Fn(&str, &str) -> String,
}

/// See [`crate::contract::TableReader::condition`].
pub fn condition(words: &ConditionWords<'_>, table: &BoundTable, row: &[Value]) -> String {
    let mut columns: Vec<(&BoundColumn, &Value)> = table.columns.iter().zip(row).collect();
    // Nearly all rows differ in values that are cheap to compare.
    columns.sort_by_key(|(column, _)| match column.kind {
        _ if column.value.is_some() => 2,
        ColumnType::Object => 3,
        ColumnType::Text => 1,
        _ => 0,
    });
    let conditions: Vec<String> =
        columns.into_iter().flat_map(|(column, value)| same(words, column, value)).collect();
    conditions.join(" AND ")
}

/// Conditions on one column.
fn same(words: &ConditionWords<'_>, column: &BoundColumn, value: &Value) -> Vec<String> {
    let name = (words.quoted)(&column.name);
    let one = match (&column.value, value) {
        (Some(expression), Value::Integer(number)) => format!("({expression}) = {number}"),
        (None, Value::Null) => format!("{name} IS NULL"),
        (None, Value::Integer(number)) if *number > i64::MIN => format!("{name} = {number}"),
        (None, Value::Boolean(value)) => {
            format!("{name} = {}", words.booleans[usize::from(*value)])
        }
        (None, Value::TimestampMs(ms)) => format!("{} = {ms}", (words.milliseconds)(&name)),
        (None, Value::Text(json)) if column.kind == ColumnType::Object => {
            return attributes(words, column, json);
        }
        (None, Value::Text(text)) if is_plain(text) => {
            format!("{name} = {}", (words.literal)(text))
        }
        // Also the smallest integer: its digits alone exceed a 64-bit integer.
        _ => return Vec::new(),
    };
    vec![one]
}

/// The text attributes; numbers have more than one representation.
fn attributes(words: &ConditionWords<'_>, column: &BoundColumn, json: &str) -> Vec<String> {
    let name = (words.quoted)(&column.name);
    let object: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let texts = column.attributes.iter().filter_map(|attribute| {
        let text = object.get(attribute)?.as_str().filter(|t| is_plain(t))?;
        let attribute = (words.attribute)(&name, attribute);
        Some(format!("{attribute} = {}", (words.literal)(text)))
    });
    texts.collect()
}

/// Whether a text is the same literal in every dialect, and not too long.
fn is_plain(text: &str) -> bool {
    text.len() <= TEXT_MAX && !text.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::{literal, quoted};

    #[test]
    fn written_rows_are_awaited_by_the_name_of_the_table() {
        let refresh = |statement| Dialect { refresh: statement, ..STANDARD }.refresh("a\"'");
        assert_eq!(refresh(Some("WAIT {name}")).as_deref(), Some("WAIT 'a\"'''"));
        assert_eq!(refresh(Some("REFRESH {quoted}")).as_deref(), Some("REFRESH \"a\"\"'\""));
        assert_eq!(refresh(None), None);
    }

    #[test]
    fn digits_become_an_integer_by_their_places() {
        let number = (STANDARD.number_of_hash)("h");
        let first = "CAST((strpos('0123456789abcdef', substr(h, 1, 1)) - 1) * 16777216 + ";
        assert!(number.starts_with(first), "{number}");
        assert!(number.ends_with("substr(h, 7, 1)) - 1) * 1 AS bigint)"), "{number}");
    }

    #[test]
    fn more_texts_than_a_function_accepts_are_joined_in_groups() {
        let parts = |count| vec!["x".to_owned(); count];
        let null_ends_all = Dialect { concat: "concat_ws('', ", ..STANDARD };
        for dialect in [STANDARD, null_ends_all] {
            let most = dialect.concat(&parts(ARGUMENTS_MAX));
            assert_eq!(most.matches("concat").count(), 1);
            let more = dialect.concat(&parts(ARGUMENTS_MAX * ARGUMENTS_MAX + 1));
            assert_eq!(more.matches('x').count(), ARGUMENTS_MAX * ARGUMENTS_MAX + 1);
            let inner = more.split("concat").map(|call| call.matches(", x").count());
            assert!(inner.max() < Some(ARGUMENTS_MAX + 1), "{more}");
        }
    }

    #[test]
    fn running_statements_are_listed_with_lingering_backends() {
        let listing = Dialect { count_running: "{name}: {lingering}", ..STANDARD };
        assert_eq!(listing.count_running("'n'", &[]), "'n': 0");
        assert_eq!(listing.count_running("'n'", &[3, 4]), "'n': 0,3,4");
    }

    #[test]
    fn only_values_with_one_form_are_compared() {
        let words = ConditionWords {
            quoted,
            literal,
            booleans: ["FALSE", "TRUE"],
            milliseconds: &|column| format!("ms({column})"),
            attribute: &|column, attribute| format!("{column}->>'{attribute}'"),
        };
        let object = BoundColumn {
            attributes: vec!["city".to_owned(), "size".to_owned()],
            ..BoundColumn::new("o", ColumnType::Object)
        };
        let expressed = BoundColumn {
            value: Some("f(e)".to_owned()),
            ..BoundColumn::new("e", ColumnType::Float)
        };
        let integer = |name: &str| BoundColumn::new(name, ColumnType::Integer);
        for (column, value, expected) in [
            (integer("n"), Value::Integer(-7), "\"n\" = -7"),
            (integer("n"), Value::Null, "\"n\" IS NULL"),
            (integer("b"), Value::Boolean(true), "\"b\" = TRUE"),
            (integer("t"), Value::TimestampMs(5), "ms(\"t\") = 5"),
            (integer("x"), Value::Float(0.1), ""),
            (integer("s"), Value::Text("it's".into()), "\"s\" = 'it''s'"),
            (integer("s"), Value::Text("a\\b".into()), ""),
            (expressed, Value::Integer(3), "(f(e)) = 3"),
            (
                object,
                Value::Text(r#"{"city":"Wien","size":1.50}"#.into()),
                "\"o\"->>'city' = 'Wien'",
            ),
        ] {
            let table = BoundTable {
                name: "t".to_owned(),
                columns: vec![column],
                key: "n".to_owned(),
                ..BoundTable::default()
            };
            assert_eq!(condition(&words, &table, &[value]), expected);
        }
    }
}
