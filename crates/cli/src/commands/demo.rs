//! `highwater demo`: search, growth and sizing on the simulated cluster, as commands that can be
//! pasted.
//!
//! Must not compute anything itself: each step is the command that it prints.

use std::path::Path;

use highwater_report as report;
use highwater_runner::interrupts::Interrupts;

use super::{find, run, size, table};
use crate::exit;
use crate::failure::Failure;
use crate::grammar::{self, Request};
use crate::layers::Layers;
use crate::settings::{DemoSettings, FindSettings, SizeSettings, TableSettings, TargetSchemes};
use crate::terminal;

/// Sizes of the cluster: the first is shown as a search, all of them as a table.
const NODES: [u32; 5] = [3, 1, 2, 4, 6];
/// Few but expensive rows, so that the demo spends its time on ops.
const CLUSTER: &str = "shards=12&replicas=0&row=4ms&queue=inf";
const SEARCH: &[&str] = &[
    "--batch",
    "10",
    "-c",
    "512",
    "--probe",
    "10s",
    "--confirm",
    "15s",
];
/// Rate of the last step, rows per second.
const TARGET_RATE: &str = "5k";

/// Searches on clusters of several sizes, shows how the mark grows, and sizes a cluster.
pub fn demo(settings: &DemoSettings) -> Result<u8, Failure> {
    let id = run::id("", "demo", "");
    let store = settings.out.join(id);
    let interrupts = run::signals()?;
    for nodes in NODES {
        let first = nodes == NODES[0];
        let code = search(&store, nodes, first, &interrupts)?;
        if code != exit::SUCCESS {
            return Ok(code);
        }
    }
    let store = store.display().to_string();
    let layers = layers_of(&["table", &store, "--over", "nodes"])?;
    table::table(&TableSettings::resolve(&layers)?)?;
    let layers = layers_of(&["size", TARGET_RATE, "--from", &store])?;
    size::size(&SizeSettings::resolve(&layers)?)
}

/// One search; if not `shown`, it prints only its command and mark.
fn search(store: &Path, nodes: u32, shown: bool, interrupts: &Interrupts) -> Result<u8, Failure> {
    let url = format!("sim:?nodes={nodes}&{CLUSTER}");
    let store = store.display().to_string();
    // The workload has hosts and shards of its own, which are not the cluster's.
    let label = format!("nodes={nodes}");
    let labels = ["--label", &label, "--label", "shards=12"];
    let begin = ["find", "cpu", &url, "-o", &store, "-q"];
    let layers = layers_of(&[&begin[..], &labels, SEARCH].concat())?;
    let settings = FindSettings::resolve(&layers, &TargetSchemes::built_in())?;
    let (record, directory) = find::record(&settings, interrupts)?;
    let text = report::text_at(&record, &directory);
    let code = exit::of(&record);
    if shown || code != exit::SUCCESS {
        terminal::data(&text)?;
    } else {
        let marks = text.lines().filter(|line| line.starts_with("mark "));
        terminal::data(&marks.map(|line| format!("{line}\n")).collect::<String>())?;
    }
    Ok(code)
}

/// The layers of a command with these arguments, without environment and file.
fn layers_of(words: &[&str]) -> Result<Layers, Failure> {
    let quoted = words.iter().map(|word| report::quoted(word));
    let line: Vec<String> = quoted.collect();
    terminal::data(&format!("\n$ highwater {}\n\n", line.join(" ")))?;
    let mut arguments = vec!["highwater".to_owned()];
    arguments.extend(words.iter().map(|word| (*word).to_owned()));
    match grammar::parse(&arguments)? {
        Request::Command(command, words) => Layers::gather(command, words, &[], None),
        _ => Err(Failure::usage("the demo step is not a command")),
    }
}
