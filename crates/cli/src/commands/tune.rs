//! `highwater tune`: settings → trials, each a run → the best configuration → exit code. Must not
//! choose configurations.

use std::sync::Arc;

use highwater_analysis::tuning::{is_small, probes_most};
use highwater_driver::TargetUrl;
use highwater_experiment::trial_maker::TrialMaker;
use highwater_experiment::tune::{self as tune_loop, TrialRequest, TuneRequest};
use highwater_model::display::{duration, plain, ratio};
use highwater_model::plan::Plan;
use highwater_model::record::ExperimentRecord;
use highwater_model::tune::{TrialVerdict, TuneAxis, TunePolicy, TuneRecord};
use highwater_runner::run::RunRequest;
use highwater_runner::store::RunDirectory;
use highwater_workload::Workload;

use super::probes::{self, AROUND, ProbeFailure};
use super::run;
use crate::exit;
use crate::failure::Failure;
use crate::settings::{RunSettings, TuneSettings};
use crate::{terminal, workload_file};

/// Confirmations of the winner and of the runner-up, each.
const CONFIRMATIONS: u32 = 5;

/// Does what the settings ask for; returns the exit code.
pub fn tune(settings: &TuneSettings) -> Result<u8, Failure> {
    let Prepared {
        mut runs,
        mut tune,
        first,
    } = prepared(settings)?;
    if let Some(name) = &settings.resume {
        resume(settings, name, &mut tune)?;
    }
    tune_loop::check(&tune)?;
    if settings.dry_run {
        return terminal::data(&preview(&tune)).map(|()| exit::SUCCESS);
    }
    let observer = probes::observer(&settings.run.output, &preview(&tune))?;
    let id = run::id("tune", &first.workload.name, &tune.definition_hash);
    let directory = RunDirectory::create(&settings.run.out, &id, &first)?;
    runs.directory = Some(directory.clone());
    let shown = directory.path().display().to_string();
    let request = TuneRequest {
        tune,
        directory,
        settle: settings.settle,
    };
    let record = match tune_loop::tune(request, &runs, &observer, &run::signals()?) {
        Ok(record) => record,
        Err(failure) => {
            // Axes change values, and never the statements of a file.
            let (run, workload, _) = runs.trial(&vec![0; settings.axes.len()])?;
            return Err(failure.located(&run.workload, &workload));
        }
    };
    // Ends the drawing.
    drop(observer);
    probes::print(&settings.run.output, (&record).into(), &shown)
}

/// Prepares the tuning. Every value of every axis is tried on the workload, so that a wrong one is
/// reported before anything is measured.
fn prepared(settings: &TuneSettings) -> Result<Prepared<'_>, Failure> {
    let runs = TrialRuns {
        settings,
        urls: run::with_password(&settings.run)?,
        directory: None,
    };
    let mut first = None;
    for (axis, values) in settings.axes.iter().enumerate() {
        for value in 0..values.values.len() {
            let mut at = vec![0; settings.axes.len()];
            at[axis] = value;
            let (run, workload, urls) = runs.trial(&at)?;
            let plan = run::plan(&run, &workload, &urls)?;
            first.get_or_insert(plan);
        }
    }
    let Some(first) = first else {
        return Err(Failure::usage("--over is missing"));
    };
    let length = settings.run.length;
    let cost = length.warm_up + length.at_most + settings.settle + AROUND;
    let stream = &first.streams[0];
    let mut tune = TuneRecord {
        axes: settings.axes.clone(),
        by: settings.by,
        stream: stream.name.clone(),
        unit: stream.unit,
        policy: TunePolicy {
            seed: settings.run.seed.0,
            confirmations: CONFIRMATIONS,
            probes_max: probes_most(&settings.axes, CONFIRMATIONS),
            budget_ns: 0,
            trial_cost_ns: cost.0,
        },
        definition_hash: String::new(),
        trials: Vec::new(),
        outcome: None,
    };
    tune.definition_hash = tune.hash(&first.hash());
    tune.policy.budget_ns = settings.budget.0;
    Ok(Prepared { runs, tune, first })
}

/// Takes over the trials of another tuning, which must have the same definition.
fn resume(settings: &TuneSettings, name: &str, tune: &mut TuneRecord) -> Result<(), Failure> {
    let (id, experiment) = probes::earlier(&settings.run.out, name)?;
    let before = experiment.as_ref().and_then(ExperimentRecord::tune);
    let Some(before) = before else {
        return Err(Failure::usage(format!("--resume: {id} is not a tuning"))
            .with_hint("name the directory or ID of a `highwater tune` run"));
    };
    if before.definition_hash != tune.definition_hash {
        return Err(Failure::usage(format!(
            "cannot resume {id}: its axes, workload, lengths, or seed differ"
        ))
        .with_hint("use the same flags; only --budget may change"));
    }
    tune.trials.clone_from(&before.trials);
    while tune.trials.last().is_some_and(|trial| {
        matches!(
            trial.verdict,
            TrialVerdict::Interrupted | TrialVerdict::TargetLost
        )
    }) {
        tune.trials.pop();
    }
    for trial in &mut tune.trials {
        probes::seen_from_beside(&mut trial.run, &id);
    }
    Ok(())
}

/// The planned trials and their duration, without the time to fill tables, which is unknown before
/// the first trial.
fn preview(tune: &TuneRecord) -> String {
    let axes: Vec<String> = tune.axes.iter().map(in_words).collect();
    let grid: usize = tune.axes.iter().map(|axis| axis.values.len()).product();
    let policy = &tune.policy;
    let most = u64::from(policy.probes_max).saturating_mul(policy.trial_cost_ns);
    let most = match most {
        most if most > policy.budget_ns => {
            format!("{}, the budget", duration(policy.budget_ns))
        }
        most => duration(most),
    };
    let order = if is_small(&tune.axes) {
        "each configuration is measured, and the better half of them repeatedly"
    } else {
        "a random part of the configurations is measured, then those along the axes through the best"
    };
    let resumed = match tune.trials.len() {
        0 => String::new(),
        trials => format!("{trials} trials are resumed\n"),
    };
    format!(
        "tune {} by {} over {}\n{grid} configurations, at most {} probes of {} each, {CONFIRMATIONS} + \
         {CONFIRMATIONS} of them to confirm: {most}; filling tables not counted\n\
         {order}: at most {} probes per configuration\n{resumed}",
        tune.stream,
        tune.by.name(),
        axes.join(" × "),
        policy.probes_max,
        duration(policy.trial_cost_ns),
        plain(ratio(policy.probes_max.into(), grid as u64)),
    )
}

fn in_words(axis: &TuneAxis) -> String {
    format!("{} {}", axis.name, axis.values.join(", "))
}

/// A tuning before its first trial.
struct Prepared<'a> {
    runs: TrialRuns<'a>,
    tune: TuneRecord,
    /// The plan of the first trial.
    first: Plan,
}

/// Makes the runs of trials from settings.
struct TrialRuns<'a> {
    settings: &'a TuneSettings,
    urls: Vec<TargetUrl>,
    /// The tuning's own, where an embedded target has its file.
    directory: Option<RunDirectory>,
}

impl TrialRuns<'_> {
    /// The settings of a trial, its workload, and its target.
    fn trial(&self, at: &[usize]) -> Result<(RunSettings, Arc<Workload>, Vec<TargetUrl>), Failure> {
        let axes = self.settings.axes.iter().zip(at);
        let values = axes.map(|(axis, at)| (axis.name.clone(), axis.values[*at].clone()));
        let run = self.settings.trial(&values.collect())?;
        let spec = workload_file::choose(&run.workload, &run.parameters)?;
        let parameters = run::in_data_time(&run, &spec)?;
        let workload = Arc::new(spec.instantiate(&parameters, run.seed)?);
        // The URLs' passwords may come from a prompt; their parameters may be an axis.
        let urls = self
            .urls
            .iter()
            .zip(&run.targets)
            .map(|(url, own)| TargetUrl {
                parameters: own.parameters.clone(),
                ..url.clone()
            });
        let urls = urls.collect();
        Ok((run, workload, urls))
    }

    /// Whether an axis needs new tables for each value.
    fn varies_tables(&self) -> bool {
        let of_sessions = |axis: &TuneAxis| axis.name == "sessions";
        !self.settings.axes.iter().all(of_sessions)
    }
}

impl TrialMaker<TrialRequest> for TrialRuns<'_> {
    type Error = ProbeFailure;

    fn plan(&self, request: &TrialRequest) -> Result<Plan, ProbeFailure> {
        let (run, workload, urls) = self.trial(&request.at)?;
        Ok(run::plan(&run, &workload, &urls)?)
    }

    fn request(
        &self,
        request: &TrialRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, ProbeFailure> {
        let own = self.directory.as_ref().unwrap_or(&directory);
        let data = own.path().to_owned();
        let (mut run, workload, urls) = self.trial(&request.at)?;
        if request.tables_kept && !run.drop && self.varies_tables() {
            let cause = "the tables held rows before, and each trial needs new tables";
            return Err(Failure::usage(cause)
                .with_hint("drop these rows with --drop, or tune in another schema")
                .into());
        }
        run.drop = if request.is_first {
            run.drop
        } else {
            run.drop || !request.tables_kept
        };
        // A simulated target gets another seed; rows and ops stay the same.
        run.seed.0 = run.seed.0.wrapping_add(request.number.into());
        let stored = run::StoredPlan {
            plan,
            directory,
            data,
        };
        Ok(run::request_in(&run, workload, stored, &urls)?)
    }
}
