//! The built-in workloads, as files. Must not depend on their content; they are read like a user's.

/// A built-in workload file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// The file's text, in the same format as users' files.
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

/// In listing order.
static CATALOG: &[CatalogEntry] =
    files!["cpu", "nib-cpu", "nib-cpu-strict", "loadtest", "sensors", "kv", "tsbs"];

/// A commented workload file as a starting point.
pub const EXAMPLE: &str = include_str!("../../workloads/example/new.toml");

/// The built-in workloads.
pub fn catalog() -> &'static [CatalogEntry] {
    CATALOG
}

/// A built-in workload.
pub fn builtin(name: &str) -> Option<&'static CatalogEntry> {
    CATALOG.iter().find(|entry| entry.name == name)
}
