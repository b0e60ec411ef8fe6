//! Adds table settings to the statement that creates a table: `WITH (name = value, …)`.
//!
//! The rest of a workload's text stays unchanged; only the clause at its end is parsed. Must not interpret a setting,
//! except an engine without keys.

/// The statement with these settings, which replace those of the same names. Other statements than CREATE TABLE are
/// unchanged; `quote` quotes a name for the dialect.
///
/// All values are written as text literals: the dialects with this clause accept them for numbers and switches.
pub fn with_settings(
    create: &str,
    settings: &[(String, String)],
    quote: impl Fn(&str) -> String,
) -> String {
    if settings.is_empty() || !creates_table(create) {
        return create.to_owned();
    }
    let (before, clause) = split_clause(create.trim_end());
    let mut entries = kept(clause.unwrap_or_default(), settings);
    entries.extend(settings.iter().map(|(name, value)| {
        let value = value.replace('\'', "''");
        format!("{} = '{value}'", quote(name))
    }));
    format!("{} WITH ({})", before.trim_end(), entries.join(", "))
}

/// Like [`with_settings`], with the setting `tablets` as the clause `SPLIT INTO n TABLETS` after it, which replaces
/// an existing split clause.
pub fn with_tablets(create: &str, settings: &[(String, String)]) -> String {
    if settings.is_empty() || !creates_table(create) {
        return create.to_owned();
    }
    let at = word_at(create, "SPLIT INTO ").min(word_at(create, "SPLIT AT "));
    let (table, split) = create.split_at(at);
    let is_tablets = |(name, value): &&(String, String)| {
        name.eq_ignore_ascii_case("tablets") && value.parse::<u32>().is_ok()
    };
    let others: Vec<(String, String)> =
        settings.iter().filter(|setting| !is_tablets(setting)).cloned().collect();
    let table = with_settings(table.trim_end(), &others, str::to_owned);
    match settings.iter().find(is_tablets) {
        Some((_, number)) => format!("{table} SPLIT INTO {number} TABLETS"),
        None if split.is_empty() => table,
        None => format!("{table} {split}"),
    }
}

/// The statement with these settings as table options, `name = value …`, before an optional partition clause. Other
/// statements than CREATE TABLE are unchanged; `literal` makes a value a text literal if it is not a word.
pub fn with_options(
    create: &str,
    settings: &[(String, String)],
    literal: impl Fn(&str) -> String,
) -> String {
    if settings.is_empty() || !creates_table(create) {
        return create.to_owned();
    }
    let is_word = |value: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !value.is_empty() && value.bytes().all(plain)
    };
    let options: String = settings
        .iter()
        .map(|(name, value)| {
            let value = if is_word(value) { value.clone() } else { literal(value) };
            format!(" {name} = {value}")
        })
        .collect();
    let create = create.trim_end();
    let (before, partitions) = create.split_at(word_at(create, "PARTITION BY"));
    let between = if partitions.is_empty() { "" } else { " " };
    format!("{}{options}{between}{partitions}", before.trim_end())
}

/// The statement with the setting `engine` replacing its engine, and the others in the clause `SETTINGS` at its end,
/// replacing those of the same names. Other statements than CREATE TABLE are unchanged; `literal` makes a value a text
/// literal if it is not a number.
pub fn with_engine(
    create: &str,
    settings: &[(String, String)],
    literal: impl Fn(&str) -> String,
) -> String {
    if settings.is_empty() || !creates_table(create) {
        return create.to_owned();
    }
    let mut statement = create.trim_end().to_owned();
    let mut entries = Vec::new();
    for (name, value) in settings {
        if name.eq_ignore_ascii_case("engine") {
            let at = word_at(&statement, "ENGINE");
            let (before, rest) = statement.split_at(at);
            let behind = rest.get(engine_length(rest)..).unwrap_or_default();
            let kept = if has_keys(value) { 0 } else { word_at(behind, "SETTINGS") };
            let behind = behind.get(kept..).unwrap_or_default().trim_start();
            statement = format!("{} ENGINE = {value} {behind}", before.trim_end());
            statement.truncate(statement.trim_end().len());
        } else if value.parse::<f64>().is_ok() {
            entries.push(format!("{name} = {value}"));
        } else {
            entries.push(format!("{name} = {}", literal(value)));
        }
    }
    if entries.is_empty() {
        return statement;
    }
    let (before, clause) = statement.split_at(word_at(&statement, "SETTINGS"));
    let there = clause.get("SETTINGS".len()..).unwrap_or_default();
    entries.extend(kept(there, settings));
    format!("{} SETTINGS {}", before.trim_end(), entries.join(", "))
}

/// Whether an engine supports ordering or partitioning: these clauses are rejected for any other.
fn has_keys(engine: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = engine.trim().split(|c| !is_of_name(c)).next();
    name.is_some_and(|name| name.ends_with("MergeTree"))
}

/// The entries of a clause except those that are replaced.
fn kept(clause: &str, settings: &[(String, String)]) -> Vec<String> {
    let mut entries = split_entries(clause);
    entries.retain(|entry| settings.iter().all(|(name, _)| name_of(entry) != *name));
    entries.into_iter().map(str::trim).map(str::to_owned).collect()
}

/// Length in bytes of `ENGINE = Name(…)` at the start of a text.
fn engine_length(text: &str) -> usize {
    let is_part = |(_, c): &(usize, char)| c.is_alphanumeric() || matches!(c, '_' | '=' | ' ');
    let words = text.char_indices().take_while(is_part).last();
    let name = words.map_or(0, |(at, c)| at + c.len_utf8());
    let words = text.get(..name).unwrap_or_default();
    // The word after `=`, and no further one.
    let equals = words.find('=').map_or(0, |at| at + 1);
    let value = words.get(equals..).unwrap_or_default();
    let blanks = value.len() - value.trim_start().len();
    let length = value.trim_start().find(' ').unwrap_or(value.trim_start().len());
    let end = equals + blanks + length;
    let list = text.get(end..).unwrap_or_default();
    if !list.starts_with('(') {
        return end;
    }
    // Up to the closing parenthesis.
    let mut outside = outside(list).into_iter();
    let closing = outside.find(|(_, c)| *c == ')');
    end + closing.map_or(list.len(), |(at, _)| at + 1)
}

/// Start of a word outside quotes and parentheses; otherwise the end.
fn word_at(statement: &str, word: &str) -> usize {
    let mut outside = outside(statement).into_iter();
    let is_word = |(at, _): &(usize, char)| {
        let found = statement.get(*at..at + word.len()).unwrap_or_default();
        found.eq_ignore_ascii_case(word)
    };
    outside.find(is_word).map_or(statement.len(), |(at, _)| at)
}

fn creates_table(statement: &str) -> bool {
    let mut words = statement.split_whitespace();
    let mut comes = |word: &str| words.next().is_some_and(|w| w.eq_ignore_ascii_case(word));
    comes("CREATE") && comes("TABLE")
}

/// The statement without its last clause in parentheses, and that clause, if it is a WITH.
fn split_clause(statement: &str) -> (&str, Option<&str>) {
    let mut depth = 0_u32;
    let mut plain = outside_quotes(statement).into_iter().rev();
    let begin = plain.find(|(_, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let found = || {
        let (before, clause) = statement.split_at(begin?.0);
        let inside = clause.strip_prefix('(')?.strip_suffix(')')?;
        let before = before.trim_end();
        let word_at = before.len().checked_sub("WITH".len())?;
        let (without, word) = before.split_at_checked(word_at)?;
        let is_with = word.eq_ignore_ascii_case("WITH");
        is_with.then_some((without, Some(inside)))
    };
    found().unwrap_or((statement, None))
}

/// Parts separated by commas outside quotes and parentheses.
fn split_entries(clause: &str) -> Vec<&str> {
    let mut start = 0;
    let mut entries = Vec::new();
    for (at, _) in outside(clause).into_iter().filter(|(_, c)| *c == ',') {
        entries.extend(clause.get(start..at));
        start = at + 1;
    }
    entries.extend(clause.get(start..));
    entries.retain(|entry| !entry.trim().is_empty());
    entries
}

/// Positions and characters outside quotes and parentheses, including the outermost closing parenthesis.
fn outside(text: &str) -> Vec<(usize, char)> {
    let mut depth = 0_u32;
    let mut outside = outside_quotes(text);
    outside.retain(|(_, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    outside
}

/// Positions and characters outside quoted text.
fn outside_quotes(text: &str) -> Vec<(usize, char)> {
    let mut quote = None;
    let mut plain = Vec::new();
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if open == c => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None => plain.push((at, c)),
            Some(_) => {}
        }
    }
    plain
}

/// The name set by an entry, without quotes.
fn name_of(entry: &str) -> String {
    let name = entry.split('=').next().unwrap_or_default().trim();
    name.trim_matches('"').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(create: &str, settings: &[(&str, &str)]) -> String {
        let settings: Vec<(String, String)> = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        with_settings(create, &settings, |name| format!("\"{name}\""))
    }

    #[test]
    fn a_missing_clause_is_added() {
        for (create, expected) in [
            ("CREATE TABLE t (n INTEGER)", "CREATE TABLE t (n INTEGER) WITH (\"a.b\" = 'x''y')"),
            (
                "create table t (ts TIMESTAMP WITH TIME ZONE)\n",
                "create table t (ts TIMESTAMP WITH TIME ZONE) WITH (\"a.b\" = 'x''y')",
            ),
            (
                "CREATE TABLE t (n INTEGER) CLUSTERED INTO 4 SHARDS",
                "CREATE TABLE t (n INTEGER) CLUSTERED INTO 4 SHARDS WITH (\"a.b\" = 'x''y')",
            ),
            ("CREATE INDEX i ON t (n)", "CREATE INDEX i ON t (n)"),
        ] {
            assert_eq!(set(create, &[("a.b", "x'y")]), expected);
        }
        assert_eq!(set("CREATE TABLE t (n INTEGER)", &[]), "CREATE TABLE t (n INTEGER)");
    }

    #[test]
    fn settings_precede_the_split_clause_and_tablets_split_the_table() {
        let set = |create, settings: &[(&str, &str)]| {
            let settings =
                settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            with_tablets(create, &settings.collect::<Vec<_>>())
        };
        let (apart, eight) = (("colocation", "false"), ("tablets", "8"));
        for (create, settings, expected) in [
            (
                "CREATE TABLE split (k int)",
                &[apart][..],
                "CREATE TABLE split (k int) WITH (colocation = 'false')",
            ),
            ("CREATE TABLE t (k int)", &[eight], "CREATE TABLE t (k int) SPLIT INTO 8 TABLETS"),
            (
                "CREATE TABLE t (k int) SPLIT INTO 4 TABLETS",
                &[apart, eight],
                "CREATE TABLE t (k int) WITH (colocation = 'false') SPLIT INTO 8 TABLETS",
            ),
            (
                "CREATE TABLE t (k int) WITH (a = 1) split at VALUES ((1), (2))",
                &[apart],
                "CREATE TABLE t (k int) WITH (a = 1, colocation = 'false') split at VALUES ((1), (2))",
            ),
            (
                "CREATE TABLE t (k int)",
                &[("tablets", "8; x")],
                "CREATE TABLE t (k int) WITH (tablets = '8; x')",
            ),
            ("CREATE INDEX i ON t (k)", &[eight], "CREATE INDEX i ON t (k)"),
            ("CREATE TABLE t (k int)", &[], "CREATE TABLE t (k int)"),
        ] {
            assert_eq!(set(create, settings), expected);
        }
    }

    #[test]
    fn options_stand_before_the_partitions() {
        let options =
            [("ENGINE".to_owned(), "InnoDB".to_owned()), ("COMMENT".to_owned(), "it's".to_owned())];
        let set = |create| with_options(create, &options, |text| text.replace('\'', "''"));
        for (create, expected) in [
            ("CREATE TABLE t (n INT)\n", "CREATE TABLE t (n INT) ENGINE = InnoDB COMMENT = it''s"),
            (
                "CREATE TABLE t (n INT DEFAULT (1)) PARTITION BY HASH (n)",
                "CREATE TABLE t (n INT DEFAULT (1)) ENGINE = InnoDB COMMENT = it''s PARTITION BY HASH (n)",
            ),
            ("CREATE INDEX i ON t (n)", "CREATE INDEX i ON t (n)"),
        ] {
            assert_eq!(set(create), expected);
        }
        assert_eq!(
            with_options("CREATE TABLE t (n INT)", &[], str::to_owned),
            "CREATE TABLE t (n INT)"
        );
    }

    #[test]
    fn an_engine_is_replaced_and_settings_stand_at_the_end() {
        let set = |create, settings: &[(&str, &str)]| {
            let settings: Vec<(String, String)> = settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            with_engine(create, &settings, |text| format!("'{text}'"))
        };
        let create = "CREATE TABLE t (n Int64) ENGINE = MergeTree ORDER BY n";
        let engine = ("engine", "ReplacingMergeTree(v)");
        for (create, settings, expected) in [
            (
                create,
                &[engine][..],
                "CREATE TABLE t (n Int64) ENGINE = ReplacingMergeTree(v) ORDER BY n",
            ),
            (
                "CREATE TABLE t (n Int64) ENGINE = Log",
                &[("Engine", "MergeTree ORDER BY n")],
                "CREATE TABLE t (n Int64) ENGINE = MergeTree ORDER BY n",
            ),
            (
                "CREATE TABLE t (n Int64) engine=ReplacingMergeTree((v)) ORDER BY n SETTINGS a = 1, b = 2",
                &[("engine", "MergeTree"), ("b", "3"), ("c", "x")],
                "CREATE TABLE t (n Int64) ENGINE = MergeTree ORDER BY n SETTINGS b = 3, c = 'x', a = 1",
            ),
            (
                "CREATE TABLE t (n Int64) ENGINE = MergeTree PARTITION BY m ORDER BY n SETTINGS a = 1",
                &[("engine", "Memory")],
                "CREATE TABLE t (n Int64) ENGINE = Memory SETTINGS a = 1",
            ),
            (create, &[("engine", "StripeLog")], "CREATE TABLE t (n Int64) ENGINE = StripeLog"),
            (
                create,
                &[("parts_to_throw_insert", "5")],
                "CREATE TABLE t (n Int64) ENGINE = MergeTree ORDER BY n SETTINGS parts_to_throw_insert = 5",
            ),
            ("ALTER TABLE t ADD COLUMN x Int8", &[engine], "ALTER TABLE t ADD COLUMN x Int8"),
        ] {
            assert_eq!(set(create, settings), expected);
        }
    }

    #[test]
    fn an_existing_clause_keeps_the_settings_that_are_not_replaced() {
        let create = "CREATE TABLE t (n INTEGER DEFAULT (1))\nWITH (number_of_replicas = '0-1', \
                      \"b.c\" = '(),', x = 1)";
        assert_eq!(
            set(create, &[("number_of_replicas", "1"), ("y", "2")]),
            "CREATE TABLE t (n INTEGER DEFAULT (1)) WITH (\"b.c\" = '(),', x = 1, \
             \"number_of_replicas\" = '1', \"y\" = '2')"
        );
    }
}
