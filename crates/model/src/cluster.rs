//! A cluster file: how to start, reach, resize, and stop a cluster of any size. Reading is a function of its text, and
//! reports all its errors.
//!
//! Must not start anything; the experiment's providers do.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::quantity::{parse_bytes, parse_duration};
use crate::scale::LeftOut;
use crate::units::Nanos;
use crate::user_error::{UserError, suggest};

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
    /// Number of nodes that `up` starts by default, from 1 to 256
    #[serde(default = "one")]
    nodes: u32,
    /// Which nodes hold a row; determines what `highwater scale` predicts from one size
    #[serde(default)]
    rows: Rows,
    /// Nodes that run as processes of this machine
    node: Option<NodeFile>,
    /// Your own commands, instead of `[node]`
    commands: Option<CommandsFile>,
    /// Shell command that restores data in a new cluster
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
    /// All of them: further nodes add read capacity and redundancy, but hardly any write capacity
    Everywhere,
}

/// One process per node, each with its own data directory
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeFile {
    /// Command that runs in the data directory: a list of words, or one text for the shell
    pub command: CommandLine,
    /// Shell command that prepares a new data directory, before the first start
    pub prepare: Option<String>,
    /// Files of the data directory: relative path = text
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Environment variables, in addition to those of Highwater's own environment
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// If Highwater runs as root, run the node as this user: a name, or `UID:GID`
    pub user: Option<String>,
    /// Address of its ports, such as `127.0.0.{node}`
    #[serde(default = "loopback")]
    pub host: String,
    /// Directory below which the data directories are created
    pub data: Option<String>,
    /// Ports of node 1 by name; the ports of other nodes follow; 0 picks a free one
    #[serde(default)]
    pub ports: BTreeMap<String, u16>,
    /// Texts made of all nodes, used as `{list.NAME}`
    #[serde(default)]
    pub lists: BTreeMap<String, List>,
    /// URL of a node, in the form of a target
    pub url: String,
    /// Which nodes are loaded
    #[serde(default)]
    pub targets: Targets,
    /// URLs of the node's metrics (Prometheus text)
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Whether a node waits until the previous one is ready
    #[serde(default)]
    pub start: StartOrder,
    /// Whether each node, regardless of its number, also starts without the others, as a cluster of one; `highwater
    /// scale` then measures each alone
    #[serde(default)]
    pub alone: bool,
    /// Condition under which a node is ready: exactly one of `sql`, `http`, and `log`
    pub ready: ReadyFile,
    /// How a node is stopped
    #[serde(default)]
    pub stop: StopFile,
    /// Resource limits of a node, by control group
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
    /// Text between two nodes
    #[serde(default)]
    pub join: String,
}

/// Whether a node waits for the previous one
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartOrder {
    /// All at once
    #[default]
    Together,
    /// Each as soon as the previous one is ready
    OneByOne,
}

/// Which nodes are loaded
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Targets {
    /// All of them
    #[default]
    All,
    /// Only the first one, such as a primary
    First,
}

/// Condition under which a node is ready
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
    /// Time limit, such as "60s"
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
    /// The condition that is set; parsing ensures that there is one.
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
    /// Shell command instead of a signal
    pub command: Option<String>,
    /// Time limit, after which the remaining processes of the node are killed
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

/// A signal that shuts a server down cleanly
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

/// Resource limits of a node
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaFile {
    /// CPU quota in cores, such as 0.5
    pub cpu: Option<f64>,
    /// Memory limit, such as "1GiB"
    pub memory: Option<Size>,
    /// When the CPU quota starts
    #[serde(default)]
    pub begins: QuotaStart,
}

/// When a CPU quota starts
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuotaStart {
    /// When the node starts
    #[default]
    Start,
    /// After the warm-up, for servers that compile code while running
    WarmUp,
}

/// Your own commands, each run by the shell in the directory of this file
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandsFile {
    /// Starts a cluster of `{nodes}` nodes
    pub up: String,
    /// Changes a running cluster to `{nodes}` nodes; if absent, `up` is run again
    pub resize: Option<String>,
    /// Ends with exit code 0 once all nodes are ready; run once per second until then
    pub ready: Option<String>,
    /// Prints the URLs of the nodes, one per line
    pub urls: String,
    /// Prints the URLs of the nodes' metrics, one per line
    pub metrics: Option<String>,
    /// Ends the cluster
    pub down: String,
    /// Time limit of each command, such as "30m"
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

/// Message and hint as one text, because the parser of a file keeps only one.
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

/// Format version.
const FORMAT: u32 = 1;
/// Maximum number of characters in a cluster's name, which is part of directory names.
const NAME_MAX: usize = 40;
/// Placeholders of commands, and of texts that do not belong to a node.
const OF_CLUSTER: [&str; 2] = ["nodes", "dir"];

/// Whether a text is meant as a cluster file: it has one of the two sections, and none of a workload's.
pub fn is_cluster_file(text: &str) -> bool {
    toml::from_str::<toml::Table>(text).is_ok_and(|table| {
        (table.contains_key("node") || table.contains_key("commands")) && !table.contains_key("ops")
    })
}

/// The JSON Schema of cluster files, indented, with a newline at the end.
pub fn schema() -> String {
    let schema = schemars::schema_for!(ClusterFile);
    // Serialization of a schema made of strings and lists cannot fail.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Parses a cluster file.
///
/// # Errors
/// All errors in it, but only the first one in its structure.
pub fn parse(text: &str) -> Result<ClusterSpec, Vec<UserError>> {
    let file: ClusterFile = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        vec![UserError::in_text(text, &span, error.message())]
    })?;
    let mut checker = Checker { text, errors: Vec::new() };
    let spec = checker.cluster(file);
    match spec {
        Some(spec) if checker.errors.is_empty() => Ok(spec),
        _ => Err(checker.errors),
    }
}

/// Collects errors in a text of the right structure.
struct Checker<'t> {
    text: &'t str,
    errors: Vec<UserError>,
}

impl Checker<'_> {
    /// Reports an error at the place of a key or of other words; once, even if they occur several times.
    fn error(&mut self, words: &str, message: impl Into<String>, hint: Option<String>) {
        let start = self.place(words);
        let range = start..start + words.len();
        let error = UserError::in_text(self.text, &range, &message.into()).hinted(hint);
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// The line of a key, or else the first occurrence of these words outside comment lines.
    fn place(&self, words: &str) -> usize {
        let mut first = None;
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            let indented = line.trim_start();
            let behind = indented.strip_prefix(words).map(str::trim_start);
            if behind.is_some_and(|behind| behind.starts_with('=')) {
                return start + line.len() - indented.len();
            }
            if first.is_none() && !indented.starts_with('#') {
                first = line.find(words).map(|at| start + at);
            }
            start += line.len();
        }
        first.unwrap_or(0)
    }

    fn check(&mut self, good: bool, words: &str, message: impl Into<String>, hint: &str) {
        if !good {
            self.error(words, message, Some(hint.to_owned()));
        }
    }

    fn cluster(&mut self, file: ClusterFile) -> Option<ClusterSpec> {
        let message = format!("`format` is {}", file.format);
        let hint = "this version of Highwater reads format = 1";
        self.check(file.format == FORMAT, "format", message, hint);
        let message = format!("`{}` cannot name a cluster", file.name);
        let hint = "a name is a letter, then letters, digits, _ and -, at most 40";
        self.check(is_word(&file.name, NAME_MAX), "name", message, hint);
        let message = format!("`nodes` is {}", file.nodes);
        let good = (1..=NODES_MAX).contains(&file.nodes);
        self.check(good, "nodes", message, "it must be from 1 to 256");
        let restore = file.restore;
        self.placeholders(restore.as_deref(), &names(&OF_CLUSTER));
        let provider = match (file.node, file.commands) {
            (Some(node), None) => {
                self.node(&node)?;
                Provider::Processes(Box::new(node))
            }
            (None, Some(commands)) => {
                self.commands(&commands);
                Provider::Commands(commands)
            }
            (both, _) => {
                let message = match both {
                    Some(_) => "there are both [node] and [commands]",
                    None => "there is neither [node] nor [commands]",
                };
                let hint = "describe a node as a process of this machine in [node], or give your \
                            own commands in [commands]";
                self.error("[commands]", message, Some(hint.to_owned()));
                return None;
            }
        };
        Some(ClusterSpec {
            name: file.name,
            summary: file.summary,
            nodes: file.nodes,
            rows: file.rows,
            provider,
            restore,
        })
    }

    /// Checks a node; `None` if its ready condition is unknown.
    fn node(&mut self, file: &NodeFile) -> Option<()> {
        self.texts_of_node(file);
        let nothing = match &file.command {
            CommandLine::Shell(text) => text.trim().is_empty(),
            CommandLine::Words(words) => words.first().is_none_or(String::is_empty),
        };
        let hint = "name a program, such as [\"server\", \"--port\", \"{port.http}\"]";
        self.check(!nothing, "command", "`command` is empty", hint);
        let message = format!("`url` is `{}`, which has no scheme", file.url);
        let hint = "write the URL of a node as a target of `highwater run`";
        self.check(file.url.contains(':'), "url", message, hint);
        for path in file.files.keys() {
            let message = format!("the file `{path}` is not inside of the data directory");
            let hint = "write a relative path without `..`";
            self.check(is_inside(path), path, message, hint);
        }
        for name in file.ports.keys().chain(file.lists.keys()) {
            let good = is_word(name, NAME_MAX) && !name.contains(char::is_uppercase);
            let hint = "a name is a lower-case letter, then such letters, digits, _ and -";
            self.check(good, name, format!("`{name}` cannot be a name here"), hint);
        }
        self.ready(&file.ready)?;
        if let Some(quota) = &file.quota {
            self.quota(quota);
        }
        Some(())
    }

    /// Checks every text of a node with its valid placeholders.
    fn texts_of_node(&mut self, file: &NodeFile) {
        let node: Vec<String> = names(&["node", "nodes", "data", "host", "dir"])
            .into_iter()
            .chain(file.ports.keys().map(|name| format!("port.{name}")))
            .collect();
        let of_others = file.ports.keys().map(|name| format!("peers.{name}"));
        let lists = file.lists.keys().map(|name| format!("list.{name}"));
        let all: Vec<String> = node.iter().cloned().chain(of_others).chain(lists).collect();
        self.placeholders([&file.host], &names(&["node"]));
        self.placeholders(file.data.as_ref(), &names(&["dir"]));
        self.placeholders(file.lists.values().map(|list| &list.each), &node);
        self.placeholders(file.lists.values().map(|list| &list.join), &[]);
        self.placeholders(file.files.keys(), &[]);
        match &file.command {
            CommandLine::Shell(text) => self.placeholders([text], &all),
            CommandLine::Words(words) => self.placeholders(words, &all),
        }
        let texts = file.prepare.iter().chain([&file.url]).chain(&file.metrics);
        let of_files = file.files.values().chain(file.environment.values());
        let ready = [&file.ready.sql, &file.ready.http, &file.ready.log];
        let others = [&file.ready.answer, &file.stop.command];
        let optional = ready.into_iter().chain(others).flatten();
        self.placeholders(texts.chain(of_files).chain(optional), &all);
    }

    fn placeholders(&mut self, texts: impl IntoIterator<Item = impl AsRef<str>>, known: &[String]) {
        for text in texts {
            let mut unknown = Vec::new();
            let filled = expand(text.as_ref(), |name| {
                if !known.iter().any(|known| known == name) {
                    unknown.push(name.to_owned());
                }
                Some(String::new())
            });
            debug_assert!(filled.is_ok(), "every placeholder got a value");
            for name in unknown {
                let near = suggest(&name, known.iter().map(String::as_str));
                let near = near.map_or(String::new(), |near| format!("{near}; "));
                let hint = format!("{near}put a blank behind the brace if it is not one");
                let place = format!("{{{name}}}");
                let message = format!("unknown placeholder `{place}`");
                self.error(&place, message, Some(hint));
            }
        }
    }

    /// Checks when a node is ready; `None` unless there is exactly one condition.
    fn ready(&mut self, ready: &ReadyFile) -> Option<()> {
        if let Some(http) = &ready.http {
            let hint = "write an address that begins with http://";
            let message = format!("`http` of [node.ready] is `{http}`");
            self.check(http.starts_with("http://"), "http", message, hint);
        }
        let hint = "add sql = \"…\" beside it, or delete `answer`";
        let good = ready.answer.is_none() || ready.sql.is_some();
        let message = "`answer` of [node.ready] has no `sql`";
        self.check(good, "answer", message, hint);
        let given = [&ready.sql, &ready.http, &ready.log];
        let message = match given.into_iter().flatten().count() {
            0 => "[node.ready] has none of `sql`, `http` and `log`",
            1 => return Some(()),
            _ => "[node.ready] has more than one of `sql`, `http` and `log`",
        };
        let hint = "give exactly one, such as sql = \"SELECT 1\"".to_owned();
        self.error("ready", message, Some(hint));
        None
    }

    fn quota(&mut self, file: &QuotaFile) {
        let words = "quota";
        let hint = "write cores, such as 0.5";
        let good = file.cpu.is_none_or(|cpu| (0.01..=1024.0).contains(&cpu));
        let message = "`cpu` of [node.quota] is not from 0.01 to 1024";
        self.check(good, words, message, hint);
        let good = file.cpu.is_some() || file.memory.is_some();
        let hint = "add cpu = 0.5, or memory = \"1GiB\"";
        let message = "[node.quota] has neither `cpu` nor `memory`";
        self.check(good, words, message, hint);
        let good = file.cpu.is_some() || file.begins == QuotaStart::Start;
        let message = "`begins` of [node.quota] is about `cpu`, which is missing";
        self.check(good, "begins", message, "add cpu = 0.5, or delete `begins`");
    }

    fn commands(&mut self, file: &CommandsFile) {
        let known = names(&OF_CLUSTER);
        let always = [&file.up, &file.urls, &file.down];
        let optional = [&file.resize, &file.ready, &file.metrics];
        let texts = always.into_iter().chain(optional.into_iter().flatten());
        self.placeholders(texts, &known);
        for (name, text) in [("up", &file.up), ("urls", &file.urls), ("down", &file.down)] {
            let good = !text.trim().is_empty();
            let message = format!("`{name}` is empty");
            self.check(good, name, message, "write a shell command");
        }
    }
}

fn names(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn is_word(text: &str, longest: usize) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    begins && text.len() <= longest && text.chars().all(allowed)
}

fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}
