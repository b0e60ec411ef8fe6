//! A node as seen by other modules: its address, files, and process.

use std::path::PathBuf;

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// From 1.
    pub number: u32,
    /// Address of its ports; empty if only the user's commands know it.
    pub host: String,
    /// URL as a target.
    pub url: String,
    /// Whether it is loaded.
    pub is_target: bool,
    /// URLs of its metrics.
    pub metrics: Vec<String>,
    /// Its first process, while it runs on this machine.
    pub pid: Option<i32>,
    /// Its data directory on this machine.
    pub data: Option<PathBuf>,
    /// Its log.
    pub log: Option<PathBuf>,
}
