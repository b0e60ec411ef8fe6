//! How often stated confidence levels held: the tables of `docs/concepts/accuracy.md`, and `cargo xtask accuracy FILE`
//! for a user's own series.
//!
//! Formats scores computed by other crates. Must not predict.

use highwater_analysis::comparison::accuracy as comparing;
use highwater_analysis::search::accuracy::{Kind, Levels, cluster, levels};
use highwater_analysis::synthetic::seeds_of_version;
use highwater_analysis::throughput::accuracy::{self as steady, Level};
use highwater_model::display;
use highwater_sizing::series;

use crate::sizes::{
    Case, Outcome, ScaledSeries, Score, assumed_cases, cases, counts_nodes, kept_apart, refitted,
};

/// Series of each process.
const SERIES: u64 = 2_000;
/// Number of searches per kind of target.
const SEARCHES: u64 = 500;
/// Number of clusters per range of rates; their ops are simulated.
const CLUSTERS: u64 = 30;
/// Number of pairs of groups of runs.
const PAIRS: u64 = 2_000;

/// The head of a table with these columns, separated by bars.
pub(crate) fn head(columns: &str) -> String {
    let rule = "---|".repeat(columns.split('|').count());
    format!("| {columns} |\n|{rule}\n")
}

/// The table of predictions of larger sizes, on the library of published series.
pub fn sizes() -> String {
    let mut text = table(&ScaledSeries::from_points(&series::library()));
    text += &rows_apart(&cases(&kept_apart()));
    let everywhere = assumed_cases(&ScaledSeries::from_points(&series::everywhere()));
    if let Some(score) = Score::from_cases(everywhere.iter()) {
        text += &line("assumed growth, every node holds all rows (fitted on these)", &score);
    }
    text
}

/// How often intervals of a throughput and of its drift contain the true value.
pub fn throughput() -> String {
    let mut text =
        head("process | throughput held | too low | too high | drift held | no interval");
    let processes = steady::documented();
    let levels: Vec<Level> = processes.iter().map(level).collect();
    let number = f64::from(u32::try_from(levels.len()).unwrap_or(u32::MAX));
    let mean = |of: fn(&Level) -> f64| levels.iter().map(of).sum::<f64>() / number;
    let mut line = |name: &str, of: [f64; 5]| {
        let cells = of.map(|percent| format!("{percent:.1}%"));
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    };
    for (process, level) in processes.iter().zip(&levels) {
        line(&process.name, ROW.map(|of| of(level)));
    }
    line("all", ROW.map(mean));
    text
}

type Figure = fn(&Level) -> f64;

const ROW: [Figure; 5] = [
    |level| 100.0 - level.misses,
    |level| level.too_low,
    |level| level.misses - level.too_low,
    |level| 100.0 - level.drift_misses,
    |level| 100.0 - level.known,
];

/// How often series with a drift are called steady or not steady.
pub fn drift() -> String {
    let mut text = head("process | steady | not steady | not shown");
    for process in &steady::documented_drifts() {
        let Level { steady, not_steady, .. } = level(process);
        text += &format!(
            "| {} | {steady:.1}% | {not_steady:.1}% | {:.1}% |\n",
            process.name,
            100.0 - steady - not_steady
        );
    }
    text
}

/// How often confirmed values and estimates of searches hold.
pub fn marks() -> String {
    let mut text = head(
        "limited by | within 3% below and 2% above | above that | middle | estimates held | half-width",
    );
    let mut line = |name: &str, found: &Levels| {
        let percent = |part: f64| format!("{:.1}%", 100.0 * part);
        text += &format!(
            "| {name} | {} of {} | {} | {} | {} of {}: {} | {} |\n",
            found.near,
            found.searches,
            found.too_high,
            display::percent_signed(found.median_confirmed()),
            found.held,
            found.estimated,
            percent(found.held_part()),
            percent(found.median_half_width()),
        );
    };
    let mut all = Levels::default();
    for (kind, fractions) in Kind::ALL {
        for allowed in fractions {
            let found = levels(kind, *allowed, seeds_of_version(SEARCHES));
            line(&limit(kind, *allowed), &found);
            all.merge(&found);
        }
    }
    line("all", &all);
    text
}

/// The same at typical rates of batches.
pub fn batches() -> String {
    let mut text = head(
        "ops per second | as announced | within 5% | within 3% below and 2% above | above that | without a mark | middle | estimates held | half-width",
    );
    for rates in cluster::RATES {
        let found = cluster::levels(rates, seeds_of_version(CLUSTERS));
        let percent = |part: f64| format!("{:.1}%", 100.0 * part);
        let [lowest, highest] = [rates.0, rates.1].map(display::plain);
        text += &format!(
            "| {lowest} to {highest} | {} of {} | {} of {} | {} | {} | {} | {} | {} of {}: {} | {} |\n",
            found.as_announced,
            found.promised,
            found.within_5(),
            found.searches,
            found.near,
            found.too_high,
            found.without,
            display::percent_signed(found.median_confirmed()),
            found.held,
            found.estimated,
            percent(found.held_part()),
            percent(found.median_half_width()),
        );
    }
    text
}

/// How often comparisons of groups of runs are wrong, and how often they find a planted difference.
pub fn comparisons() -> String {
    let mut text = head(
        "runs in each group | noise between runs | the second group | any figure called different | throughput called better | by Welch's test alone",
    );
    for (runs, spread, faster) in [
        (3, 0.02, 1.0),
        (5, 0.02, 1.0),
        (10, 0.02, 1.0),
        (3, 0.2, 1.0),
        (10, 0.2, 1.0),
        (3, 0.02, 1.1),
        (5, 0.02, 1.05),
        (10, 0.02, 1.03),
    ] {
        let case = comparing::Case { runs, spread, faster };
        let found = case.rates(PAIRS, &comparing::draws("documented"));
        let noise = display::percent_plain(spread);
        let second = if faster > 1.0 {
            format!("{} faster", display::percent_plain(faster - 1.0))
        } else {
            "equal".to_owned()
        };
        text += &format!(
            "| {runs} | {noise} | {second} | {:.1}% | {:.1}% | {:.1}% |\n",
            found.different, found.better, found.welch
        );
    }
    text
}

fn limit(kind: Kind, allowed: f64) -> String {
    let percentile = display::percent_plain(1.0 - allowed).replace('%', "");
    match kind {
        Kind::Queue => format!("p{percentile}, queues of 1 to 32 servers"),
        Kind::HeavyTail => format!("p{percentile}, heavy tails"),
        Kind::Stalls => format!("p{percentile}, stalls at any rate"),
        Kind::Capacity => "the capacity".to_owned(),
        Kind::Errors => "failing ops".to_owned(),
        Kind::Rejections => "rejections of a full queue".to_owned(),
    }
}

fn level(process: &steady::Process) -> Level {
    process.level(seeds_of_version(SERIES))
}

/// Every prediction for the library's series by nodes or shards, with the measured value.
pub fn clusters() -> String {
    let mut text = head("series | known | predicted | measured |");
    let series = ScaledSeries::from_points(&series::library());
    for case in cases(&series).iter().filter(|case| counts_nodes(&case.axis)) {
        let of_name = series.iter().find(|series| series.name == case.series);
        let sizes = of_name.map_or(&[][..], |series| series.sweep.sizes());
        let known: Vec<String> =
            sizes[..case.known].iter().map(|size| display::plain(size.size)).collect();
        let largest = sizes[case.known - 1].size;
        let predicted = case.predicted;
        text += &format!(
            "| {} | {} | {} {}: {} (90% interval {} to {}) | {} | {} |\n",
            case.series,
            known.join(", "),
            display::plain(case.times * largest),
            case.axis,
            display::about(predicted.expected),
            display::about(predicted.low),
            display::about(predicted.high),
            display::about(case.measured),
            if predicted.holds(case.measured) { "held" } else { "missed" },
        );
    }
    text
}

/// The table for a file of series with the columns `series`, `source`, `size` (or `nodes`), `axis`, and a throughput.
pub fn of_file(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let set = series::read(&text).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        format!("{path}: {}", lines.join("\n"))
    })?;
    Ok(table(&ScaledSeries::from_points(&set.points)))
}

fn table(series: &[ScaledSeries]) -> String {
    let all = cases(series);
    let fitted = refitted(&all);
    let assumed = assumed_cases(series);
    let mut text = head(
        "predictions | series | sources | held, by series | held | below | above | half-width | score",
    );
    let mut add = |name: &str, cases: &[Case], of: &dyn Fn(&Case) -> bool| {
        text += &row(name, cases, of);
    };
    add("each source left out", &fitted, &|_| true);
    add("each source left out, a doubling", &fitted, &is_doubling);
    add("each source left out, from 3 sizes", &fitted, &|case| case.known == 3);
    add("all", &all, &|_| true);
    add("by nodes or shards", &all, &|case| counts_nodes(&case.axis));
    add("near-linear so far", &all, &|case| case.near_linear);
    add("near-linear so far, a doubling", &all, &|case| case.near_linear && case.times >= 2.0);
    add("a doubling", &all, &is_doubling);
    add("from 2 sizes", &all, &|case| case.known == 2);
    add("from 3 sizes", &all, &|case| case.known == 3);
    add("from 4 or 5 sizes", &all, &|case| matches!(case.known, 4 | 5));
    add("from 6 sizes or more", &all, &|case| case.known > 5);
    for (name, outcome) in [
        ("turned out saturating", Outcome::Saturating),
        ("turned out sub-linear", Outcome::Sublinear),
        ("turned out near-linear", Outcome::NearLinear),
    ] {
        add(name, &all, &|case| case.outcome == outcome);
    }
    add("assumed growth, from 1 size", &assumed, &|_| true);
    text
}

/// The rows of the validation series.
fn rows_apart(cases: &[Case]) -> String {
    [
        row("kept apart", cases, &|_| true),
        row("kept apart, a doubling", cases, &is_doubling),
        row("kept apart, from 2 sizes", cases, &|case| case.known == 2),
        row("kept apart, from 3 sizes", cases, &|case| case.known == 3),
    ]
    .concat()
}

fn is_doubling(case: &Case) -> bool {
    case.times >= 2.0
}

/// The row of some of these predictions; empty if there are none.
fn row(name: &str, cases: &[Case], of: &dyn Fn(&Case) -> bool) -> String {
    let score = Score::from_cases(cases.iter().filter(|case| of(case)));
    score.map_or_else(String::new, |score| line(name, &score))
}

fn line(name: &str, score: &Score) -> String {
    let percent = |part: f64| format!("{:.1}%", 100.0 * part);
    let [low, high] = score.held_by_series_95;
    format!(
        "| {name} | {} | {} | {} (95% CI {:.0}% to {:.0}%) | {} of {}: {} | {} | {} | {} | {:.2} |\n",
        score.series,
        score.sources,
        percent(score.held_by_series),
        100.0 * low,
        100.0 * high,
        score.held,
        score.cases,
        percent(score.held_part()),
        percent(score.below),
        percent(score.above),
        percent(score.half_width),
        score.score_by_series,
    )
}
