//! `highwater run`: plan → run → record → report → exit code; with `--repeat`, `--interleave`, and `--variant` a group of
//! runs → comparison → exit code. `highwater load` is a run that fills the tables of a workload.
//!
//! Must not measure, compare runs, or fill tables itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use highwater_analysis::group::run_at;
use highwater_driver::TargetUrl;
use highwater_driver::clock::wall_clock;
use highwater_driver::interrupts::Interrupts;
use highwater_experiment as experiment;
use highwater_experiment::GroupRun;
use highwater_experiment::trials::{NextTrial, PreparedTrial, TrialMaker, TrialPlace};
use highwater_live::Live;
use highwater_model::display::duration;
use highwater_model::fault::PlannedFault;
use highwater_model::group::{GroupRecord, GroupTrial, REPEAT_LABEL, VARIANT_LABEL, VariantRecord};
use highwater_model::judgment::RunEnding;
use highwater_model::plan::{Plan, StopRule};
use highwater_model::quantity::{parse_duration, print_instant};
use highwater_model::record::{Question, RunRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::leases::KeptLeases;
use highwater_runner::run as runner;
use highwater_runner::run::RunRequest;
use highwater_workload::Workload;

use crate::cluster_file::on_cluster;
use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, CLUSTER, CONFIG, DATA, DRY_RUN, FAULT, LENGTH, LITERALS,
    LOAD, MAX_CPU, MIN_RATE, NO_COLOR, OBJECTIVES, OF_FAULTS, OUTPUT, PLAN, PROGRESS, RATE,
    RETRIES, ROWS, RUNNING, SESSIONS, SHARED, SHARES, STORED, TABLES, THINK, TIMEOUT, TUNED,
    WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, Reach, WORKLOAD_AND_TARGETS, flag};
use crate::intent::{RunIntent, StartAt, parsers, resolve, streams};
use crate::layers::{Layers, Next};
use crate::line_streams::EventLog;
use crate::prepare::trials::{self, Pauses, Prepared, ResumeRequest, TrialOverhead};
use crate::prepare::{self, StoredPlan, stops};
use crate::progress::Progress;
use crate::{exit, line_streams, live, shares, stored_files, terminal, variants, workload_file};

/// `highwater run`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "run",
    summary: "Load a database, verify what it stored, and judge the result",
    usage: "[WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        (LOAD, LOAD_FLAGS),
        (LENGTH, LENGTH_FLAGS),
        (DATA, TABLES),
        (DATA, &[TUNED, CLUSTER]),
        (DATA, RUNNING),
        (OBJECTIVES, BOUNDS),
        (OBJECTIVES, &[MIN_RATE, MAX_CPU]),
        (OBJECTIVES, OF_FAULTS),
        (AUDIT, AUDITED),
        (SHARES, SHARED),
        (SHARES, &[START_AT]),
        ("Several runs", SEVERAL_RUNS_FLAGS),
        (OUTPUT, STORED),
        (OUTPUT, &[KEEP, PROGRESS, PLAN, CONFIG, NO_COLOR]),
    ],
    main_flags: Some(
        "sessions rate stream duration warm-up file set batch drop p99 errors audit ui out verbose",
    ),
    examples: "  highwater run
      workload cpu on a new embedded database, closed load, 20 s
  highwater run cpu $URL -c 64 -d 60s
      as fast as 64 sessions go
  highwater run cpu $URL --rate 50k -d 5m --p99 50ms --errors 0.1%
      a gate in a pipeline: the target must sustain 50,000 rows/s
  highwater run cpu $URL --stream insert@1k --stream dashboards@50,100,150,200 --step 5m
      steady ingest while the dashboards' rate rises in steps
  highwater run cpu $URL --stream dashboards@50c..200c:10m,think=1s
      a growing number of dashboard users, each of whom pauses one second between queries
  highwater run cpu $URL -d 1m..30m --until 'ci95<1%'
      until the throughput is known to 1%
  highwater run cpu $URL --drop --shards 12 --replicas 1 --with refresh_interval=5000
      new tables with 12 shards, one replica of each, and one more setting
  highwater run -f top.sql -f write.sql@3 $URL -c 50 --audit off
      your own statements on your own tables, mixed one to three
  highwater run kv --read-percent 0 -c 384 -d 2h URL1 … URL30
      workload parameters are flags too
  highwater run cpu --cluster lab.toml -c 64 -d 60s
      the cluster that `highwater cluster up lab.toml` started, whose nodes have CPU quotas
  highwater run cpu $URL --share 2/4 --start-at 2026-11-20T18:30:00Z
      the second of four load generators",
    run: |layers| {
        let settings = RepeatIntent::resolve(&on_cluster(layers)?)?;
        shares::report(layers)?;
        repeat(&settings)
    },
};

const KEEP: Flag = flag(
    "--keep",
    "Keep the embedded database of a run without a target, which is removed after a clean audit",
);

const LOAD_FLAGS: &[Flag] = &[
    SESSIONS,
    RATE,
    flag(
        "--stream <NAME[@PACE[,PACE…]]>...",
        "Run stream NAME at PACE: a rate per second in the stream's unit (1k, 50/s), 8c for 8 \
         closed sessions, or max for the default sessions. Several paces run as steps, and \
         50c..200c:10m as ten even steps within 10 minutes; 8c,think=1s pauses between ops [default: \
         the first stream, max]",
    ),
    THINK,
    ARRIVALS,
    flag(
        "--spawn-rate <N>",
        "Start N closed sessions per second, in a separate phase before the warm-up [default: all \
         at once]",
    ),
    flag(
        "--control <FILE>",
        "Execute commands during the load (change a rate or the sessions, note, stop): one JSON \
         object per line, from FILE, such as a named pipe, or from standard input (-)",
    )
    .once()
    .reach(Reach::File),
    TIMEOUT,
    RETRIES,
    LITERALS,
    FAULT,
];

const LENGTH_FLAGS: &[Flag] = &[
    flag("-d, --duration <DURATION>", "Measure for DURATION, or for MIN..MAX with --until")
        .default("20s"),
    flag(
        "--step <DURATION>",
        "Measure each step for DURATION, if a stream has several paces [default: --duration]",
    ),
    WARM_UP,
    ROWS,
    flag(
        "--until <PREDICATE>",
        "Stop early when PREDICATE holds: 'ci95<1%' (half-width of the throughput's 95% \
         confidence interval) or 'errors>100' (failed ops)",
    ),
    flag(
        "--abort-on-miss",
        "Stop when a latency, errors, or rejected objective can no longer be met, given the ops \
         expected in the rest of the phase; in closed load, from the middle of the phase on",
    ),
];

const START_AT: Flag = flag(
    "--start-at <TIME>",
    "Start at a time (2026-11-20T18:30:00Z) or after a delay (+10s) [default: now]",
)
.once();

const SEVERAL_RUNS_FLAGS: &[Flag] = &[
    flag("--repeat <N>", "Run N times, in one directory, to see run-to-run variation").default("1"),
    flag("--interleave <TARGET>", "Alternate runs with this second target and compare the two")
        .next(Next::RepeatedUrl)
        .reach(Reach::Outside),
    flag(
        "--variant <NAME=COMMAND>...",
        "Run COMMAND in a shell before each run of variant NAME, for example to restart the \
         target with another configuration. Give two or more to compare them",
    )
    .next(Next::RepeatedCommand)
    .reach(Reach::Shell),
    SETTLE,
    GROUP_BUDGET,
    GROUP_RESUME,
    DRY_RUN,
];

/// The idle time between the runs of a group.
pub(super) const SETTLE: Flag =
    flag("--settle <DURATION>", "Leave the target idle for DURATION between runs").default("0s");
/// The time of a group.
pub(super) const GROUP_BUDGET: Flag =
    flag("--budget <DURATION>", "Limit the time of all runs together [default: no limit]");
/// The group whose runs are taken over.
pub(super) const GROUP_RESUME: Flag = flag(
    "--resume <GROUP>",
    "Resume these runs (named as for show) without repeating those that were made. All other \
         flags must be the same, except --repeat, --settle, and --budget [default: start a new \
         group]",
)
.once()
.reach(Reach::File);

/// A run, or repetitions of it on one target or alternating between several targets.
#[derive(Debug)]
pub(crate) struct RepeatIntent {
    /// Common settings.
    pub(crate) run: RunIntent,
    /// Number of runs per variant.
    pub(crate) times: u32,
    /// At least one; the first is the baseline.
    pub(crate) variants: Vec<Variant>,
    /// Idle time of the target before each run except the first.
    pub(crate) settle: Nanos,
    /// Time for the whole group; absent: no limit.
    pub(crate) budget: Option<Nanos>,
    /// The group to resume.
    pub(crate) resume: Option<String>,
    /// Only print the preview.
    pub(crate) dry_run: bool,
}

/// One side of a comparison.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Name in the directory, and in the comparison.
    pub(crate) name: String,
    /// Its target.
    pub(crate) targets: Vec<TargetUrl>,
    /// Command that configures the target before each run.
    pub(crate) command: Option<String>,
    /// Its actions on the cluster; empty for those of the common settings.
    pub(crate) faults: Vec<PlannedFault>,
}

impl RepeatIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let run = RunIntent::resolve(layers)?;
        let times = layers.require("repeat", parsers::positive)?;
        let variant = |name: &str, targets: &[TargetUrl]| Variant {
            name: name.to_owned(),
            targets: targets.to_vec(),
            command: None,
            faults: Vec::new(),
        };
        let given = variants::given(layers, true)?.into_iter();
        let mut variants: Vec<Variant> = given
            .map(|given| Variant { command: given.command, ..variant(&given.name, &run.targets) })
            .collect();
        let second = layers.list("interleave");
        if !second.is_empty() && !variants.is_empty() {
            let message = "--interleave cannot be combined with --variant";
            return Err(UserError::usage(message).with_hint(
                "use --variant to restart one target, or --interleave to alternate with a second one",
            ));
        }
        if variants.is_empty() {
            variants.push(variant("a", &run.targets));
        }
        if !second.is_empty() {
            variants.push(variant("b", &resolve::targets(layers, second)?));
        }
        let mut settings = Self {
            run,
            times,
            variants,
            settle: layers.require("settle", parse_duration)?,
            budget: resolve::duration_above_zero(layers, "budget")?,
            resume: stored_files::resumed(layers)?,
            dry_run: layers.switch("dry-run")?,
        };
        let keeps = layers.switch("keep")?;
        settings.run.options.removes_database = settings.is_plain() && !keeps;
        settings.check()
    }

    /// Whether it is a single run.
    pub(crate) fn is_plain(&self) -> bool {
        let once = self.times == 1 && self.variants.len() == 1;
        once && self.variants[0].command.is_none() && self.resume.is_none() && !self.dry_run
    }

    fn check(self) -> Result<Self, UserError> {
        let is_plain = self.is_plain();
        let (message, hint) = if !is_plain && self.run.plan.share.of > 1 {
            let message = "--share cannot be combined with several runs";
            (message, "start each load generator once for each run")
        } else if !is_plain && self.run.control.is_some() {
            let message = "--control: commands are for one run, and several are to be made";
            (message, "leave out --repeat, --interleave, and --variant")
        } else if is_plain && (self.budget.is_some() || self.settle != Nanos::ZERO) {
            let message = "--budget and --settle are of several runs";
            (message, "add --repeat, such as --repeat 5")
        } else {
            return Ok(self);
        };
        Err(UserError::usage(message).with_hint(hint))
    }
}

/// Maximum runs that a preview lists.
const LISTED_MAX: usize = 40;

/// Executes one run, or a group of runs and their comparison.
pub(super) fn repeat(settings: &RepeatIntent) -> Result<u8, UserError> {
    if settings.is_plain() || settings.run.output.plan_only {
        return run(&settings.run);
    }
    let prepared = prepared(settings)?;
    if settings.dry_run {
        return prepared.show();
    }
    let (stops, hash) = (stops()?, prepared.experiment.definition_hash.clone());
    let (record, place) = prepared.measure(&settings.run, "group", &hash, &stops)?;
    stored_files::keep(&record.last_run);
    line_streams::record(&settings.run.output, (&record).into(), &place)
}

/// Prepares the group.
fn prepared(settings: &RepeatIntent) -> Result<Prepared<GroupRecord, VariantRuns<'_>>, UserError> {
    let workload = prepare::workload(&settings.run)?;
    let first = prepare::plan(&settings.run, &workload, &settings.variants[0].targets)?;
    let mut group = group(settings, &workload, &first)?;
    let pauses = resume(settings, &mut group)?;
    experiment::check(&group)?;
    // An action that is not possible must not end a group in its midst.
    for variant in settings.variants.iter().filter(|variant| !variant.faults.is_empty()) {
        let mut run = settings.run.clone();
        run.faults.0.clone_from(&variant.faults);
        prepare::plan(&run, &workload, &variant.targets)?;
    }
    let maker = VariantRuns { settings, workload: Arc::clone(&workload), urls: RefCell::default() };
    Ok(Prepared {
        preview: trials::on_its_clock(preview(&group), &settings.run)?,
        cost: Nanos(all_ns(&group)),
        experiment: group,
        maker,
        first,
        workload,
        pauses,
        settle: settings.settle,
    })
}

/// The group before its first run.
fn group(
    settings: &RepeatIntent,
    workload: &Workload,
    first: &Plan,
) -> Result<GroupRecord, UserError> {
    let records = settings.variants.iter().map(|variant| VariantRecord {
        name: variant.name.clone(),
        urls: variant.targets.iter().map(ToString::to_string).collect(),
        command: variant.command.as_deref().map(variants::shown),
        faults: variant.faults.clone(),
    });
    let mut run = settings.run.clone();
    run.targets.clone_from(&settings.variants[0].targets);
    let overhead = TrialOverhead::new(&run, settings.settle, workload, first)?;
    let stream = &first.streams[0];
    let mut group = GroupRecord {
        variants: records.collect(),
        times: settings.times,
        stream: stream.name.clone(),
        unit: stream.unit,
        settle_ns: settings.settle.0,
        budget_ns: settings.budget.map(|budget| budget.0),
        trial_cost_ns: overhead.of_run(first).0,
        definition_hash: String::new(),
        trials: Vec::new(),
        outcome: None,
    };
    group.definition_hash = group.hash(&first.hash());
    Ok(group)
}

/// Takes over the runs of the group to resume; returns its pauses.
fn resume(settings: &RepeatIntent, group: &mut GroupRecord) -> Result<Pauses, UserError> {
    let request = ResumeRequest {
        out: &settings.run.out,
        name: settings.resume.as_deref(),
        what: "a group of runs",
        command: "run --repeat`",
        definition: "its targets, commands, workload, lengths, or seed",
        now: &settings.run.command,
        free: "--repeat, --settle and --budget",
        from: None,
    };
    let of = |question| match question {
        Question::Group(group) => Some((group.definition_hash, group.trials)),
        Question::Search(_) | Question::Tune(_) | Question::Scale(_) => None,
    };
    let ended_early = |trial: &GroupTrial| trial.ended != RunEnding::Complete;
    let GroupRecord { definition_hash, trials, .. } = group;
    request.take_over(definition_hash, trials, of, ended_early, |trial| &mut trial.run)
}

/// Time of the remaining runs.
fn all_ns(group: &GroupRecord) -> u64 {
    (order(group).len() as u64).saturating_mul(group.trial_cost_ns)
}

/// The planned runs and their duration, without the time for filling tables, which is unknown before the first run.
fn preview(group: &GroupRecord) -> String {
    let order = order(group);
    let all = order.len() as u64;
    let most = trials::within_budget(all_ns(group), group.budget_ns);
    let mut listed: Vec<&str> = order.iter().take(LISTED_MAX).copied().collect();
    if order.len() > LISTED_MAX {
        listed.push("…");
    }
    let resumed = trials::resumed(group.trials.len(), "runs");
    let each = duration(group.trial_cost_ns);
    if let ([_], 1) = (group.variants.as_slice(), group.times) {
        return format!(
            "1 run of {}: about {each}, without the time for filling tables\n{resumed}",
            group.stream
        );
    }
    format!(
        "{all} runs of {}, {} of each variant: about {each} each, in all {most}, without the time for \
         filling tables\norder: {}\n{resumed}",
        group.stream,
        group.times,
        listed.join(" "),
    )
}

/// The variants of the remaining runs, if each ends as planned and time allows.
fn order(group: &GroupRecord) -> Vec<&str> {
    let made = group.trials.iter().filter(|t| t.ended == RunEnding::Complete).count();
    let all = group.runs() as usize;
    let variants = (made..all).map(|complete| run_at(group, complete).0);
    variants.map(|at| group.variants[at].name.as_str()).collect()
}

/// Makes the variants' runs from the settings.
struct VariantRuns<'a> {
    settings: &'a RepeatIntent,
    /// The same workload for all runs, regardless of their time.
    workload: Arc<Workload>,
    /// The targets of variants that have run, with their passwords.
    urls: RefCell<BTreeMap<usize, Vec<TargetUrl>>>,
}

impl VariantRuns<'_> {
    /// The targets of a variant's run. Before the variant's first command, there may be no target that could request a
    /// password.
    fn urls(&self, variant: usize, run: &RunIntent) -> Result<Vec<TargetUrl>, UserError> {
        if let Some(urls) = self.urls.borrow().get(&variant) {
            return Ok(urls.clone());
        }
        let urls = prepare::with_password(run)?;
        self.urls.borrow_mut().insert(variant, urls.clone());
        Ok(urls)
    }

    fn variant(&self, requested: &NextTrial<GroupRun>) -> &Variant {
        &self.settings.variants[requested.trial.variant]
    }

    /// The settings of a variant's run.
    fn run(&self, variant: &Variant) -> RunIntent {
        let mut run = self.settings.run.clone();
        if !variant.faults.is_empty() {
            run.faults.0.clone_from(&variant.faults);
        }
        run
    }
}

impl TrialMaker<GroupRun> for VariantRuns<'_> {
    fn prepare<'a>(
        &'a self,
        requested: &'a NextTrial<GroupRun>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        let variant = self.variant(requested);
        let run = self.run(variant);
        let plan = prepare::plan(&run, &self.workload, &variant.targets)?;
        Ok(PreparedTrial::new(plan, move |plan, directory| {
            variants::configure(&variant.name, variant.command.as_deref(), &place.interrupts)?;
            let mut run = run.clone();
            run.targets.clone_from(&variant.targets);
            if run.targets != self.settings.run.targets {
                run.options.telemetry.of_another_target();
            }
            let labels = [
                (VARIANT_LABEL, variant.name.clone()),
                (REPEAT_LABEL, requested.trial.round.to_string()),
            ];
            run.options.labels.extend(labels.map(|(name, value)| (name.to_owned(), value)));
            let urls = self.urls(requested.trial.variant, &run)?;
            // A simulated target gets another seed in each round; rows and ops stay the same.
            let round = u64::from(requested.trial.round - 1);
            run.seed.0 = run.seed.0.wrapping_add(round);
            let stored = StoredPlan::new(plan, directory, None);
            prepare::request(&run, Arc::clone(&self.workload), stored, &urls)
        }))
    }
}

/// Executes the run; returns the exit code.
pub(super) fn run(settings: &RunIntent) -> Result<u8, UserError> {
    let workload = prepare::workload(settings)?;
    let urls = prepare::with_password(settings)?;
    let plan = prepare::plan(settings, &workload, &urls)?;
    if settings.output.plan_only {
        let json = serde_json::to_string_pretty(&plan).unwrap_or_default();
        return terminal::data(&format!("{json}\n")).map(|()| exit::SUCCESS);
    }
    shares::check(settings)?;
    check_start(settings)?;
    prepare::warn_about_audit(&workload, &plan);
    prepare::report_length(settings, &workload, &plan);
    let log = EventLog::open(settings.output.events.as_ref())?;
    let stops = prepare::stops()?;
    let interrupter = stops.interrupter.clone();
    let (controller, controls) = line_streams::open(settings, stops.interrupter)?;
    let live = live::of_run(&settings.output.live, controller)?;
    let id = shares::id(workload.name(), &plan);
    let directory = prepare::directory(&settings.out, &id, &plan)?;
    let stored = StoredPlan::new(plan, directory, None);
    let request = prepare::request(settings, workload, stored, &urls)?;
    let meets = shares::meets(settings, &interrupter);
    let met = meets.clone();
    let request = RunRequest { controls, meets, ..request };
    let leases = request.meets.as_ref().map(|_| KeptLeases::default());
    let interrupts = stops.interrupts;
    let ended = execute(settings, request, interrupts.clone(), log.as_ref(), live, leases.clone());
    let code = match (leases.as_ref().zip(met), &ended) {
        (Some((leases, meets)), Ok((record, directory))) => {
            shares::conclude(settings, &meets, leases, record, directory, &interrupts.later())
        }
        _ => ended.and_then(|(record, directory)| {
            line_streams::record(&settings.output, (&record).into(), &directory)
        }),
    };
    if let Some(leases) = leases {
        leases.end();
    }
    code
}

/// Load generators with the same start time must start together; one that cannot reports it.
fn check_start(settings: &RunIntent) -> Result<(), UserError> {
    let Some(StartAt::Instant(start)) = settings.start_at else {
        return Ok(());
    };
    let late = wall_clock().saturating_sub(start);
    if late == Nanos::ZERO {
        return Ok(());
    }
    let message = format!("--start-at: {} was {} ago", print_instant(start), duration(late.0));
    let hint = "give a time at which every load generator is ready, such as a minute from now";
    Err(UserError::usage(message).with_hint(hint))
}

/// Executes the run, and returns the record and its directory.
fn execute(
    settings: &RunIntent,
    request: RunRequest,
    interrupts: Interrupts,
    log: Option<&Rc<EventLog>>,
    live: Option<Rc<Live>>,
    leases: Option<KeptLeases>,
) -> Result<(RunRecord, String), UserError> {
    let directory = request.directory.path().display().to_string();
    let observer = line_streams::observer(&settings.output, log, live, || {
        Rc::new(Progress::of_run(settings.output.progress))
    });
    let workload = Arc::clone(&request.workload);
    let end = runner::one_of(request, observer, interrupts, leases)
        .map_err(|error| workload_file::located(error, &settings.workload, &workload));
    let record = end?.record;
    stored_files::keep(&record);
    Ok((record, directory))
}

/// `highwater load`.
pub(crate) static LOAD_COMMAND: CommandSpec = CommandSpec {
    name: "load",
    summary: "Fill a workload's tables to a size for later runs, and verify what they hold",
    usage: "[WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        (LOAD, &[SESSIONS, RATE.help(RATE_HELP), TIMEOUT, RETRIES]),
        (LENGTH, &[ROWS.help(ROWS_HELP)]),
        (DATA, TABLES),
        (DATA, &[CLUSTER]),
        (DATA, RUNNING),
        (AUDIT, AUDITED),
        (OUTPUT, STORED),
        (OUTPUT, &[PROGRESS, PLAN, CONFIG, NO_COLOR]),
    ],
    main_flags: Some("sessions rate rows file set batch drop audit out json"),
    examples: "  highwater load sensors $URL --rows 314M
      fill the table; run the same command again to continue after an interruption
  highwater load kv $URL --rows 10M --batch 1
      the keys that later reads look up",
    run: |layers| run(&intent(&on_cluster(layers)?)?),
};

const RATE_HELP: &str =
    "Write RATE rows per second, such as 50k [default: as fast as the sessions go]";
const ROWS_HELP: &str = "Fill the table to N rows, including those it already holds, such as 314M \
                         [default: set by the workload, as --set rows=…]";

/// A load ends when all rows are written; this limit is never reached.
const WITHOUT_END: Nanos = Nanos::from_secs(365 * 86_400);

fn intent(layers: &Layers) -> Result<RunIntent, UserError> {
    let stop = StopRule {
        rows: layers.parse("rows", parsers::positive_long)?,
        fills: true,
        ..StopRule::default()
    };
    RunIntent::with_streams(layers, streams::first(layers)?, WITHOUT_END, stop)
}
