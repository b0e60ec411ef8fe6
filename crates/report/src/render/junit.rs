//! A record as JUnit XML, which pipelines show as tests: a case for each judgment, and for each objective of a run.
//!
//! A failure means that something went wrong, an error that something could not be decided; checks that were not
//! requested are skipped. So a record has a failure or an error whenever its exit code reports one. The objective as a
//! whole is a case only for what no single objective explains. Must not judge.

use highwater_analysis::judge::{is_good_enough, judge_objectives, measured_streams};
use highwater_model::display::foreign;
use highwater_model::judgment::{Judgments, Reason};
use highwater_model::record::RecordRef;
use maud::{Markup, html};

use crate::answer::Tone;
use crate::judgments::{self, JudgmentWords};
use crate::kinds;
use crate::layout::list;

/// Maximum characters of a text.
const WORDS: usize = 2_000;

/// A judgment or an objective as a test.
struct Case {
    name: String,
    tone: Tone,
    value: &'static str,
    /// The result, followed by the recommended action.
    reasons: String,
    codes: String,
}

/// The judgments as tests.
pub fn junit<'a>(record: impl Into<RecordRef<'a>>) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let answer = kinds::report(record, run, &measured_streams(run)).answer;
    let mut cases: Vec<Case> =
        judgments::three(record.judgments()).map(|of| case(of.name.to_lowercase(), of)).into();
    if is_good_enough(record.judgments()) {
        cases[0].tone = Tone::Good;
    }
    // An experiment judges its objective over its trials; the last one does not judge each bound.
    if matches!(record, RecordRef::Run(_)) {
        let stated = run.plan.definition.objectives.iter();
        let each: Vec<Case> = stated
            .zip(judge_objectives(run))
            .map(|(stated, objective)| {
                let alone = Judgments { objective, ..Judgments::default() };
                let [_, _, judged] = judgments::three(&alone);
                case(format!("objective {}", judgments::objective_bound(stated)), judged)
            })
            .collect();
        // One miss is one failure; a rate that was not sustained is that of no single objective.
        let is_in_each = |code: &str| each.iter().any(|of| of.codes.split(' ').any(|c| c == code));
        if !each.is_empty() && cases[2].codes.split_whitespace().all(is_in_each) {
            cases.truncate(2);
        }
        cases.extend(each);
    }
    let number = |tone| cases.iter().filter(|case| case.tone == tone).count();
    let [failures, errors, skipped] = [Tone::Bad, Tone::Open, Tone::None].map(number);
    let class = format!("highwater.{}.{}", kinds::kind(record).name(), run.workload.name);
    let suite = html! {
        testsuites {
            testsuite name=(text(&record.header().id)) timestamp=(text(&record.header().started_at))
                tests=(cases.len()) failures=(failures) errors=(errors) skipped=(skipped) {
                @for case in &cases {
                    testcase classname=(text(&class)) name=(text(&case.name)) { (outcome(case)) }
                }
                system-out { (text(&answer.sentence())) }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", suite.into_string())
}

fn case(name: String, judged: JudgmentWords<'_>) -> Case {
    let reasons = judged.reasons.iter();
    let codes = list(reasons.clone().map(|reason| reason.code.name()), " ");
    let reasons = list(reasons.map(sentence), "\n");
    Case { name, tone: judged.tone, value: judged.value, reasons, codes }
}

fn sentence(reason: &Reason) -> String {
    let hint = reason.hint.as_ref().map_or_else(String::new, |hint| format!(" → {hint}"));
    reason.sentence() + &hint
}

fn outcome(case: &Case) -> Markup {
    let (value, codes, reasons) = (case.value, &case.codes, text(&case.reasons));
    match case.tone {
        Tone::Good => html! {},
        Tone::None => html! { skipped message=(value) {} },
        Tone::Open => html! { error message=(value) type=(codes) { (reasons) } },
        Tone::Bad => html! { failure message=(value) type=(codes) { (reasons) } },
    }
}

/// Without characters that XML does not allow.
fn text(text: &str) -> String {
    list(text.lines().map(|line| foreign(line, WORDS)), "\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use highwater_analysis::fixture::{self, MS};
    use highwater_model::plan::Objective;
    use highwater_model::units::{Nanos, Rate};
    use highwater_sizing::growth::fixture::grown;

    use super::*;
    use crate::render::terminal::tests::{found, tuned};

    /// An element: its name, its attributes, and its text.
    type Element = (String, BTreeMap<String, String>, String);

    /// The elements of a document in order of their start tags. Panics unless all are closed in order, attributes are
    /// quoted, and `<` and `&` do not occur elsewhere.
    fn parsed(xml: &str) -> Vec<Element> {
        let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
        let (mut open, mut elements): (Vec<usize>, Vec<Element>) = (Vec::new(), Vec::new());
        let unescaped = |text: &str| {
            let known = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
            let rest = known.iter().fold(text.to_owned(), |rest, (name, _)| rest.replace(name, ""));
            assert!(!rest.contains(['&', '<']) && !rest.contains(|c: char| c < '\n'), "{text}");
            known.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
        };
        for part in body.trim_end().split('<').skip(1) {
            let (tag, text) = part.split_once('>').unwrap();
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(elements[open.pop().unwrap()].0, name);
            } else {
                let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
                let mut attributes = BTreeMap::new();
                while let Some((name, value)) = rest.split_once("=\"") {
                    let (value, after) = value.split_once('"').unwrap();
                    attributes.insert(name.trim().to_owned(), unescaped(value));
                    rest = after;
                }
                assert_eq!(rest.trim(), "", "{tag}");
                open.push(elements.len());
                elements.push((name.to_owned(), attributes, unescaped(text)));
            }
        }
        assert!(open.is_empty() && elements[0].0 == "testsuites", "{xml}");
        elements
    }

    /// Each case with its outcome, and the outcome's text.
    fn cases(xml: &str) -> Vec<String> {
        let elements = parsed(xml);
        let suite = &elements[1].1;
        let of = |name: &str| elements.iter().filter(|of| of.0 == name).count().to_string();
        let counted = [("tests", "testcase"), ("failures", "failure"), ("errors", "error")];
        for (count, element) in counted.into_iter().chain([("skipped", "skipped")]) {
            assert_eq!(suite[count], of(element), "{xml}");
        }
        let mut cases: Vec<String> = Vec::new();
        for (name, attributes, text) in elements {
            match (name.as_str(), cases.last_mut()) {
                ("testcase", _) => cases.push(attributes["name"].clone()),
                ("failure" | "error" | "skipped", Some(case)) => {
                    *case += &format!(": {name}: {}", attributes["message"]);
                    *case += text
                        .lines()
                        .next()
                        .map(|line| format!(": {line}"))
                        .as_deref()
                        .unwrap_or("");
                }
                _ => {}
            }
        }
        cases
    }

    #[test]
    fn each_objective_of_a_run_is_a_case_beside_the_judgments() {
        let mut op = fixture::gate_op();
        op.latencies = vec![(4 * MS, 9_000), (30 * MS, 1_000)];
        let mut record = fixture::open_gate_of(&op);
        let stated = &mut record.plan.definition.objectives;
        stated.push(Objective::Errors { max_ppm: 1_000 });
        stated.push(Objective::Throughput { min: Rate::per_second(5_000) });
        let p50 = Objective::Latency { quantile_ppm: 500_000, max: Nanos(50 * MS), op: None };
        stated.push(p50);
        // No op took longer than the second bound.
        let windows = &mut record.results[0].windows;
        windows.over.push(vec![0; windows.ended.len()]);
        insta::assert_snapshot!(cases(&junit(&fixture::judged(record))).join("\n"));
    }

    #[test]
    fn every_kind_has_its_judgments_and_fails_if_its_exit_code_does() {
        let mut lost = fixture::closed();
        fixture::lose_rows(&mut lost, 96);
        let lost = fixture::judged(lost);
        let (closed, gate) = (fixture::closed(), fixture::open_gate());
        let (found, tuned, grown, grouped) = (found(), tuned(), grown(), fixture::group::grouped());
        let all: [RecordRef<'_>; 7] = [
            (&closed).into(),
            (&gate).into(),
            (&lost).into(),
            (&found).into(),
            (&tuned).into(),
            (&grown).into(),
            (&grouped).into(),
        ];
        for record in all {
            let xml = junit(record);
            let cases = cases(&xml);
            let names: Vec<&str> =
                cases.iter().take(3).map(|case| case.split([':', ' ']).next().unwrap()).collect();
            assert_eq!(names, ["measurement", "data", "objective"]);
            let is_bad =
                cases.iter().any(|case| case.contains(": failure") || case.contains(": error"));
            let code = highwater_analysis::exit_code(
                record.judgments(),
                highwater_analysis::RunEnding::from_incidents(record.incidents()),
            );
            assert_eq!(is_bad, code != 0, "{xml}");
        }
    }

    #[test]
    fn text_from_a_target_is_no_markup() {
        let mut op = fixture::gate_op();
        op.errors = vec![("<failure>&\"\u{1b}", 3_000)];
        let record = fixture::judged(fixture::open_gate_of(&op));
        parsed(&junit(&record));
        let mut record = fixture::closed();
        record.header.id = "a\"<b>&\u{7}".to_owned();
        assert_eq!(parsed(&junit(&record))[1].1["name"], "a\"<b>& ");
    }
}
