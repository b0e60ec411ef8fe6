//! A cluster that the user's own commands start, resize, and end. Must not know what the commands do.

use highwater_driver::clock::RealClock;
use highwater_model::cluster::{CommandsFile, expand};
use highwater_model::display::span;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::nodes::Node;
use super::site::{Shell, Site};
use super::state::UpState;
use super::values::variables;

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
    /// if resizing a running one fails, it is left as it is.
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
