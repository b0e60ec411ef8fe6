//! `highwater tune`: settings → cells, each a run → the best of them → exit code.

use std::sync::Arc;

use highwater_core::analysis::tuning::{is_small, probes_most};
use highwater_core::model::display::{duration, plain, ratio};
use highwater_core::model::plan::Plan;
use highwater_core::model::record::RunRecord;
use highwater_core::model::tune::{TrialVerdict, TuneAxis, TunePolicy, TuneRecord};
use highwater_core::workload::Workload;
use highwater_driver::TargetUrl;
use highwater_runner::record;
use highwater_runner::run::RunRequest;
use highwater_runner::store::{self, RunDirectory};
use highwater_runner::tune::{self as runner, TrialMaker, TrialRequest, TuneRequest};

use super::probes::{self, AROUND};
use super::run;
use crate::exit;
use crate::failure::Failure;
use crate::settings::{RunSettings, TuneSettings};
use crate::{terminal, workload_file};

/// How often winner and runner-up are measured again, each.
const CONFIRMATIONS: u32 = 5;

/// Does what the settings ask for; returns the exit code.
pub fn tune(settings: &TuneSettings) -> Result<u8, Failure> {
    let (mut maker, mut tune, first) = begun(settings)?;
    if let Some(name) = &settings.resume {
        resume(settings, name, &mut tune)?;
    }
    runner::check(&tune)?;
    if settings.dry_run {
        return terminal::data(&intended(&tune)).map(|()| exit::SUCCESS);
    }
    let observer = probes::observer(settings.run.output, &intended(&tune));
    let id = run::id("tune", &first.workload.name, &tune.definition_hash);
    let directory = RunDirectory::create(&settings.run.out, &id, &first)?;
    maker.directory = Some(directory.clone());
    let shown = directory.path().display().to_string();
    let request = TuneRequest {
        tune,
        directory,
        settle: settings.settle,
    };
    let record = runner::tune(request, &maker, &observer, &run::signals()?)?;
    // Nothing is drawn any more.
    drop(observer);
    probes::print(settings.run.output, &(record, shown))
}

/// The tuning before its first cell, and the plan of one. Every value of every axis is tried on the
/// workload, so that a wrong one is told before anything is measured.
fn begun(settings: &TuneSettings) -> Result<(Maker<'_>, TuneRecord, Plan), Failure> {
    let maker = Maker {
        settings,
        urls: run::with_password(&settings.run)?,
        directory: None,
    };
    let mut first = None;
    for (axis, values) in settings.axes.iter().enumerate() {
        for value in 0..values.values.len() {
            let mut at = vec![0; settings.axes.len()];
            at[axis] = value;
            let (run, workload, urls) = maker.cell(&at)?;
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
        cells: Vec::new(),
        outcome: None,
    };
    tune.definition_hash = tune.hash(&first.hash());
    tune.policy.budget_ns = settings.budget.0;
    Ok((maker, tune, first))
}

/// Takes over the cells of another tuning, which must have had the same intention.
fn resume(settings: &TuneSettings, name: &str, tune: &mut TuneRecord) -> Result<(), Failure> {
    let path = store::find(&settings.run.out, Some(name))?;
    let record: RunRecord = record::read(&path)?;
    let id = record.id.clone();
    let Some(before) = record.tune else {
        return Err(Failure::usage(format!("--resume: {id} is not a tuning"))
            .with_hint("name the directory or id of a `highwater tune`"));
    };
    if before.definition_hash != tune.definition_hash {
        return Err(Failure::usage(format!(
            "--resume: {id} was asked for something else, so its cells do not belong here"
        ))
        .with_hint("give the same axes, workload, lengths and seed; only --budget may differ"));
    }
    tune.cells = before.cells;
    while tune.cells.last().is_some_and(|cell| {
        matches!(
            cell.verdict,
            TrialVerdict::Interrupted | TrialVerdict::TargetLost
        )
    }) {
        tune.cells.pop();
    }
    for cell in &mut tune.cells {
        if !cell.run.starts_with("..") {
            cell.run = format!("../{id}/{}", cell.run);
        }
    }
    Ok(())
}

/// What is going to be done, and how long it takes; without the time to fill tables, which nobody knows
/// before the first cell.
fn intended(tune: &TuneRecord) -> String {
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
    let looked_at = if is_small(&tune.axes) {
        "each cell is measured, the better half of them again and again"
    } else {
        "a part of the cells is drawn, then those along the axes through the best are measured"
    };
    let known = match tune.cells.len() {
        0 => String::new(),
        cells => format!("{cells} of them are known\n"),
    };
    format!(
        "tune {} by {} over {}\n{grid} cells, at most {} probes of {} each, {CONFIRMATIONS} + \
         {CONFIRMATIONS} of them to confirm: {most}; filling tables not counted\n\
         {looked_at}: at most {} probes for each cell of the grid\n{known}",
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

/// Makes the runs of cells from settings.
struct Maker<'a> {
    settings: &'a TuneSettings,
    urls: Vec<TargetUrl>,
    /// The tuning's own, where an embedded target has its file.
    directory: Option<RunDirectory>,
}

impl Maker<'_> {
    /// The settings of a cell, its workload, and its target.
    fn cell(&self, at: &[usize]) -> Result<(RunSettings, Arc<Workload>, Vec<TargetUrl>), Failure> {
        let axes = self.settings.axes.iter().zip(at);
        let values = axes.map(|(axis, at)| (axis.name.clone(), axis.values[*at].clone()));
        let run = self.settings.cell(&values.collect())?;
        let spec = workload_file::choose(&run.workload, &run.parameters)?;
        let parameters = run::in_data_time(&run, &spec)?;
        let workload = Arc::new(spec.instantiate(&parameters, run.seed)?);
        // The URLs' passwords may have been asked for; their parameters may be an axis.
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

    /// Whether an axis needs tables of its own for each value.
    fn varies_tables(&self) -> bool {
        let of_sessions = |axis: &TuneAxis| axis.name == "sessions";
        !self.settings.axes.iter().all(of_sessions)
    }
}

impl TrialMaker for Maker<'_> {
    type Error = Failure;

    fn plan(&self, wish: &TrialRequest) -> Result<Plan, Failure> {
        let (run, workload, urls) = self.cell(&wish.at)?;
        run::plan(&run, &workload, &urls)
    }

    fn request(
        &self,
        wish: &TrialRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Failure> {
        let own = self.directory.as_ref().unwrap_or(&directory);
        let data = own.path().to_owned();
        let (mut run, workload, urls) = self.cell(&wish.at)?;
        if wish.tables_kept && !run.drop && self.varies_tables() {
            let cause = "the tables held rows before, and each cell needs tables of its own";
            return Err(Failure::usage(cause)
                .with_hint("give these rows up with --drop, or tune in another schema"));
        }
        run.drop = if wish.is_first {
            run.drop
        } else {
            run.drop || !wish.tables_kept
        };
        // A model draws its own chances anew, as a database would; rows and ops stay the same.
        run.seed.0 = run.seed.0.wrapping_add(wish.number.into());
        run::request_in(&run, workload, (plan, directory), &urls, &data)
    }
}
