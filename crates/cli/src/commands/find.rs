//! `highwater find`: settings → probes, each a run → the mark → exit code.

use std::rc::Rc;
use std::sync::Arc;

use highwater_core::model::display::{duration, plain};
use highwater_core::model::plan::{Plan, StreamPlan};
use highwater_core::model::record::RunRecord;
use highwater_core::model::search::{
    ProbePurpose, SearchAxis, SearchObjective, SearchPolicy, SearchRecord,
};
use highwater_core::model::units::{Nanos, Rate};
use highwater_core::report;
use highwater_core::workload::Workload;
use highwater_driver::TargetUrl;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::observer::Observer;
use highwater_runner::run::RunRequest;
use highwater_runner::search::{self as runner, ProbeMaker, ProbeWish, SearchRequest};
use highwater_runner::store::RunDirectory;

use super::run;
use crate::exit;
use crate::failure::Failure;
use crate::progress::{SearchProgress, WarningsOnly};
use crate::settings::{FindSettings, PaceSetting, RunSettings, Streams};
use crate::{terminal, workload_file};

/// How often the candidate is confirmed.
const CONFIRMATIONS: u32 = 3;
/// Probes of a search at most, and as many as half of the searches on the simulated cluster need.
const PROBES_MAX: u32 = 25;
const PROBES_USUAL: u32 = 12;
/// A probe offers at least so many ops.
const LEAST_OPS: f64 = 10.0;
/// What a probe takes beside its phases with a pace: connecting, drain, audit.
const AROUND: Nanos = Nanos::from_secs(2);

/// Does what the settings ask for; returns the exit code.
pub fn find(settings: &FindSettings) -> Result<u8, Failure> {
    if settings.dry_run {
        let (_, search, _) = begun(settings)?;
        return terminal::data(&intended(settings, &search)).map(|()| exit::WELL);
    }
    let (record, directory) = record(settings, &run::signals()?)?;
    let text = if settings.run.output.json {
        report::json(&record)
    } else {
        report::text_at(&record, &directory)
    };
    terminal::data(&text)?;
    Ok(exit::of(&record))
}

/// The search before its first probe, and the plan that the first one would have.
fn begun(settings: &FindSettings) -> Result<(Maker<'_>, SearchRecord, Plan), Failure> {
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
    let first = maker.plan(&ProbeWish {
        number: 1,
        purpose: ProbePurpose::Search,
        at: settings.first,
        tables_kept: false,
    })?;
    let search = search(settings, &first);
    Ok((maker, search, first))
}

/// Searches, and returns the record and where it is kept.
pub(super) fn record(
    settings: &FindSettings,
    interrupts: &Interrupts,
) -> Result<(RunRecord, String), Failure> {
    let (mut maker, search, first) = begun(settings)?;
    let output = settings.run.output;
    let observer: Rc<dyn Observer> = if output.quiet || output.json {
        Rc::new(WarningsOnly)
    } else {
        terminal::note(&intended(settings, &search));
        Rc::new(SearchProgress)
    };
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

#[expect(
    clippy::cast_precision_loss,
    reason = "rows of a batch are far below 2^53"
)]
fn search(settings: &FindSettings, plan: &Plan) -> SearchRecord {
    let stream = searched(settings, plan);
    let objective = SearchObjective {
        stated: plan.objectives.clone(),
        no_errors: settings.no_errors,
    };
    let around = settings.run.length.warm_up + settings.settle + AROUND;
    let lowest = match settings.axis {
        SearchAxis::Sessions => 1.0,
        SearchAxis::Rate => LEAST_OPS * stream.units_per_op as f64 / settings.probe.as_secs_f64(),
    };
    SearchRecord {
        axis: settings.axis,
        stream: stream.name.clone(),
        unit: stream.unit,
        objective_hash: objective.hash(),
        objective,
        floor: settings.floor.map(Rate::as_f64),
        policy: SearchPolicy {
            axis: settings.axis,
            first: settings.first,
            lowest: settings
                .highest
                .map_or(lowest, |highest| lowest.min(highest)),
            highest: settings.highest,
            width: f64::from(settings.width.0) / 1e6,
            confirmations: CONFIRMATIONS,
            probes_max: PROBES_MAX,
            budget_ns: Some(settings.budget.0),
            probe_cost_ns: (around + settings.probe).0,
            confirmation_cost_ns: (around + settings.confirm).0,
        },
        outcome: None,
    }
}

/// What is going to be done, and how long it takes; without the time to fill the tables, which
/// nobody knows before the first probe.
fn intended(settings: &FindSettings, search: &SearchRecord) -> String {
    let policy = &search.policy;
    let time = |probes: u32| {
        let searching = u64::from(probes.saturating_sub(CONFIRMATIONS)) * policy.probe_cost_ns;
        searching + u64::from(CONFIRMATIONS) * policy.confirmation_cost_ns
    };
    let varied = match search.axis {
        SearchAxis::Rate => format!("rate of {}, in {}/s", search.stream, search.unit.name()),
        SearchAxis::Sessions => format!("number of sessions of {}", search.stream),
    };
    let budget = settings.budget.0;
    let most = match time(PROBES_MAX) {
        most if most > budget => format!("{}, the budget", duration(budget)),
        most => duration(most),
    };
    let hash: String = search.objective_hash.chars().take(6).collect();
    format!(
        "find the highest {varied}, {} % wide; objective {hash}\n\
         probes of {}, then {CONFIRMATIONS} confirmations of {}\n\
         usually {PROBES_USUAL} in all, about {}; at most {PROBES_MAX}, {most}; filling tables not \
         counted\n",
        plain(policy.width * 100.0),
        duration(settings.probe.0),
        duration(settings.confirm.0),
        duration(time(PROBES_USUAL)),
    )
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
    fn run(&self, wish: &ProbeWish) -> RunSettings {
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
        if wish.purpose == ProbePurpose::Confirm {
            run.length.at_most = settings.confirm;
        }
        run
    }

    /// Whether a probe begins with tables made anew: the first one if the user says so, later ones
    /// if there are writes to undo and the rows are the search's own, or given up by the user.
    fn makes_tables(&self, wish: &ProbeWish, plan: &Plan) -> bool {
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

    fn plan(&self, wish: &ProbeWish) -> Result<Plan, Failure> {
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
        wish: &ProbeWish,
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and a rate that can be asked is far below 2^63 millionths"
)]
fn rate(per_second: f64) -> Rate {
    Rate {
        micro_per_s: ((per_second * 1e6).round() as u64).max(1),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and the bound of the search"
)]
fn sessions(number: f64) -> u32 {
    (number.round() as u32).max(1)
}
