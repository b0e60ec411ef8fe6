//! The workloads that come with the program, as their files.
//!
//! What must not be here: what is in the files; they are read like a user's.

/// A workload file that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// The file's text, in the format that users write.
    pub text: &'static str,
}

macro_rules! files {
    ($($name:literal),*) => {
        &[$(CatalogEntry {
            name: $name,
            text: include_str!(concat!("../../workloads/", $name, ".toml")),
        }),*]
    };
}

/// In the order in which they are listed.
static CATALOG: &[CatalogEntry] =
    files!["cpu", "nib-cpu", "nib-cpu-strict", "loadtest", "sensors", "kv", "tsbs"];

/// A commented workload file to begin with.
pub const EXAMPLE: &str = include_str!("../../workloads/example/new.toml");

/// The workloads that come with the program.
pub fn catalog() -> &'static [CatalogEntry] {
    CATALOG
}

/// A workload that comes with the program.
pub fn builtin(name: &str) -> Option<&'static CatalogEntry> {
    CATALOG.iter().find(|entry| entry.name == name)
}
