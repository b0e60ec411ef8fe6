//! Every command that a report proposes is accepted by this program: the table of next steps, case by case.
//!
//! Commands that resume a record are tested where experiments are resumed; here, they start from the beginning.

use std::path::Path;
use std::thread;

use highwater_cli::commands::ALL;
use highwater_cli::grammar::{Request, parse};
use highwater_cli::sources;

use super::*;

/// The cases, each followed by the proposal for its example.
const PROPOSALS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../next/src/steps/snapshots/\
     highwater_next__steps__tests__every_case_has_an_example_and_leads_to_its_command.snap"
));
/// Number of proposals that are tried in parallel.
const AT_ONCE: usize = 3;
/// Arguments that resume a record, which are removed here.
const RESUMED: [&str; 2] = ["--resume", PLACE];
/// Directory of the example's record.
const PLACE: &str = "runs/a";

/// The words of each proposal, split as by a shell.
fn proposals() -> Vec<Vec<String>> {
    let commands = PROPOSALS
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|command| *command != "nothing");
    commands.map(|command| shlex::split(command).unwrap()).collect()
}

#[test]
fn the_grammar_reads_every_proposal() {
    let all = proposals();
    let cases = PROPOSALS.lines().filter(|line| line.starts_with("    "));
    assert!(all.len() > 40 && all.len() + 2 == cases.count());
    for words in all {
        let Ok(Request::Command(command, arguments)) = parse(ALL, &words) else {
            panic!("{words:?}");
        };
        let layers = sources::gather(command, ALL, arguments, &[], &[]);
        assert!(layers.is_ok(), "{words:?}: {layers:?}");
    }
}

/// A directory in which `runs/a` is the record of this command.
fn place_of(words: &[&str]) -> TempDir {
    let directory = TempDir::new().unwrap();
    let output = highwater(&directory).args(words).args(["-q", "-o", "made"]).output().unwrap();
    let made = std::fs::read_dir(directory.path().join("made"));
    let mut made = made.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let made = made.next().unwrap().unwrap().path();
    std::fs::create_dir(directory.path().join("runs")).unwrap();
    // It stays where it was created, because its record names a database there.
    std::os::unix::fs::symlink(made, directory.path().join(PLACE)).unwrap();
    directory
}

/// Replaces servers by a simulated cluster, opens no browser, and scales the rate of the examples, whose ops have one
/// row each, to ops with a thousand rows.
fn here(words: &[String]) -> Vec<&str> {
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let is_resumed = |at: usize| words[at..].starts_with(&RESUMED);
    let kept = words.iter().enumerate().filter(|(at, word)| {
        let is_its_record = *at > 0 && is_resumed(at - 1);
        **word != "--open" && !is_resumed(*at) && !is_its_record
    });
    let kept = kept.map(|(_, word)| match *word {
        server if server.starts_with("postgres://") => "sim:",
        "1k" => "1M",
        // A preview does not connect, and simulated clusters have no --shards.
        "sim:?nodes={nodes}" => "crate://node{nodes}",
        word => word,
    });
    kept.collect()
}

/// Runs as plans and experiments as previews; other proposals are executed.
#[test]
fn no_proposal_is_refused() {
    let run = place_of(&["run", "cpu", "sqlite:", "-d", "1s", "--warm-up", "0s", "--keep"]);
    let tuning = place_of(&["tune", "cpu", "sim:", "--over", "batch=100,1000", "--probe", "2s"]);
    let growth = place_of(&[
        "scale",
        "cpu",
        "sim:?nodes={nodes}&replicas=0&row=4us",
        "-c",
        "16n",
        "--nodes",
        "1,2,3",
        "--each",
        "run",
        "-d",
        "4s",
    ]);
    let new = highwater(&run).args(["workloads", "new", "my flow.toml"]).output();
    assert_eq!(new.unwrap().status.code(), Some(0));
    let tried = |proposal: &Vec<String>| {
        let mut words = here(proposal);
        let place: &Path = match words.as_slice() {
            [.., "--tuned", _] => tuning.path(),
            ["size", ..] => growth.path(),
            _ => run.path(),
        };
        match words[0] {
            "run" => words.push("--plan"),
            "find" | "tune" | "scale" => words.push("--dry-run"),
            _ => {}
        }
        let mut command = highwater(&run);
        let output = command.current_dir(place).args(&words).output().unwrap();
        let refused = output.status.code().is_none_or(|code| code == 2 || code == 5);
        assert!(!refused, "{words:?}: {}", stderr(&output));
    };
    let proposals = proposals();
    thread::scope(|scope| {
        for some in proposals.chunks(proposals.len().div_ceil(AT_ONCE)) {
            scope.spawn(|| some.iter().for_each(tried));
        }
    });
}
