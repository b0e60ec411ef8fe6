//! The answer of one run: the rate that was acknowledged, and at which latency.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{bytes, count, duration, plain, rate};
use highwater_model::import_record::MissingField;
use highwater_model::judgment::{Data, ObjectiveValue};
use highwater_model::plan::{Pace, StreamPlan, Unit};
use highwater_model::record::{MeasuredRun, ResultRecord};

use super::parts::{Answer, KeyFigure, LimitLine, limit_line, target_name, to_the_second};
use crate::text::judged::objectives;

pub(super) fn run(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Answer {
    let Some(main) = main_stream(measured) else {
        return Answer {
            question: question(run, None),
            figure: "Nothing".to_owned(),
            condition: "was measured".to_owned(),
            caveat: Some("not to be quoted: no phase was measured"),
            limit: limit(run, measured),
            ..Answer::default()
        };
    };
    let unit = format!("{}/s", unit_name(run, main.stream.unit));
    let reached = rate(main.units_per_s());
    let (interval, basis) = (interval(main, &unit), basis(run, main, measured));
    let answer = Answer {
        question: question(run, Some(main)),
        lead: lead(run).to_owned(),
        figure: reached.clone(),
        unit: unit.clone(),
        condition: slowest(main, |result| result.latency_ns.p99)
            .map_or_else(String::new, |p99| format!("at p99 {}", duration(p99))),
        interval,
        basis,
        limit: limit(run, measured),
        keys: keys(run, main, measured),
        ..Answer::default()
    };
    match run.judgments.data.value {
        // Lost rows are the answer, the rate comes second.
        Data::Lost => Answer {
            lead: String::new(),
            figure: count(run.audit.missing),
            unit: "rows lost".to_owned(),
            condition: format!("of {} acknowledged", count(run.audit.acknowledged)),
            basis: format!("at {reached} {unit}; {}", answer.basis),
            interval: String::new(),
            ..answer
        },
        _ if run
            .origin
            .is_some_and(|of| of.leaves_out(MissingField::Throughput)) =>
        {
            Answer {
                figure: "–".to_owned(),
                unit: String::new(),
                interval: "the tool reports no throughput".to_owned(),
                ..answer
            }
        }
        _ => answer,
    }
}

/// The first stream of the plan, in the last measured phase.
fn main_stream<'a>(measured: &'a [MeasuredStream<'a>]) -> Option<&'a MeasuredStream<'a>> {
    let last = measured.last()?;
    measured
        .iter()
        .find(|stream| stream.phase.name == last.phase.name)
}

/// What a stream counts in; of another tool all ops are ops.
fn unit_name(run: &MeasuredRun<'_>, unit: Unit) -> &'static str {
    if run.origin.is_some() && unit == Unit::Queries {
        "ops"
    } else {
        unit.name()
    }
}

fn question(run: &MeasuredRun<'_>, main: Option<&MeasuredStream<'_>>) -> String {
    let who = target_name(run);
    let stated = objectives(run).replace(" · ", ", ");
    let within = match stated.as_str() {
        "" => String::new(),
        stated => format!(" within {stated}"),
    };
    let streams = &run.plan.definition.streams;
    let name = main.map(|main| main.stream.stream.as_str());
    let plan = streams
        .iter()
        .find(|plan| name.is_none_or(|name| plan.name == name));
    let beside = others(run, streams, name);
    let Some(plan) = plan else {
        return format!("What did {who} do?");
    };
    let unit = unit_name(run, plan.unit);
    match plan.paces.last() {
        Some(Pace::Open { rate: planned }) if !stated.is_empty() => {
            let planned = plain(planned.as_f64());
            format!("Does {who} sustain {planned} {unit}/s{within}{beside}?")
        }
        Some(Pace::Open { rate: planned }) => {
            let planned = plain(planned.as_f64());
            format!("How much of {planned} {unit}/s does {who} acknowledge{beside}?")
        }
        Some(Pace::Closed { sessions }) => {
            let sessions = super::plural(*sessions as usize, "session");
            format!("How many {unit}/s does {who} acknowledge with {sessions}{within}{beside}?")
        }
        None => format!("How many {unit}/s does {who} acknowledge{within}?"),
    }
}

/// `, alongside 80 queries/s`.
fn others(run: &MeasuredRun<'_>, streams: &[StreamPlan], main: Option<&str>) -> String {
    let others = streams
        .iter()
        .filter(|plan| main.is_some_and(|main| plan.name != main));
    let others: Vec<String> = others
        .map(|plan| match plan.paces.last() {
            Some(Pace::Open { rate: planned }) => {
                let unit = unit_name(run, plan.unit);
                format!("{} {unit}/s", plain(planned.as_f64()))
            }
            Some(Pace::Closed { sessions }) => {
                let sessions = super::plural(*sessions as usize, "session");
                format!("{sessions} of {}", plan.name)
            }
            None => plan.name.clone(),
        })
        .collect();
    match others.as_slice() {
        [] => String::new(),
        others => format!(", alongside {}", others.join(" and ")),
    }
}

/// A question for an objective is answered with yes or no.
fn lead(run: &MeasuredRun<'_>) -> &'static str {
    let streams = &run.plan.definition.streams;
    let first = streams.first().and_then(|plan| plan.paces.first());
    let is_question = matches!(first, Some(Pace::Open { .. })) && !objectives(run).is_empty();
    match run.judgments.objective.value {
        ObjectiveValue::Met if is_question => "Yes:",
        ObjectiveValue::Missed if is_question => "No:",
        _ => "",
    }
}

fn interval(main: &MeasuredStream<'_>, unit: &str) -> String {
    match main.stream.throughput.ci95 {
        Some([low, high]) => format!("95% CI {} to {} {unit}", rate(low), rate(high)),
        None => "95% CI not known".to_owned(),
    }
}

fn basis(
    run: &MeasuredRun<'_>,
    main: &MeasuredStream<'_>,
    measured: &[MeasuredStream<'_>],
) -> String {
    let mut words = Vec::new();
    if let Some(planned) = main.stream.planned_rate {
        let unit = unit_name(run, main.stream.unit);
        words.push(format!("{} {unit}/s planned", plain(planned)));
    }
    words.push(format!(
        "measured for {}",
        to_the_second(main.phase.duration_ns)
    ));
    let mut phases: Vec<&str> = measured.iter().map(|of| of.phase.name.as_str()).collect();
    phases.dedup();
    if phases.len() > 1 {
        words.push(format!("the last of {} steps", phases.len()));
    }
    words.join(", ")
}

/// The greatest of the ops of a stream.
fn slowest(main: &MeasuredStream<'_>, of: fn(&ResultRecord) -> Option<u64>) -> Option<u64> {
    main.results.iter().filter_map(|result| of(result)).max()
}

fn limit(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<LimitLine> {
    if let Some(limit) = &run.limit {
        return Some(limit_line(limit));
    }
    // Closed load is always at its limit; older records do not say at which.
    let is_open = !measured.is_empty() && measured.iter().all(MeasuredStream::is_open);
    (is_open && run.origin.is_none()).then(|| LimitLine {
        label: "No limit was reached".to_owned(),
        what: String::new(),
        more: "`highwater find` finds the highest rate.".to_owned(),
        is_reached: false,
    })
}

fn keys(
    run: &MeasuredRun<'_>,
    main: &MeasuredStream<'_>,
    measured: &[MeasuredStream<'_>],
) -> Vec<KeyFigure> {
    let latency = |name: &str, value: Option<u64>| {
        let shown = value.map_or_else(|| "–".to_owned(), duration);
        KeyFigure::new(name, shown, main.stream.stream.as_str())
    };
    let mut keys = vec![
        latency("p50", slowest(main, |result| result.latency_ns.p50)),
        latency("p99", slowest(main, |result| result.latency_ns.p99)),
        latency("max", slowest(main, |result| result.latency_ns.max)),
    ];
    let beside = measured
        .iter()
        .find(|of| of.phase.name == main.phase.name && of.stream.stream != main.stream.stream);
    if let Some(other) = beside {
        let unit = unit_name(run, other.stream.unit);
        let p99 = slowest(other, |result| result.latency_ns.p99);
        let p99 = p99.map_or_else(String::new, |p99| format!("p99 {}", duration(p99)));
        let figure = format!("{} {unit}/s", rate(other.units_per_s()));
        keys.push(KeyFigure::new(other.stream.stream.as_str(), figure, p99));
    }
    if !run
        .origin
        .is_some_and(|of| of.leaves_out(MissingField::Errors))
    {
        let results = || measured.iter().flat_map(|stream| &stream.results);
        let failed: u64 = results().map(|r| r.errors.values().sum::<u64>()).sum();
        let offered: u64 = results().map(|result| result.offered).sum();
        let note = format!("of {}", count(offered));
        keys.push(KeyFigure::new(
            "failed",
            format!("{} ops", count(failed)),
            note,
        ));
    }
    if let Some(size) = run.target.disk_bytes_per_row {
        let size = bytes(highwater_model::numbers::round_to_u64(size));
        keys.push(KeyFigure::new("on disk", size, "per row"));
    } else if run.origin.is_none() {
        let gap = duration(run.availability.longest_gap_ns);
        keys.push(KeyFigure::new("longest gap", gap, "without a response"));
    }
    keys
}
