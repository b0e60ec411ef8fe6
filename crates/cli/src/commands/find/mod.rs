//! `highwater find`: settings → probes, each a run → the mark → exit code. Must not choose rates.

mod preview;
mod resuming;

use std::sync::Arc;

use highwater_driver::TargetUrl;
use highwater_experiment::search::{self as search_loop, ProbeRequest, SearchRequest};
use highwater_experiment::trial_maker::TrialMaker;
use highwater_model::numbers::{round_to_u32, round_to_u64};
use highwater_model::plan::Plan;
use highwater_model::record::ExperimentRecord;
use highwater_model::search::{ProbePurpose, SearchAxis};
use highwater_model::units::Rate;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::run::RunRequest;
use highwater_runner::store::RunDirectory;
use highwater_workload::Workload;

use self::preview::{Preview, searched};
use super::probes::{self, ProbeFailure};
use super::run;
use crate::exit;
use crate::failure::Failure;
use crate::settings::{FindSettings, PaceSetting, RunSettings, Streams};
use crate::{terminal, workload_file};

/// Does what the settings ask for; returns the exit code.
pub fn find(settings: &FindSettings) -> Result<u8, Failure> {
    if settings.dry_run {
        let preview = prepared(settings)?.preview;
        return terminal::data(&preview.text(settings)).map(|()| exit::SUCCESS);
    }
    let (record, directory) = record(settings, &run::signals()?)?;
    probes::print(&settings.run.output, (&record).into(), &directory)
}

/// Prepares the search.
fn prepared(settings: &FindSettings) -> Result<Prepared<'_>, Failure> {
    let spec = workload_file::choose(&settings.run.workload, &settings.run.parameters)?;
    let parameters = run::in_data_time(&settings.run, &spec)?;
    let workload = Arc::new(spec.instantiate(&parameters, settings.run.seed)?);
    let urls = run::with_password(&settings.run)?;
    let mut runs = ProbeRuns {
        settings,
        workload,
        urls,
        directory: None,
        needs_new_tables: false,
    };
    let first = runs.plan(&ProbeRequest {
        number: 1,
        purpose: ProbePurpose::Search,
        at: settings.first,
        is_first: true,
        tables_kept: false,
    });
    let first = first.map_err(|failure| failure.located(&settings.run.workload, &runs.workload))?;
    let mut preview = Preview::new(settings, &runs.workload, &first)?;
    if let Some(name) = &settings.resume {
        let search = &mut preview.search;
        resuming::take_over(&settings.run.out, name, search)?;
        runs.needs_new_tables = resuming::made_tables_anew(&search.probes);
    }
    search_loop::check(&preview.search)?;
    Ok(Prepared {
        runs,
        preview,
        first,
    })
}

/// Searches, and returns the record and its directory.
pub(super) fn record(
    settings: &FindSettings,
    interrupts: &Interrupts,
) -> Result<(ExperimentRecord, String), Failure> {
    let Prepared {
        mut runs,
        preview,
        first,
    } = prepared(settings)?;
    let observer = probes::observer(&settings.run.output, &preview.text(settings))?;
    let search = preview.search;
    let id = run::id("find", runs.workload.name(), &search.objective_hash);
    let directory = RunDirectory::create(&settings.run.out, &id, &first)?;
    runs.directory = Some(directory.clone());
    let shown = directory.path().display().to_string();
    let request = SearchRequest {
        search,
        directory,
        settle: settings.settle,
    };
    let record = search_loop::search(request, &runs, &observer, interrupts)
        .map_err(|failure| failure.located(&settings.run.workload, &runs.workload))?;
    Ok((record, shown))
}

/// A search before its first probe.
struct Prepared<'a> {
    runs: ProbeRuns<'a>,
    preview: Preview,
    /// The plan of the first probe.
    first: Plan,
}

/// Makes the runs of probes from settings.
struct ProbeRuns<'a> {
    settings: &'a FindSettings,
    workload: Arc<Workload>,
    urls: Vec<TargetUrl>,
    /// The search's own directory, for the file of an embedded target.
    directory: Option<RunDirectory>,
    /// The search that is resumed had new tables for each probe.
    needs_new_tables: bool,
}

impl ProbeRuns<'_> {
    /// The settings of a probe's run.
    fn run(&self, request: &ProbeRequest) -> RunSettings {
        let settings = self.settings;
        let mut run = settings.run.clone();
        let pace = match (request.at, settings.axis) {
            (None, _) if request.purpose == ProbePurpose::Estimate => PaceSetting::Closed(None),
            (at, SearchAxis::Rate) => PaceSetting::Open(rate(at.unwrap_or(1.0))),
            (at, SearchAxis::Sessions) => PaceSetting::Closed(Some(sessions(at.unwrap_or(1.0)))),
        };
        if let Streams::Named(streams) = &mut run.load.streams
            && let Some(stream) = streams.get_mut(settings.searched)
        {
            stream.paces = vec![pace];
        }
        run
    }

    /// Whether a probe starts with recreated tables: the first one with `--drop`; later ones if they
    /// write and the rows are the search's own, or with `--drop`.
    fn makes_tables(&self, request: &ProbeRequest, plan: &Plan) -> bool {
        let drop = self.settings.run.drop;
        if request.is_first {
            return drop;
        }
        self.writes(plan) && (drop || !request.tables_kept)
    }

    fn writes(&self, plan: &Plan) -> bool {
        let specs = plan.streams.iter();
        let specs = specs.filter_map(|stream| self.workload.stream(&stream.name));
        let mut ops = specs.flat_map(|spec| spec.ops);
        ops.any(|(op, _)| self.workload.rows_per_op(op) > 0)
    }
}

impl TrialMaker<ProbeRequest> for ProbeRuns<'_> {
    type Error = ProbeFailure;

    fn plan(&self, request: &ProbeRequest) -> Result<Plan, ProbeFailure> {
        let mut run = self.run(request);
        let plan = run::plan(&run, &self.workload, &self.urls)?;
        if request.purpose != ProbePurpose::Estimate || self.settings.axis != SearchAxis::Rate {
            return Ok(plan);
        }
        // Closed load with all the sessions that open load may use.
        if let Streams::Named(streams) = &mut run.load.streams {
            let all = searched(self.settings, &plan).sessions;
            streams[self.settings.searched].paces = vec![PaceSetting::Closed(Some(all))];
        }
        Ok(run::plan(&run, &self.workload, &self.urls)?)
    }

    fn request(
        &self,
        request: &ProbeRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, ProbeFailure> {
        let data = self
            .directory
            .as_ref()
            .unwrap_or(&directory)
            .path()
            .to_owned();
        let workload = Arc::clone(&self.workload);
        let mut run = self.run(request);
        let in_the_way = request.tables_kept && !run.drop && self.writes(&plan);
        if self.needs_new_tables && in_the_way {
            let cause = "the tables hold rows, and the search had new tables for each probe";
            let hint = "drop these rows with --drop, or start a new search";
            return Err(Failure::usage(cause).with_hint(hint).into());
        }
        run.drop = self.makes_tables(request, &plan);
        // A simulated target gets another seed; rows and ops stay the same.
        run.seed.0 = run.seed.0.wrapping_add(request.number.into());
        let stored = run::StoredPlan {
            plan,
            directory,
            data,
        };
        Ok(run::request_in(&run, workload, stored, &self.urls)?)
    }
}

fn rate(per_second: f64) -> Rate {
    Rate {
        micro_per_s: round_to_u64(per_second * 1e6).max(1),
    }
}

fn sessions(number: f64) -> u32 {
    round_to_u32(number).max(1)
}
