//! Parses the text of a cluster file, or reports all its errors.
//!
//! Must not inspect the machine: a missing program or user is found when a node is started.

use std::path::{Component, Path};

use super::expand;
use super::{ClusterFile, CommandLine, CommandsFile, NodeFile, QuotaFile, QuotaStart, ReadyFile};
use super::{ClusterSpec, NODES_MAX, Provider};
use crate::user_error::{UserError, suggest};

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
