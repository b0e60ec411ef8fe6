//! `highwater workloads`: lists the built-in workloads, prints their files, and writes a commented example file. Must
//! not run a workload.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use highwater_driver::TargetUrl;
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;
use highwater_workload::{EXAMPLE, WorkloadSpec, builtin, catalog, file_schema, sketch};

use crate::exit::did_you_mean;
use crate::grammar::flags::{CONFIG, DATA, NO_COLOR, OUTPUT};
use crate::grammar::{CommandSpec, flag, words};
use crate::intent::parsers;
use crate::intent::resolve::{as_values, targets};
use crate::layers::Layers;
use crate::{exit, prepare, terminal, workload_file};

/// `highwater workloads`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "workloads",
    summary: "List workloads, show the file of one, or start your own file",
    usage: "[NAME | show NAME | new [FILE] | schema | from TARGET]",
    positionals: &[words(
        "ACTION",
        "`NAME` or `show NAME` prints a workload's file; `new` prints a commented starting point, or writes it \
         to a new FILE; `schema` prints the JSON Schema of workload files for editors; `from TARGET \
         --table NAME` sketches a file from an existing table [default: list the workloads]",
    )],
    flags: &[
        (DATA, &[flag("--table <NAME>", "Sketch a workload from table NAME (with `from`)")]),
        (OUTPUT, &[CONFIG, NO_COLOR]),
    ],
    main_flags: None,
    examples: "  highwater workloads
      list the built-in workloads
  highwater workloads show cpu > my-cpu.toml
      copy a workload's file to change it
  highwater workloads new my.toml
      write a commented file as a starting point",
    run: workloads,
};

/// Prints or writes the requested workload.
fn workloads(layers: &Layers) -> Result<u8, UserError> {
    let words: Vec<&str> = layers.positionals.iter().map(String::as_str).collect();
    let text = match words[..] {
        ["from", ref rest @ ..] => {
            let urls = targets(layers, &as_values("target", rest))?;
            let table = layers.parse("table", parsers::word)?;
            let hint = "add --table NAME";
            let missing = || UserError::usage("--table is missing").with_hint(hint);
            sketched(urls, &table.ok_or_else(missing)?)?
        }
        [] => list(),
        ["show", name] => file_of(name)?,
        ["new"] => EXAMPLE.to_owned(),
        ["new", path] => {
            create(Path::new(path))?;
            format!("{path} is written; run `highwater check {path}` to check it\n")
        }
        ["schema"] => format!("{}\n", file_schema()),
        [name] if builtin(name).is_some() => file_of(name)?,
        [name] if !ACTIONS.contains(&name) => return Err(unknown(name)),
        [first, ..] => {
            return Err(UserError::usage(format!("cannot do `{}`", words.join(" ")))
                .with_hint(action_hint(first)));
        }
    };
    terminal::data(&text).map(|()| exit::SUCCESS)
}

fn file_of(name: &str) -> Result<String, UserError> {
    Ok(workload_file::builtin_named(name)?.text.to_owned())
}

/// The error for a word that is neither an action nor a workload.
fn unknown(word: &str) -> UserError {
    let names = catalog().iter().map(|entry| entry.name);
    let hint = match (did_you_mean(word, ACTIONS), did_you_mean(word, names)) {
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (Some(_), _) => action_hint(word),
        (None, None) => "`highwater workloads` lists all workloads; for your own file write \
                         `highwater check FILE`, or `highwater run -f FILE`"
            .to_owned(),
    };
    UserError::usage(format!("there is no workload `{word}`")).with_hint(hint)
}

const ACTIONS: [&str; 4] = ["show", "new", "schema", "from"];

fn action_hint(first: &str) -> String {
    match did_you_mean(first, ACTIONS) {
        Some("show") => "write `highwater workloads show NAME`".to_owned(),
        Some("new") => "write `highwater workloads new`, or `new FILE`".to_owned(),
        Some("from") => "write `highwater workloads from TARGET --table NAME`".to_owned(),
        Some(near) => format!("did you mean `{near}`?"),
        None => "there are `show NAME`, `new [FILE]`, `schema` and `from TARGET --table NAME`"
            .to_owned(),
    }
}

/// A workload file made from a table of a target.
fn sketched(urls: Vec<TargetUrl>, table: &str) -> Result<String, UserError> {
    let options = prepare::options("highwater workloads", None, Seed(0));
    let shape = prepare::opened(urls, &options, |target| {
        if target.capabilities().simulated_clock {
            return Err(UserError::usage("a simulated cluster has no tables"));
        }
        RealTimeline::block_on(RealClock::start(), |timeline| async move {
            target.administer(timeline).await?.describe(table).await
        })
        .map_err(|error| UserError::usage(format!("cannot wait for the target: {error}")))
    });
    Ok(sketch(&shape?))
}

/// Name, summary, streams, and dialects of each workload.
fn list() -> String {
    let width = catalog().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let lines = catalog().iter().filter_map(|entry| {
        // A test checks that the catalog has no errors.
        let spec = WorkloadSpec::parse(entry.text).ok()?;
        let streams: Vec<&str> = spec.streams().iter().map(|s| s.name.as_str()).collect();
        Some(format!(
            "{:width$}  {}\n{:width$}  streams {} · dialects {}\n",
            entry.name,
            spec.summary(),
            "",
            streams.join(", "),
            spec.dialects().join(", "),
        ))
    });
    lines.collect()
}

/// Writes the example into a file that must not exist.
fn create(path: &Path) -> Result<(), UserError> {
    fs::File::create_new(path).and_then(|mut file| file.write_all(EXAMPLE.as_bytes())).map_err(
        |error| {
            let message = format!("cannot write {}: {error}", path.display());
            UserError::usage(message)
                .with_hint("choose another name; existing files are never overwritten")
        },
    )
}
