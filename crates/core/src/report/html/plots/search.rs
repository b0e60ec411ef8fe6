//! A search: what was offered against what was acknowledged and how long it took, probe by probe.

use crate::model::record::RunRecord;
use crate::model::search::{
    ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchOutcome, SearchRecord,
};

use super::super::chart::{Axis, Chart, Point, Quantity, Scale, Series, Shape, Span, SpanKind};
use super::course::float;
use super::time::bounds;

/// Name, shape and colour of the probes that a test picks.
type Kind = (&'static str, Shape, usize, fn(&ProbeRecord) -> bool);

/// Every probe that judged a value is of exactly one of them.
const KINDS: [Kind; 4] = [
    ("passed", Shape::Dot, 2, |probe| {
        probe.verdict == ProbeVerdict::Met && probe.purpose == ProbePurpose::Search
    }),
    ("confirmed", Shape::Diamond, 0, |probe| {
        probe.verdict == ProbeVerdict::Met && probe.purpose == ProbePurpose::Confirm
    }),
    ("failed", Shape::Cross, 1, |probe| {
        matches!(
            probe.verdict,
            ProbeVerdict::Missed | ProbeVerdict::WrongData
        )
    }),
    ("not shown", Shape::Ring, 3, |probe| {
        matches!(
            probe.verdict,
            ProbeVerdict::NotShown
                | ProbeVerdict::TooFewOps
                | ProbeVerdict::Unsound
                | ProbeVerdict::TargetLost
                | ProbeVerdict::Interrupted
        )
    }),
];

/// Both charts of a search; none of a plain run.
pub(in crate::report::html) fn search(record: &RunRecord) -> Vec<Chart> {
    let Some(search) = &record.search else {
        return Vec::new();
    };
    let achieved = achieved(record, search);
    let latency = latency(record, search);
    achieved.into_iter().chain(latency).collect()
}

fn achieved(record: &RunRecord, search: &SearchRecord) -> Option<Chart> {
    let unit = search.unit.name();
    let mut series = kinds(record, |probe| Some(probe.acknowledged_per_s));
    let x = axis(record, search)?;
    let y = Axis::close(
        format!("{unit}/s"),
        Quantity::Rate,
        values(&series).into_iter(),
    );
    if search.axis == SearchAxis::Rate {
        series.insert(0, diagonal(&x, &y));
    }
    Some(Chart {
        id: "probes-achieved".to_owned(),
        title: format!("Offered against acknowledged, {unit} per second"),
        about:
            "Each mark is a probe, a run of its own. On the line everything that was offered was \
                acknowledged; below it the target could not keep up. The shaded part is the mark: \
                from the highest confirmed value to the lowest that failed."
                .to_owned(),
        x,
        y,
        series,
        spans: mark(search),
        levels: Vec::new(),
    })
}

fn latency(record: &RunRecord, search: &SearchRecord) -> Option<Chart> {
    let series = kinds(record, |probe| probe.p99_ns.map(float));
    let values = values(&series);
    if values.is_empty() {
        return None;
    }
    let levels = bounds(record);
    let all = values.into_iter().chain(levels.iter().map(|level| level.y));
    let all: Vec<f64> = all.collect();
    Some(Chart {
        id: "probes-latency".to_owned(),
        title: "Offered against p99 latency".to_owned(),
        about: "99 of 100 ops of a probe took at most this, from the moment at which they were \
                intended. The greatest of the searched stream's ops."
            .to_owned(),
        x: axis(record, search)?,
        y: Axis::around("p99", Quantity::Latency, all.iter().copied()),
        series,
        spans: mark(search),
        levels,
    })
}

/// A closed estimate on the axis of rates offered nothing.
fn judged(record: &RunRecord) -> impl Iterator<Item = &ProbeRecord> {
    let probes = record.probes.iter();
    probes.filter(|probe| probe.verdict != ProbeVerdict::Estimated)
}

fn axis(record: &RunRecord, search: &SearchRecord) -> Option<Axis> {
    let values: Vec<f64> = judged(record).map(|probe| probe.at).collect();
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

fn kinds(record: &RunRecord, of: fn(&ProbeRecord) -> Option<f64>) -> Vec<Series> {
    KINDS
        .iter()
        .map(|(name, shape, colour, is)| {
            let probes = judged(record).filter(|probe| is(probe));
            let points = probes.filter_map(|probe| Some(Point::new(probe.at, Some(of(probe)?))));
            let mut points: Vec<Point> = points.collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series {
                name: (*name).to_owned(),
                part: "",
                shape: *shape,
                colour: *colour,
                on: true,
                points,
            }
        })
        .filter(|series| !series.points.is_empty())
        .collect()
}

fn values(series: &[Series]) -> Vec<f64> {
    let points = series.iter().flat_map(|series| &series.points);
    points.filter_map(|point| point.y).collect()
}

/// Where everything that was offered was acknowledged.
fn diagonal(x: &Axis, y: &Axis) -> Series {
    const STEPS: u32 = 80;
    let at = |step: u32| {
        let part = f64::from(step) / f64::from(STEPS);
        match x.scale {
            Scale::Linear => x.from + part * (x.to - x.from),
            Scale::Log => x.from * (x.to / x.from).powf(part),
        }
    };
    Series {
        name: "all acknowledged".to_owned(),
        part: "",
        shape: Shape::Dashed,
        colour: 7,
        on: true,
        points: (0..=STEPS)
            .map(at)
            .filter(|at| (y.from..=y.to).contains(at))
            .map(|at| Point::new(at, Some(at)))
            .collect(),
    }
}

/// The interval of the mark, where there is one.
fn mark(search: &SearchRecord) -> Vec<Span> {
    let Some(SearchOutcome::Mark(mark)) = &search.outcome else {
        return Vec::new();
    };
    vec![Span {
        from: mark.confirmed,
        to: mark.failed.unwrap_or(mark.confirmed),
        name: "mark".to_owned(),
        kind: SpanKind::Mark,
    }]
}
