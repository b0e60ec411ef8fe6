//! A cluster file: how to start, reach, resize, and stop a cluster of any size. Reading is a function of its text.
//!
//! Must not start anything; the experiment's providers do.

mod reading;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::quantity::{parse_bytes, parse_duration};
use crate::scale::LeftOut;
use crate::units::Nanos;
use crate::user_error::UserError;

pub use reading::{is_cluster_file, parse, schema};

/// Maximum number of nodes of a cluster.
pub const NODES_MAX: u32 = 256;

/// A cluster file, parsed and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// Names its directories and control groups.
    pub name: String,
    /// One line, or empty.
    pub summary: String,
    /// Nodes that `up` starts by default; from 1 to [`NODES_MAX`].
    pub nodes: u32,
    /// The nodes that hold rows.
    pub rows: Rows,
    /// The provider of the nodes.
    pub provider: Provider,
    /// A shell command that restores data in a new cluster.
    pub restore: Option<String>,
}

impl ClusterSpec {
    /// The URLs of the loaded nodes in a cluster of this size, as known before it is started: with port 1 for each.
    /// `None` if only the user's own commands know them.
    pub fn planned_urls(&self, nodes: u32) -> Option<Vec<String>> {
        let Provider::Processes(spec) = &self.provider else {
            return None;
        };
        let loaded = match spec.targets {
            Targets::All => nodes,
            Targets::First => 1,
        };
        let value = |node: u32, name: &str| match name {
            "node" => Some(node.to_string()),
            "nodes" => Some(nodes.to_string()),
            name if name.starts_with("port.") => Some("1".to_owned()),
            _ => None,
        };
        let url = |node: u32| {
            let host = expand(&spec.host, |name| value(node, name)).ok()?;
            let of_node = |name: &str| match name {
                "host" => Some(host.clone()),
                name => value(node, name),
            };
            expand(&spec.url, of_node).ok()
        };
        (1..=loaded).map(url).collect()
    }

    /// The reason why its nodes cannot be measured alone, if any.
    pub fn not_alone(&self) -> Option<LeftOut> {
        match &self.provider {
            Provider::Processes(node) => (!node.alone).then_some(LeftOut::NotSeparate),
            Provider::Commands(_) => Some(LeftOut::OwnCommands),
        }
    }
}

/// The provider of the nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Provider {
    /// Highwater, as processes on this machine. Texts hold placeholders for [`expand`]; reading has checked that all of
    /// them are known.
    Processes(Box<NodeFile>),
    /// The user's own commands.
    Commands(CommandsFile),
}

/// A placeholder without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown placeholder `{{{0}}}`")]
pub struct UnknownPlaceholder(pub String);

/// Replaces every placeholder in a text by its value.
///
/// A placeholder is a name in braces: a lower-case letter, then lower-case letters, digits, `.`, `_` and `-`. Other
/// braces are unchanged, and so are those after `$`, which belong to the shell.
///
/// # Errors
/// The first placeholder without a value.
pub fn expand(
    text: &str,
    mut value: impl FnMut(&str) -> Option<String>,
) -> Result<String, UnknownPlaceholder> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        whole.push_str(before);
        match name_of(after) {
            Some((name, behind)) if !before.ends_with('$') => {
                let filled = value(name).ok_or_else(|| UnknownPlaceholder(name.to_owned()))?;
                whole.push_str(&filled);
                rest = behind;
            }
            _ => {
                whole.push('{');
                rest = after;
            }
        }
    }
    whole.push_str(rest);
    Ok(whole)
}

/// The name before the closing brace, if it is valid, and the text after the brace.
fn name_of(after: &str) -> Option<(&str, &str)> {
    let (name, behind) = after.split_once('}')?;
    is_name(name).then_some((name, behind))
}

/// Whether a text is a valid placeholder name.
fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
    begins && name.chars().all(allowed)
}

/// How to start, reach, resize, and end a cluster of any size
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClusterFile {
    /// Version of this format: 1
    format: u32,
    /// Names the cluster's directories and control groups: a letter, then letters, digits, `_` and `-`
    name: String,
    /// One line
    #[serde(default)]
    summary: String,
    /// Nodes that `up` starts if no number is given, from 1 to 256
    #[serde(default = "one")]
    nodes: u32,
    /// Which nodes hold a row: what `highwater scale` predicts from one size depends on it
    #[serde(default)]
    rows: Rows,
    /// Nodes that are processes of this machine
    node: Option<NodeFile>,
    /// Your own commands in place of `[node]`
    commands: Option<CommandsFile>,
    /// Shell command that brings data back into a new cluster
    restore: Option<String>,
}

fn one() -> u32 {
    1
}

/// Which nodes hold a row
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// Some of them
    #[default]
    Divided,
    /// All of them: nodes add reads and safety, and hardly any writes
    Everywhere,
}

/// A process per node, each in a data directory of its own
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeFile {
    /// What is run in the data directory: a list of words, or one text for the shell
    pub command: CommandLine,
    /// Shell command that makes a new data directory ready, before the first start
    pub prepare: Option<String>,
    /// Files of the data directory: relative path = text
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Variables, besides those of Highwater's own environment
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// If Highwater runs as root, run the node as this user: a name, or `UID:GID`
    pub user: Option<String>,
    /// Address of its ports, such as `127.0.0.{node}`
    #[serde(default = "loopback")]
    pub host: String,
    /// Make the data directories below this one
    pub data: Option<String>,
    /// Port of node 1 by name, those of other nodes follow it; 0 picks a free one
    #[serde(default)]
    pub ports: BTreeMap<String, u16>,
    /// Texts that are made of all nodes, used as `{list.NAME}`
    #[serde(default)]
    pub lists: BTreeMap<String, List>,
    /// URL of a node, as a target
    pub url: String,
    /// Which nodes are loaded
    #[serde(default)]
    pub targets: Targets,
    /// URLs of its metrics (Prometheus text)
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Whether a node waits until the one before it is ready
    #[serde(default)]
    pub start: StartOrder,
    /// Whether each node, whatever its number, also starts without the others, as a cluster of one: `highwater scale`
    /// then measures each alone
    #[serde(default)]
    pub alone: bool,
    /// When it is ready: exactly one of `sql`, `http` and `log`
    pub ready: ReadyFile,
    /// How it is stopped
    #[serde(default)]
    pub stop: StopFile,
    /// What it may use of the machine, by control group
    pub quota: Option<QuotaFile>,
}

fn loopback() -> String {
    "127.0.0.1".to_owned()
}

/// Words of a command, or one text for the shell
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandLine {
    /// A text for `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// A text made of all nodes
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Text of one node, with its placeholders
    pub each: String,
    /// What stands between two nodes
    #[serde(default)]
    pub join: String,
}

/// Whether a node waits for the one before it
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartOrder {
    /// All at once
    #[default]
    Together,
    /// Each when the one before it is ready
    OneByOne,
}

/// Which nodes are loaded
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Targets {
    /// All of them
    #[default]
    All,
    /// The first one alone, such as a primary
    First,
}

/// When a node is ready
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadyFile {
    /// Query that the node's URL responds to
    pub sql: Option<String>,
    /// First value of the response to `sql`
    pub answer: Option<String>,
    /// URL that responds with a status from 200 to 299
    pub http: Option<String>,
    /// Text in its log
    pub log: Option<String>,
    /// How long it may take, such as "60s"
    #[serde(default = "minute")]
    pub within: Span,
}

fn minute() -> Span {
    Span(Nanos::from_secs(60))
}

/// Condition under which a node is ready.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// A query that its URL responds to.
    Sql {
        /// The query.
        sql: String,
        /// The expected first value of the response; `None` accepts any.
        answer: Option<String>,
    },
    /// A URL that responds with a status from 200 to 299.
    Http(String),
    /// A text that its log contains.
    Log(String),
}

impl ReadyFile {
    /// The condition that is set; reading ensures that there is one.
    pub fn condition(&self) -> Condition {
        let answer = self.answer.clone();
        let sql = self.sql.clone().map(|sql| Condition::Sql { sql, answer });
        let other = || self.http.clone().map(Condition::Http);
        let log = || Condition::Log(self.log.clone().unwrap_or_default());
        sql.or_else(other).unwrap_or_else(log)
    }
}

/// How a node is stopped
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopFile {
    /// Signal to the node's first process
    #[serde(default)]
    pub signal: StopSignal,
    /// Shell command in place of a signal
    pub command: Option<String>,
    /// How long it may take, until what is left of the node is killed
    #[serde(default = "ten_seconds")]
    pub within: Span,
}

fn ten_seconds() -> Span {
    Span(Nanos::from_secs(10))
}

impl Default for StopFile {
    fn default() -> Self {
        Self { signal: StopSignal::default(), command: None, within: ten_seconds() }
    }
}

/// A signal that ends a server in order
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// SIGTERM
    #[default]
    Term,
    /// SIGINT
    Int,
    /// SIGQUIT
    Quit,
}

/// What a node may use of the machine
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaFile {
    /// Cores, such as 0.5
    pub cpu: Option<f64>,
    /// Memory, such as "1GiB"
    pub memory: Option<Size>,
    /// From when on the quota of CPU holds
    #[serde(default)]
    pub begins: QuotaStart,
}

/// From when on a quota of CPU holds
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuotaStart {
    /// From the node's start
    #[default]
    Start,
    /// After the warm-up, for servers that compile while they run
    WarmUp,
}

/// Your own commands, each run by the shell in the directory of this file
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandsFile {
    /// Starts a cluster of `{nodes}` nodes
    pub up: String,
    /// Changes a cluster that is up to `{nodes}` nodes; without it, `up` is run again
    pub resize: Option<String>,
    /// Ends with exit code 0 once all nodes are ready; run once per second until then
    pub ready: Option<String>,
    /// Prints the URLs of the nodes, one per line
    pub urls: String,
    /// Prints the URLs of the nodes' metrics, one per line
    pub metrics: Option<String>,
    /// Ends the cluster
    pub down: String,
    /// How long each may take, such as "30m"
    #[serde(default = "half_an_hour")]
    pub within: Span,
}

fn half_an_hour() -> Span {
    Span(Nanos::from_secs(1_800))
}

/// A duration as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct Span(pub Nanos);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parsed = parse_duration(&text).map_err(with_hint)?;
        if parsed == Nanos::ZERO {
            return Err(format!("`{text}` is no time at all"));
        }
        Ok(Self(parsed))
    }
}

/// Message and hint: what reads a file keeps one text.
fn with_hint(error: UserError) -> String {
    format!("{}; {}", error.message, error.hint.unwrap_or_default())
}

/// A number of bytes as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct Size(pub u64);

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parsed = parse_bytes(&text).map_err(with_hint)?;
        Ok(Self(parsed))
    }
}
