//! The searches, tunings, and runs of sizes, and those of a node alone: resizes the cluster for each, and prepares the
//! trial on it. Must not choose sizes.

use std::cell::RefCell;
use std::rc::Rc;

use highwater_driver::clock::RealClock;
use highwater_experiment::SizedTrial;
use highwater_experiment::scale::cluster::Cluster;
use highwater_experiment::trial_maker::{
    PreparedTrial, Requested, TargetPreparation, TrialMaker, TrialPlace,
};
use highwater_model::plan::PhaseKind;
use highwater_model::record::{ExperimentRecord, TableStart};
use highwater_model::scale::{NODE_LABEL, ScaleEach, ScaleSize, WarmUpRun};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::planner::PaceInput;
use highwater_runner::run as runner;
use highwater_runner::store::PROBES;

use super::intent::ScaleIntent;
use super::planned_sizes::{UnfinishedSearch, run_alone, shorten};
use crate::commands::{find, tune};
use crate::intent::RunIntent;
use crate::prepare::{self, StoredPlan, target};
use crate::{cluster_file, variants, workload_file};

/// Measured time when a cluster is warm and its quotas are not in effect yet: the minimum that is judged.
const BEFORE_QUOTA: Nanos = Nanos::from_secs(3);

/// A cluster, possibly shared by several growths.
pub(super) type SharedCluster = Rc<RefCell<Box<dyn Cluster>>>;

/// Makes the searches and the runs of sizes from the settings.
pub(super) struct SizedRuns<'a> {
    pub(super) settings: &'a ScaleIntent,
    pub(super) cluster: SharedCluster,
    /// Clusters of other variants, which are ended before this one is started.
    pub(super) others: Vec<SharedCluster>,
    /// The search to resume.
    pub(super) unfinished: Option<UnfinishedSearch>,
}

impl SizedRuns<'_> {
    /// Index of a size.
    fn at(&self, size: &ScaleSize) -> usize {
        let mut sizes = self.settings.record.sizes.iter();
        sizes.position(|other| other == size).unwrap_or_default()
    }

    /// Resizes the cluster, and places this trial's run on it. The pace of a searched stream is not known yet.
    fn resize(
        &self,
        trial: &SizedTrial,
        place: &TrialPlace,
        run: &mut RunIntent,
        searched: Option<usize>,
    ) -> Result<(), UserError> {
        for other in &self.others {
            other.borrow_mut().end()?;
        }
        if let Some(variant) = &self.settings.variant {
            variants::configure(&variant.name, variant.command.as_deref(), &place.interrupts)?;
        }
        let mut cluster = self.cluster.borrow_mut();
        let start = self.settings.record.start;
        let resized = match trial.node {
            Some(node) => cluster.alone(node)?,
            None => cluster.resize(trial.size.nodes, start)?,
        };
        run.targets = resized.urls;
        let endpoints = cluster_file::endpoints(&resized.metrics)?;
        run.options.telemetry.endpoints.extend(endpoints);
        run.options.drop |= trial.remakes_tables;
        if trial.keeps_tables {
            // Existing tables keep the settings that they were created with.
            run.options.tables.settings.clear();
        }
        let mut ready = TargetPreparation { took: resized.took, before_quota: None };
        if cluster.awaits_warm_up() && run.plan.warm_up > Nanos::ZERO {
            let clock = RealClock::start();
            ready.before_quota = Some(warm_up(place, run, searched)?);
            ready.took = ready.took.saturating_add(clock.now());
        }
        // After a stop, a size needs no cluster.
        if place.interrupts.requested().is_none() {
            cluster.begin_quota()?;
        }
        run.options.telemetry.limited_nodes = cluster.limited_nodes();
        *place.ready.borrow_mut() = ready;
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
        place: &TrialPlace,
    ) -> Result<ExperimentRecord, UserError> {
        let trial = &requested.trial;
        let at = self.at(&trial.size);
        let mut tuning = self.settings.tune_at(at, trial.remakes_tables)?;
        self.resize(trial, place, &mut tuning.run, None)?;
        if tuning.run.options.drop && !trial.remakes_tables {
            // Each of its trials is resolved again.
            let placed = tuning.run;
            tuning = self.settings.tune_at(at, true)?;
            tuning.run.targets = placed.targets;
            tuning.run.options.telemetry = placed.options.telemetry;
        }
        tuning.target_seed = seed_of(requested.number);
        tune::prepared(&tuning)?.nest(place)
    }

    /// The failure that ended the growth, with its place in the workload file if it has one.
    pub(super) fn located(&self, failure: UserError) -> UserError {
        // Sizes change values, but never the statements of a file.
        let first = self.settings.common_at(0).and_then(|run| {
            let workload = prepare::workload(&run)?;
            Ok((run, workload))
        });
        match first {
            Ok((run, workload)) => workload_file::located(failure, &run.workload, &workload),
            Err(other) => other,
        }
    }
}

impl TrialMaker<SizedTrial> for SizedRuns<'_> {
    fn prepare<'a>(
        &'a self,
        requested: &'a Requested<SizedTrial>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        let trial = &requested.trial;
        let mut run = match trial.node {
            Some(_) => run_alone(self.settings)?,
            None => self.settings.run_at(self.at(&trial.size))?,
        };
        if let Some(node) = trial.node {
            run.options.labels.insert(NODE_LABEL.to_owned(), node.to_string());
        }
        self.resize(trial, place, &mut run, None)?;
        let urls = target::with_password(&run)?;
        let workload = prepare::workload(&run)?;
        let plan = prepare::plan(&run, &workload, &urls)?;
        Ok(PreparedTrial::new(plan, move |plan, directory| {
            // A simulated target gets another seed; rows and ops stay the same.
            run.seed.0 = run.seed.0.wrapping_add(seed_of(requested.number));
            let stored = StoredPlan::new(plan, directory, None);
            prepare::request(&run, workload, stored, &urls)
        }))
    }

    fn nested(
        &self,
        requested: &Requested<SizedTrial>,
        place: &TrialPlace,
    ) -> Result<ExperimentRecord, UserError> {
        if self.settings.record.each == ScaleEach::Tune {
            return self.tuning(requested, place);
        }
        let trial = &requested.trial;
        let mut search = self.settings.find_at(self.at(&trial.size))?;
        self.resize(trial, place, &mut search.run, Some(search.searched))?;
        search.target_seed = seed_of(requested.number);
        if let Some(unfinished) = self.unfinished_of(trial)
            && find::is_same(&search, &unfinished.directory)?
        {
            search.resume = Some(unfinished.directory.display().to_string());
            search.resumed_from = Some(unfinished.from.clone());
        }
        find::prepared(&search)?.nest(place)
    }
}

/// Runs the load of a size until its cluster is warm, before the quotas of its nodes take effect: servers that compile
/// at run time would otherwise take very long to do so. The run after it recreates the tables.
fn warm_up(
    place: &TrialPlace,
    run: &mut RunIntent,
    searched: Option<usize>,
) -> Result<WarmUpRun, UserError> {
    let mut warming = run.clone();
    warming.plan.step = BEFORE_QUOTA;
    shorten(&mut warming, BEFORE_QUOTA);
    if let Some(at) = searched {
        warming.plan.streams[at].paces = vec![PaceInput::Closed(None)];
    }
    let urls = target::with_password(&warming)?;
    let workload = prepare::workload(&warming)?;
    let plan = prepare::plan(&warming, &workload, &urls)?;
    let name = format!("{}-warm-up", place.name);
    let directory = place.experiment.create_trial(&name, &plan)?;
    let stored = StoredPlan::new(plan, directory.clone(), None);
    let request = prepare::request(&warming, workload, stored, &urls)?;
    let (observer, interrupts) = (Rc::clone(&place.observer), place.interrupts.clone());
    let record = runner::run(request, observer, interrupts)?.record;
    let tables = &record.target.tables;
    // Restored data must stay, and therefore also rows that were written next to them.
    let made_all = tables.iter().all(|table| table.start != TableStart::Continued);
    run.options.drop |= made_all && !tables.is_empty();
    let mut phases = record.phases.iter().filter(|phase| phase.kind == PhaseKind::WarmUp);
    let warm_up = phases.next_back();
    Ok(WarmUpRun {
        took_ns: warm_up.map_or(0, |phase| phase.duration_ns),
        steady: warm_up.and_then(|phase| phase.steady),
        run: format!("{PROBES}/{}", directory.id()),
    })
}

/// Added to a simulated target's seed, so that a repeated size is independent.
fn seed_of(number: u32) -> u64 {
    const APART: u64 = 1_000_000;
    u64::from(number).wrapping_mul(APART)
}
