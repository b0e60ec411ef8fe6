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

/// In the order in which they are listed.
static CATALOG: &[CatalogEntry] = &[
    CatalogEntry {
        name: "cpu",
        text: include_str!("../../workloads/cpu.toml"),
    },
    CatalogEntry {
        name: "nib-cpu",
        text: include_str!("../../workloads/nib-cpu.toml"),
    },
    CatalogEntry {
        name: "nib-cpu-strict",
        text: include_str!("../../workloads/nib-cpu-strict.toml"),
    },
    CatalogEntry {
        name: "loadtest",
        text: include_str!("../../workloads/loadtest.toml"),
    },
    CatalogEntry {
        name: "sensors",
        text: include_str!("../../workloads/sensors.toml"),
    },
    CatalogEntry {
        name: "kv",
        text: include_str!("../../workloads/kv.toml"),
    },
    CatalogEntry {
        name: "tsbs",
        text: include_str!("../../workloads/tsbs.toml"),
    },
];

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
