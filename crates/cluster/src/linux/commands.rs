//! A cluster that the user's own commands start, resize, and end; and whether a node is ready: by a query, a URL, or a
//! line of its log. Must not know what the commands do.

use std::path::PathBuf;
use std::rc::Rc;

use highwater_driver::Timeline;
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::network::{Stream, connect_tcp, unreachable};
use highwater_driver::time_limit::within;
use highwater_model::cluster::{CommandsFile, Condition, expand};
use highwater_model::display::{foreign, span};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::processes::ProcessId;
use super::site::{Shell, Site, UpState, from, tail_of};
use super::values::variables;
use crate::{Node, OpenTarget};

/// Pause between two tries of `ready`.
const TRY_EVERY: Nanos = Nanos::SECOND;

/// The commands, and their last output.
pub(super) struct Commands {
    spec: CommandsFile,
    urls: Vec<String>,
    metrics: Vec<String>,
    /// The user did not wait for `down`; the next start runs it again.
    pub(super) given_up: bool,
}

impl Commands {
    pub(super) fn new(spec: CommandsFile) -> Self {
        Self { spec, urls: Vec::new(), metrics: Vec::new(), given_up: false }
    }

    /// Ends a cluster left by an earlier Highwater that was killed.
    pub(super) fn sweep(&mut self, site: &mut Site) -> Result<(), UserError> {
        if site.file.state.up.as_ref().is_some_and(|up| !up.kept) {
            site.note("the cluster was left by a Highwater that was killed; ending it");
            return self.down(site);
        }
        Ok(())
    }

    /// The last requested number of nodes, if the cluster is up.
    pub(super) fn nodes(site: &Site) -> Option<u32> {
        site.file.state.up.as_ref().map(|up| up.nodes)
    }

    /// Starts the cluster, or changes its size, and waits until it is ready. If starting fails, the cluster is ended;
    /// if resizing a running one fails, it stays unchanged.
    pub(super) fn resize(&mut self, site: &mut Site, nodes: u32) -> Result<(), UserError> {
        let before = site.file.state.up.clone();
        let was_kept = before.as_ref().is_some_and(|up| up.kept);
        site.file.state.up = Some(UpState {
            nodes,
            kept: was_kept,
            down: filled(site, &self.spec.down, nodes)?,
            within_ns: self.spec.within.0.0,
        });
        site.file.write()?;
        let Err(error) = self.change(site, nodes, before.is_some()) else {
            return Ok(());
        };
        site.keep(&error);
        if was_kept {
            site.note("the cluster was up before and is not ended; see its status");
        } else if let Err(error) = self.down(site) {
            site.note(format!("the cluster may still be up: {error}"));
        }
        site.file.write()?;
        Err(error)
    }

    fn change(&mut self, site: &mut Site, nodes: u32, is_up: bool) -> Result<(), UserError> {
        let (name, text) = match &self.spec.resize {
            Some(resize) if is_up => ("`resize`", resize.clone()),
            _ => ("`up`", self.spec.up.clone()),
        };
        site.note(format!("running {name} for {nodes} nodes"));
        self.run(site, name, &text, true)?;
        self.wait(site, nodes)?;
        self.read(site)?;
        let found = self.urls.len();
        site.note(format!("the cluster is ready: {found} URLs"));
        Ok(())
    }

    /// Waits until `ready` succeeds.
    fn wait(&self, site: &mut Site, nodes: u32) -> Result<(), UserError> {
        let Some(ready) = self.spec.ready.clone() else {
            return Ok(());
        };
        let clock = RealClock::start();
        loop {
            let text = filled(site, &ready, nodes)?;
            let shell = of_cluster(site, "`ready`", &text, nodes, self.spec.within.0);
            if site.run(&shell, true)?.code == Some(0) {
                return Ok(());
            }
            if clock.now() > self.spec.within.0 {
                let limit = span(self.spec.within.0.0);
                let message = format!("`ready` did not end well within {limit} for {nodes} nodes");
                return Err(UserError::cluster(message)
                    .with_hint("run it by hand to see why, or raise `within` of [commands]"));
            }
            let pause = RealClock::start();
            while pause.now() < TRY_EVERY {
                site.check("the cluster was starting")?;
                site.pause();
            }
        }
    }

    /// Reads the URLs of a running cluster.
    pub(super) fn read(&mut self, site: &mut Site) -> Result<(), UserError> {
        self.urls = lines(&self.run(site, "`urls`", &self.spec.urls, true)?);
        if self.urls.is_empty() {
            return Err(UserError::cluster("`urls` printed no URL")
                .with_hint("print the URLs of the nodes, one per line"));
        }
        if let Some(metrics) = &self.spec.metrics {
            self.metrics = lines(&self.run(site, "`metrics`", metrics, true)?);
        }
        Ok(())
    }

    /// Ends the cluster, if it may be up.
    pub(super) fn down(&mut self, site: &mut Site) -> Result<(), UserError> {
        if site.file.state.up.is_none() {
            return Ok(());
        }
        site.note("running `down`");
        // If it cannot be ended now, the next start ends it.
        if let Some(up) = &mut site.file.state.up {
            up.kept = false;
        }
        site.file.write()?;
        let done = self.run(site, "`down`", &self.spec.down, false);
        self.given_up = matches!(&done, Err(error) if error.kind == UserErrorKind::Interrupted);
        done?;
        site.file.state.up = None;
        self.urls.clear();
        self.metrics.clear();
        site.note("the cluster was ended");
        site.file.write()
    }

    /// Ends a cluster that was started by commands no longer in the file.
    pub(super) fn end_former(site: &mut Site) -> Result<(), UserError> {
        let Some(up) = site.file.state.up.clone() else {
            return Ok(());
        };
        if up.down.is_empty() {
            let message =
                "the cluster was started by [commands] that the file does not have any more";
            return Err(UserError::usage(message).with_hint(
                "write them into it again, and end the cluster with `highwater cluster down FILE`",
            ));
        }
        site.note("the cluster was started by [commands], which the file had before; running their `down`");
        let shell = of_cluster(site, "`down`", &up.down, up.nodes, Nanos(up.within_ns));
        site.run_well(&shell, false)?;
        site.file.state.up = None;
        site.note("the cluster was ended");
        site.file.write()
    }

    /// Keeps the cluster running after Highwater ends.
    pub(super) fn keep(site: &mut Site) -> Result<(), UserError> {
        if let Some(up) = &mut site.file.state.up {
            up.kept = true;
        }
        site.file.write()
    }

    /// The nodes from the output of `urls` and `metrics`.
    pub(super) fn list(&self) -> Vec<Node> {
        let numbered = (1..).zip(self.urls.iter().enumerate());
        numbered
            .map(|(number, (at, url))| Node {
                number,
                url: url.clone(),
                is_target: true,
                metrics: self.metrics.get(at).cloned().into_iter().collect(),
                ..Node::default()
            })
            .collect()
    }

    fn run(
        &self,
        site: &mut Site,
        name: &str,
        text: &str,
        heeds_stop: bool,
    ) -> Result<String, UserError> {
        let nodes = Self::nodes(site).unwrap_or(0);
        let text = filled(site, text, nodes)?;
        let shell = of_cluster(site, name, &text, nodes, self.spec.within.0);
        site.run_well(&shell, heeds_stop)
    }
}

/// A command of the whole cluster, for this many nodes.
pub(super) fn of_cluster<'a>(
    site: &Site,
    name: &'a str,
    text: &'a str,
    nodes: u32,
    within: Nanos,
) -> Shell<'a> {
    Shell {
        name,
        text,
        environment: variables(nodes),
        directory: site.options.directory.clone(),
        user: None,
        within,
    }
}

/// A command with its placeholders filled.
pub(super) fn filled(site: &Site, text: &str, nodes: u32) -> Result<String, UserError> {
    let value = |name: &str| match name {
        "nodes" => Some(nodes.to_string()),
        "dir" => Some(site.options.directory.display().to_string()),
        _ => None,
    };
    expand(text, value).map_err(|error| UserError::usage(error.to_string()))
}

fn lines(printed: &str) -> Vec<String> {
    printed
        .split([' ', '\t', '\n', '\r', ','])
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Time limit for one attempt.
const TRY_WITHIN: Nanos = Nanos::from_secs(5);
/// Maximum characters of a displayed value.
const VALUE_MAX: usize = 100;

/// A node that is starting.
pub(super) struct Waiting {
    pub(super) number: u32,
    pub(super) id: ProcessId,
    /// Its readiness condition, with placeholders filled.
    pub(super) condition: Condition,
    pub(super) url: String,
    pub(super) log: PathBuf,
    /// Start of this run's part of the log.
    pub(super) log_begin: u64,
}

/// Why a node is not ready.
enum NotReady {
    /// It may become ready.
    Yet(String),
    /// It never will become ready.
    Ever(UserError),
}

/// Waits until all of them are ready, or one cannot become ready.
pub(super) fn wait(
    site: &mut Site,
    mut waiting: Vec<Waiting>,
    limit: Nanos,
) -> Result<(), UserError> {
    let clock = RealClock::start();
    loop {
        let mut rest = Vec::with_capacity(waiting.len());
        for node in waiting {
            site.check(&format!("node {} was starting", node.number))?;
            if !node.id.is_alive() {
                return Err(ended(&node));
            }
            match tried(&node, &*site.options.open) {
                Ok(()) => site.note(format!("node {} is ready at {}", node.number, node.url)),
                Err(NotReady::Yet(why)) if clock.now() > limit => {
                    return Err(too_late(&node, limit, &why));
                }
                Err(NotReady::Yet(_)) => rest.push(node),
                Err(NotReady::Ever(error)) => {
                    let message = format!("node {}: {error}", node.number);
                    let hint = "correct `url` or `ready` in the cluster file".to_owned();
                    return Err(UserError::usage(message).with_hint(error.hint.unwrap_or(hint)));
                }
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        site.pause();
        waiting = rest;
    }
}

/// Whether a node is ready now.
pub(super) fn is_ready(node: &Waiting, open: &OpenTarget) -> bool {
    node.id.is_alive() && tried(node, open).is_ok()
}

fn ended(node: &Waiting) -> UserError {
    let (number, last) = (node.number, tail_of(&node.log, node.log_begin));
    UserError::cluster(format!("node {number} ended while it was starting{last}"))
        .with_hint(format!("see its log, {}", node.log.display()))
}

fn too_late(node: &Waiting, limit: Nanos, why: &str) -> UserError {
    let (number, limit) = (node.number, span(limit.0));
    let last = tail_of(&node.log, node.log_begin);
    let message = format!("node {number} is not ready after {limit}: {why}{last}");
    UserError::cluster(message).with_hint(format!(
        "see its log, {}, or raise `within` of [node.ready]",
        node.log.display()
    ))
}

fn tried(node: &Waiting, open: &OpenTarget) -> Result<(), NotReady> {
    match &node.condition {
        Condition::Log(text) => {
            let found = from(&node.log, node.log_begin).contains(text);
            let why = || NotReady::Yet(format!("its log has no `{text}`"));
            if found { Ok(()) } else { Err(why()) }
        }
        Condition::Http(address) => match status(address) {
            Ok(200..300) => Ok(()),
            Ok(status) => Err(NotReady::Yet(format!("{address} responded with {status}"))),
            Err(error) => Err(why(error)),
        },
        Condition::Sql { sql, answer } => {
            let value = value(&node.url, sql, open).map_err(why)?;
            match answer {
                Some(answer) if value.as_ref() != Some(answer) => {
                    let value = value.map_or("nothing".to_owned(), |value| {
                        format!("`{}`", foreign(&value, VALUE_MAX))
                    });
                    Err(NotReady::Yet(format!("`{sql}` is {value}, not `{answer}`")))
                }
                _ => Ok(()),
            }
        }
    }
}

fn why(error: UserError) -> NotReady {
    match error.kind {
        UserErrorKind::Usage => NotReady::Ever(error),
        _ => NotReady::Yet(error.message),
    }
}

/// The first value of the response to a query.
fn value(url: &str, sql: &str, open: &OpenTarget) -> Result<Option<String>, UserError> {
    let target = open(url)?;
    let queried = RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let timeline: Rc<dyn Timeline> = timeline;
        let query = async {
            let mut admin = target.administer(Rc::clone(&timeline)).await?;
            admin.query(sql).await
        };
        within(&timeline, TRY_WITHIN, url, query).await
    });
    let rows = queried.unwrap_or_else(|error| Err(unreachable(url, &error)))?;
    Ok(rows.into_iter().flatten().next().flatten())
}

/// Status of a response; its body is not read.
struct Status(u16);

impl Sink for Status {
    fn status(&mut self, status: u16) {
        self.0 = status;
    }

    fn body(&mut self, _: &[u8]) -> bool {
        false
    }
}

/// The status of a response from an address.
fn status(address: &str) -> Result<u16, UserError> {
    let rest = address.strip_prefix("http://").unwrap_or(address);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
    let port: u16 = port.parse().map_err(|_| UserError::usage(format!("{address} has no port")))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    let responded = RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let timeline: Rc<dyn Timeline> = timeline;
        let exchange = async {
            let stream = connect_tcp(address, host, port).await?;
            let mut status = Status(0);
            let mut connection = HttpConnection::new(Stream::Tcp(stream));
            let exchanged = connection.exchange(head.as_bytes(), b"", &mut status).await;
            exchanged.map_err(|error| unreachable(address, &error))?;
            Ok(status.0)
        };
        within(&timeline, TRY_WITHIN, address, exchange).await
    });
    responded.unwrap_or_else(|error| Err(unreachable(address, &error)))
}
