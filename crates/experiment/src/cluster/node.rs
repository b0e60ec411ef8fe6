//! A node as others see it: where it is, and what is there of it.

use std::path::PathBuf;

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// From 1.
    pub number: u32,
    /// Address of its ports; empty where only the user's commands know it.
    pub host: String,
    /// As a target.
    pub url: String,
    /// Whether it is loaded.
    pub is_target: bool,
    /// Where its metrics are.
    pub metrics: Vec<String>,
    /// Its first process, while it runs on this machine.
    pub pid: Option<i32>,
    /// Its data directory on this machine.
    pub data: Option<PathBuf>,
    /// What it prints.
    pub log: Option<PathBuf>,
}
