//! `highwater find`: settings → probes, each a run → the mark → exit code.

mod preview;

use std::sync::Arc;

use highwater_core::model::numbers::{round_to_u32, round_to_u64};
use highwater_core::model::plan::{Plan, StreamPlan};
use highwater_core::model::record::RunRecord;
use highwater_core::model::search::{ProbePurpose, SearchAxis};
use highwater_core::model::units::Rate;
use highwater_core::workload::Workload;
use highwater_driver::TargetUrl;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::run::RunRequest;
use highwater_runner::search::{self as runner, ProbeMaker, ProbeRequest, SearchRequest};
use highwater_runner::store::RunDirectory;

use self::preview::Preview;
use super::{probes, run};
use crate::exit;
use crate::failure::Failure;
use crate::settings::{FindSettings, PaceSetting, RunSettings, Streams};
use crate::{terminal, workload_file};

/// Does what the settings ask for; returns the exit code.
pub fn find(settings: &FindSettings) -> Result<u8, Failure> {
    if settings.dry_run {
        let (_, preview, _) = begun(settings)?;
        return terminal::data(&preview.text(settings)).map(|()| exit::SUCCESS);
    }
    let found = record(settings, &run::signals()?)?;
    probes::print(settings.run.output, &found)
}

/// The search before its first probe, and the plan that the first one would have.
fn begun(settings: &FindSettings) -> Result<(Maker<'_>, Preview, Plan), Failure> {
    let spec = workload_file::choose(&settings.run.workload, &settings.run.parameters)?;
    let parameters = run::in_data_time(&settings.run, &spec)?;
    let workload = Arc::new(spec.instantiate(&parameters, settings.run.seed)?);
    let urls = run::with_password(&settings.run)?;
    let maker = Maker {
        settings,
        workload,
        urls,
        directory: None,
    };
    let first = maker.plan(&ProbeRequest {
        number: 1,
        purpose: ProbePurpose::Search,
        at: settings.first,
        tables_kept: false,
    })?;
    let preview = Preview::new(settings, &maker.workload, &first)?;
    Ok((maker, preview, first))
}

/// Searches, and returns the record and where it is kept.
pub(super) fn record(
    settings: &FindSettings,
    interrupts: &Interrupts,
) -> Result<(RunRecord, String), Failure> {
    let (mut maker, preview, first) = begun(settings)?;
    let observer = probes::observer(settings.run.output, &preview.text(settings));
    let search = preview.search;
    let id = run::id("find", maker.workload.name(), &search.objective_hash);
    let directory = RunDirectory::create(&settings.run.out, &id, &first)?;
    maker.directory = Some(directory.clone());
    let shown = directory.path().display().to_string();
    let request = SearchRequest {
        search,
        directory,
        settle: settings.settle,
    };
    let record = runner::search(request, &maker, &observer, interrupts)?;
    Ok((record, shown))
}

fn searched<'a>(settings: &FindSettings, plan: &'a Plan) -> &'a StreamPlan {
    &plan.streams[settings.searched.min(plan.streams.len().saturating_sub(1))]
}

/// Makes the runs of probes from settings.
struct Maker<'a> {
    settings: &'a FindSettings,
    workload: Arc<Workload>,
    urls: Vec<TargetUrl>,
    /// The search's own, where an embedded target has its file.
    directory: Option<RunDirectory>,
}

impl Maker<'_> {
    /// The settings of a probe's run.
    fn run(&self, wish: &ProbeRequest) -> RunSettings {
        let settings = self.settings;
        let mut run = settings.run.clone();
        let pace = match (wish.at, settings.axis) {
            (None, _) if wish.purpose == ProbePurpose::Estimate => PaceSetting::Closed(None),
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

    /// Whether a probe begins with tables made anew: the first one if the user says so, later ones
    /// if there are writes to undo and the rows are the search's own, or given up by the user.
    fn makes_tables(&self, wish: &ProbeRequest, plan: &Plan) -> bool {
        let given_up = self.settings.run.drop;
        if wish.number == 1 {
            return given_up;
        }
        let specs = plan.streams.iter();
        let specs = specs.filter_map(|stream| self.workload.stream(&stream.name));
        let mut ops = specs.flat_map(|spec| spec.ops);
        let writes = ops.any(|(op, _)| self.workload.rows_per_op(op) > 0);
        writes && (given_up || !wish.tables_kept)
    }
}

impl ProbeMaker for Maker<'_> {
    type Error = Failure;

    fn plan(&self, wish: &ProbeRequest) -> Result<Plan, Failure> {
        let mut run = self.run(wish);
        let plan = run::plan(&run, &self.workload, &self.urls)?;
        if wish.purpose != ProbePurpose::Estimate || self.settings.axis != SearchAxis::Rate {
            return Ok(plan);
        }
        // Closed load with all the sessions that open load may use.
        if let Streams::Named(streams) = &mut run.load.streams {
            let all = searched(self.settings, &plan).sessions;
            streams[self.settings.searched].paces = vec![PaceSetting::Closed(Some(all))];
        }
        run::plan(&run, &self.workload, &self.urls)
    }

    fn request(
        &self,
        wish: &ProbeRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Failure> {
        let data = self
            .directory
            .as_ref()
            .unwrap_or(&directory)
            .path()
            .to_owned();
        let workload = Arc::clone(&self.workload);
        let mut run = self.run(wish);
        run.drop = self.makes_tables(wish, &plan);
        // A model draws its own chances anew, as a database would; rows and ops stay the same.
        run.seed.0 = run.seed.0.wrapping_add(wish.number.into());
        run::request_in(&run, workload, (plan, directory), &self.urls, &data)
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
