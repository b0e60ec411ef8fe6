//! The results of `highwater check` as lines with two columns. Must not collect them.

/// A name and its text.
pub(crate) type Fact = (String, String);

pub(crate) fn fact(name: &str, value: impl Into<String>) -> Fact {
    (name.to_owned(), value.into())
}

/// Facts in two columns, one per line.
pub(crate) fn table(facts: &[Fact]) -> String {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line =
        |(name, value): &Fact| format!("{name:width$}  {value}").trim_end().to_owned() + "\n";
    facts.iter().map(line).collect()
}
