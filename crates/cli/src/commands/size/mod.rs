//! `highwater size`: makes a plan from figures and conditions.
//!
//! Selects series and fills in defaults. Must not compute; that is the core's job.

mod intent;

use std::collections::BTreeSet;
use std::io::Write as _;

use highwater_driver::system::create_without_waiting;
use highwater_model::group::VARIANT_LABEL;
use highwater_model::numbers::round_to_u32;
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_sizing::Guidance;
use highwater_sizing::cluster::{
    Basis, BasisError, Need, Origin, Reading, Request, SizeAxis, WithOrigin, size as plan,
};
use highwater_sizing::plausibility::{ModelRequest, audit};
use highwater_sizing::scaling::ScalingModel;
use highwater_sizing::series::{self, Point, SeriesSet};

use self::intent::{Conditions, RequestedRate, SizeIntent};
use crate::exit::{did_you_mean, suggestion};
use crate::grammar::flags::{CONFIG, FIGURES, MODEL, NO_COLOR, OUT, OUTPUT, VERBOSE};
use crate::grammar::{CommandSpec, Flag, Reach, flag, words};
use crate::{exit, figures, terminal};

/// `highwater size`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "size",
    summary: "Estimate the cluster that a rate needs, from measured or published figures",
    usage: "RATE...",
    positionals: &[words(
        "RATE",
        "Rate that the cluster must sustain: `1M` rows per second, `200q/s` queries per second, or \
         one of each; `500k..800k` if demand is uncertain",
    )],
    flags: FLAGS,
    main_flags: Some(
        "from assume nodes p99 confidence headroom growth months tolerate-failures replicas price retention json html",
    ),
    examples: // The text names databases, so it is a file and not code.
include_str!("examples.txt").trim_ascii_end(),
    run: |layers| size(&SizeIntent::resolve(layers)?),
};

/// Minimum number of sizes with which a sweep has its own growth.
const SIZES_THAT_SHOW_GROWTH: usize = 2;

/// Prints the plan.
fn size(settings: &SizeIntent) -> Result<u8, UserError> {
    let figures = figures::read(&settings.from, &settings.out)?;
    warn_about(&figures, settings.reading.model);
    let measured = figures.points;
    let published = series::published();
    let mut needs = Vec::new();
    for requested in &settings.rates {
        let requested = &in_unit_of(&measured, requested);
        needs.push(Need {
            per_s: requested.per_s.clone(),
            at_least_per_s: requested.at_least_per_s,
            basis: basis(settings, requested, &measured, &published)?,
        });
    }
    if needs.iter().any(|need| need.basis.axis != needs[0].basis.axis) {
        let cause = "--from: rows are by nodes and queries by vCPUs, or the other way round";
        return Err(UserError::usage(cause).with_hint("size each of them alone"));
    }
    check_vcpus(settings, &needs)?;
    let plan = plan(&request(settings, needs));
    if let Some(path) = &settings.html {
        let page = report::size_html(&plan, &settings.command);
        let written =
            create_without_waiting(path).and_then(|mut file| file.write_all(page.as_bytes()));
        written.map_err(|error| {
            UserError::usage(format!("--html: cannot write {}: {error}", path.display()))
        })?;
    }
    if settings.json {
        terminal::data(&report::size_json(&plan))?;
    } else {
        terminal::summary(&report::size_summary(&plan), settings.verbose)?;
    }
    Ok(if plan.nodes.reached { exit::SUCCESS } else { exit::MISSED })
}

/// Rejects `--vcpus` if nothing depends on it: only shards of rows, and the throughput of nodes with stated
/// vCPUs do.
fn check_vcpus(settings: &SizeIntent, needs: &[Need]) -> Result<(), UserError> {
    let has_use = |need: &Need| {
        let is_by_nodes = need.basis.axis == SizeAxis::Nodes;
        is_by_nodes && (need.basis.vcpus_per_node.is_some() || need.basis.counts_rows())
    };
    if settings.conditions.vcpus_per_node.is_none() || needs.iter().any(has_use) {
        return Ok(());
    }
    let (cause, hint) = match needs.first().map(|need| need.basis.axis) {
        Some(SizeAxis::Vcpus) => {
            ("the sizes count vCPUs themselves", "leave it out: the plan is in vCPUs of a machine")
        }
        _ => (
            "the figures do not say how many vCPUs the measured nodes had",
            "add a column `vcpus_per_node`, or label the runs with `--label vcpus_per_node=N`",
        ),
    };
    Err(UserError::usage(format!("--vcpus: {cause}")).with_hint(hint))
}

/// Shows the warnings about the figures before they are used.
fn warn_about(figures: &SeriesSet, model: Option<ScalingModel>) {
    for note in &figures.notes {
        terminal::warn(note);
    }
    let warnings = audit(figures, model.map(ModelRequest::new).as_ref());
    for warning in &warnings {
        terminal::warn(&format!(
            "{} ({}): {}",
            warning.rule.code(),
            warning.places.join(", "),
            warning.message
        ));
    }
    if !warnings.is_empty() {
        terminal::warn("run `highwater check` for details");
    }
}

fn basis(
    settings: &SizeIntent,
    requested: &RequestedRate,
    measured: &[Point],
    published: &[Point],
) -> Result<Basis, UserError> {
    let assumed = assumed(settings, requested, published)?;
    if settings.from.is_empty() {
        return assumed.ok_or_else(|| nothing_to_size_with(settings, requested, published));
    }
    let points = chosen(settings, requested, measured)?;
    let own = Basis::new(&points, &settings.reading).map_err(|error| {
        UserError::usage(format!("--from: {error}")).with_hint(match error {
            BasisError::Invalid => "name runs that ended by themselves, or repeat these",
            BasisError::NoNodes => {
                "add --nodes N, or a column `nodes` or `vcpus`; runs note it with --label nodes=N"
            }
            BasisError::TooSlow => "give a greater --p99, or measure at a lower rate",
            BasisError::Sweep(_) => "nodes and vCPUs are from 1, and throughputs above 0",
        })
    })?;
    match assumed {
        Some(published) => Ok(own.assuming(published.placement)),
        None if own.sweep.sizes().len() >= SIZES_THAT_SHOW_GROWTH => Ok(own),
        None => Ok(own.assuming(None)),
    }
}

/// A rate without a unit has that of the figures.
fn in_unit_of(measured: &[Point], requested: &RequestedRate) -> RequestedRate {
    let mut requested = requested.clone();
    let has_rows = measured.is_empty() || measured.iter().any(Point::counts_rows);
    requested.rows &= has_rows || !requested.is_bare;
    requested
}

fn unit(requested: &RequestedRate) -> &'static str {
    if requested.rows { "rows/s" } else { "queries/s" }
}

/// Whether a point counts the same as the requested rate: rows, or anything else per second.
fn counts_same(requested: &RequestedRate, point: &Point) -> bool {
    point.counts_rows() == requested.rows && point.unit.ends_with("/s")
}

/// The published system of this kind whose growth is assumed; `None` if none is named.
fn assumed(
    settings: &SizeIntent,
    requested: &RequestedRate,
    published: &[Point],
) -> Result<Option<Basis>, UserError> {
    let mut of_kind: Vec<&str> = Vec::new();
    for name in &settings.assume {
        let series = published_series(name, published)?;
        let points = published.iter().filter(|point| point.series == series);
        if points.filter(|point| counts_same(requested, point)).count() > 0
            && !of_kind.contains(&series)
        {
            of_kind.push(series);
        }
    }
    let series = match of_kind[..] {
        [] => return Ok(None),
        [series] => series,
        _ => {
            let (both, unit) = (of_kind.join(" and "), unit(requested));
            let cause = format!("--assume: {both} are both of {unit}");
            let hint = "assume one series of rows and one of queries";
            return Err(UserError::usage(cause).with_hint(hint));
        }
    };
    let points = published
        .iter()
        .filter(|point| point.series == series)
        .filter(|point| counts_same(requested, point));
    let points: Vec<&Point> = points.collect();
    // The user's objectives and errors only apply to the user's own points.
    let reading = Reading {
        replica_cost: settings.reading.replica_cost,
        model: settings.reading.model,
        published: true,
        ..Reading::default()
    };
    let basis = Basis::new(&points, &reading);
    basis
        .map(|basis| Some(basis.assuming(None)))
        .map_err(|error| UserError::usage(format!("--assume: {error}")))
}

/// A published series by its name, if it shows growth.
fn published_series<'a>(name: &str, published: &'a [Point]) -> Result<&'a str, UserError> {
    let names: Vec<&str> = [growing(published, true), growing(published, false)].concat();
    if let Some(series) = names.iter().find(|series| **series == name) {
        return Ok(series);
    }
    let such_as = || format!("such as {}", choice(published, true));
    let hint = suggestion(did_you_mean(name, names), such_as);
    let cause = format!("--assume: no published series `{name}` has several sizes");
    Err(UserError::usage(cause).with_hint(hint))
}

/// Names of published series that were measured with several numbers of nodes.
fn growing(published: &[Point], rows: bool) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for point in published.iter().filter(|point| point.counts_rows() == rows) {
        let others = published.iter().filter(|other| other.series == point.series);
        let sizes = others.filter_map(|other| other.nodes().map(f64::to_bits));
        if sizes.collect::<BTreeSet<u64>>().len() > 1 && !names.contains(&point.series.as_str()) {
            names.push(&point.series);
        }
    }
    names
}

/// Some of the published series, as flags.
fn choice(published: &[Point], rows: bool) -> String {
    const SHOWN: usize = 3;
    let names = growing(published, rows);
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>();
    let more = names.len() - shown.len();
    let others = if more > 0 {
        format!(" (or one of {more} others: docs/guide/size.md)")
    } else {
        String::new()
    };
    format!("--assume {}{others}", shown.join(" or --assume "))
}

fn nothing_to_size_with(
    settings: &SizeIntent,
    requested: &RequestedRate,
    published: &[Point],
) -> UserError {
    let hint = format!(
        "measure some sizes and give them with --from, or take those of a published system: {}",
        choice(published, requested.rows)
    );
    let cause = match &settings.assume[..] {
        [] => format!("no figures for {}", unit(requested)),
        names => {
            format!("--assume: `{}` has no figures for {}", names.join("`, `"), unit(requested))
        }
    };
    UserError::usage(cause).with_hint(hint)
}

/// The distinct names, in alphabetical order.
fn distinct<N: Ord>(names: impl Iterator<Item = N>) -> Vec<N> {
    let names: BTreeSet<N> = names.collect();
    names.into_iter().collect()
}

/// The name of a point's series; variants of one target are different series.
fn series_of(point: &Point) -> String {
    let variant = point.settings.get(VARIANT_LABEL);
    variant.map_or_else(|| point.series.clone(), |variant| format!("{} {variant}", point.series))
}

/// Rejects a name that no series has.
fn check_series(settings: &SizeIntent, measured: &[Point]) -> Result<(), UserError> {
    let is_known = |name: &&String| {
        let mut points = measured.iter();
        points.any(|point| series_of(point).starts_with(name.as_str()))
    };
    let Some(unknown) = settings.series.iter().find(|name| !is_known(name)) else {
        return Ok(());
    };
    let names = distinct(measured.iter().map(series_of));
    let cause = format!("--series {unknown}: the figures have no series of this name");
    Err(UserError::usage(cause).with_hint(format!("there are {}", names.join(", "))))
}

/// The points of the one selected series.
fn chosen<'a>(
    settings: &SizeIntent,
    requested: &RequestedRate,
    measured: &'a [Point],
) -> Result<Vec<&'a Point>, UserError> {
    check_series(settings, measured)?;
    let of_kind: Vec<&Point> =
        measured.iter().filter(|point| counts_same(requested, point)).collect();
    if measured.is_empty() {
        return Err(UserError::usage("--from: nothing there has a figure").with_hint(
            "a search without a mark, or a run that acknowledged nothing, has none; name other runs, or a CSV file",
        ));
    }
    if of_kind.is_empty() {
        let units = distinct(measured.iter().map(|point| point.unit.as_str()));
        return Err(UserError::usage(format!("--from: no figures for {}", unit(requested)))
            .with_hint(format!("the figures are in {}", units.join(", "))));
    }
    let named = |point: &&&Point| {
        let mut names = settings.series.iter();
        names.any(|name| series_of(point).starts_with(name.as_str()))
    };
    let by_name: Vec<&Point> = of_kind.iter().filter(named).copied().collect();
    let candidates = if by_name.is_empty() { of_kind } else { by_name };
    let names = distinct(candidates.iter().map(|point| series_of(point)));
    // An exact match has precedence over longer names with this prefix.
    let exact = settings.series.iter().find(|name| names.contains(name));
    match exact {
        _ if names.len() == 1 => Ok(candidates),
        Some(exact) => {
            let of_exact = candidates.iter().filter(|point| series_of(point) == **exact);
            Ok(of_exact.copied().collect())
        }
        None => {
            let cause = format!("--from: {} series of {}", names.len(), unit(requested));
            let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
            let hint = format!("choose one: --series {}", names.join(" or --series "));
            Err(UserError::usage(cause).with_hint(hint))
        }
    }
}

fn request(settings: &SizeIntent, needs: Vec<Need>) -> Request {
    let given = settings.conditions.clone();
    let first = |of: &dyn Fn(&Basis) -> Option<f64>| {
        let mut measured = needs.iter().map(|need| &need.basis);
        measured
            .find_map(|basis| Some(WithOrigin { value: of(basis)?, origin: basis.origin.clone() }))
    };
    let stored = first(&|basis| basis.stored_bytes_per_row.filter(|_| basis.counts_rows()));
    let sent = first(&|basis| basis.sent_bytes_per_row.filter(|_| basis.counts_rows()));
    Request {
        replicas: given.replicas.clone().unwrap_or_else(|| measured_replicas(&needs)),
        guidance: guidance(&given, &needs),
        probability: given.probability,
        spare: given.headroom,
        growth_per_month: given.growth_per_month,
        months: given.months,
        survive: given.tolerated_failures,
        vcpus_per_node: given.vcpus_per_node,
        retention_s: given.retention_s,
        stored_bytes_per_row: given.stored_bytes_per_row.or(stored),
        sent_bytes_per_row: given.sent_bytes_per_row.or(sent),
        bytes_per_answer: given.bytes_per_answer,
        price_per_node_hour: given.price_per_node_hour,
        squares: settings.squares,
        needs,
    }
}

fn measured_replicas(needs: &[Need]) -> WithOrigin<u32> {
    let measured = needs.iter().find(|need| need.basis.counts_rows()).or(needs.first());
    measured.map_or_else(
        || WithOrigin::assumed(0, "none is stated"),
        |need| {
            let WithOrigin { value, origin } = &need.basis.replicas;
            WithOrigin { value: round_to_u32(*value), origin: origin.clone() }
        },
    )
}

/// The recommendations for the measured database, replaced by the given values.
fn guidance(given: &Conditions, needs: &[Need]) -> WithOrigin<Guidance> {
    let engine = needs.iter().find_map(|need| need.basis.engine.as_deref());
    let advised = Guidance::for_engine(engine).map(|advice| WithOrigin {
        origin: Origin::Published(advice.source.clone()),
        value: advice,
    });
    let general = || {
        let general = Guidance::general();
        WithOrigin::assumed(general.clone(), &general.source)
    };
    let mut guidance = advised.unwrap_or_else(general);
    let values = &mut guidance.value;
    values.are_shards_given = given.shards_per_vcpu.is_some();
    for (given, value) in [
        (&given.shards_per_vcpu, &mut values.shards_per_vcpu),
        (&given.shard_bytes, &mut values.greatest_shard_bytes),
        (&given.disk_fill, &mut values.greatest_disk_fill),
    ] {
        if let Some(given) = given {
            *value = given.value;
        }
    }
    guidance
}

/// The flags, grouped by heading.
const FLAGS: &[(&str, &[Flag])] = &[
    (FIGURES, FIGURES_FLAGS),
    ("Conditions", CONDITIONS_FLAGS),
    ("Cluster", CLUSTER_FLAGS),
    ("Rows and responses", ROWS_AND_RESPONSES_FLAGS),
    (OUTPUT, OUTPUT_FLAGS),
];

const FIGURES_FLAGS: &[Flag] = &[
    flag(
        "--from <FILE|RUN>...",
        "Use measured throughputs from a CSV file, a run, or a directory of runs [default: \
         --assume alone]",
    )
    .reach(Reach::File),
    flag(
        "--series <NAME>...",
        "Use only this series of the files, by name or unique prefix [default: the only one of \
         its unit]",
    ),
    flag(
        "--assume <NAME>...",
        "Assume that throughput grows as in published clusters (the default with one measured \
         size), and use the throughputs of this published series if --from gives none. Give it \
         once for \
         rows and once for queries",
    ),
    flag(
        "--nodes <N>",
        "Set the number of nodes of the measured cluster, if a run or file does not state it",
    ),
    flag(
        "--error <PERCENT>",
        "Set the standard deviation of one measurement, at least 3% [default: from sizes measured \
         several times, else 3%]",
    ),
    flag(
        "--replica-cost <PERCENT>",
        "Set the cost of writing a replica, relative to the primary [default: as measured, else \
         67% for rows, 5% to 122%, and 0% for queries]",
    ),
    MODEL,
    flag(
        "--squares <KIND>",
        "Minimize relative or absolute squares in the fits shown; predictions do not depend on it",
    )
    .default("relative"),
];

const CONDITIONS_FLAGS: &[Flag] = &[
    flag(
        "--p99 <DURATION>...",
        "Use only points with p99 latency of at most DURATION; the last one counts",
    ),
    flag("--confidence <PERCENT>", "Plan enough nodes with a probability of at least PERCENT")
        .default("95%"),
    flag("--headroom <PERCENT>", "Keep PERCENT of the capacity free").default("0%"),
    flag("--growth <PERCENT>", "Let the rates grow by PERCENT per month").default("0%"),
    flag("--months <N>", "Plan a cluster that is still large enough in N months").default("12"),
    flag("--tolerate-failures <N>", "Sustain the rates while N nodes are down").default("0"),
];

const CLUSTER_FLAGS: &[Flag] = &[
    flag(
        "--replicas <N>",
        "Plan N replicas of each shard [default: as measured, and at least --tolerate-failures]",
    ),
    flag(
        "--vcpus <N>",
        "Plan nodes with N vCPUs; throughput is scaled in proportion [default: as measured]",
    ),
    flag(
        "--price <AMOUNT>",
        "Set the price of one node for one hour, such as 0.80, or of one vCPU if sizes count vCPUs",
    ),
    flag(
        "--shards-per-vcpu <N>",
        "Plan N primary shards being written per vCPU [default: as the database's vendor advises]",
    ),
    flag(
        "--shard-size <BYTES>",
        "Keep shards at or below BYTES, such as 50GB [default: as the database's vendor advises]",
    ),
    flag(
        "--disk-fill <PERCENT>",
        "Fill disks to at most PERCENT [default: as the database's vendor advises]",
    ),
];

const ROWS_AND_RESPONSES_FLAGS: &[Flag] = &[
    flag(
        "--retention <DURATION>",
        "Keep rows for DURATION, such as 90d, 12w, or 2y [default: disk is not sized]",
    ),
    flag(
        "--bytes-per-row <BYTES>",
        "Set the size of one copy of a row on disk [default: as measured, else disk is not sized]",
    ),
    flag(
        "--sent-bytes-per-row <BYTES>",
        "Set the size of a row as sent [default: as stated in the files, else network is not \
         sized]",
    ),
    flag(
        "--bytes-per-answer <BYTES>",
        "Set the size of a query's response [default: network is not sized]",
    ),
];

const OUTPUT_FLAGS: &[Flag] = &[
    VERBOSE,
    flag("--json", "Print the plan as JSON instead of the report"),
    flag("--html <FILE>", "Also write the plan as an HTML page to FILE").reach(Reach::File),
    OUT,
    CONFIG,
    NO_COLOR,
];
