//! `highwater scale`: settings → sizes, each a search or a run → growth → exit code; one growth, or one per variant in
//! turns. Must not choose sizes.

mod intent;
mod planned_sizes;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use highwater_analysis::growth::{Candidate, Grown, chosen};
use highwater_driver::TargetUrl;
use highwater_driver::interrupts::Interrupts;
use highwater_experiment as experiment;
use highwater_experiment::scale::{Cluster, ReadyClusters, StartedCluster};
use highwater_experiment::{ExperimentRun, SizedTrial};
use highwater_model::display::duration;
use highwater_model::plan::Plan;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{GrowthVariant, ScaleEach, ScaleRecord};
use highwater_model::tune::TuneAxis;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_report::NamedGrowth;
use highwater_runner::store::RunDirectory;

use self::intent::{ClusterChoice, ScaleIntent};
use self::planned_sizes::{
    SharedCluster, SizedRuns, UnfinishedSearch, estimate, own_record, planned_growth, preview,
    resume,
};
use crate::commands::compare;
use crate::commands::tune::axes;
use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, CONFIG, DATA, DRY_RUN, LENGTH, LITERALS, LOAD, MAX_CPU,
    NO_COLOR, OBJECTIVES, OUTPUT, RATE, RETRIES, RUNNING, SESSIONS, SHARED, SHARES, STORED, TABLES,
    THINK, TIMEOUT, TUNED, WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, Reach, WORKLOAD_AND_TARGETS, flag};
use crate::intent::RunIntent;
use crate::layers::{Layers, Next, SettingValue, Strength};
use crate::prepare::trials::{self, Pauses, Prepared};
use crate::prepare::{self, stops};
use crate::variants::{self, NamedVariant, VARIANTS_MAX, set_axis};
use crate::{cluster_file, exit, line_streams, shares, terminal};

/// `highwater scale`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "scale",
    summary: "Measure how a target grows with its nodes, and predict the next size",
    usage: "--nodes SIZES [WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        ("Growth", GROWTH_FLAGS),
        ("Search or tuning at each size (--each find, --each tune)", SEARCH_FLAGS),
        (LOAD, LOAD_FLAGS),
        (LENGTH, LENGTH_FLAGS),
        (DATA, TABLES),
        (DATA, &[TUNED]),
        (DATA, RUNNING),
        (OBJECTIVES, BOUNDS),
        (OBJECTIVES, &[MAX_CPU]),
        (AUDIT, AUDITED),
        (SHARES, SHARED),
        (OUTPUT, STORED),
        (OUTPUT, &[CONFIG, NO_COLOR]),
    ],
    main_flags: Some(
        "nodes each cluster until price budget resume quick dry-run sessions duration drop p99 ui out",
    ),
    examples: "  highwater scale cpu 'sim:?nodes={nodes}&shards=60&replicas=0' --nodes 1..5 --p99 100ms
      the highest rate of rows within the objective at each of five sizes
  highwater scale cpu $URL --nodes 3,6,12 --each run --sessions 30,60,120 -d 10m
      the acknowledged throughput at three sizes, each with its own sessions; $URL contains {nodes}
  highwater scale cpu --cluster c.toml --nodes 1..3 --each run --grow
      a cluster from a cluster file, to which nodes are added; it is ended afterwards
  highwater scale cpu $URL --nodes 1..9 --start 100kn --until 1M --price 0.80
      up to the size that reaches 1,000,000 rows/s, and the price of a million rows
  highwater scale cpu $URL --nodes 1..5 --each tune --over shards=8..64 --over sessions=8..64
      the best shards and sessions at each size, to compare well-configured clusters
  highwater scale cpu --cluster c.toml --nodes 1..3 --each find --over replicas=0,1
      how the mark grows without a replica and with one, side by side
  highwater scale cpu --cluster '{variant}.toml' --variant old --variant new --nodes 1..3 --each run
      two versions of a database, each with its own cluster file, side by side
  highwater size 2M --from RUN
      the cluster that a rate needs, from the measured sizes

Settings may depend on the size: a list with a value for each, or an expression in n, such as \
-c 16n or --shards '8+8n'. So may --batch, --replicas, --rate, --start, --max, and --set NAME=VALUE.",
    run: |layers| {
        let all = ScaleIntent::resolve_all(layers)?;
        shares::report(layers)?;
        measure(&all)
    },
};

const GROWTH_FLAGS: &[Flag] = &[
    flag(
        "--nodes <SIZES>",
        "Measure these sizes, in ascending order, then the first one again: a range (1..5) or a \
         list (3,6,12,24) [required]",
    ),
    flag(
        "--each <KIND>",
        "Search for the mark at each size (find), run once (run), or find the best configuration \
         over the axes of --over (tune)",
    )
    .default("find"),
    flag(
        "--cluster <FILE>",
        "Start the cluster of this cluster file at each size, and end it afterwards. Without \
         --cluster, TARGET is a URL that contains {nodes}, and a cluster of each size must already \
         exist",
    ).reach(Reach::Shell),
    flag(
        "--no-quota",
        "Start the cluster's nodes without their CPU and memory quotas",
    ),
    flag(
        "--measure-nodes",
        "Before the first size, measure each node of the largest size alone, as a cluster of one, \
         for at most 15 s. Without this flag, up to 8 nodes are measured if the cluster file says \
         `alone = true`",
    ),
    flag("--no-measure-nodes", "Do not measure nodes alone"),
    flag(
        "--variant <NAME[=COMMAND]>...",
        "Measure this variant in turn with others, in random order at each size, and compare \
         them; each variant has its own record. {variant} in TARGET, FILE, COMMAND, or any setting \
         except -o stands for NAME; COMMAND is run in a shell before each size. Give two or more. \
         They share --budget evenly",
    ).next(Next::RepeatedCommand).reach(Reach::Shell),
    flag(
        "--fresh",
        "Use a new cluster for each size (the default)",
    ),
    flag(
        "--grow",
        "Add nodes to the running cluster, instead of using a new one for each size",
    ),
    flag(
        "--until <RATE>",
        "Stop at the first size that reaches RATE per second, in the stream's unit, such as 1M \
         [default: measure all sizes]",
    ),
    flag(
        "--price <AMOUNT>",
        "Set the price of one node for one hour, such as 0.80, to show the price of a million \
         units",
    ),
    flag(
        "--budget <DURATION>",
        "Limit the time of all sizes together, including the repeat of the first one, but not the \
         time to start clusters, restore data, and fill tables [default: no limit]",
    ),
    flag(
        "--settle <DURATION>",
        "Leave the target idle for DURATION between runs [default: 5s; 1s with --quick]",
    ),
    flag(
        "--resume <RUN>",
        "Resume this growth (named as for show) without repeating its sizes. All other flags must be \
         the same, except --nodes, which may add sizes, --until, --price, and --budget [default: \
         start a new one]",
    ).once().reach(Reach::File),
    flag("--quick", "Use shorter probes for a rough result"),
    DRY_RUN,
];

const SEARCH_FLAGS: &[Flag] = &[
    flag("--start <VALUE>", "Start at this rate [default: estimated with a closed-load probe]"),
    flag("--max <VALUE>", "Never probe above this rate [default: no limit]"),
    flag(
        "--tolerance <PERCENT>",
        "Stop narrowing when the highest confirmed and the lowest failed rate differ by at most \
         PERCENT, 0.5% to 50%",
    )
    .default("2%"),
    flag(
        "--probe <DURATION>",
        "Measure each probe for DURATION [default: 60s; 15s with --quick; of a tuning 20s and 5s]",
    ),
    flag(
        "--confirm <DURATION>",
        "Measure each of the three confirmations for DURATION [default: 5m; 30s with --quick]",
    ),
    flag(
        "--over <AXIS=VALUES>...",
        "Vary AXIS, as in `highwater tune`, such as batch=500..32k: with --each tune, in the \
         tuning at each size; otherwise each configuration is a variant, measured at every size",
    ),
    flag("--each-budget <DURATION>", "Limit the time of the probes at one size").default("1h"),
];

const LOAD_FLAGS: &[Flag] = &[
    SESSIONS,
    RATE,
    flag(
        "--stream <NAME[@PACE]>...",
        "Run stream NAME at PACE: a rate (1k, 50/s), 8c, or max; with --each find, @find marks the \
         stream to search [default: the first stream]",
    ),
    THINK,
    ARRIVALS,
    TIMEOUT,
    RETRIES,
    LITERALS,
];

const LENGTH_FLAGS: &[Flag] = &[
    flag("-d, --duration <DURATION>", "Measure for DURATION at each size, with --each run")
        .default("60s"),
    WARM_UP,
];

/// A growth to measure, whose maker needs a cluster.
struct Growth<'a> {
    settings: &'a ScaleIntent,
    prepared: Prepared<ScaleRecord, ()>,
    /// The growth to resume: the given name, or its path.
    resumed: Option<String>,
    /// The search to resume.
    unfinished: Option<UnfinishedSearch>,
}

impl<'a> Growth<'a> {
    fn new(settings: &'a ScaleIntent) -> Result<Self, UserError> {
        let (mut scale, first) = planned_growth(settings)?;
        let resumed = settings.resume.as_ref();
        let resumed = resumed.map(|name| own_record(settings, name)).transpose()?;
        let resumed = resumed.flatten();
        let (pauses, unfinished) = match &resumed {
            Some(name) => resume(settings, name, &mut scale)?,
            None => (Pauses::new(), None),
        };
        experiment::check(&scale)?;
        let prepared = Prepared {
            preview: trials::on_its_clock(preview(&scale), &settings.common_at(0)?)?,
            cost: Nanos(estimate(&scale)),
            experiment: scale,
            maker: (),
            first,
            workload: prepare::workload(&settings.common_at(0)?)?,
            pauses,
            settle: settings.settle,
        };
        Ok(Self { settings, prepared, resumed, unfinished })
    }

    /// Its variant.
    fn variant(&self) -> Option<&GrowthVariant> {
        self.prepared.experiment.variant.as_ref()
    }

    /// Its directory; the ID contains the variant's name.
    fn directory(&self) -> Result<RunDirectory, UserError> {
        let Prepared { experiment, first, .. } = &self.prepared;
        let mut id = prepare::id("scale", &first.workload.name, &experiment.definition_hash);
        if let Some(variant) = &self.settings.variant {
            id = format!("{id}-{}", variant.name);
        }
        prepare::directory(&self.settings.out, &shares::of_part(&id, &first.share), first)
    }
}

/// Measures at least one growth, and prints the records; returns the exit code.
fn measure(all: &[ScaleIntent]) -> Result<u8, UserError> {
    let mut growths = all.iter().map(Growth::new).collect::<Result<Vec<_>, _>>()?;
    expect_own_rows(&growths)?;
    let settings = growths[0].settings;
    let preview = previews(&growths);
    if settings.dry_run {
        return terminal::data(&preview).map(|()| exit::SUCCESS);
    }
    let Prepared { first, workload, .. } = &growths[0].prepared;
    prepare::warn_about_audit(workload, first);
    let seed = first.seed.0;
    let stops = stops()?;
    let interrupts = &stops.interrupts;
    let share = shares::of_experiment(&settings.common_at(0)?, &stops.interrupter)?;
    let clusters = clusters(all, interrupts)?;
    let observer = trials::observer(&settings.output, &preview, &stops)?;
    let directories = growths.iter().map(Growth::directory).collect::<Result<Vec<_>, _>>()?;
    name_all(&mut growths, &directories);
    let mut runs = Vec::new();
    for (growth, cluster) in growths.iter_mut().zip(&clusters) {
        let others = clusters.iter().filter(|other| !Rc::ptr_eq(other, cluster));
        runs.push(SizedRuns {
            settings: growth.settings,
            cluster: Rc::clone(cluster),
            others: others.cloned().collect(),
            unfinished: growth.unfinished.take(),
        });
    }
    let makers = runs.iter().zip(&directories);
    let sides = growths.into_iter().zip(makers).map(|(growth, (maker, directory))| {
        let Prepared { experiment, pauses, .. } = growth.prepared;
        let (directory, share) = (directory.clone(), share.clone());
        ExperimentRun { experiment, directory, maker, pauses, share }
    });
    let next = |trials: &[Option<&SizedTrial>]| chosen(&candidates(trials), seed);
    let settle = settings.settle;
    let records =
        experiment::run_side_by_side(sides.collect(), settle, &observer, interrupts, next);
    let ended = end(&clusters);
    let records = records.map_err(|failure| stopped(runs[0].located(failure), interrupts));
    // Ends the drawing.
    drop((runs, observer));
    let code = match &share {
        Some(share) if !share.is_first() => records.map(|_| exit::SUCCESS),
        _ => records.and_then(|records| printed(settings, &records, &directories)),
    };
    match (code, ended) {
        // A failure to end a cluster must be reported, whatever was measured.
        (Ok(exit::SUCCESS), Err(failure)) => Err(failure),
        (code, Err(failure)) => {
            terminal::warn(&failure.message);
            code
        }
        (code, Ok(())) => code,
    }
}

/// Rejects variants whose second would append to the first one's rows, because both write into the same tables of a
/// target.
fn expect_own_rows(growths: &[Growth<'_>]) -> Result<(), UserError> {
    let mut known: Vec<(&str, TargetUrl)> = Vec::new();
    // A target that is started for a size has no rows.
    for growth in growths.iter().filter(|of| of.settings.cluster.is_none()) {
        let Some(variant) = &growth.settings.variant else {
            continue;
        };
        let mut own = Vec::new();
        for at in 0..growth.settings.record.sizes.len() {
            let run = growth.settings.common_at(at)?;
            if at == 0 && !continues(&run, &growth.prepared.first)? {
                break;
            }
            own.extend(run.targets.iter().map(place));
        }
        let mut earlier = known.iter();
        if let Some((other, _)) = earlier.find(|(_, url)| own.contains(url)) {
            let cause = format!(
                "variants `{other}` and `{}` have one target, and one would continue after the other's rows",
                variant.name
            );
            let hint = "add --drop, or give each a target of its own, with {variant} in it";
            return Err(UserError::usage(cause).with_hint(hint));
        }
        known.extend(own.into_iter().map(|url| (variant.name.as_str(), url)));
    }
    Ok(())
}

/// Whether a run appends to existing rows.
fn continues(run: &RunIntent, plan: &Plan) -> Result<bool, UserError> {
    let workload = prepare::workload(run)?;
    let target = prepare::open(run, &run.targets, &run.out)?;
    let stores = target.capabilities().stores_values;
    Ok(stores && !run.options.drop && workload.tables() > 0 && trials::writes(&workload, plan))
}

/// The place where a target stores its tables, without other settings in its URL.
fn place(url: &TargetUrl) -> TargetUrl {
    const PLACES: [&str; 4] = ["dbname", "host", "port", "socket"];
    let mut place = url.clone();
    place.parameters.retain(|name, _| PLACES.contains(&name.as_str()));
    (place.user, place.password) = (None, None);
    place
}

/// If the user stops while nodes are starting, that is not a failure of the nodes.
fn stopped(mut failure: UserError, interrupts: &Interrupts) -> UserError {
    if failure.exit_code() == exit::TARGET && interrupts.requested().is_some() {
        failure.kind = UserErrorKind::Interrupted;
    }
    failure
}

fn candidates(trials: &[Option<&SizedTrial>]) -> Vec<Option<Candidate>> {
    trials
        .iter()
        .map(|trial| {
            trial.map(|trial| Candidate {
                purpose: trial.purpose,
                nodes: trial.node.unwrap_or(trial.size.nodes),
            })
        })
        .collect()
}

/// The previews of the first variant, which the others share.
fn previews(growths: &[Growth<'_>]) -> String {
    let first = growths[0].prepared.preview.clone();
    let names: Vec<&str> =
        growths.iter().filter_map(|of| Some(of.variant()?.name.as_str())).collect();
    if names.is_empty() {
        return first;
    }
    let all = growths.iter().map(|growth| growth.prepared.cost.0).fold(0, u64::saturating_add);
    format!(
        "{first}the same of each of {} variants, every size in random order: {}; {} in all\n",
        names.len(),
        names.join(", "),
        duration(all)
    )
}

/// Each record of a variant names the other variants, and the growth that it resumes.
fn name_all(growths: &mut [Growth<'_>], directories: &[RunDirectory]) {
    let names = growths
        .iter()
        .zip(directories)
        .filter_map(|(growth, of)| Some((growth.variant()?.name.clone(), of.id())));
    let all: BTreeMap<String, String> = names.collect();
    let resumed = growths.iter().filter_map(|growth| {
        let variant = growth.variant()?;
        let id = Path::new(growth.resumed.as_ref()?).file_name()?;
        Some((variant.name.clone(), id.to_string_lossy().into_owned()))
    });
    let before: BTreeMap<String, String> = resumed.collect();
    let variants = growths.iter_mut();
    for variant in variants.filter_map(|of| of.prepared.experiment.variant.as_mut()) {
        variant.all.clone_from(&all);
        variant.before.clone_from(&before);
    }
}

/// The clusters of each growth; growths of one cluster file share one.
fn clusters(all: &[ScaleIntent], interrupts: &Interrupts) -> Result<Vec<SharedCluster>, UserError> {
    let mut by_path: BTreeMap<&Path, SharedCluster> = BTreeMap::new();
    let mut clusters = Vec::new();
    for settings in all {
        let choice = settings.cluster.as_ref();
        let path = choice.map(|choice| choice.path.as_path());
        let known = path.and_then(|path| by_path.get(path)).cloned();
        let cluster = match known {
            Some(cluster) => cluster,
            None => Rc::new(RefCell::new(cluster(settings, interrupts)?)),
        };
        by_path.extend(path.map(|path| (path, Rc::clone(&cluster))));
        clusters.push(cluster);
    }
    Ok(clusters)
}

fn cluster(settings: &ScaleIntent, interrupts: &Interrupts) -> Result<Box<dyn Cluster>, UserError> {
    if let Some(ClusterChoice { path, spec, flags }) = &settings.cluster {
        let started = cluster_file::open(path, spec.clone(), *flags, interrupts.clone())?;
        return Ok(Box::new(StartedCluster::new(started)));
    }
    let mut by_nodes = BTreeMap::new();
    for (at, size) in settings.record.sizes.iter().enumerate() {
        by_nodes.insert(size.nodes, settings.common_at(at)?.targets);
    }
    Ok(Box::new(ReadyClusters { by_nodes }))
}

/// Ends all clusters, even if one fails; returns the first failure.
fn end(clusters: &[SharedCluster]) -> Result<(), UserError> {
    let ends: Vec<_> = clusters.iter().map(|cluster| cluster.borrow_mut().end()).collect();
    let failed = ends.into_iter().find_map(Result::err);
    failed.map_or(Ok(()), Err)
}

/// Prints the records and, if there are several, their comparison; returns the most severe exit code.
fn printed(
    settings: &ScaleIntent,
    records: &[Option<ExperimentRecord>],
    directories: &[RunDirectory],
) -> Result<u8, UserError> {
    let output = &settings.output;
    let mut code = exit::SUCCESS;
    let mut compared = Vec::new();
    for (record, directory) in records.iter().zip(directories) {
        let Some(record) = record else {
            // Stopped before its first size.
            code = exit::of_both(code, exit::INTERRUPTED);
            continue;
        };
        let shown = directory.path().display().to_string();
        code = exit::of_both(code, line_streams::record(output, record.into(), &shown)?);
        let variant = record.scale().and_then(|scale| scale.variant.as_ref());
        let named = variant.zip(Grown::from_record(record.into()));
        compared.extend(
            named.map(|(variant, growth)| NamedGrowth { name: variant.name.clone(), growth }),
        );
    }
    if compared.len() > 1 {
        let directory = directories[0].path();
        compare::variants_of_growths(output, compared, &settings.declared, directory)?;
    }
    Ok(code)
}

/// Placeholder for the variant's name in any setting.
const VARIANT: &str = "{variant}";

/// A variant and the settings of its growth.
struct VariantSettings {
    variant: NamedVariant,
    layers: Layers,
    /// Settings in which variants differ, as a comparison of growths names them.
    declared: BTreeSet<String>,
}

impl VariantSettings {
    fn new(variant: NamedVariant, layers: &Layers, axes: &[TuneAxis]) -> Result<Self, UserError> {
        let own = |text: &str| text.replace(VARIANT, &variant.name);
        let names: BTreeSet<String> = axes.iter().map(|axis| axis.name.clone()).collect();
        let declared = RefCell::new(names);
        let layers = layers.with_texts(|given| {
            if given.text.contains(VARIANT) {
                declared.borrow_mut().insert(compared_as(given));
            }
            Ok(own(&given.text))
        })?;
        let command = variant.command.as_deref().map(own);
        let declared = declared.into_inner();
        Ok(Self { layers, variant: NamedVariant { command, ..variant }, declared })
    }
}

/// The name of a setting in a comparison: of a workload's parameter, of all bounds, or of the flag.
fn compared_as(given: &SettingValue) -> String {
    let is_bound = BOUNDS.iter().chain([&MAX_CPU]).any(|flag| flag.name == given.name);
    match given.text.split_once('=') {
        Some((parameter, _)) if given.name == "set" => parameter.to_owned(),
        _ if is_bound => "objective".to_owned(),
        _ => given.name.to_owned(),
    }
}

/// The variants of `--variant`, or of `--over` if no tuning uses it; empty for a single growth.
fn variants(layers: &Layers) -> Result<Vec<VariantSettings>, UserError> {
    let named = variants::given(layers, false)?;
    let each = layers.value("each").map(|each| each.text.as_str());
    let is_tuned = each == Some(ScaleEach::Tune.name());
    // Axes in a settings file belong to tunings.
    let is_over = !is_tuned && layers.strength("over") == Some(Strength::CommandLine);
    let flag = match (is_over, named.len()) {
        (false, 0) => return Ok(Vec::new()),
        (true, 0) => "over",
        (true, _) => {
            let cause = "--variant and --over exclude each other, but with --each tune";
            let hint = "give each configuration as a variant, with {variant} in its settings";
            return Err(UserError::usage(cause).with_hint(hint));
        }
        (false, 1) => {
            let cause = "--variant: one variant has nothing beside it";
            return Err(UserError::usage(cause).with_hint("give two, or leave it out"));
        }
        (false, _) => "variant",
    };
    if layers.switch("grow")? {
        let cause = format!("--{flag} cannot be combined with --grow");
        let hint = "leave --grow out: each size of each variant has a new cluster";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    if is_over {
        return configurations(layers);
    }
    named.into_iter().map(|variant| VariantSettings::new(variant, layers, &[])).collect()
}

/// Each combination of the axes' values is a variant.
fn configurations(layers: &Layers) -> Result<Vec<VariantSettings>, UserError> {
    let axes = axes(layers)?;
    let plain = layers.without(&["over"]);
    let mut all = vec![(Vec::new(), plain)];
    for axis in &axes {
        let more = all.iter().flat_map(|(names, layers)| {
            let of_value = |value: &String| {
                let mut layers = layers.clone();
                set_axis(&mut layers, Strength::CommandLine, &axis.name, value);
                ([&names[..], &[name(axis, value)]].concat(), layers)
            };
            axis.values.iter().map(of_value)
        });
        all = more.collect();
    }
    if all.len() > VARIANTS_MAX {
        let cause = format!("--over: {} configurations, {VARIANTS_MAX} at most", all.len());
        let hint = "name fewer values, or tune each size with `--each tune`";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    let names: BTreeSet<&Vec<String>> = all.iter().map(|(names, _)| names).collect();
    if names.len() < all.len() {
        let cause = "--over: two configurations would have one name, as their values differ only in what no directory's \
                     name may have";
        let hint = "give them as variants, with {variant} in their settings";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    all.into_iter()
        .map(|(names, layers)| {
            let variant = NamedVariant { name: names.join("_"), command: None };
            VariantSettings::new(variant, &layers, &axes)
        })
        .collect()
}

/// A value as part of a directory's name.
fn name(axis: &TuneAxis, value: &str) -> String {
    let fit = |c: char| if variants::is_fit(c) { c } else { '-' };
    format!("{}-{value}", axis.name).chars().map(fit).collect()
}
