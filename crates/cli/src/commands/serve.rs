//! `highwater serve`: shows the stored runs in a browser, and runs that are started there. Must not start anything or
//! serve by itself.

use std::path::PathBuf;
use std::sync::Arc;

use highwater_driver::TargetUrl;
use highwater_live::{self as live, History, HistorySettings, Starter};
use highwater_model::user_error::UserError;

use super::{find, run, scale, tune};
use crate::grammar::flags::{CONFIG, NO_COLOR, OUT, OUTPUT};
use crate::grammar::{CommandSpec, Flag, Reach, flag};
use crate::intent::{PageAddress, parsers};
use crate::layers::Layers;
use crate::live::{failure, place};
use crate::starting::{PageStarter, StartRights};
use crate::{exit, prepare, terminal};

/// `highwater serve`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "serve",
    summary: "Show the stored runs in a browser: list, open, compare, start",
    usage: "",
    positionals: &[],
    flags: &[("Serving", FLAGS), (OUTPUT, &[OUT, CONFIG, NO_COLOR])],
    main_flags: None,
    examples: "  highwater serve
      the runs below highwater-runs, at http://127.0.0.1:4790/ until Ctrl-C
  highwater serve -o /srv/runs --listen 0.0.0.0:8080
      also for other machines, which need the URL with its token
  highwater serve --allow-start --allow-target $URL
      the same, and runs and searches on this database can be started from a form",
    run: serve,
};

const FLAGS: &[Flag] = &[
    flag(
        "--listen <ADDR>",
        "Listen on PORT of this machine, or on ADDR, such as 0.0.0.0:4790, which requires the \
         printed token [default: 127.0.0.1:4790]",
    )
    .reach(Reach::Outside),
    flag("--allow-delete", "Allow the page to remove runs, each after a confirmation")
        .reach(Reach::Outside),
    flag(
        "--allow-start",
        "Allow the page to start and stop runs and searches, one at a time, with the permissions \
         of this process. They continue after it exits. The page then requires the printed token \
         at every address",
    )
    .reach(Reach::Outside),
    flag(
        "--allow-target <URL>...",
        "Allow the page to start runs on this database, by the same URL, with the passwords of \
         this environment. Other targets are refused, except those inside the process, such as \
         sim:",
    )
    .reach(Reach::Outside),
    flag(
        "--allow-commands",
        "Allow started runs to use any flag, including those that run commands, or read and write \
         files of this machine",
    )
    .reach(Reach::Outside),
    flag(
        "--metrics-listen <ADDR>",
        "Serve the latest results in OpenMetrics format for Prometheus, on PORT of this machine \
         or on ADDR",
    )
    .reach(Reach::Outside),
];

/// Commands that a page may start.
static STARTED: &[&CommandSpec] =
    &[&run::COMMAND, &find::COMMAND, &run::LOAD_COMMAND, &tune::COMMAND, &scale::COMMAND];

/// Serves until it is stopped.
fn serve(layers: &Layers) -> Result<u8, UserError> {
    let address = layers.parse("listen", parsers::address)?;
    let (address, may_move) = place(address.map_or(PageAddress::Usual, PageAddress::At));
    let may_start = layers.switch("allow-start")?;
    let may_run_commands = layers.switch("allow-commands")?;
    if may_run_commands && !may_start {
        let cause = "--allow-commands: the page may start nothing";
        return Err(UserError::usage(cause).with_hint("add --allow-start"));
    }
    let targets = allowed_targets(layers)?;
    if !targets.is_empty() && !may_start {
        let cause = "--allow-target: the page may start nothing";
        return Err(UserError::usage(cause).with_hint("add --allow-start"));
    }
    let may_delete = layers.switch("allow-delete")?;
    let metrics = layers.parse("metrics-listen", parsers::address)?;
    let root: PathBuf = layers.require("out", parsers::word)?.into();
    let interrupts = prepare::signals()?;
    let starter = may_start.then(|| {
        let rights = StartRights {
            out: root.clone(),
            config: layers.value("config").map(|file| file.text.clone()),
            targets,
            allows_all: may_run_commands,
        };
        Arc::new(PageStarter::new(STARTED, rights)) as Arc<dyn Starter>
    });
    let history =
        History::open(HistorySettings { root, address, may_move, may_delete, starter, metrics });
    let history = history.map_err(|failed| failure(&failed))?;
    terminal::note(&format!("page: {}\n", history.url));
    if let Some(url) = &history.metrics_url {
        terminal::note(&format!("metrics: {url}\n"));
    }
    let served = live::serve(history, interrupts);
    served.map_err(|error| UserError::usage(format!("cannot serve: {error}")))?;
    Ok(exit::SUCCESS)
}

/// The targets that may be loaded. Their passwords have the same sources as for a run.
fn allowed_targets(layers: &Layers) -> Result<Vec<TargetUrl>, UserError> {
    let given = layers.list("allow-target").iter();
    let urls = given.map(|given| {
        let url = TargetUrl::parse(&given.text)?;
        if url.password.is_some() {
            let failure = given.failure("the URL takes no password here");
            return Err(failure.with_hint("give it in the environment, or in a password file"));
        }
        Ok(url)
    });
    urls.collect()
}
