//! `highwater import`: stores another tool's output as a record.
//!
//! Reads files line by line. Must not interpret a line; that is the core's job.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use highwater_driver::regular_file;
use highwater_import::{
    self as import, Format, HEAD, Import, LONGEST_LINE, Stamp, TimeUnit, tools,
};
use highwater_model::user_error::{Place, UserError};
use highwater_report as report;

use crate::grammar::flags::{CONFIG, FIGURES, LABEL, NO_COLOR, OUT, OUTPUT, VERBOSE};
use crate::grammar::{CommandSpec, Flag, flag, words};
use crate::intent::parsers;
use crate::intent::resolve::pairs;
use crate::layers::Layers;
use crate::{exit, prepare, terminal};

/// `highwater import`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "import",
    summary: "Import another tool's output as a record, to show or compare it",
    usage: "FILE...",
    positionals: &[words(
        "FILE",
        "Files that a tool wrote or printed in one run; for pgbench, its logs and output",
    )],
    flags: &[(FIGURES, FIGURES_FLAGS), (OUTPUT, &[LABEL, OUT, VERBOSE, CONFIG, NO_COLOR])],
    main_flags: None,
    examples:
        "  pgbench -c 4 -T 60 -l -P 1 > pgbench.out 2>&1; highwater import pgbench_log.* pgbench.out
      one run: the logs of all threads, and the printed output
  sysbench oltp_read_only --report-interval=1 --histogram=on run | tee s.out; highwater import s.out
      sysbench's printed output
  k6 run --summary-export=k6.json load.js; highwater import k6.json
      a k6 summary
  highwater import latencies.hlog --unit us -o before
      a histogram log, stored in a directory that `highwater compare` can use as a group",
    run: import,
};

const FIGURES_FLAGS: &[Flag] = &[
    flag(
        "--tool <NAME>",
        "Read the files as output of this tool, such as pgbench or locust [default: detected from \
         their content]",
    ),
    flag(
        "--unit <UNIT>",
        "Read values without a unit, such as HdrHistogram's, as ns, us, ms, or s [default: as \
         stated in the file]",
    ),
];

/// Maximum files of one run: a log for each thread.
const FILES_MAX: usize = 1_024;

fn tool(text: &str) -> Result<String, UserError> {
    if tools().contains(&text) {
        return Ok(text.to_owned());
    }
    let cause = format!("is not a supported tool ({})", tools().join(", "));
    let hint = "remove --tool to detect it from the files";
    Err(parsers::wrong(text, &cause, hint))
}

fn unit(text: &str) -> Result<TimeUnit, UserError> {
    let cause = "is not a unit of time";
    TimeUnit::parse(text).ok_or_else(|| parsers::wrong(text, cause, "use ns, us, ms, or s"))
}

/// Makes a record from the files of one run. Highwater does not judge it, so the exit code is 0.
fn import(layers: &Layers) -> Result<u8, UserError> {
    let names = &layers.positionals;
    if names.is_empty() || names.len() > FILES_MAX {
        let message = format!("import takes from 1 to {FILES_MAX} files");
        return Err(UserError::usage(message)
            .with_hint("name the files of one run, such as pgbench_log.4711 and its output"));
    }
    let tool = layers.parse("tool", tool)?;
    let unit = layers.parse("unit", unit)?;
    let labels = pairs(layers, "label")?;
    let verbose = layers.switch("verbose")?;
    let out = PathBuf::from(layers.require("out", parsers::word)?);
    let mut import: Option<Import> = None;
    let mut files = Vec::new();
    for name in names {
        let path = Path::new(name);
        let mut file = regular_file::open(path).map_err(|error| unreadable(name, &error))?;
        let format = format_of(name, &mut file, tool.as_deref())?;
        let import = import.get_or_insert_with(|| Import::new(format));
        import.unit(unit);
        import.begin(format)?;
        lines(name, file, import)?;
        let base = path.file_name().unwrap_or_default().to_string_lossy();
        files.push([base.into_owned(), format.about().to_owned()]);
    }
    let Some(import) = import else {
        return Err(UserError::usage("import needs a file"));
    };
    let imported = import.end()?;
    let plan = import::plan(&imported);
    let id = prepare::id("", &plan.workload.name, &plan.hash());
    let directory = prepare::directory(&out, &id, &plan)?;
    let stamp =
        Stamp { id: directory.id(), version: env!("CARGO_PKG_VERSION").to_owned(), files, labels };
    let record = import::record(&imported, plan, &stamp);
    directory.write_record(&record)?;
    let place = directory.path().display().to_string();
    terminal::summary(&report::summary(&record, &place), verbose)?;
    Ok(exit::SUCCESS)
}

/// Detects the format from the start of the file.
fn format_of(name: &str, file: &mut File, tool: Option<&str>) -> Result<Format, UserError> {
    let mut head = Vec::new();
    let most = u64::try_from(HEAD).unwrap_or(u64::MAX);
    let read = Read::by_ref(file).take(most).read_to_end(&mut head);
    read.and_then(|_| file.seek(SeekFrom::Start(0))).map_err(|error| unreadable(name, &error))?;
    let head = String::from_utf8_lossy(&head);
    import::recognize(&head, tool).map_err(|mut wrong| {
        wrong.message = format!("{name}: {}", wrong.message);
        wrong
    })
}

/// Passes on each line; fails at a line that is longer than any format has.
fn lines(name: &str, file: File, import: &mut Import) -> Result<(), UserError> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let most = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX);
    for number in 1.. {
        line.clear();
        let read = Read::by_ref(&mut reader).take(most).read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(name, &error))? == 0 {
            break;
        }
        if line.len() == LONGEST_LINE {
            let message = format!("{name}:{number}: a line of more than {LONGEST_LINE} bytes");
            return Err(UserError::usage(message).with_hint("no known output has such a line"));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        import.line(text).map_err(|mut wrong| {
            let place =
                wrong.place.take().unwrap_or_else(|| Box::new(Place::new("", text, &(0..0))));
            wrong.at(Some(Place { file: name.to_owned(), line: number, ..*place }))
        })?;
    }
    Ok(())
}

fn unreadable(name: &str, error: &std::io::Error) -> UserError {
    UserError::usage(format!("cannot read {name}: {error}"))
}
