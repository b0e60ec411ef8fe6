//! How often the levels that are claimed held: the tables of `docs/concepts/accuracy.md`, and
//! `cargo xtask accuracy FILE` for series of one's own.
//!
//! Text of scores that the crates compute; nothing is predicted here.

use highwater_model::display;
use highwater_sizing::accuracy::{
    Case, Outcome, ScaledSeries, Score, assumed_cases, cases, counts_nodes, proportion_interval,
    refitted,
};
use highwater_sizing::series;

/// The table of predictions of larger sizes, on the library of published series.
pub fn sizes() -> String {
    table(&ScaledSeries::of(&series::library()))
}

/// Every prediction of the library by nodes or shards, with what was measured.
pub fn clusters() -> String {
    let mut text =
        "| series | known | predicted | measured | |\n|---|---|---|---|---|\n".to_owned();
    let series = ScaledSeries::of(&series::library());
    for case in cases(&series)
        .iter()
        .filter(|case| counts_nodes(&case.axis))
    {
        let of_name = series.iter().find(|series| series.name == case.series);
        let sizes = of_name.map_or(&[][..], |series| series.sweep.sizes());
        let known: Vec<String> = sizes[..case.known]
            .iter()
            .map(|size| display::plain(size.size))
            .collect();
        let largest = sizes[case.known - 1].size;
        let predicted = case.predicted;
        text += &format!(
            "| {} | {} | {} {}: {} [{} … {}] | {} | {} |\n",
            case.series,
            known.join(", "),
            display::plain(case.times * largest),
            case.axis,
            display::about(predicted.expected),
            display::about(predicted.low),
            display::about(predicted.high),
            display::about(case.measured),
            if predicted.holds(case.measured) {
                "held"
            } else {
                "missed"
            },
        );
    }
    text
}

/// The table for a file of series with the columns `series`, `source`, `size` (or `nodes`), `axis`
/// and a throughput.
pub fn of_file(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let set = series::read(&text).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        format!("{path}: {}", lines.join("\n"))
    })?;
    Ok(table(&ScaledSeries::of(&set.points)))
}

fn table(series: &[ScaledSeries]) -> String {
    let all = cases(series);
    let fitted = refitted(&all);
    let assumed = assumed_cases(series);
    let mut text =
        "| predictions | series | sources | held | by series | below | half-width | score |\n\
                    |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut row = |name: &str, cases: &[Case], of: &dyn Fn(&Case) -> bool| {
        if let Some(score) = Score::of(cases.iter().filter(|case| of(case))) {
            text += &line(name, &score);
        }
    };
    row("all", &all, &|_| true);
    row("all, each source left out", &fitted, &|_| true);
    row("by nodes or shards", &all, &|case| counts_nodes(&case.axis));
    row("near-linear so far", &all, &|case| case.near_linear);
    row("near-linear so far, a doubling", &all, &|case| {
        case.near_linear && case.times >= 2.0
    });
    row("a doubling", &all, &|case| case.times >= 2.0);
    row("from 2 sizes", &all, &|case| case.known == 2);
    row("from 3 sizes", &all, &|case| case.known == 3);
    row("from 4 or 5 sizes", &all, &|case| {
        matches!(case.known, 4 | 5)
    });
    row("from 6 sizes or more", &all, &|case| case.known > 5);
    for (name, outcome) in [
        ("turned out saturating", Outcome::Saturating),
        ("turned out sub-linear", Outcome::Sublinear),
        ("turned out near-linear", Outcome::NearLinear),
    ] {
        row(name, &all, &|case| case.outcome == outcome);
    }
    row("assumed growth, from 1 size", &assumed, &|_| true);
    text
}

fn line(name: &str, score: &Score) -> String {
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    let [low, high] = proportion_interval(score.held, score.cases);
    format!(
        "| {name} | {} | {} | {} of {}: {} [{:.0} … {:.0}] | {} | {} | {} | {:.2} |\n",
        score.series,
        score.sources,
        score.held,
        score.cases,
        percent(score.held_part()),
        100.0 * low,
        100.0 * high,
        percent(score.held_by_series),
        percent(score.below),
        percent(score.half_width),
        score.score_by_series,
    )
}
