//! The three judgments, each with one sentence of evidence.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{count, duration, foreign, percent_whole};
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, Reason};
use highwater_model::record::{MeasuredRun, Question, RecordRef};

use super::parts::{JudgmentLine, plural};
use crate::layout::first_upper;
use crate::text::judged::{self as judgment_text, Judged, three};
use crate::text::search::objective as search_objective;

/// Maximum characters of a reason.
const WORDS: usize = 240;

/// The judgments of a record.
pub(super) fn lines(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Vec<JudgmentLine> {
    let (judged, run) = (record.judgments(), &record.measured_run());
    let trials = record.experiment().map(|of| trials(&of.question).0);
    let measurement = match &trials {
        Some(trials) => format!("{trials}, each with a record of its own."),
        None => generator(run, measured),
    };
    let data = match (&trials, judged.data.value) {
        (Some(trials), Data::Clean) => format!("{trials}: acknowledged rows were found as sent."),
        _ => data(run),
    };
    let objective = match record.experiment().map(|of| &of.question) {
        Some(Question::Search(search)) => search_objective(run, search).replace(" · ", ", "),
        _ => judgment_text::objectives(run).replace(" · ", ", "),
    };
    let objective = match judged.objective.value {
        ObjectiveValue::NoneSet => "Set one with --p99 DURATION.".to_owned(),
        _ => format!("{objective}."),
    };
    let mut all = three(judged);
    if judged.measurement.value == Measurement::Valid {
        // Notes do not affect a valid measurement.
        all[0].reasons = &[];
    }
    all.into_iter()
        .zip([measurement, data, objective])
        .map(|(of, evidence)| line(of, evidence))
        .collect()
}

/// Number of trials of an experiment, in words, and their total time in nanoseconds.
pub(crate) fn trials(question: &Question) -> (String, u64) {
    match question {
        Question::Search(of) => counted("probe", of.probes.iter().map(|probe| probe.took_ns)),
        Question::Tune(of) => counted("probe", of.trials.iter().map(|trial| trial.took_ns)),
        Question::Group(of) => counted("run", of.trials.iter().map(|trial| trial.took_ns)),
        Question::Scale(of) => counted("size", of.trials.iter().map(|trial| trial.took_ns)),
    }
}

fn counted(what: &str, took_ns: impl ExactSizeIterator<Item = u64>) -> (String, u64) {
    (plural(took_ns.len(), what), took_ns.sum())
}

/// The judgments of several runs together: the worst of each.
pub(super) fn together<'a>(all_runs: impl Iterator<Item = &'a Judgments>) -> Vec<JudgmentLine> {
    let all_runs: Vec<[Judged<'_>; 3]> = all_runs.map(three).collect();
    let worst = |at: usize| {
        let all = || all_runs.iter().map(move |judged| judged[at]);
        let worst = all().max_by_key(|of| of.tone)?;
        let same = all().filter(|of| of.value == worst.value).count();
        let (same, runs) = (count(same as u64), plural(all_runs.len(), "run"));
        Some(line(Judged { reasons: &[], ..worst }, format!("{same} of {runs}.")))
    };
    (0..3).filter_map(worst).collect()
}

/// Uses the first reason as the evidence, if there is one, and counts the others.
fn line(of: Judged<'_>, evidence: String) -> JudgmentLine {
    let sentence = match of.reasons {
        [] => evidence,
        [only] => sentence(only),
        [first, others @ ..] => {
            format!("{} And {}.", sentence(first), plural(others.len(), "more reason"))
        }
    };
    JudgmentLine { name: of.name, value: of.value.to_owned(), tone: of.tone, sentence }
}

fn sentence(reason: &Reason) -> String {
    let sentence = foreign(&reason.sentence(), WORDS);
    if sentence.ends_with(['.', '…', '?', '!']) { sentence } else { format!("{sentence}.") }
}

/// The evidence about the load generator.
fn generator(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> String {
    if let Some(origin) = run.origin {
        return format!(
            "Measured by {}, not by Highwater.",
            foreign(&origin.tool_and_version(), WORDS)
        );
    }
    let busiest = run.clients.iter().map(|client| client.cpu_fraction);
    let Some(busiest) = busiest.reduce(f64::max) else {
        return String::new();
    };
    let lag = measured
        .iter()
        .flat_map(|stream| &stream.results)
        .filter_map(|result| result.client_lag_ns.p99)
        .max();
    let lag = lag.map_or_else(String::new, |lag| format!("; client lag p99 {}", duration(lag)));
    format!("Load generator {} busy{lag}.", percent_whole(busiest))
}

fn data(run: &MeasuredRun<'_>) -> String {
    let audit = &run.audit;
    match run.judgments.data.value {
        Data::Clean if audit.acknowledged > 0 && audit.replaced.is_none() => {
            format!("All {} acknowledged rows were found as sent.", count(audit.acknowledged))
        }
        _ => match first_upper(&judgment_text::audited(run)) {
            text if text.is_empty() => text,
            text => text + ".",
        },
    }
}
