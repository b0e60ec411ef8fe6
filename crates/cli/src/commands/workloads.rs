//! `highwater workloads`: lists the built-in workloads, prints their files, and writes a commented
//! starting point. Must not run a workload.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use highwater_driver::{TargetOptions, TargetUrl};
use highwater_model::units::{Nanos, Seed};
use highwater_runner::clock::{RealClock, RealTimeline};
use highwater_workload::{EXAMPLE, WorkloadSpec, catalog, file_schema, sketch};

use crate::exit;
use crate::failure::Failure;
use crate::settings::{WorkloadsAction, WorkloadsSettings};
use crate::{prompt, terminal, workload_file};

/// Time limit of a connection.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(10);

/// Prints or writes what the settings ask for.
pub fn workloads(settings: &WorkloadsSettings) -> Result<u8, Failure> {
    let text = match &settings.action {
        WorkloadsAction::List => list(),
        WorkloadsAction::Show(name) => workload_file::builtin_named(name)?.text.to_owned(),
        WorkloadsAction::Schema => format!("{}\n", file_schema()),
        WorkloadsAction::From { urls, table } => sketched(urls.clone(), table)?,
        WorkloadsAction::New(None) => EXAMPLE.to_owned(),
        WorkloadsAction::New(Some(path)) => {
            create(path)?;
            format!(
                "{0} is written; run `highwater check {0}` to check it\n",
                path.display()
            )
        }
    };
    terminal::data(&text)?;
    Ok(exit::SUCCESS)
}

/// A workload file from a table of a target.
fn sketched(mut urls: Vec<TargetUrl>, table: &str) -> Result<String, Failure> {
    let options = TargetOptions {
        insert: None,
        data_directory: None,
        application_name: "highwater workloads".to_owned(),
        seed: Seed(0),
        connect_timeout: CONNECT_TIMEOUT,
    };
    let mut prompted = false;
    loop {
        let target = highwater_drivers::open_urls(&urls, &options)?;
        if target.capabilities().simulated_clock {
            return Err(Failure::usage("a simulated cluster has no tables"));
        }
        let shape = RealTimeline::block_on(RealClock::start(), |timeline| async move {
            target.administer(timeline).await?.describe(table).await
        });
        let waiting = |error| Failure::usage(format!("cannot wait for the target: {error}"));
        match shape.map_err(waiting)? {
            Ok(shape) => return Ok(sketch(&shape)),
            Err(error) if !prompted && prompt::for_password(&error, &mut urls) => prompted = true,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Name, summary, streams and dialects of each workload.
fn list() -> String {
    let width = catalog().iter().map(|entry| entry.name.len()).max();
    let width = width.unwrap_or(0);
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

/// Writes the example into a file that does not exist yet.
fn create(path: &Path) -> Result<(), Failure> {
    fs::File::create_new(path)
        .and_then(|mut file| file.write_all(EXAMPLE.as_bytes()))
        .map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::usage(message)
                .with_hint("choose another name; existing files are never overwritten")
        })
}
