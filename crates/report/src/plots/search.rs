//! A search: offered against acknowledged rate, and the latency, probe by probe.

use highwater_model::display::rate;
use highwater_model::numbers::to_f64;
use highwater_model::record::RunRecord;
use highwater_model::search::{
    ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchOutcome, SearchRecord,
};

use super::time::bounds;
use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, Span, SpanKind, Strip, values};
use crate::layout::list;

/// Name, shape, and color of the trials that a test selects.
pub(super) type Kind<T> = (&'static str, Shape, usize, fn(&T) -> bool);

/// Probes within this factor below and above a mark are near it.
const NEAR: f64 = 1.5;

/// Every probe that judged a value belongs to exactly one of them.
const KINDS: [Kind<ProbeRecord>; 4] = [
    ("passed", Shape::Dot, 2, |probe| {
        probe.verdict == ProbeVerdict::Passed && probe.purpose == ProbePurpose::Search
    }),
    ("confirmed", Shape::Diamond, 0, |probe| {
        let confirms = matches!(probe.purpose, ProbePurpose::Confirm | ProbePurpose::Soak);
        probe.verdict == ProbeVerdict::Passed && confirms
    }),
    ("failed", Shape::Cross, 1, |probe| {
        matches!(probe.verdict, ProbeVerdict::Failed | ProbeVerdict::WrongData)
    }),
    ("not decided", Shape::Ring, 3, |probe| {
        matches!(
            probe.verdict,
            ProbeVerdict::NotDecided
                | ProbeVerdict::TooFewOps
                | ProbeVerdict::Invalid
                | ProbeVerdict::TargetLost
                | ProbeVerdict::Interrupted
        )
    }),
];

/// Both charts of a search; `last_run` is a run of it.
pub(crate) fn search(last_run: &RunRecord, search: &SearchRecord) -> Vec<Chart> {
    let drawn = drawn(search);
    let achieved = achieved(&drawn, search);
    let latency = latency(last_run, &drawn, search);
    achieved.into_iter().chain(latency).collect()
}

/// The probes that are drawn, and the note about the others.
struct Drawn<'a> {
    probes: Vec<&'a ProbeRecord>,
    left_out: String,
}

/// All probes that judged a value; if most of them are near a mark, only those: a first guess far from it would squeeze
/// them into one spot.
fn drawn(search: &SearchRecord) -> Drawn<'_> {
    // A closed-load estimate offered nothing, so it has no place on the axis of rates.
    let probes = search.probes.iter();
    let all = probes.filter(|probe| probe.verdict != ProbeVerdict::Estimated);
    let is_near = |probe: &&ProbeRecord| match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => {
            let last = mark.failed.unwrap_or(mark.confirmed);
            (mark.confirmed / NEAR..=last * NEAR).contains(&probe.at)
        }
        _ => true,
    };
    let (near, far): (Vec<_>, Vec<_>) = all.partition(is_near);
    if far.len() > near.len() {
        return Drawn { probes: [near, far].concat(), left_out: String::new() };
    }
    let mut values: Vec<f64> = far.iter().map(|probe| probe.at).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let left_out = match list(values.into_iter().map(rate), ", ").as_str() {
        "" => String::new(),
        values => format!(" Far from the mark, so not drawn: {values}."),
    };
    Drawn { probes: near, left_out }
}

fn achieved(drawn: &Drawn<'_>, search: &SearchRecord) -> Option<Chart> {
    let unit = search.unit.name();
    let mut series = kinds(drawn, |probe| Some(probe.acknowledged_per_s));
    let x = axis(drawn, search)?;
    let y = Axis::close(format!("{unit}/s"), Quantity::Rate, values(&series));
    if search.axis == SearchAxis::Rate {
        series.insert(0, diagonal(&x, &y));
    }
    Some(Chart {
        id: "probes-achieved".to_owned(),
        title: format!("Offered against acknowledged, {unit} per second"),
        about: format!(
            "Each point is one probe, a run of its own. On the line everything that was offered was \
             acknowledged; below it the target could not keep up. The shaded part is the 90% \
             interval of the estimate.{}",
            drawn.left_out
        ),
        x,
        y,
        series,
        spans: mark(search),
        levels: Vec::new(),
        strip: Strip::default(),
    })
}

fn latency(last_run: &RunRecord, drawn: &Drawn<'_>, search: &SearchRecord) -> Option<Chart> {
    let series = kinds(drawn, |probe| probe.p99_ns.map(to_f64));
    values(&series).next()?;
    let levels = bounds(last_run);
    let all = values(&series).chain(levels.iter().map(|level| level.at));
    Some(Chart {
        id: "probes-latency".to_owned(),
        title: "Offered against p99 latency".to_owned(),
        about: format!(
            "Each point is one probe, a run of its own; the slowest op of the searched stream counts, from its intended \
             time. The shaded part is the 90% interval of the estimate.{}",
            drawn.left_out
        ),
        x: axis(drawn, search)?,
        y: Axis::around("p99", Quantity::Latency, all),
        series,
        spans: mark(search),
        levels,
        strip: Strip::default(),
    })
}

fn axis(drawn: &Drawn<'_>, search: &SearchRecord) -> Option<Axis> {
    let values: Vec<f64> = drawn.probes.iter().map(|probe| probe.at).collect();
    let greatest = values.iter().copied().fold(0.0, f64::max);
    if greatest <= 0.0 {
        return None;
    }
    let (title, quantity) = match search.axis {
        SearchAxis::Rate => (format!("offered, {}/s", search.unit.name()), Quantity::Rate),
        SearchAxis::Sessions => ("sessions".to_owned(), Quantity::Number),
    };
    Some(Axis::close(title, quantity, values.into_iter()))
}

fn kinds(drawn: &Drawn<'_>, of: fn(&ProbeRecord) -> Option<f64>) -> Vec<Series> {
    let points = drawn
        .probes
        .iter()
        .filter_map(|probe| Some((*probe, Point::new(probe.at, Some(of(probe)?)))));
    of_kinds(&KINDS, &points.collect::<Vec<_>>())
}

/// Points of each kind, without empty kinds.
pub(super) fn of_kinds<T>(kinds: &[Kind<T>], of: &[(&T, Point)]) -> Vec<Series> {
    let series = kinds.iter().map(|(name, shape, color, is)| {
        let mut points: Vec<Point> =
            of.iter().filter(|(of, _)| is(of)).map(|(_, point)| *point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::new(name, *shape, *color, points)
    });
    series.filter(|series| !series.points.is_empty()).collect()
}

/// The line on which everything offered was acknowledged.
fn diagonal(x: &Axis, y: &Axis) -> Series {
    const STEPS: u32 = 80;
    let at = |step: u32| x.value(f64::from(step) / f64::from(STEPS));
    let on_both = (0..=STEPS).map(at).filter(|at| (y.from..=y.to).contains(at));
    let points = on_both.map(|at| Point::new(at, Some(at))).collect();
    Series::new("all acknowledged", Shape::Dashed, 7, points)
}

/// The interval of the estimate if there is one, otherwise the mark.
fn mark(search: &SearchRecord) -> Vec<Span> {
    let Some(SearchOutcome::Mark(mark)) = &search.outcome else {
        return Vec::new();
    };
    vec![Span {
        from: mark.estimate.map_or(mark.confirmed, |found| found.low90),
        to: mark.estimate.map_or(mark.confirmed, |found| found.high90),
        name: "estimate".to_owned(),
        kind: SpanKind::Mark,
    }]
}
