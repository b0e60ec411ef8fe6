//! `highwater demo`: search, growth and sizing on the simulated cluster, as commands that can be
//! pasted.
//!
//! Must not compute anything itself: each step is the command that it prints.

use std::path::Path;

use highwater_report as report;

use super::find::{self, FindIntent};
use super::{size, table};
use crate::failure::Failure;
use crate::grammar::CommandSpec;
use crate::grammar::flags::{NO_COLOR, OUT, OUTPUT};
use crate::intent::parsers;
use crate::layers::Layers;
use crate::prepare::{self, Stops};
use crate::sources::of_words;
use crate::{exit, terminal};

/// `highwater demo`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "demo",
    summary: "Search, growth, and sizing on a simulated cluster, in seconds",
    usage: "",
    positionals: &[],
    flags: &[(OUTPUT, &[OUT, NO_COLOR])],
    examples: "  highwater demo
      find the mark of a simulated cluster, measure its growth with nodes, and size one; each step \
      prints its command",
    run: demo,
};

/// Sizes of the cluster: the first is shown as a search, all of them as a table.
const NODES: [u32; 5] = [3, 1, 2, 4, 6];
/// Few but expensive rows, so that the demo spends its time on ops.
const CLUSTER: &str = "shards=12&replicas=0&row=4ms&queue=inf";
const SEARCH: &str = "--batch 10 -c 512 --probe 10s --confirm 15s";
/// Rate of the last step, rows per second.
const TARGET_RATE: &str = "5k";

/// Searches on clusters of several sizes, shows how the mark grows, and sizes a cluster.
fn demo(layers: &Layers) -> Result<u8, Failure> {
    let out = layers.require("out", parsers::word)?;
    let id = prepare::id("", "demo", "");
    let store = Path::new(&out).join(id);
    let stops = prepare::stops()?;
    for nodes in NODES {
        let first = nodes == NODES[0];
        let code = search(&store, nodes, first, &stops)?;
        if code != exit::SUCCESS {
            return Ok(code);
        }
    }
    let store = store.display().to_string();
    for (command, words) in [
        (&table::COMMAND, ["table", &store, "--over", "nodes"]),
        (&size::COMMAND, ["size", TARGET_RATE, "--from", &store]),
    ] {
        (command.run)(&layers_of(command, &words)?)?;
    }
    Ok(exit::SUCCESS)
}

/// One search; if not `shown`, it prints only its command and mark.
fn search(store: &Path, nodes: u32, shown: bool, stops: &Stops) -> Result<u8, Failure> {
    let url = format!("sim:?nodes={nodes}&{CLUSTER}");
    let store = store.display().to_string();
    // The workload has hosts and shards of its own, which are not the cluster's.
    let label = format!("nodes={nodes}");
    let labels = ["--label", &label, "--label", "shards=12"];
    let mut words = vec!["find", "cpu", &url, "-o", &store, "-q"];
    words.extend(labels.into_iter().chain(SEARCH.split(' ')));
    let layers = layers_of(&find::COMMAND, &words)?;
    let (record, directory) = find::search(&FindIntent::resolve(&layers)?, stops)?;
    let summary = report::summary(&record, &directory);
    let code = exit::of(&record);
    if shown || code != exit::SUCCESS {
        terminal::summary(&summary, false)?;
    } else {
        terminal::data(&format!("{}\n", summary.answer()))?;
    }
    Ok(code)
}

/// The layers of a command with these words, which are shown; without environment and file.
fn layers_of(command: &'static CommandSpec, words: &[&str]) -> Result<Layers, Failure> {
    let quoted = words.iter().map(|word| highwater_next::quoted(word));
    let line: Vec<String> = quoted.collect();
    terminal::data(&format!("\n$ highwater {}\n\n", line.join(" ")))?;
    of_words(command, words)
}
