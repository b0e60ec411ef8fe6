//! `highwater clean`: lists the stored runs, and removes what is no longer needed. Must not remove anything that a run in
//! progress uses, or a database of which a run is not known to be clean.

use std::path::{Path, PathBuf};

use highwater_driver::TargetUrl;
use highwater_driver::clock::wall_clock;
use highwater_model::display::{bytes, duration};
use highwater_model::judgment::Data;
use highwater_model::record::{Record, RecordRef};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_runner::{record, store};

use super::check::{fact, table};
use crate::grammar::flags::{CONFIG, NO_COLOR, OUT, OUTPUT};
use crate::grammar::{CommandSpec, flag};
use crate::intent::parsers;
use crate::intent::resolve::duration_above_zero;
use crate::layers::Layers;
use crate::{exit, prepare, terminal};

/// `highwater clean`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "clean",
    summary: "List stored runs with their ages and sizes, and remove what is no longer needed",
    usage: "",
    positionals: &[],
    flags: &[
        (
            "Removal",
            &[
                flag(
                    "--older-than <DURATION>",
                    "Remove whole runs that began more than DURATION ago, such as 720h [default: only \
                     the embedded databases of runs whose data is clean]",
                )
                .once(),
                flag("--yes", "Remove it, instead of only listing it").once(),
            ],
        ),
        (OUTPUT, &[OUT, CONFIG, NO_COLOR]),
    ],
    main_flags: None,
    examples: "  highwater clean
      the stored runs, and what would be removed: the embedded databases of clean runs
  highwater clean --older-than 720h --yes
      remove these, and whole runs of more than thirty days ago",
    run: clean,
};

/// Lists the runs, and removes what is no longer needed.
fn clean(layers: &Layers) -> Result<u8, UserError> {
    let out = PathBuf::from(layers.require("out", parsers::word)?);
    let age_max = duration_above_zero(layers, "older-than")?.unwrap_or(Nanos::MAX);
    let removes = layers.switch("yes")?;
    let (mut facts, mut removable) = (Vec::new(), 0);
    for path in store::list(&out)? {
        let (age, size) = (wall_clock().saturating_sub(store::begun(&path)), store::bytes(&path));
        let mut text = format!("{} ago, {}", duration(age.0), bytes(size));
        // Held until its files are removed, so that no other process audits them meanwhile.
        if let Ok(run) = store::reopen(&path) {
            let databases = unneeded_databases(&path)?;
            let of_databases: u64 = databases.iter().map(|file| store::bytes(file)).sum();
            let (what, freed) = if age > age_max {
                ("the run", size)
            } else {
                ("its embedded database", of_databases)
            };
            if freed > 0 {
                removable += freed;
                let does = if removes { "removed" } else { "would remove" };
                text = format!("{text}; {does} {what}, {}", bytes(freed));
            }
            match removes {
                true if age > age_max => store::remove(&out, &run.id())?,
                true => run.remove_files(&databases)?,
                false => {}
            }
        } else {
            text.push_str("; in progress");
        }
        facts.push(fact(&path.file_name().unwrap_or_default().to_string_lossy(), text));
    }
    let last = match (facts.len(), removable, removes) {
        (0, ..) => format!("no runs in {}", out.display()),
        (_, 0, _) => "nothing to remove".to_owned(),
        (.., true) => format!("removed {}", bytes(removable)),
        (.., false) => format!("--yes removes {}", bytes(removable)),
    };
    terminal::data(&format!("{}{last}\n", table(&facts))).map(|()| exit::SUCCESS)
}

/// Files of embedded databases in the directory of a run, and in those of its trials, if every run that wrote to them is
/// clean.
fn unneeded_databases(directory: &Path) -> Result<Vec<PathBuf>, UserError> {
    let url = highwater_drivers::default_url().map(TargetUrl::parse).transpose()?;
    let options = prepare::options("highwater clean", Some(directory), Seed(0));
    let target = url.map(|url| highwater_drivers::open_urls(&[url], &options)).transpose()?;
    let mut files = target.map(|target| target.files()).unwrap_or_default();
    files.retain(|file| file.exists());
    if !files.is_empty() && !is_clean(directory) {
        files.clear();
    }
    for trial in store::list(&directory.join(store::PROBES))? {
        files.extend(unneeded_databases(&trial)?);
    }
    Ok(files)
}

/// Whether the data of a run, and of its trials, is clean. Tables that were loaded for later runs are needed.
fn is_clean(directory: &Path) -> bool {
    let is_clean_record = |record: Record| {
        let record = RecordRef::from(&record);
        let fills = record.measured_run().plan.definition.stop.fills;
        record.judgments().data.value == Data::Clean && !fills
    };
    let trials = store::list(&directory.join(store::PROBES)).unwrap_or_default();
    record::read(directory).is_ok_and(is_clean_record) && trials.iter().all(|of| is_clean(of))
}
