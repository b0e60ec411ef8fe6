//! The three judgments, each with the one sentence that holds its evidence.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{count, duration, foreign, percent_whole};
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, Reason};
use highwater_model::record::{MeasuredRun, Question, RecordRef};

use super::parts::{JudgmentLine, plural};
use crate::text::judged as judgment_text;
use crate::text::judged::Tone;
use crate::text::search::objective as search_objective;

/// Characters of a reason.
const WORDS: usize = 240;

/// Of a record.
pub(super) fn lines(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Vec<JudgmentLine> {
    let (judged, run) = (record.judgments(), &record.measured_run());
    let trials = record.experiment().map(|of| trials(&of.question));
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
    all(judged, [measurement, data, objective])
}

/// Of several runs together: the worst of each.
pub(super) fn together<'a>(all_runs: impl Iterator<Item = &'a Judgments>) -> Vec<JudgmentLine> {
    let all_runs: Vec<&Judgments> = all_runs.collect();
    let runs = all_runs.len();
    let line = |name, of: &dyn Fn(&Judgments) -> (&'static str, Tone)| {
        let worst = all_runs
            .iter()
            .map(|judged| of(judged))
            .max_by_key(|(_, tone)| rank(*tone));
        let (value, tone) = worst.unwrap_or(("none", Tone::None));
        let same = all_runs.iter().filter(|judged| of(judged).0 == value);
        JudgmentLine {
            name,
            value: value.to_owned(),
            tone,
            sentence: format!("{} of {}.", count(same.count() as u64), plural(runs, "run")),
        }
    };
    vec![
        line("Measurement", &|of| {
            judgment_text::measurement(of.measurement.value)
        }),
        line("Data", &|of| judgment_text::data(of.data.value)),
        line("Objective", &|of| {
            judgment_text::objective(of.objective.value)
        }),
    ]
}

const fn rank(tone: Tone) -> u8 {
    match tone {
        Tone::None => 0,
        Tone::Good => 1,
        Tone::Open => 2,
        Tone::Bad => 3,
    }
}

fn all(judged: &Judgments, evidence: [String; 3]) -> Vec<JudgmentLine> {
    let [measurement, data, objective] = evidence;
    let of_measurement = judgment_text::measurement(judged.measurement.value);
    let of_data = judgment_text::data(judged.data.value);
    let of_objective = judgment_text::objective(judged.objective.value);
    vec![
        line(
            "Measurement",
            of_measurement.0,
            of_measurement.1,
            measurement,
            // Notes of a valid measurement change nothing.
            if judged.measurement.value == Measurement::Valid {
                &[]
            } else {
                &judged.measurement.reasons
            },
        ),
        line("Data", of_data.0, of_data.1, data, &judged.data.reasons),
        line(
            "Objective",
            of_objective.0,
            of_objective.1,
            objective,
            &judged.objective.reasons,
        ),
    ]
}

/// The first reason is the evidence, where there is one; the others are counted.
fn line(
    name: &'static str,
    value: &'static str,
    tone: Tone,
    evidence: String,
    reasons: &[Reason],
) -> JudgmentLine {
    let sentence = match reasons {
        [] => evidence,
        [only] => sentence(only),
        [first, others @ ..] => format!(
            "{} And {}.",
            sentence(first),
            plural(others.len(), "more reason")
        ),
    };
    JudgmentLine {
        name,
        value: value.to_owned(),
        tone,
        sentence,
    }
}

fn sentence(reason: &Reason) -> String {
    let sentence = foreign(&reason.sentence(), WORDS);
    if sentence.ends_with(['.', '…', '?', '!']) {
        sentence
    } else {
        format!("{sentence}.")
    }
}

/// What is known of the load generator.
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
    let results = measured.iter().flat_map(|stream| &stream.results);
    let lag = results.filter_map(|result| result.client_lag_ns.p99).max();
    let lag = lag.map_or_else(String::new, |lag| {
        format!("; client lag p99 {}", duration(lag))
    });
    format!("Load generator {} busy{lag}.", percent_whole(busiest))
}

fn data(run: &MeasuredRun<'_>) -> String {
    let audit = &run.audit;
    match run.judgments.data.value {
        Data::Clean if audit.acknowledged > 0 && audit.replaced.is_none() => format!(
            "All {} acknowledged rows were found as sent.",
            count(audit.acknowledged)
        ),
        _ => {
            let text = judgment_text::audited(run);
            let mut letters = text.chars();
            match letters.next() {
                Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
                None => String::new(),
            }
        }
    }
}

/// How many trials an experiment made.
fn trials(question: &Question) -> String {
    match question {
        Question::Search(search) => plural(search.probes.len(), "probe"),
        Question::Tune(tune) => plural(tune.trials.len(), "probe"),
        Question::Group(group) => plural(group.trials.len(), "run"),
        Question::Scale(scale) => plural(scale.trials.len(), "size"),
    }
}
