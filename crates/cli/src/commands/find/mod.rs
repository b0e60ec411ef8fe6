//! `highwater find`: settings → probes, each a run → the mark → exit code. Must not choose rates.

mod preview;

use std::path::Path;
use std::sync::Arc;

use highwater_driver::TargetUrl;
use highwater_experiment as experiment;
use highwater_experiment::Probe;
use highwater_experiment::trials::{NextTrial, PreparedTrial, TrialMaker, TrialPlace};
use highwater_model::numbers::{round_to_u32, round_to_u64};
use highwater_model::plan::{Objective, Plan, StopRule};
use highwater_model::quantity::{Ppm, parse_duration, parse_rate};
use highwater_model::record::{ExperimentRecord, Question, RecordRef};
use highwater_model::search::{ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchRecord};
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;
use highwater_runner::planner::{PaceInput, SESSIONS_MAX, StreamInput};
use highwater_runner::record;
use highwater_workload::Workload;

use self::preview::{Preview, searched};
use crate::cluster_file::on_cluster;
use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, BUDGET, CLUSTER, CONFIG, DATA, DRY_RUN, FAULT, LENGTH,
    LITERALS, LOAD, MAX_CPU, MIN_RATE, NO_COLOR, OBJECTIVES, OF_FAULTS, OUTPUT, RETRIES, RUNNING,
    SESSIONS, SHARED, SHARES, STORED, TABLES, THINK, TIMEOUT, TUNED, WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, Reach, WORKLOAD_AND_TARGETS, flag};
use crate::intent::resolve::Seconds;
use crate::intent::streams::{self, MOST_STREAMS};
use crate::intent::{RunIntent, parsers, resolve};
use crate::layers::{Layers, Origin, SettingValue, Strength};
use crate::prepare::trials::{self, Pauses, Prepared, ResumeRequest};
use crate::prepare::{self, StoredPlan};
use crate::{shares, stored_files};

/// `highwater find`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "find",
    summary: "Find the highest rate that a target sustains under an objective",
    usage: "[WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        ("Search", SEARCH_FLAGS),
        (LOAD, LOAD_FLAGS),
        (LENGTH, &[WARM_UP]),
        (DATA, TABLES),
        (DATA, &[TUNED, CLUSTER]),
        (DATA, RUNNING),
        (OBJECTIVES, BOUNDS),
        (OBJECTIVES, &[MIN_RATE, MAX_CPU]),
        (OBJECTIVES, OF_FAULTS),
        (AUDIT, AUDITED),
        (SHARES, SHARED),
        (OUTPUT, STORED),
        (OUTPUT, &[CONFIG, NO_COLOR]),
    ],
    main_flags: Some(
        "stream sessions start max budget resume quick dry-run file set drop p99 ui out json",
    ),
    examples: "  highwater find cpu $URL --p99 100ms --budget 30m
      the highest rate of rows at which 99% of the batches take at most 100 ms
  highwater find cpu $URL --quick --dry-run
      the planned probes and their duration
  highwater find cpu $URL --stream insert@50k --stream dashboards@find --p99 2s
      the highest rate of queries during 50,000 rows/s of ingest
  highwater find cpu $URL --axis sessions --p99 100ms
      the highest number of sessions within the objective
  highwater find kv --cluster c.toml --fault 'kill node 2 at 10s, start it at 40s' --recover-within 5s --errors 1%
      the highest rate at which the others go on without a node
  highwater find cpu $URL --min-rate 50k
      a gate: exit code 1 if the mark is below 50,000 rows/s

Default objective: at least 99% of the offered rate is acknowledged, no op is rejected, no op \
fails, and no backlog grows. Objectives you set are added to it; --errors and --rejected replace \
the default limits on failed and rejected ops.",
    run: |layers| {
        let settings = FindIntent::resolve(&on_cluster(layers)?)?;
        shares::report(layers)?;
        find(&settings)
    },
};

const SEARCH_FLAGS: &[Flag] = &[
    flag("--axis <AXIS>", "Search over rate (open load) or sessions (closed load)").default("rate"),
    flag(
        "--start <VALUE>",
        "Start at this rate or number of sessions [default: estimated with a closed-load probe; 1 \
         with --axis sessions]",
    ),
    flag(
        "--max <VALUE>",
        "Never probe above this rate or number of sessions [default: no limit; 65536 sessions]",
    ),
    flag(
        "--tolerance <PERCENT>",
        "Stop narrowing when the highest confirmed and the lowest failed value differ by at most \
         PERCENT, 0.5% to 50% [default: 2%; 5% with --quick]",
    ),
    flag("--probe <DURATION>", "Measure each probe for DURATION [default: 60s; 15s with --quick]"),
    flag(
        "--confirm <DURATION>",
        "Measure each of the three confirmations for DURATION. Choose a time that covers a \
         checkpoint or merge [default: 5m; 30s with --quick]",
    ),
    flag(
        "--settle <DURATION>",
        "Leave the target idle for DURATION between probes [default: 5s; 1s with --quick]",
    ),
    BUDGET,
    flag(
        "--then <soak=DURATION>",
        "After the search, run at the confirmed value for DURATION, outside the budget, and \
         report whether it holds and any drift, changes, or stalls",
    ),
    flag(
        "--resume <RUN>",
        "Resume this search (named as for show) without repeating its probes. All other flags must \
         be the same, except --budget and --then [default: start a new one]",
    )
    .once()
    .reach(Reach::File),
    flag("--quick", "Use shorter probes for a rough mark, in 15m unless --budget says otherwise"),
    DRY_RUN,
];

const LOAD_FLAGS: &[Flag] = &[
    flag(
        "--stream <NAME[@PACE]>...",
        "Run stream NAME. @find marks the stream to search; the others keep a fixed pace (1k, \
         50/s, 8c, or max) [default: the first stream, @find]",
    ),
    SESSIONS,
    THINK,
    ARRIVALS,
    TIMEOUT,
    RETRIES,
    LITERALS,
    FAULT,
];

/// Runs the search; returns the exit code.
fn find(settings: &FindIntent) -> Result<u8, UserError> {
    if settings.dry_run {
        return intended(settings)?.show();
    }
    let stops = prepare::stops()?;
    let prepared = prepared(settings)?;
    let hash = prepared.experiment.definition_hash.clone();
    let (record, place) = prepared.measure(&settings.run, "find", &hash, &stops)?;
    shares::print_experiment(&settings.run, &record, &place)
}

/// A search before its first probe.
type PreparedSearch<'a> = Prepared<SearchRecord, ProbeRuns<'a>>;

/// Prepares the search.
pub(super) fn prepared(settings: &FindIntent) -> Result<PreparedSearch<'_>, UserError> {
    prepared_on(settings, prepare::with_password(&settings.run)?)
}

/// Prepares the search without a connection.
pub(super) fn intended(settings: &FindIntent) -> Result<PreparedSearch<'_>, UserError> {
    prepared_on(settings, settings.run.targets.clone())
}

/// Whether the search stored in `directory` has the same definition, so that it can be resumed.
pub(super) fn is_same(settings: &FindIntent, directory: &Path) -> Result<bool, UserError> {
    let search = intended(settings)?.experiment;
    let Ok(stored) = record::read(directory) else {
        return Ok(false);
    };
    let stored = RecordRef::from(&stored).experiment();
    let stored = stored.and_then(ExperimentRecord::search);
    Ok(stored.is_some_and(|stored| stored.definition_hash == search.definition_hash))
}

fn prepared_on(
    settings: &FindIntent,
    urls: Vec<TargetUrl>,
) -> Result<PreparedSearch<'_>, UserError> {
    let workload = prepare::workload(&settings.run)?;
    let mut maker =
        ProbeRuns { settings, workload: Arc::clone(&workload), urls, needs_new_tables: false };
    let first = Probe { purpose: ProbePurpose::Search, at: settings.first };
    let first = maker.plan(&maker.run(&first), &first)?;
    let mut preview = Preview::new(settings, &workload, &first)?;
    let pauses = resume(settings, &mut preview.search)?;
    let mut pairs = preview.search.probes.windows(2);
    // The probes did not append to each other's rows.
    maker.needs_new_tables = pairs.any(|pair| pair[1].rows_before <= pair[0].rows_before);
    experiment::check(&preview.search)?;
    Ok(Prepared {
        preview: trials::on_its_clock(preview.text(settings), &settings.run)?,
        cost: preview.usual(),
        experiment: preview.search,
        maker,
        first,
        workload,
        pauses,
        settle: settings.settle,
    })
}

/// Takes over the probes of the search to resume; returns its pauses.
fn resume(settings: &FindIntent, search: &mut SearchRecord) -> Result<Pauses, UserError> {
    let request = ResumeRequest {
        out: &settings.run.out,
        name: settings.resume.as_deref(),
        what: "a search",
        command: "find` run",
        definition: "its target, workload, objective, lengths, or seed",
        now: &settings.run.command,
        free: "--budget and --then",
        from: settings.resumed_from.as_deref(),
    };
    let of = |question| match question {
        Question::Search(search) => Some((search.definition_hash, search.probes)),
        Question::Tune(_) | Question::Group(_) | Question::Scale(_) => None,
    };
    let early = [ProbeVerdict::Interrupted, ProbeVerdict::TargetLost];
    let ended_early = |probe: &ProbeRecord| early.contains(&probe.verdict);
    let SearchRecord { definition_hash, probes, .. } = search;
    request.take_over(definition_hash, probes, of, ended_early, |probe| &mut probe.run)
}

/// Makes the probes' runs from the settings.
pub(super) struct ProbeRuns<'a> {
    settings: &'a FindIntent,
    workload: Arc<Workload>,
    urls: Vec<TargetUrl>,
    /// Whether the resumed search had new tables for each probe.
    needs_new_tables: bool,
}

impl ProbeRuns<'_> {
    /// The settings of a probe's run.
    fn run(&self, request: &Probe) -> RunIntent {
        let settings = self.settings;
        let mut run = settings.run.clone();
        let pace = match (request.at, settings.axis) {
            (None, _) if request.purpose == ProbePurpose::Estimate => PaceInput::Closed(None),
            (at, SearchAxis::Rate) => {
                let micro_per_s = round_to_u64(at.unwrap_or(1.0) * 1e6).max(1);
                PaceInput::Open(Rate { micro_per_s })
            }
            (at, SearchAxis::Sessions) => {
                PaceInput::Closed(Some(round_to_u32(at.unwrap_or(1.0)).max(1)))
            }
        };
        if let Some(stream) = run.plan.streams.get_mut(settings.searched) {
            stream.paces = vec![pace];
        }
        if request.purpose == ProbePurpose::Estimate {
            // How fast the whole cluster is.
            run.faults.0.clear();
            run.plan.objectives.retain(|objective| !objective.is_of_faults());
        }
        run
    }

    /// Whether a probe starts with recreated tables: the first one with `--drop`; later ones if they write and either
    /// the rows belong to the search or `--drop` is given.
    fn makes_tables(&self, request: &NextTrial<Probe>, plan: &Plan) -> bool {
        let drop = self.settings.run.options.drop;
        if request.is_first {
            return drop;
        }
        trials::writes(&self.workload, plan) && (drop || !request.tables_kept)
    }

    /// The plan of a probe.
    fn plan(&self, run: &RunIntent, probe: &Probe) -> Result<Plan, UserError> {
        let plan = prepare::plan(run, &self.workload, &self.urls)?;
        if probe.purpose != ProbePurpose::Estimate || self.settings.axis != SearchAxis::Rate {
            return Ok(plan);
        }
        // Closed load with all sessions that open load may use.
        let all = searched(self.settings, &plan).sessions;
        let mut run = run.clone();
        let stream = &mut run.plan.streams[self.settings.searched];
        stream.paces = vec![PaceInput::Closed(Some(all))];
        prepare::plan(&run, &self.workload, &self.urls)
    }
}

impl TrialMaker<Probe> for ProbeRuns<'_> {
    fn prepare<'a>(
        &'a self,
        request: &'a NextTrial<Probe>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        let mut run = self.run(&request.trial);
        let plan = self.plan(&run, &request.trial)?;
        Ok(PreparedTrial::new(plan, move |plan, directory| {
            let in_the_way =
                request.tables_kept && !run.options.drop && trials::writes(&self.workload, &plan);
            if self.needs_new_tables && in_the_way {
                let cause = "the tables hold rows, and the search had new tables for each probe";
                let hint = "drop these rows with --drop, or start a new search";
                return Err(UserError::usage(cause).with_hint(hint));
            }
            run.options.drop = self.makes_tables(request, &plan);
            // A simulated target gets another seed; rows and ops stay the same.
            let chances = self.settings.target_seed;
            run.seed.0 = run.seed.0.wrapping_add(chances);
            run.seed.0 = run.seed.0.wrapping_add(request.number.into());
            let stored = StoredPlan::new(plan, directory, Some(&place.experiment));
            prepare::request(&run, Arc::clone(&self.workload), stored, &self.urls)
        }))
    }
}

/// Marks the stream whose pace is searched for.
const SEARCHED: &str = "@find";
const PROBE: Seconds = Seconds { usual: 60, with_quick: 15 };
const CONFIRM: Seconds = Seconds { usual: 300, with_quick: 30 };
const BUDGET_WITH_QUICK: Nanos = Nanos::from_secs(900);
const TOLERANCE: Ppm = Ppm(20_000);
/// Results of short probes vary by several percent.
const TOLERANCE_WITH_QUICK: Ppm = Ppm(50_000);

/// Settings of a search.
#[derive(Debug)]
pub(crate) struct FindIntent {
    /// Settings shared by all probes. Its streams hold the fixed paces; the searched pace and the length differ per
    /// probe.
    pub(crate) run: RunIntent,
    /// The axis of the search.
    pub(crate) axis: SearchAxis,
    /// Index of the searched stream in the streams of the run.
    pub(crate) searched: usize,
    /// First value of the search.
    pub(crate) first: Option<f64>,
    /// Maximum probed value.
    pub(crate) max: Option<f64>,
    /// Maximum relative difference between the ends of the mark.
    pub(crate) tolerance: Ppm,
    /// Measured time of each probe.
    pub(crate) probe: Nanos,
    /// Measured time of each confirmation.
    pub(crate) confirm: Nanos,
    /// Idle time of the target between probes.
    pub(crate) settle: Nanos,
    /// Time for the whole search.
    pub(crate) budget: Nanos,
    /// Measured time of the soak after the search.
    pub(crate) soak: Option<Nanos>,
    /// Minimum for the mark.
    pub(crate) floor: Option<Rate>,
    /// `--errors` is absent, so no op may fail.
    pub(crate) no_errors: bool,
    /// Added to a simulated target's seed, so that searches within an experiment are independent.
    pub(crate) target_seed: u64,
    /// The directory of the search to resume, relative to this one's directory; absent if both are siblings.
    pub(crate) resumed_from: Option<String>,
    /// The search to resume.
    pub(crate) resume: Option<String>,
    /// Only print the preview.
    pub(crate) dry_run: bool,
}

impl FindIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let axis = layers.require("axis", parsers::axis)?;
        let (streams, searched) = streams(layers, axis)?;
        let probe = resolve::probe_length(layers, "probe", PROBE)?;
        let no_errors = layers.value("errors").is_none();
        let floor = layers.parse("min-rate", parse_rate)?;
        let mut for_runs = layers.clone();
        for_runs.add(Strength::Default, "rejected", "0", Origin::Default);
        let mut run = RunIntent::with_streams(&for_runs, streams, probe, StopRule::default())?;
        let objectives = &mut run.plan.objectives;
        objectives.retain(|objective| !matches!(objective, Objective::Throughput { .. }));
        let value = |name| value(layers, name, axis);
        let of_sessions = |value| (axis == SearchAxis::Sessions).then_some(value);
        let intent = Self {
            run,
            axis,
            searched,
            first: value("start")?.or(of_sessions(1.0)),
            max: value("max")?.or(of_sessions(SESSIONS_MAX.into())),
            tolerance: tolerance(layers)?,
            probe,
            confirm: resolve::probe_length(layers, "confirm", CONFIRM)?,
            settle: resolve::settle(layers)?,
            budget: budget(layers)?,
            soak: layers.parse("then", parsers::soak)?,
            floor,
            no_errors,
            target_seed: 0,
            resumed_from: None,
            resume: stored_files::resumed(layers)?,
            dry_run: layers.switch("dry-run")?,
        };
        if let (Some(first), Some(max), Some(given)) =
            (intent.first, intent.max, layers.value("max"))
            && first > max
        {
            return Err(given.failure(format!("{max} is below --start {first}")));
        }
        Ok(intent)
    }
}

/// A rough mark is available soon, or the search reports why not.
fn budget(layers: &Layers) -> Result<Nanos, UserError> {
    let given = layers.require("budget", parse_duration)?;
    let is_default = layers.value("budget").is_some_and(|of| of.origin == Origin::Default);
    let is_rough = is_default && layers.switch("quick")?;
    Ok(if is_rough { given.min(BUDGET_WITH_QUICK) } else { given })
}

fn tolerance(layers: &Layers) -> Result<Ppm, UserError> {
    let default = if layers.switch("quick")? { TOLERANCE_WITH_QUICK } else { TOLERANCE };
    let given = layers.parse("tolerance", parsers::tolerance)?;
    Ok(given.unwrap_or(default))
}

/// A value on the search axis.
fn value(layers: &Layers, name: &str, axis: SearchAxis) -> Result<Option<f64>, UserError> {
    match axis {
        SearchAxis::Rate => Ok(layers.parse(name, parse_rate)?.map(Rate::as_f64)),
        SearchAxis::Sessions => {
            let sessions = layers.parse(name, parsers::positive)?;
            match (sessions, layers.value(name)) {
                (Some(sessions), Some(given)) if sessions > SESSIONS_MAX => {
                    Err(given
                        .failure(format!("a load generator has {SESSIONS_MAX} sessions at most")))
                }
                _ => Ok(sessions.map(f64::from)),
            }
        }
    }
}

/// The streams with their fixed paces, and the index of the searched stream; a stream without a name is the workload's
/// first.
fn streams(layers: &Layers, axis: SearchAxis) -> Result<(Vec<StreamInput>, usize), UserError> {
    let given = layers.list("stream");
    let searched_pace = match axis {
        SearchAxis::Rate => PaceInput::Open(Rate::per_second(1)),
        SearchAxis::Sessions => PaceInput::Closed(Some(1)),
    };
    let mut streams: Vec<StreamInput> = Vec::new();
    let mut searched = None;
    for stream in given {
        let parsed = match stream.text.strip_suffix(SEARCHED) {
            Some(name) => {
                if searched.replace(streams.len()).is_some() {
                    return Err(stream
                        .failure("a second stream is marked `@find`")
                        .with_hint("one pace is searched while the others stay fixed"));
                }
                let name = (!name.is_empty()).then(|| name.to_owned());
                streams::at_one_pace(name, searched_pace)
            }
            None => fixed(stream)?,
        };
        if parsed.name.is_none() || streams.iter().any(|other| other.name == parsed.name) {
            let cause = format!("`{}` has no name of its own", stream.text);
            return Err(stream.failure(cause).with_hint("name each stream once"));
        }
        if streams.len() == MOST_STREAMS {
            return Err(stream.failure(format!("more than {MOST_STREAMS} streams")));
        }
        streams.push(parsed);
    }
    match (searched, given.last()) {
        (Some(searched), _) => Ok((streams, searched)),
        (None, Some(last)) => Err(last
            .failure("no stream is marked `@find`")
            .with_hint("write `--stream NAME@find` for the one whose pace is searched")),
        (None, None) => Ok((vec![streams::at_one_pace(None, searched_pace)], 0)),
    }
}

fn fixed(given: &SettingValue) -> Result<StreamInput, UserError> {
    let stream = given.parse(streams::stream)?.input;
    if stream.paces.len() > 1 {
        let cause = format!("`{}` has several paces", given.text);
        let hint = "a stream that is not searched has one pace";
        return Err(given.failure(cause).with_hint(hint));
    }
    Ok(stream)
}
