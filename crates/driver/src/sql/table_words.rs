//! How a dialect makes tables and registers them, in its own words. Must not know a dialect.

/// What a dialect says in its own words. `{name}` stands for the name of a table, as a literal.
#[derive(Debug, Clone, Copy)]
pub struct TableWords {
    /// A statement that creates a table, with these settings.
    pub with_settings: fn(&str, &[(String, String)]) -> String,
    /// What follows the columns of a CREATE TABLE that says nothing else of them.
    pub options: &'static str,
    /// The type of a text that is a part of a primary key.
    pub key_text: &'static str,
    /// Where a table needs a time, and that time is a part of its key: the column of it in our own tables,
    /// and its value, the same in all rows; each after a comma.
    pub stamp: [&'static str; 2],
    /// What follows the columns of the registry where it is created.
    pub registry_options: &'static str,
    /// Creates the registry, if it is not there, where that takes more than other options.
    pub registry: Option<&'static str>,
    /// Counts the tables of that name.
    pub exists: &'static str,
    /// Names the engine of the table, if it is one without transactions.
    pub without_transactions: Option<&'static str>,
    /// Whether DDL can be rolled back together with rows.
    pub transactional: bool,
}

impl TableWords {
    /// Of a dialect that needs nothing of its own, and lists its tables as the standard says.
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
