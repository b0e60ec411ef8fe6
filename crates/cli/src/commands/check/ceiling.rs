//! The ceiling of this machine's load generator: a normal run with the defaults of `highwater run` against a sink. Must
//! not measure by itself.

use std::path::Path;
use std::rc::Rc;

use highwater_driver::interrupts;
use highwater_model::user_error::UserError;
use highwater_runner::ceilings::{self, Ceiling};
use highwater_runner::request::Silent;
use highwater_runner::run::{self as runner, RunRequest};

use crate::ceiling::keep;
use crate::commands::run;
use crate::intent::RunIntent;
use crate::prepare::{self, StoredPlan};
use crate::sources;

/// Long enough for a steady figure. Nothing is stored, so there is nothing to audit, but checksums of the sent rows are
/// computed as in any other run.
const FLAGS: &str =
    "--warm-up 1s --duration 3s --timeout 10s --audit-timeout 1s --no-disk-guard --no-telemetry";

/// Measures the ceiling of the default load with this sink; its files go to `scratch`.
pub(super) fn measure(
    sink: &str,
    insert: Option<&String>,
    scratch: &Path,
) -> Result<Option<Ceiling>, UserError> {
    let out = scratch.display().to_string();
    let mut words = vec!["run", sink, "--out", &out];
    words.extend(FLAGS.split(' '));
    if let Some(insert) = insert {
        words.extend(["--insert", insert]);
    }
    let intent = RunIntent::resolve(&sources::of_words(&run::COMMAND, &words)?)?;
    let workload = prepare::workload(&intent)?;
    let plan = prepare::plan(&intent, &workload, &intent.targets)?;
    let stored = StoredPlan {
        directory: prepare::directory(scratch, "ceiling", &plan)?,
        plan,
        data: scratch.to_owned(),
    };
    let request = RunRequest {
        ceilings: None,
        ..prepare::request(&intent, workload, stored, &intent.targets)?
    };
    let (_keep, interrupts) = interrupts::channel();
    let record = runner::run(request, Rc::new(Silent), interrupts)?.record;
    keep(&record);
    Ok(ceilings::of_record(&record))
}
