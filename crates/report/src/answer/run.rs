//! The answer of one run: the acknowledged rate, and its latency.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{bytes, count, duration, plain, rate};
use highwater_model::import_record::MissingField;
use highwater_model::judgment::{Data, ObjectiveValue};
use highwater_model::plan::{Pace, StreamPlan};
use highwater_model::record::{MeasuredRun, ResultRecord};

use super::parts::{
    Answer, KeyFigure, LimitLine, limit_line, plural, target_name, to_the_second, within,
};
use crate::layout::{list, or_absent};
use crate::text::counts::{leaves_out, unit_name};
use crate::text::head;
use crate::text::judged::objectives;

pub(super) fn run(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Answer {
    let Some(main) = main_stream(measured) else {
        return Answer {
            limit: limit(run, measured),
            ..Answer::nothing(question(run, None), "not to be quoted: no phase was measured")
        };
    };
    let unit = format!("{}/s", unit_name(run, main.stream.unit));
    let reached = rate(main.units_per_s());
    let interval = match main.stream.throughput.ci95 {
        Some([low, high]) => format!("95% CI {} to {} {unit}", rate(low), rate(high)),
        None => "95% CI not known".to_owned(),
    };
    let answer = Answer {
        question: question(run, Some(main)),
        lead: lead(run, main).to_owned(),
        figure: reached.clone(),
        unit: unit.clone(),
        condition: slowest(main, |result| result.latency_ns.p99)
            .map_or_else(String::new, |p99| format!("at p99 {}", duration(p99))),
        interval,
        basis: basis(run, main, measured),
        limit: limit(run, measured),
        keys: keys(run, main, measured),
        ..Answer::default()
    };
    match run.judgments.data.value {
        // If rows were lost, that is the answer; the rate comes second.
        Data::Lost => Answer {
            lead: String::new(),
            figure: count(run.audit.missing),
            unit: "rows lost".to_owned(),
            condition: format!("of {} acknowledged", count(run.audit.acknowledged)),
            basis: format!("at {reached} {unit}; {}", answer.basis),
            interval: String::new(),
            ..answer
        },
        _ if leaves_out(run, MissingField::Throughput) => Answer {
            figure: "–".to_owned(),
            unit: String::new(),
            interval: "the tool reports no throughput".to_owned(),
            ..answer
        },
        _ => answer,
    }
}

/// The stream that answers: the first stream of the plan, in the last measured phase.
pub(crate) fn main_stream<'a>(
    measured: &'a [MeasuredStream<'a>],
) -> Option<&'a MeasuredStream<'a>> {
    let last = measured.last()?;
    measured.iter().find(|stream| stream.phase.name == last.phase.name)
}

fn question(run: &MeasuredRun<'_>, main: Option<&MeasuredStream<'_>>) -> String {
    let who = target_name(run);
    let within = within(run);
    let streams = &run.plan.definition.streams;
    let name = main.map(|main| main.stream.stream.as_str());
    let plan = streams.iter().find(|plan| name.is_none_or(|name| plan.name == name));
    let beside = others(run, streams, main);
    let Some(plan) = plan else {
        return format!("What did {who} do?");
    };
    let unit = unit_name(run, plan.unit);
    match planned(run, plan, main) {
        Some(Planned::Rate(planned)) if !within.is_empty() => {
            let planned = plain(planned);
            format!("Does {who} sustain {planned} {unit}/s{within}{beside}?")
        }
        Some(Planned::Rate(planned)) => {
            let planned = plain(planned);
            format!("How much of {planned} {unit}/s does {who} acknowledge{beside}?")
        }
        Some(Planned::Sessions(sessions)) => {
            let sessions = plural(sessions as usize, "session");
            format!("How many {unit}/s does {who} acknowledge with {sessions}{within}{beside}?")
        }
        None => format!("How many {unit}/s does {who} acknowledge{within}?"),
    }
}

/// The planned pace of a stream in a phase.
enum Planned {
    /// Units per second.
    Rate(f64),
    Sessions(u32),
}

/// The pace of a stream in the answering phase: from the plan, or the user's change to it.
fn planned(
    run: &MeasuredRun<'_>,
    plan: &StreamPlan,
    main: Option<&MeasuredStream<'_>>,
) -> Option<Planned> {
    let step = main.and_then(|main| main.phase.step);
    let changed =
        main.filter(|_| step.is_none() && !run.interventions.is_empty()).and_then(|main| {
            let mut streams = run.streams.iter();
            streams.find(|of| of.phase == main.phase.name && of.stream == plan.name)
        });
    if let Some(of) = changed {
        let sessions = Planned::Sessions(of.sessions);
        return Some(of.planned_rate.map_or(sessions, Planned::Rate));
    }
    let pace = step.and_then(|step| plan.paces.get(step as usize));
    Some(match pace.or(plan.paces.last())? {
        Pace::Open { rate } => Planned::Rate(rate.as_f64()),
        Pace::Closed { sessions } => Planned::Sessions(*sessions),
    })
}

/// `, alongside 80 queries/s`.
fn others(
    run: &MeasuredRun<'_>,
    streams: &[StreamPlan],
    main: Option<&MeasuredStream<'_>>,
) -> String {
    let others = streams
        .iter()
        .filter(|plan| main.is_some_and(|main| plan.name != main.stream.stream))
        .map(|plan| match planned(run, plan, main) {
            Some(Planned::Rate(planned)) => {
                let unit = unit_name(run, plan.unit);
                format!("{} {unit}/s", plain(planned))
            }
            Some(Planned::Sessions(sessions)) => {
                let sessions = plural(sessions as usize, "session");
                format!("{sessions} of {}", plan.name)
            }
            None => plan.name.clone(),
        });
    match list(others, " and ").as_str() {
        "" => String::new(),
        others => format!(", alongside {others}"),
    }
}

/// An answer about an objective starts with yes or no.
fn lead(run: &MeasuredRun<'_>, main: &MeasuredStream<'_>) -> &'static str {
    let plan = main.plan.and_then(|plan| planned(run, plan, Some(main)));
    let is_question = matches!(plan, Some(Planned::Rate(_))) && !objectives(run).is_empty();
    match run.judgments.objective.value {
        ObjectiveValue::Met if is_question => "Yes:",
        ObjectiveValue::Missed if is_question => "No:",
        _ => "",
    }
}

fn basis(
    run: &MeasuredRun<'_>,
    main: &MeasuredStream<'_>,
    measured: &[MeasuredStream<'_>],
) -> String {
    let unit = unit_name(run, main.stream.unit);
    let planned = main.stream.planned_rate.map(plain);
    let planned = planned.map(|planned| format!("{planned} {unit}/s planned"));
    let length = format!("measured for {}", to_the_second(main.phase.duration_ns));
    let steps = head::phases(measured).len();
    let last = (steps > 1).then(|| format!("the last of {steps} steps"));
    list([planned, Some(length), last].into_iter().flatten(), ", ")
}

/// The maximum over the ops of a stream.
fn slowest(main: &MeasuredStream<'_>, of: fn(&ResultRecord) -> Option<u64>) -> Option<u64> {
    main.results.iter().filter_map(|result| of(result)).max()
}

fn limit(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<LimitLine> {
    if let Some(limit) = &run.limit {
        return Some(limit_line(limit));
    }
    // Closed load is always at its limit; older records do not name the limit.
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
        KeyFigure::new(name, or_absent(value, duration), main.stream.stream.as_str())
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
    if !leaves_out(run, MissingField::Errors) {
        let results = || measured.iter().flat_map(|stream| &stream.results);
        let failed: u64 = results().map(|result| result.failed_ops()).sum();
        let offered: u64 = results().map(|result| result.offered).sum();
        let note = format!("of {}", count(offered));
        let figure = format!("{} ops", count(failed));
        keys.push(KeyFigure::new("failed", figure, note));
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
