//! Throughput against nodes, and the contribution of each node: for a size plan, a growth, or several growths next to
//! each other, with the predictions of the models; and for a size plan a plot in plain text. Must not compare.

use std::collections::BTreeMap;

use highwater_analysis::growth::counted;
use highwater_model::display::{self, foreign};
use highwater_model::limit::{Limit, Resource};
use highwater_model::numbers::{len_to_f64, round_to_usize};
use highwater_model::scale::{ScalePurpose, ScaleRecord, ScaleTrial, SizeVerdict};
use highwater_sizing::cluster::{NeedPlan, Origin, SizeAxis, SizePlan, SizePlanPoint, ToProve};
use highwater_sizing::growth::GrowthReport;

use crate::answer::nodes;
use crate::chart::{
    Axis, Cell, Chart, Label, Point, Quantity, Series, Shape, Span, SpanKind, Strip, values,
};
use crate::kinds::comparison::NamedGrowth;
use crate::layout::list;
use crate::limit;

/// Maximum characters of a name.
const WORDS: usize = 60;

/// Colors of limits.
const OF_MACHINES: usize = 1;
const OF_DATABASE: usize = 3;
const OF_LOAD: usize = 4;
const NOT_KNOWN: usize = 7;

/// The value to draw for a number of nodes and a throughput.
type Shown = fn(f64, f64) -> f64;

/// Two charts for each need of a size plan.
pub(crate) fn growth(plan: &SizePlan) -> Vec<Chart> {
    plan.needs
        .iter()
        .filter(|need| need.curve.len() > 1)
        .enumerate()
        .flat_map(|(number, need)| of_need(plan, need, number))
        .collect()
}

fn of_need(plan: &SizePlan, need: &NeedPlan, number: usize) -> [Chart; 2] {
    let nodes = f64::from(plan.nodes.planned);
    let has_others = need.curve.iter().any(|point| point.planned.is_some());
    let others = if has_others {
        " The line is with the replicas and nodes of the plan, and marks are as they were measured."
    } else {
        ""
    };
    // Where the answer lies, even where no throughput is predicted.
    let (nodes, name) = match (plan.nodes.reached, plan.is_proven(), plan.nodes.to_prove) {
        (false, ..) => (nodes, Some("most")),
        (true, true, _) => (nodes, Some("planned")),
        (true, false, _) if plan.has_number() => (nodes, Some("expected")),
        (true, false, Some(ToProve { at_least: Some(least), .. })) => {
            (f64::from(least), Some("at least"))
        }
        (true, false, _) => (nodes, None),
    };
    let left = nodes - f64::from(plan.nodes.survive);
    let lost = format!("with {} lost", plan.nodes.survive);
    let is_lossy =
        name == Some("planned") && plan.nodes.survive > 0 && plan.axis == SizeAxis::Nodes;
    let all = Chart {
        id: format!("growth-{number}"),
        about: format!(
            "Marks were {}; the line is what is expected of a new measurement, the band is its 90% interval. Left \
             of the last mark sizes are filled in, right of it they are extrapolated: up to twice its size with an \
             interval, beyond without one.{others}",
            known_word(need)
        ),
        spans: name
            .map(|name| (nodes, name))
            .into_iter()
            .chain(is_lossy.then_some((left, lost.as_str())))
            .map(|(nodes, name)| Span {
                from: nodes - 0.2,
                to: nodes + 0.2,
                name: name.to_owned(),
                kind: SpanKind::Mark,
            })
            .collect(),
        levels: vec![Label { at: need.required_per_s, name: "needed".to_owned() }],
        ..Chart::default()
    };
    let each = Chart {
        id: format!("per-node-{number}"),
        about: "A level line is linear growth; a falling one is what nodes lose to each other: \
                contention (they queue for something shared) and crosstalk (each must agree with \
                each other)."
            .to_owned(),
        ..Chart::default()
    };
    let (of_all, of_each) =
        (planned(need, |_, per_s| per_s), planned(need, |nodes, per_s| per_s / nodes.max(1e-9)));
    let axis = plan.axis;
    [total(all, axis, &need.unit, nodes, of_all), per_node(each, axis, &need.unit, of_each)]
}

fn planned(need: &NeedPlan, of: Shown) -> Vec<Series> {
    let known = need.curve.iter().filter_map(|point| {
        let per_s = of(point.nodes, point.measured_per_s?);
        Some(Point::new(point.nodes, Some(per_s)))
    });
    // Figures published by others must never look like your own measurements.
    let word = known_word(need);
    let shape = if word == "measured" { Shape::Dot } else { Shape::Ring };
    let known = Series::new(word, shape, 1, known.collect());
    predicted(&need.curve, of).into_iter().chain([known]).collect()
}

/// Both charts of a growth; empty if no size counts.
pub(crate) fn scale(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Vec<Chart> {
    let (Some(first), Some(last)) = (grown.sizes.first(), grown.sizes.last()) else {
        return Vec::new();
    };
    let unit = format!("{}/s", scale.unit.name());
    let levels = scale.until_per_s.map(|at| Label { at, name: "requested".to_owned() });
    let is_grown = first.trial.size.nodes < last.trial.size.nodes;
    let all = Chart {
        id: "scale".to_owned(),
        about: list([SIGNS].into_iter().chain(is_grown.then_some(LINES)), " "),
        levels: levels.into_iter().collect(),
        strip: limits(scale),
        ..Chart::default()
    };
    let each = Chart {
        id: "scale-per-node".to_owned(),
        about: "A level line is linear growth; a falling one is what nodes lose to each other."
            .to_owned(),
        ..Chart::default()
    };
    // The first size, multiplied by the number of nodes.
    let linear = [first, last]
        .map(|size| f64::from(size.trial.size.nodes))
        .map(|nodes| Point::new(nodes, Some(first.compared.per_node * nodes)));
    let linear = Series::new("linear", Shape::Dashed, 7, linear.to_vec());
    let of_each = measured(scale, grown, |nodes, per_s| per_s / nodes.max(1.0));
    let mut of_all = measured(scale, grown, |_, per_s| per_s);
    of_all.extend(is_grown.then_some(linear));
    let axis = SizeAxis::Nodes;
    vec![total(all, axis, &unit, 0.0, of_all), per_node(each, axis, &unit, of_each)]
}

/// The legend of a growth's chart: its markers and, with several sizes, its lines.
const SIGNS: &str = "Filled signs were measured. A ring is what was predicted for a size from the smaller ones, before \
                     it was measured.";
const LINES: &str = "The line is what all sizes together predict, and the band is the 90% interval of a new \
                     measurement. Dashed: as many times the first size as there are nodes.";

/// The limit of each size, including sizes that do not count because the load generator was saturated; empty if no
/// limit is known.
fn limits(scale: &ScaleRecord) -> Strip {
    let mut by_nodes: BTreeMap<u32, Cell> = BTreeMap::new();
    let mut is_known = false;
    let sizes = scale
        .trials
        .iter()
        .filter(|trial| matches!(trial.purpose, ScalePurpose::First | ScalePurpose::Grow));
    for trial in sizes {
        let figures = &trial.figures;
        let at_client = figures.verdict == SizeVerdict::ClientCeiling;
        if !figures.verdict.counts() && !at_client {
            continue;
        }
        is_known |= figures.limit.is_some() || at_client;
        // A size that was lost and measured again has the limit of its last trial.
        by_nodes.insert(trial.size.nodes, limit_of(trial));
    }
    if !is_known {
        return Strip::default();
    }
    Strip { name: "limited by", cells: by_nodes.into_values().collect() }
}

fn limit_of(trial: &ScaleTrial) -> Cell {
    let at_client = trial.figures.verdict == SizeVerdict::ClientCeiling;
    let limit = trial.figures.limit.as_ref();
    // A measurement that shows the load generator has no other limit to show.
    let (name, evidence, color) = match limit.filter(|_| !at_client) {
        Some(found) => (limit::short(found), limit::line(found).1, color_of(found)),
        None if at_client => {
            let name = "load generator".to_owned();
            (name.clone(), name, OF_LOAD)
        }
        None => {
            let name = "not saturated".to_owned();
            (name.clone(), name, NOT_KNOWN)
        }
    };
    Cell {
        at: f64::from(trial.size.nodes),
        sentence: format!("{}: {evidence}", nodes(trial.size.nodes)),
        name,
        color,
    }
}

/// Colors by what must change for a higher rate: machines, the database, or the load.
fn color_of(limit: &Limit) -> usize {
    match limit.by.as_ref().map(|by| by.resource) {
        Some(Resource::Cpu | Resource::HotNode | Resource::Disk | Resource::Network) => OF_MACHINES,
        Some(
            Resource::Locks
            | Resource::WritePool
            | Resource::Parts
            | Resource::Replication
            | Resource::Compaction
            | Resource::WriteStalls
            | Resource::AdmissionControl,
        ) => OF_DATABASE,
        Some(Resource::LoadGenerator | Resource::Sessions | Resource::Batch) => OF_LOAD,
        None => NOT_KNOWN,
    }
}

fn measured(scale: &ScaleRecord, grown: &GrowthReport<'_>, of: Shown) -> Vec<Series> {
    let at = |nodes: u32, per_s: f64| {
        let nodes = f64::from(nodes);
        Point::new(nodes, Some(of(nodes, per_s)))
    };
    let before = grown.sizes.iter().filter_map(|size| {
        let predicted = size.trial.predicted?;
        Some(at(size.trial.size.nodes, predicted.expected))
    });
    let sizes = grown.sizes.iter().map(|size| at(size.trial.size.nodes, size.trial.figures.per_s));
    let again = scale
        .trials
        .iter()
        .filter(|trial| trial.purpose == ScalePurpose::Again && trial.figures.verdict.counts())
        .map(|trial| at(trial.size.nodes, trial.figures.per_s));
    let bars = grown.sizes.iter().filter_map(|size| {
        let (x, ends) = (size.trial.size.nodes, scale.bounds(&size.trial.figures)?);
        let [low, high] = ends.map(|per_s| at(x, per_s));
        // A line without a value ends the bar.
        Some([low, high, Point::new(high.x, None)])
    });
    // The first size is drawn above its repetition, which is about as high.
    let measured = [
        Series::new("predicted before", Shape::Ring, 1, before.collect()),
        Series::new("measured again", Shape::Diamond, 2, again.collect()),
        Series::new("measured", Shape::Dot, 0, sizes.collect()),
        Series::new("measured", Shape::Whiskers, 0, bars.flatten().collect()),
    ];
    let all = predicted(&grown.curve, of).into_iter().chain(measured);
    all.filter(|series| !series.points.is_empty()).collect()
}

/// Throughput of several growths at each size, a color for each growth; empty if no size counts.
pub(crate) fn growths(growths: &[&NamedGrowth<'_>]) -> Option<Chart> {
    let mut series = Vec::new();
    for (color, of) in growths.iter().enumerate() {
        let sizes = counted(of.growth.scale);
        let mut points: Vec<Point> = sizes
            .map(|trial| Point::new(f64::from(trial.size.nodes), Some(trial.figures.per_s)))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let name = foreign(&of.name, WORDS);
        series.push(Series::new(&name, Shape::Line, color, points.clone()));
        series.push(Series::new(&name, Shape::Dot, color, points));
    }
    series.retain(|series| !series.points.is_empty());
    let unit = format!("{}/s", growths.first()?.growth.scale.unit.name());
    let texts = Chart {
        id: "growths".to_owned(),
        about:
            "Signs were measured, each size once; the lines only lead the eye from one to the next."
                .to_owned(),
        ..Chart::default()
    };
    (!series.is_empty()).then(|| total(texts, SizeAxis::Nodes, &unit, 0.0, series))
}

/// The 90% interval, and the expected value.
fn predicted(curve: &[SizePlanPoint], of: Shown) -> [Series; 2] {
    let band = curve.iter().filter_map(|point| {
        let [low, high] = point.as_planned().interval?;
        Some(Point::band(point.nodes, of(point.nodes, low), of(point.nodes, high)))
    });
    let expected = curve.iter().map(|point| {
        let per_s = of(point.nodes, point.as_planned().expected);
        Point::new(point.nodes, Some(per_s))
    });
    [
        Series::new("90% of measurements", Shape::Band, 0, band.collect()),
        Series::new("expected", Shape::Line, 0, expected.collect()),
    ]
}

/// Throughput of all nodes together; `of` has its other texts and its marks.
fn total(of: Chart, axis: SizeAxis, unit: &str, nodes: f64, series: Vec<Series>) -> Chart {
    let title = format!("Throughput against {}, {unit}", axis.noun());
    against_sizes(Chart { title, ..of }, axis, unit, nodes, series)
}

/// Throughput per node or vCPU.
fn per_node(of: Chart, axis: SizeAxis, unit: &str, series: Vec<Series>) -> Chart {
    let noun = axis.noun().trim_end_matches('s');
    let title = format!("Each {noun}'s part, {unit} per {noun}");
    against_sizes(Chart { title, ..of }, axis, &format!("per {noun}"), 0.0, series)
}

/// The axis of sizes, from 0 to the largest size of the series, and at least to `nodes`.
fn against_sizes(of: Chart, axis: SizeAxis, unit: &str, nodes: f64, series: Vec<Series>) -> Chart {
    let points = series.iter().flat_map(|series| &series.points);
    let cells = of.strip.cells.iter().map(|cell| cell.at);
    let most = points.map(|point| point.x).chain(cells).fold(nodes, f64::max);
    let levels = of.levels.iter().map(|level| level.at);
    let y = Axis::from_zero(unit, Quantity::Rate, values(&series).chain(levels));
    Chart { x: Axis::between(axis.noun(), Quantity::Whole, 0.0, most + 0.5), y, series, ..of }
}

/// Sizes published by others must not be called measured.
pub(crate) const fn known_word(need: &NeedPlan) -> &'static str {
    match need.origin {
        Origin::Published(_) => "published",
        Origin::Assumed(_) => "assumed",
        Origin::Given(_) | Origin::Measured(_) => "measured",
    }
}

const WIDTH: usize = 60;
const HEIGHT: usize = 14;

/// The lines of the plot with its legend; empty for a single size.
pub(crate) fn text_plot(axis: SizeAxis, need: &NeedPlan) -> Vec<String> {
    let points = &need.curve;
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    if first.nodes >= last.nodes {
        return Vec::new();
    }
    let highest = points
        .iter()
        .flat_map(|point| [Some(highest(point)), point.measured_per_s])
        .flatten()
        .fold(0.0, f64::max);
    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    let column = |nodes: f64| {
        let part = (nodes - first.nodes) / (last.nodes - first.nodes);
        cell(part, WIDTH)
    };
    let row = |per_s: f64| HEIGHT - 1 - cell(per_s / highest, HEIGHT);
    for point in points {
        let at = column(point.nodes);
        if let Some([low, high]) = point.as_planned().interval {
            for filled in &mut grid[row(high)..=row(low)] {
                filled[at] = '.';
            }
        }
        grid[row(point.as_planned().expected)][at] = '=';
    }
    for point in points {
        if let Some(per_s) = point.measured_per_s {
            grid[row(per_s)][column(point.nodes)] = 'o';
        }
    }
    frame(&grid, points, highest, axis)
}

fn highest(point: &SizePlanPoint) -> f64 {
    let planned = point.as_planned();
    planned.interval.map_or(planned.expected, |[_, high]| high)
}

fn frame(
    grid: &[Vec<char>],
    points: &[SizePlanPoint],
    highest: f64,
    axis: SizeAxis,
) -> Vec<String> {
    // The label `0` is never wider than the highest one.
    let highest = display::about(highest);
    let width = highest.chars().count();
    let rows = grid.iter().enumerate().map(|(number, row)| {
        let label = match number {
            0 => highest.as_str(),
            last if last == HEIGHT - 1 => "0",
            _ => "",
        };
        let row: String = row.iter().collect();
        format!("{label:>width$} |{}", row.trim_end())
    });
    let mut lines: Vec<String> = rows.collect();
    let ends = [points.first(), points.last()];
    let ends = ends.map(|point| point.map_or(String::new(), |point| display::plain(point.nodes)));
    let gap = WIDTH.saturating_sub(ends[0].chars().count() + ends[1].chars().count());
    lines.push(format!("{:>width$} +{}", "", "-".repeat(WIDTH)));
    lines.push(format!("{:>width$}  {}{:gap$}{} {}", "", ends[0], "", ends[1], axis.noun()));
    lines.push(format!("{:>width$}  o measured, = expected, . 90% interval", ""));
    lines
}

/// The cell of a fraction from 0 to 1.
fn cell(part: f64, cells: usize) -> usize {
    round_to_usize(part * len_to_f64(cells - 1)).min(cells - 1)
}
