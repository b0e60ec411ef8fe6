//! A dialect's SQL for creating and registering tables. Must not know a dialect.

/// A dialect's own SQL. `{name}` stands for the name of a table, as a literal.
#[derive(Debug, Clone, Copy)]
pub struct TableWords {
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
    /// Creates the registry, if it does not exist; set if options alone are not enough.
    pub registry: Option<&'static str>,
    /// Counts the tables of that name.
    pub exists: &'static str,
    /// Returns the engine of the table, if it has no transactions.
    pub without_transactions: Option<&'static str>,
    /// Whether DDL can be rolled back together with rows.
    pub transactional: bool,
}

impl TableWords {
    /// A dialect without specifics, and with the standard's list of tables.
    pub const PLAIN: Self = Self {
        with_settings: |create, _| create.to_owned(),
        options: "",
        key_text: "TEXT",
        stamp: ["", ""],
        registry_options: "",
        registry: None,
        exists: "SELECT count(*) FROM information_schema.tables \
                 WHERE table_schema = current_schema() AND table_name = {name}",
        without_transactions: None,
        transactional: false,
    };
}
