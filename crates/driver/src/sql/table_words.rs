//! How a dialect makes tables and registers them, in its own words. Must not know a dialect.

/// What a dialect says in its own words. `{name}` stands for the name of a table, as a literal.
#[derive(Debug, Clone, Copy)]
pub struct TableWords {
    /// A statement that creates a table, with these settings.
    pub with_settings: fn(&str, &[(String, String)]) -> String,
    /// What follows the columns of the registry where it is created.
    pub registry_options: &'static str,
    /// Creates the registry, if it is not there, where that takes more than other options.
    pub registry: Option<&'static str>,
    /// Counts the tables of that name.
    pub exists: &'static str,
    /// Names the engine of the table, if it is one without transactions.
    pub without_transactions: Option<&'static str>,
    /// Makes what was written to the registry visible.
    pub refresh: Option<&'static str>,
    /// Whether DDL can be rolled back together with rows.
    pub transactional: bool,
}
