//! A running experiment: its trials as they finish, on the chart and in the table of its report, and for a search the
//! current bracket of the mark. Must not choose the next trial.

use maud::{Markup, html};

use highwater_analysis::search::of_axis;
use highwater_model::record::{ExperimentRecord, Question, RecordRef};
use highwater_model::search::{ProbeVerdict, SearchRecord};

use super::super::question::of_question;

/// The part of a growth with links to pages of runs, which are not served here.
const LINKS: &str = "sizes";

pub(super) fn so_far(experiment: &ExperimentRecord) -> Markup {
    let run = RecordRef::from(experiment).measured_run();
    let (hero, parts) = of_question(&run, &experiment.question);
    html! {
        section class="experiment" {
            @if let Question::Search(search) = &experiment.question {
                @if search.outcome.is_none() { p id="bracket" class="distance" { (bracket(search)) } }
            }
            (hero)
            @for part in parts.iter().filter(|part| part.id != LINKS) {
                section id=(part.id) {
                    h2 { (part.title) }
                    p class="term" { (part.abstract_line) }
                    (part.body)
                }
            }
        }
    }
}

/// The values between which the mark must be, by the probes so far.
fn bracket(search: &SearchRecord) -> String {
    let of = |verdict: ProbeVerdict| {
        let found = search
            .probes
            .iter()
            .filter(|probe| probe.purpose.judges())
            .filter(move |probe| probe.verdict == verdict);
        found.map(|probe| probe.at)
    };
    let failed = of(ProbeVerdict::Failed).reduce(f64::min);
    let below = |at: &f64| failed.is_none_or(|failed| *at < failed);
    let passed = of(ProbeVerdict::Passed).filter(below).reduce(f64::max);
    let shown = [passed, failed].map(|at| Some(of_axis(search, at?)));
    match shown {
        [Some(passed), Some(failed)] => {
            format!("So far: {passed} passed, {failed} failed; the mark is between them.")
        }
        [Some(passed), None] => format!("So far: {passed} passed; nothing above it failed."),
        [None, Some(failed)] => format!("So far: {failed} failed; nothing below it passed."),
        [None, None] => "So far no probe has passed or failed.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;
    use highwater_model::search::ProbePurpose;

    #[track_caller]
    fn check(probes: &[(f64, ProbeVerdict)], expected: &str) {
        let mut search = fixture::search(Vec::new());
        let of = |(at, verdict): &(f64, ProbeVerdict)| {
            fixture::probe(ProbePurpose::Search, *at, *verdict)
        };
        search.probes = probes.iter().map(of).collect();
        let said = bracket(&search);
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn the_bracket_is_of_the_highest_that_passed_and_the_lowest_that_failed() {
        use ProbeVerdict::{Failed, NotDecided, Passed};
        check(&[], "So far no probe has");
        check(&[(10.0, NotDecided)], "So far no probe has");
        check(&[(10.0, Passed), (20.0, Passed)], "So far: 20.0 ");
        let four = [(10.0, Passed), (40.0, Failed), (20.0, Passed), (80.0, Failed)];
        check(&four, "So far: 20.0 ");
        // A probe that passed above the lowest failure narrows nothing.
        let above = [(10.0, Passed), (20.0, Failed), (30.0, Passed)];
        check(&above, "So far: 10.0 ");
        check(&[(20.0, Failed)], "So far: 20.0 ");
    }
}
