//! Answers of stored runs as metrics: the newest answer to each question, so that repeated scraping builds a history.
//! Must not read a file or judge.

use highwater_model::judgment::{Measurement, ObjectiveValue};
use highwater_model::numbers::to_f64;
use highwater_model::quantity::parse_instant;
use highwater_report::HistoryRow;

use crate::families::{Family, Label, Point, Points};

/// Maximum number of questions; with more, the most recently answered ones.
const QUESTIONS_MAX: usize = 200;

/// Runs of one kind, with one workload, on one target.
struct Question<'a> {
    newest: &'a HistoryRow,
    runs: u32,
}

/// The metrics of these runs, which are sorted newest first.
pub(crate) fn of_store(rows: &[HistoryRow]) -> Vec<Family> {
    let questions = questions(rows);
    let each = |name, help, value: fn(&Question<'_>) -> Option<f64>| {
        let points = questions.iter().filter_map(|question| {
            Some(Point { value: value(question)?, labels: labels(question.newest) })
        });
        Family::new(name, help, Points::Gauges(points.collect()))
    };
    vec![
        each("stored_runs", "Runs in the store that are over", |of| Some(f64::from(of.runs))),
        each("stored_started_timestamp_seconds", "When the newest of them began", |of| {
            let started = parse_instant(&of.newest.started_at).ok()?;
            Some(to_f64(started.0) / 1e9)
        }),
        each(
            "stored_answer",
            "The answer of the newest one: units per second, or sessions",
            |of| of.newest.answer.map(|answer| answer.value),
        ),
        each("stored_answer_low", "Where it lies at least", |of| {
            Some(of.newest.answer?.interval?[0])
        }),
        each("stored_answer_high", "Where it lies at most", |of| {
            Some(of.newest.answer?.interval?[1])
        }),
        each(
            "stored_measurement_valid",
            "Whether the measurement of the newest one is valid",
            |of| {
                let judged = of.newest.judgments.as_ref()?;
                let is_valid = judged.measurement.value == Measurement::Valid;
                Some(if is_valid { 1.0 } else { 0.0 })
            },
        ),
        each(
            "stored_objective_met",
            "Whether the newest one met its objective; absent where it had none, or that is not known",
            |of| match of.newest.judgments.as_ref()?.objective.value {
                ObjectiveValue::Met => Some(1.0),
                ObjectiveValue::Missed => Some(0.0),
                _ => None,
            },
        ),
    ]
}

/// Only finished runs: the answer of a running search may change.
fn questions(rows: &[HistoryRow]) -> Vec<Question<'_>> {
    let mut questions: Vec<Question<'_>> = Vec::new();
    let over = rows.iter().filter(|row| row.judgments.is_some() && row.progress.is_none());
    for row in over {
        let same = |question: &Question<'_>| row.is_same_question(question.newest);
        match questions.iter().position(same) {
            Some(at) => questions[at].runs += 1,
            None if questions.len() < QUESTIONS_MAX => {
                questions.push(Question { newest: row, runs: 1 });
            }
            None => {}
        }
    }
    questions
}

fn labels(row: &HistoryRow) -> Vec<Label> {
    vec![
        Label::new("kind", row.kind.name()),
        Label::new("workload", &row.workload),
        Label::new("target", &row.target),
        Label::new("unit", row.unit_name()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::text;
    use highwater_model::judgment::Judgments;
    use highwater_model::plan::Unit;
    use highwater_report::{HistoryAnswer, HistoryKind, HistoryProgress};

    fn row(workload: &str, value: f64) -> HistoryRow {
        HistoryRow {
            started_at: "1970-01-01T00:01:40Z".to_owned(),
            kind: HistoryKind::Run,
            workload: workload.to_owned(),
            target: "a \"model\"".to_owned(),
            answer: Some(HistoryAnswer {
                value,
                interval: Some([value - 1.0, value + 1.0]),
                unit: Some(Unit::Rows),
            }),
            judgments: Some(Judgments::default()),
            ..HistoryRow::without_record(String::new())
        }
    }

    #[test]
    fn each_question_shows_its_newest_answer_and_how_many_there_are() {
        let going_on =
            HistoryRow { progress: Some(HistoryProgress::default()), ..row("cpu", 99.0) };
        let text = text(of_store(&[
            going_on,
            row("cpu", 20.0),
            row("kv", 5.0),
            row("cpu", 10.0),
            HistoryRow::without_record("killed".to_owned()),
        ]));
        let labels = |workload: &str| {
            format!(r#"{{kind="run",workload="{workload}",target="a \"model\"",unit="rows"}}"#)
        };
        for line in [
            format!("highwater_stored_runs{} 2.0\n", labels("cpu")),
            format!("highwater_stored_answer{} 20.0\n", labels("cpu")),
            format!("highwater_stored_answer_low{} 19.0\n", labels("cpu")),
            format!("highwater_stored_answer{} 5.0\n", labels("kv")),
            format!("highwater_stored_started_timestamp_seconds{} 100.0\n", labels("kv")),
            format!("highwater_stored_measurement_valid{} 0.0\n", labels("kv")),
        ] {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("99.0"), "what goes on has no answer: {text}");
        assert!(!text.contains("stored_objective_met{"), "{text}");
    }

    #[test]
    fn questions_are_bounded() {
        let rows: Vec<HistoryRow> = (0..1_000).map(|n| row(&n.to_string(), 1.0)).collect();
        assert_eq!(questions(&rows).len(), QUESTIONS_MAX);
    }
}
