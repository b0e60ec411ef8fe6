//! The known parts of a running run or experiment, in the form of its result's page, with the rest left open.
//!
//! Must not judge, or compute a figure that the record would not have.

use std::borrow::Cow;
use std::path::Path;

use maud::html;

use highwater_analysis::judge::objective::may_yet_be_met;
use highwater_analysis::judge::{MeasuredStream, measured_streams};
use highwater_model::display::{ABSENT, about, count, plain, rate, ratio};
use highwater_model::event::{SecondProgress, StreamProgress, Trial};
use highwater_model::plan::{AuditLevel, Unit};
use highwater_model::record::{ExperimentRecord, RecordRef, RunRecord};
use highwater_model::search::{ProbePurpose, SearchAxis, SearchRecord};
use highwater_model::units::Nanos;

use crate::answer::{Answer, JudgmentLine, KeyFigure, Tone, nodes, short_target};
use crate::blocks::{Block, Section};
use crate::chart::{self, Chart, Point, Series, Shape, Span, SpanKind};
use crate::events::unconnected;
use crate::judgments::objective_bound;
use crate::kinds::search::passes_and_fails;
use crate::kinds::{self, run_answer};
use crate::layout::{first_upper, list};
use crate::plots::target_so_far;
use crate::progress::standings;
use crate::render::html::blocks::{self, Part};
use crate::render::html::sections::{self, short_id};
use crate::render::html::{Page, watched};
use crate::watched::{Stage, Trying, WatchedPage, WatchedRun};

/// In a shorter measured phase, ops in flight at its start and end distort the figures.
const SHORTEST: Nanos = Nanos::from_secs(5);
/// The phase of ops that end after the last paced phase; it is not part of any rate.
const DRAIN: &str = "drain";
/// The section of a growth with links to pages of runs, which are not served here.
const LINKS: &str = "sizes";
/// The section of a tuning, with its table.
const TABLE: &str = "configurations";
/// The directory of an experiment that has its trials.
const TRIALS: &str = "probes";
/// Key figures of a run that are known before its end.
const KEYS: [&str; 3] = ["p50", "p99", "max"];

/// The page so far.
pub(super) fn page(watched: &WatchedPage) -> Page<'static> {
    let run = &watched.run;
    let (of_load, others): (Vec<Chart>, Vec<Chart>) = watched::over_time(run)
        .into_iter()
        .partition(|chart| chart.id.starts_with("throughput-") || chart.id == "latency");
    let mut page = match watched.experiments.first() {
        Some(experiment) => of_experiment(watched, experiment),
        None => of_run(watched),
    };
    let mut parts = std::mem::take(&mut page.parts);
    if page.hero.0.is_empty() {
        page.hero = chart::hero(&of_load, false);
    } else if !of_load.is_empty() {
        let body = chart::hero(&of_load, false);
        parts.push(part("trial", "Current trial", run.workload.clone(), body));
    }
    parts.extend(watched::ops(run));
    parts.extend(watched::failures(run));
    if !others.is_empty() {
        parts.push(part("failed-ops", "Failed ops", String::new(), chart::hero(&others, false)));
    }
    parts.extend(machines(run));
    for (id, title, lines) in
        [("trials", "Trials", &watched.trials), ("events", "What happened", &watched.notes)]
    {
        if let Some(last) = lines.back() {
            let body =
                html! { ul class="lines" { @for line in lines.iter().rev() { li { (line) } } } };
            parts.push(part(id, title, last.clone(), body));
        }
    }
    Page { parts, ..page }
}

fn part(id: &'static str, title: &'static str, lead: String, body: maud::Markup) -> Part {
    Part { id, title, abstract_line: lead, body }
}

/// Sessions, and telemetry of the target and its host, as small multiples.
fn machines(run: &WatchedRun) -> Option<Part> {
    let sessions = watched::sessions(&run.seconds);
    let all: Vec<_> = sessions.into_iter().chain(target_so_far(&run.telemetry)).collect();
    let lead = list(all.iter().map(|chart| chart.title.as_str()).take(4), ", ");
    (!all.is_empty()).then(|| part("machines", "Machines", lead, chart::sparklines(&all)))
}

/// The name of a run's directory in the store: a trial's directory is below that of its experiment.
fn of_store(directory: &str) -> String {
    let mut parts = Path::new(directory).iter().map(|part| part.to_string_lossy());
    let before = parts.by_ref().take_while(|part| part != TRIALS).last();
    before.map_or_else(String::new, Cow::into_owned)
}

fn of_run(watched: &WatchedPage) -> Page<'static> {
    let run = &watched.run;
    let kind = match watched.trying.first() {
        None => "Run",
        Some(trying) => kind_of(&trying.trial),
    };
    let record = run.record.as_deref();
    let tags = record.map(|record| sections::tags(record.into(), &record.into()));
    Page {
        kind: kind.to_owned(),
        name: short_id(&of_store(&run.directory)),
        facts: [run.workload.clone(), run.target.clone()]
            .into_iter()
            .filter(|fact| !fact.is_empty())
            .collect(),
        tags: tags.unwrap_or_default(),
        answer: match watched.trying.first().map(|trying| &trying.trial) {
            Some(Trial::Probe { at: None, .. }) => answer_of_estimate(watched),
            _ => Answer {
                interval: trying(watched).unwrap_or("95% CI: after the load".to_owned()),
                ..answer_of_run(run)
            },
        },
        hero: html! {},
        parts: Vec::new(),
        links: &[],
    }
}

/// The kind of an experiment with such trials.
const fn kind_of(trial: &Trial) -> &'static str {
    match trial {
        Trial::Probe { .. } => "Find",
        Trial::Configuration { .. } => "Tune",
        Trial::Variant { .. } => "Group",
        Trial::Size { .. } => "Growth",
    }
}

/// The answer of a run, from its record so far and its last second.
fn answer_of_run(run: &WatchedRun) -> Answer {
    let record = run.record.as_deref();
    let measured = record.map(measured_streams).unwrap_or_default();
    let known = record.map(|record| run_answer(record, &measured));
    let mut answer =
        known.unwrap_or_else(|| Answer { question: question(run), ..Answer::default() });
    (answer.caveat, answer.failed) = (None, None);
    answer.lead.clear();
    if measured.is_empty() {
        (answer.figure, answer.unit) = (ABSENT.to_owned(), String::new());
        "nothing is measured yet".clone_into(&mut answer.basis);
    }
    if let Some(first) = run.last.as_ref().and_then(|last| last.streams.first()) {
        "so far".clone_into(&mut answer.lead);
        // Before the first measured second, that of the warm-up.
        if measured.is_empty() {
            "the rate of the load until now; nothing is measured yet".clone_into(&mut answer.basis);
            answer.figure = rate(phase_rate(run, 0));
            answer.unit = format!("{}/s", first.unit.name());
        }
    }
    answer.judgments = judgments(run, &answer, &measured);
    // What was busy before an outage does not explain it.
    answer.limit = answer.limit.filter(|_| !run.is_silent());
    if let Some(limit) = answer.limit.as_mut().filter(|limit| limit.what.is_empty()) {
        limit.label += " so far";
        limit.more.clear();
    }
    answer.keys.retain(|key| KEYS.contains(&key.name.as_str()));
    answer.keys.extend(totals(run));
    answer
}

/// The answer while closed load runs for a first estimate: its throughput is not the answer of a
/// search.
fn answer_of_estimate(watched: &WatchedPage) -> Answer {
    let mut answer = answer_of_run(&watched.run);
    answer.lead.clear();
    (answer.figure, answer.unit) = (ABSENT.to_owned(), String::new());
    answer.interval = trying(watched).unwrap_or_default();
    "no value has been tried yet".clone_into(&mut answer.basis);
    if let Some(objective) = answer.judgments.last_mut().filter(|of| of.tone != Tone::None) {
        (objective.value, objective.tone) = ("not decided yet".to_owned(), Tone::None);
        objective.sentence = list(watched.run.objectives.iter().map(objective_bound), ", ") + ".";
    }
    answer
}

/// The question before the record is known.
fn question(run: &WatchedRun) -> String {
    let bounds = list(run.objectives.iter().map(objective_bound), ", ");
    match (run.target.as_str(), bounds.as_str()) {
        ("", _) => "Connecting to the target".to_owned(),
        (target, "") => format!("How much does {target} take?"),
        (target, bounds) => format!("How much does {target} take within {bounds}?"),
    }
}

/// Totals of the load so far, and the open sessions.
fn totals(run: &WatchedRun) -> Vec<KeyFigure> {
    let Some(last) = &run.last else {
        return Vec::new();
    };
    let slots = || run.seconds.slots.iter().flat_map(|slot| &slot.streams);
    let unit = last.streams.first().map_or(Unit::Rows, |first| first.unit);
    let acknowledged =
        slots().filter(|stream| stream.unit == unit).map(|stream| stream.acknowledged).sum();
    let failed = slots().map(|stream| stream.errors).sum();
    vec![
        KeyFigure::new(
            "acknowledged",
            format!("{} {}", count(acknowledged), unit.name()),
            "in all phases",
        ),
        KeyFigure::new("failed", format!("{} ops", count(failed)), "in all phases"),
        KeyFigure::new(
            "sessions",
            count(last.sessions.into()),
            if run.unconnected.is_some() { "not all connected" } else { "open now" },
        ),
    ]
}

/// The three judgments, if known.
fn judgments(
    run: &WatchedRun,
    answer: &Answer,
    measured: &[MeasuredStream<'_>],
) -> Vec<JudgmentLine> {
    let line = |name, value: &str, tone, sentence: String| JudgmentLine {
        name,
        value: value.to_owned(),
        tone,
        sentence,
    };
    let is_short = measured.iter().all(|of| of.phase.duration_ns < SHORTEST.0);
    let record = run.record.as_deref().filter(|_| !is_short);
    let measurement = match answer.judgments.first().filter(|_| record.is_some()) {
        _ if run.is_silent() => {
            let silent = format!("no response for {} s", run.silent_s);
            let since = run.last.as_ref().map_or(0, |last| last.second - run.silent_s);
            let why = run.unconnected.as_deref().map_or_else(
                || format!("The last op was acknowledged at {since} s."),
                |why| first_upper(&unconnected(why)) + ".",
            );
            line("Measurement", &silent, Tone::Bad, why)
        }
        Some(known) => {
            let seen = run.last.as_ref().map_or(0, |last| last.second);
            let late = run.record_until < seen && run.record_until > 0;
            let sentence = match known.sentence.as_str() {
                _ if late => {
                    format!("By the first {} s; the rest is being read.", count(run.record_until))
                }
                "" => "The load generator's own figures follow at the end.".to_owned(),
                sentence => sentence.to_owned(),
            };
            line(known.name, &format!("{} so far", known.value), known.tone, sentence)
        }
        None => line(
            "Measurement",
            "not yet",
            Tone::None,
            "Nothing is judged in the first seconds.".to_owned(),
        ),
    };
    let audit = record.map(|record| record.plan.definition.audit.level);
    let (value, sentence) = match (&run.stage, audit) {
        (_, Some(AuditLevel::Off)) => ("not checked", "No audit is planned."),
        (Stage::Audit(_), _) => ("being checked", "The audit compares what was acknowledged."),
        _ => ("after the load", "The audit begins when the load is over."),
    };
    let data = line("Data", value, Tone::None, sentence.to_owned());
    vec![measurement, data, objective(run, record, measured)]
}

/// The objective: missed so far, met so far, or open.
fn objective(
    run: &WatchedRun,
    record: Option<&RunRecord>,
    measured: &[MeasuredStream<'_>],
) -> JudgmentLine {
    let standings: Vec<_> =
        run.last.iter().flat_map(|last| standings(&run.objectives, last)).collect();
    let is_decided = record.is_some_and(|record| !may_yet_be_met(record, measured));
    let (value, tone) = match &standings[..] {
        _ if run.objectives.is_empty() => ("none set", Tone::None),
        _ if record.is_none() => ("not decided yet", Tone::None),
        [] => ("not decided yet", Tone::None),
        all if all.iter().any(|of| of.is_missed()) => {
            ("missed so far", if is_decided { Tone::Bad } else { Tone::Open })
        }
        _ => ("met so far", if is_decided { Tone::Good } else { Tone::None }),
    };
    let words = list(standings.iter().map(|of| of.words()), "; ");
    let sentence = match words.as_str() {
        "" if run.objectives.is_empty() => "Set one with --p99 DURATION.".to_owned(),
        "" => format!("{}.", list(run.objectives.iter().map(objective_bound), ", ")),
        words => format!("{words}."),
    };
    JudgmentLine { name: "Objective", value: value.to_owned(), tone, sentence }
}

/// Units per second of a stream over the current phase so far, or over the last phase if none is running.
fn phase_rate(run: &WatchedRun, stream: usize) -> f64 {
    let (mut units, mut seconds) = (0, 0);
    let slots = run.seconds.slots.iter().rev();
    let mut phases = slots.clone().map(|slot| &slot.phase);
    let phase = phases.find(|phase| *phase != DRAIN);
    let slots = slots.skip_while(|slot| Some(&slot.phase) != phase);
    for slot in slots.take_while(|slot| Some(&slot.phase) == phase) {
        // Includes acknowledgments that were reported a second late.
        let stream = slot.streams.get(stream);
        units += stream.map_or(0, |stream| stream.acknowledged);
        seconds += slot.seconds;
    }
    ratio(units, seconds.max(1))
}

/// The current pace of a stream in the form of its control: a rate, or a number of sessions. Empty if unknown.
pub(super) fn pace_now(run: &WatchedRun, last: &SecondProgress, stream: &StreamProgress) -> String {
    if let Some(offered) = stream.offered_per_s {
        return plain(offered);
    }
    let record = run.record.as_deref();
    let mut known = record.iter().flat_map(|record| record.streams.iter().rev());
    let known = known.find(|of| of.stream == stream.stream && of.phase == last.phase);
    match known {
        Some(of) => of.sessions.to_string(),
        None if last.streams.len() == 1 => last.sessions.to_string(),
        None => String::new(),
    }
}

fn of_experiment(watched: &WatchedPage, experiment: &ExperimentRecord) -> Page<'static> {
    let record = RecordRef::from(experiment);
    let run = record.measured_run();
    let measured = measured_streams(&run);
    let report = kinds::report(record, &run, &measured);
    let mut answer = report.answer;
    if !watched.is_over
        && let [measurement, data, objective] = answer.judgments.as_mut_slice()
    {
        (measurement.value, measurement.tone) = ("not yet".to_owned(), Tone::None);
        "Judged when all trials are over.".clone_into(&mut measurement.sentence);
        data.value += " so far";
        if objective.tone != Tone::None {
            "not decided yet".clone_into(&mut objective.value);
        }
        if objective.sentence.trim_matches('.').is_empty() {
            objective.sentence.clone_from(&measurement.sentence);
        }
    }
    if let Some(trying) = trying(watched) {
        (answer.interval, answer.basis) = (trying, String::new());
    }
    let mut hero: Vec<Chart> = Vec::new();
    for block in report.hero {
        if let Block::Charts(charts) = block {
            hero.extend(charts);
        }
    }
    let [kind, name] = sections::named(record);
    // Before the first size of a growth is known, the first experiment is the search of that size.
    let outermost = watched.trying.first().map(|trying| kind_of(&trying.trial));
    let is_nested = outermost.is_some_and(|outermost| outermost != kind);
    let trial = watched.trying.iter().find(|trying| kind_of(&trying.trial) == kind);
    if let (Some(chart), Some(trying)) = (hero.first_mut(), trial) {
        show_trial(chart, &trying.trial);
    }
    let mut sections: Vec<Section> = report.sections;
    for section in &mut sections {
        section.blocks.retain(|block| !matches!(block, Block::Charts(_) | Block::Term(_)));
    }
    sections.retain(|section| section.id != LINKS && !section.blocks.is_empty());
    // Without a chart, the table so far takes its place.
    let table = sections.iter().position(|section| hero.is_empty() && section.id == TABLE);
    let table = table.map(|place| sections.remove(place).blocks);
    Page {
        kind: outermost.map_or(kind, str::to_owned),
        name: if is_nested { short_id(&of_store(&watched.run.directory)) } else { name },
        facts: vec![run.workload.name.clone(), short_target(&run.target.version)],
        tags: sections::tags(record, &run),
        answer,
        hero: match table {
            Some(table) => blocks::hero(&table, false),
            None if hero.is_empty() => html! {},
            None => chart::hero(&hero, false),
        },
        parts: sections.iter().map(blocks::part).collect(),
        links: &[],
    }
}

/// Draws the current trial at its place on the axis: a line, and for a size its prediction as a ring.
fn show_trial(chart: &mut Chart, trial: &Trial) {
    let at = match trial {
        Trial::Probe { at: Some(at), .. } => *at,
        Trial::Size { nodes, .. } => f64::from(*nodes),
        _ => return,
    };
    chart.x.from = chart.x.from.min(at / 1.06);
    chart.x.to = chart.x.to.max(at * 1.06);
    chart.spans.push(Span { from: at, to: at, name: "now".to_owned(), kind: SpanKind::Note });
    if let Trial::Size { predicted: Some(predicted), .. } = trial {
        let ring = Point::new(at, Some(predicted.expected));
        chart.y.to = chart.y.to.max(predicted.expected * 1.06);
        match chart.series.iter_mut().find(|series| series.shape == Shape::Ring) {
            Some(series) => series.points.push(ring),
            None => chart.series.push(Series::new("predicted", Shape::Ring, 1, vec![ring])),
        }
    }
}

/// `Trying 41,140 rows/s (probe 4 of about 12) · passes ≤ 49,040 · fails ≥ 65,920`: the running trials, the outermost
/// first. Absent without trials, and at the end.
fn trying(watched: &WatchedPage) -> Option<String> {
    let of_each = watched.trying.iter().map(|trying| words(watched, trying));
    let words = list(of_each, " · ");
    (!words.is_empty() && !watched.is_over).then(|| first_upper(&words))
}

fn words(watched: &WatchedPage, trying: &Trying) -> String {
    let (number, of) = (trying.progress.done + 1, trying.progress.most);
    match &trying.trial {
        Trial::Probe { purpose, axis, at, unit } => {
            let what = match (at, axis) {
                (None, _) => "closed load, for a first estimate".to_owned(),
                (Some(at), SearchAxis::Rate) => format!("{} {}/s", rate(*at), unit.name()),
                (Some(at), SearchAxis::Sessions) => format!("{} sessions", rate(*at)),
            };
            let search = watched.experiments.iter().find_map(|of| of.search());
            let about = trying.progress.likely.max(number);
            let known = search.map_or_else(Vec::new, passes_and_fails);
            let (doing, which) = match (purpose, search, at) {
                (ProbePurpose::Confirm, Some(search), Some(at)) => {
                    ("confirming", format!("{}, ", which_confirmation(search, *at)))
                }
                _ => ("trying", String::new()),
            };
            let tried = format!("{doing} {what} ({which}probe {number} of about {about})");
            list(std::iter::once(tried).chain(known), " · ")
        }
        Trial::Configuration { values, .. } => {
            let values = list(values.iter().map(|pair| pair.join(" ")), ", ");
            format!("trying {values} (run {number} of at most {of})")
        }
        Trial::Variant { name, round, times } => {
            format!("running {name}, {round} of {times} (run {number} of {of})")
        }
        Trial::Size { node: Some(node), .. } => format!("measuring node {node} alone"),
        Trial::Size { nodes: number_of, predicted, unit, node: None, .. } => {
            let predicted = predicted.map_or_else(String::new, |of| {
                format!(", predicted {} {}/s", about(of.expected), unit.name())
            });
            format!("measuring {} (run {number} of {of}){predicted}", nodes(*number_of))
        }
    }
}

/// `1 of 3`, and `confirmation 4` beyond the planned number.
fn which_confirmation(search: &SearchRecord, at: f64) -> String {
    let made = search
        .probes
        .iter()
        .filter(|probe| probe.purpose == ProbePurpose::Confirm && probe.at.total_cmp(&at).is_eq());
    let (which, planned) = (made.count() + 1, search.policy.confirmations);
    if u32::try_from(which).is_ok_and(|which| which <= planned) {
        format!("{which} of {planned}")
    } else {
        format!("confirmation {which}")
    }
}
