//! Commands that only print: `highwater completions SHELL` and `highwater man [COMMAND]`, generated from the grammar, and
//! `highwater demo`: search, growth, and sizing on a simulated cluster, as commands to copy.
//!
//! The demo must not compute anything itself: each step is the command that it prints.

use std::path::Path;
use std::{fs, io};

use clap_complete::Shell;

use highwater_model::user_error::UserError;
use highwater_next::quoted;

use super::{find, scale, size};
use crate::grammar::flags::{CONFIG, NO_COLOR, OUT, OUTPUT};
use crate::grammar::{CommandSpec, command_line};
use crate::intent::parsers;
use crate::layers::Layers;
use crate::sources::of_words;
use crate::{exit, prepare, terminal};

/// Prints a shell completion script.
pub fn completions(commands: &[&CommandSpec], shell: &str) -> Result<u8, UserError> {
    let shell: Shell = shell.parse().map_err(|_| {
        UserError::usage(format!("unknown shell `{shell}`"))
            .with_hint("there are bash, elvish, fish, powershell and zsh")
    })?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_line(commands), "highwater", &mut script);
    terminal::data(&String::from_utf8_lossy(&script)).map(|()| exit::SUCCESS)
}

/// Prints the manual page of the program or of one command, or writes all pages to a directory.
pub fn manual(
    commands: &[&CommandSpec],
    command: Option<&str>,
    directory: Option<&str>,
) -> Result<u8, UserError> {
    let mut program = command_line(commands);
    program.build();
    if let Some(directory) = directory {
        let place = Path::new(directory);
        fs::create_dir_all(place)
            .and_then(|()| clap_mangen::generate_to(program, place))
            .map_err(|error| cannot_write(&format!("to {directory}"), &error))?;
        return Ok(exit::SUCCESS);
    }
    let page = match command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            UserError::usage(format!("unknown command `{name}`"))
                .with_hint("`highwater help` lists the commands")
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(|error| cannot_write("", &error))?;
    terminal::data(&String::from_utf8_lossy(&text)).map(|()| exit::SUCCESS)
}

fn cannot_write(place: &str, error: &io::Error) -> UserError {
    let place = if place.is_empty() { String::new() } else { format!(" {place}") };
    UserError::usage(format!("cannot write the manual page{place}: {error}"))
}

/// `highwater demo`.
pub(crate) static DEMO_COMMAND: CommandSpec = CommandSpec {
    name: "demo",
    summary: "Search, growth, and sizing on a simulated cluster, in seconds",
    usage: "",
    positionals: &[],
    flags: &[(OUTPUT, &[OUT, CONFIG, NO_COLOR])],
    main_flags: None,
    examples: "  highwater demo
      find the mark of a simulated cluster, measure its growth with nodes, and size one; each step \
      prints its command",
    run: demo,
};

/// The text at the start.
const SIMULATED: &str = "\
A demonstration: the cluster and its clock are simulated, nothing is connected, and no figure is
that of a database.
";
/// Few but expensive rows, so that the time of the demo is spent on ops.
const CLUSTER: &str = "shards=12&replicas=0&row=4ms&queue=inf";
/// Nodes of the search, and of the growth.
const NODES: u32 = 3;
const SIZES: &str = "1,2,4,6";
/// Flags of the search, and of the search at each size.
const SEARCH: &str = "-q --batch 10 -c 512 --probe 10s --confirm 15s";
/// Rate of the last step, in rows per second.
const TARGET_RATE: &str = "5k";

/// Runs a search on a cluster, measures its growth, and plans a size.
fn demo(layers: &Layers) -> Result<u8, UserError> {
    let out = layers.require("out", parsers::word)?;
    let of = |nodes: &str| format!("sim:?nodes={nodes}&{CLUSTER}");
    let (one, all) = (of(&NODES.to_string()), of("{nodes}"));
    let find = ["find", "cpu", &one, "-o", &out];
    // The workload's own number of shards differs from the cluster's.
    let scale = ["scale", "cpu", &all, "--nodes", SIZES, "-o", &out, "--label", "shards=12"];
    let search: Vec<&str> = SEARCH.split(' ').collect();
    let stops = prepare::stops()?;
    terminal::data(SIMULATED)?;
    for (command, words) in [
        (&find::COMMAND, [&find[..], &search].concat()),
        (&scale::COMMAND, [&scale[..], &search].concat()),
        (&size::COMMAND, vec!["size", TARGET_RATE, "--from", "last", "-o", &out]),
    ] {
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        terminal::data(&format!("\n$ highwater {}\n\n", line.join(" ")))?;
        // Without environment and settings file.
        let code = (command.run)(&of_words(command, &words)?)?;
        // The signal may have arrived after the command had its result.
        if stops.interrupts.requested().is_some() {
            return Ok(exit::INTERRUPTED);
        }
        if code != exit::SUCCESS {
            return Ok(code);
        }
    }
    Ok(exit::SUCCESS)
}
