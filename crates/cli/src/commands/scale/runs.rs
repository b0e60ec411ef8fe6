//! The searches, tunings and runs of sizes: the cluster is made as large as each, and the trial prepared on it. Must not choose
//! sizes.

use std::cell::RefCell;
use std::sync::Arc;

use highwater_driver::TargetUrl;
use highwater_experiment::SizedTrial;
use highwater_experiment::scale::cluster::Cluster;
use highwater_experiment::trial_maker::{NestedPlace, Requested, TrialMaker};
use highwater_model::plan::Plan;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{ScaleEach, ScaleSize};
use highwater_runner::interrupts::Interrupts;
use highwater_runner::request::{RunError, RunRequest};
use highwater_runner::store::RunDirectory;
use highwater_workload::Workload;

use super::intent::ScaleIntent;
use super::resumed::UnfinishedSearch;
use crate::commands::{find, tune};
use crate::failure::Failure;
use crate::intent::RunIntent;
use crate::prepare::trials::ProbeFailure;
use crate::prepare::{self, StoredPlan, target};

/// Makes the searches and the runs of sizes from settings.
pub(super) struct SizedRuns<'a> {
    pub(super) settings: &'a ScaleIntent,
    pub(super) cluster: RefCell<Box<dyn Cluster>>,
    pub(super) interrupts: Interrupts,
    /// A search that is resumed.
    pub(super) unfinished: Option<UnfinishedSearch>,
    /// Of a run that was planned and is to be requested.
    pub(super) current: RefCell<Option<Planned>>,
}

/// A run, its workload, and its target with the password.
pub(super) struct Planned {
    run: RunIntent,
    workload: Arc<Workload>,
    urls: Vec<TargetUrl>,
}

impl SizedRuns<'_> {
    /// Position of a size.
    fn at(&self, size: &ScaleSize) -> usize {
        let mut sizes = self.settings.sizes.iter();
        sizes.position(|other| other == size).unwrap_or_default()
    }

    /// Makes the cluster as large as that, and the run one of this trial on it.
    fn place(
        &self,
        requested: &Requested<SizedTrial>,
        run: &mut RunIntent,
    ) -> Result<(), ProbeFailure> {
        let trial = &requested.trial;
        let mut cluster = self.cluster.borrow_mut();
        let start = self.settings.start;
        run.targets = cluster
            .resize(trial.size.nodes, start, &self.interrupts)
            .map_err(RunError::from)?;
        run.drop |= trial.remakes_tables;
        Ok(())
    }

    /// The search that was stopped at this size.
    fn unfinished_of(&self, trial: &SizedTrial) -> Option<&UnfinishedSearch> {
        let unfinished = self.unfinished.as_ref();
        unfinished.filter(|search| search.size == trial.size && search.purpose == trial.purpose)
    }

    /// Tunes at a size.
    fn tuning(
        &self,
        requested: &Requested<SizedTrial>,
        place: NestedPlace,
    ) -> Result<ExperimentRecord, ProbeFailure> {
        let trial = &requested.trial;
        let at = self.at(&trial.size);
        let mut tuning = self.settings.tune_at(at, trial.remakes_tables)?;
        self.place(requested, &mut tuning.run)?;
        tuning.target_seed = seed_of(requested.number);
        tune::nested(&tuning, place)
    }

    /// What ended the growth, with its place in the workload's file if it has one.
    pub(super) fn located(&self, failure: ProbeFailure) -> Failure {
        // Sizes change values, and never the statements of a file.
        let first = self.settings.common_at(0).and_then(|run| {
            let workload = prepare::workload(&run)?;
            Ok((run, workload))
        });
        match first {
            Ok((run, workload)) => failure.located(&run.workload, &workload),
            Err(other) => other,
        }
    }
}

impl TrialMaker<SizedTrial> for SizedRuns<'_> {
    type Error = ProbeFailure;

    fn plan(&self, requested: &Requested<SizedTrial>) -> Result<Plan, ProbeFailure> {
        let mut run = self.settings.run_at(self.at(&requested.trial.size))?;
        self.place(requested, &mut run)?;
        let urls = target::with_password(&run)?;
        let workload = prepare::workload(&run)?;
        let plan = prepare::plan(&run, &workload, &urls)?;
        let planned = Planned {
            run,
            workload,
            urls,
        };
        *self.current.borrow_mut() = Some(planned);
        Ok(plan)
    }

    fn request(
        &self,
        requested: &Requested<SizedTrial>,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, ProbeFailure> {
        let planned = self.current.take();
        let Some(Planned {
            mut run,
            workload,
            urls,
        }) = planned
        else {
            return Err(Failure::usage("a size was not planned before it was run").into());
        };
        // A simulated target gets another seed; rows and ops stay the same.
        run.seed.0 = run.seed.0.wrapping_add(seed_of(requested.number));
        let stored = StoredPlan {
            plan,
            data: directory.path().to_owned(),
            directory,
        };
        Ok(prepare::request(&run, workload, stored, &urls)?)
    }

    fn nested(
        &self,
        requested: &Requested<SizedTrial>,
        place: NestedPlace,
    ) -> Result<ExperimentRecord, ProbeFailure> {
        if self.settings.each == ScaleEach::Tune {
            return self.tuning(requested, place);
        }
        let mut search = self.settings.find_at(self.at(&requested.trial.size))?;
        self.place(requested, &mut search.run)?;
        search.target_seed = seed_of(requested.number);
        if let Some(unfinished) = self.unfinished_of(&requested.trial)
            && find::is_same(&search, &unfinished.directory)?
        {
            search.resume = Some(unfinished.directory.display().to_string());
            search.resumed_from = Some(unfinished.from.clone());
        }
        find::nested(&search, place)
    }
}

/// What is added to a simulated target's seed, so that a size that is measured again has other chances.
fn seed_of(number: u32) -> u64 {
    const APART: u64 = 1_000_000;
    u64::from(number).wrapping_mul(APART)
}
