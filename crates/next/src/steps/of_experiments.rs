//! Cases of searches, tunings, groups of runs, and growths.

use highwater_analysis::comparison::Verdict;
use highwater_analysis::group::comparisons;
use highwater_analysis::limit::of_search;
use highwater_analysis::search::budgets_needed;
use highwater_model::group::{GroupOutcome, GroupRecord};
use highwater_model::limit::Resource;
use highwater_model::plan::Unit;
use highwater_model::quantity::{parse_count, print_count};
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{ScaleOutcome, ScaleRecord};
use highwater_model::search::{Mark, NoMarkReason, ProbeVerdict, SearchOutcome, SearchRecord};
use highwater_model::tune::{BestConfiguration, NoBestReason, TuneOutcome, TuneRecord};
use highwater_sizing::growth::report;

use super::{Case, Situation, check};
use crate::commands::{self, CommandLine, flag_rate, quoted, span};

/// Factor for the time after a timeout.
const LONGER: u64 = 2;
/// Factor for the length of probes that were too short.
const LONGER_PROBES: u64 = 5;
/// Sizes are proposed for this multiple of the rate of the largest one.
const FURTHER: f64 = 1.25;
/// Maximum number of proposed runs.
const RUNS_MOST: u32 = 30;
/// Axes without a natural end: a best value at the end of the range may be better beyond it.
const ENDLESS: [&str; 2] = ["batch", "sessions"];

/// Cases, grouped by kind of experiment.
pub(super) static CASES: &[Case] = &[
    Case::new(
        "a search did not end",
        |s| {
            of_search_is(s, |search| search.outcome.is_none())
                || no_mark(s, &[NoMarkReason::Interrupted])
        },
        |s| resumed_search(s, 1),
    ),
    Case::new(
        "a search ran out of time",
        |s| no_mark(s, &[NoMarkReason::BudgetSpent]),
        |s| resumed_search(s, LONGER),
    ),
    Case::new(
        "the budget had too few ops for what probes should show",
        |s| no_mark(s, &[NoMarkReason::TooFewOps]),
        |s| {
            let search = s.experiment().and_then(ExperimentRecord::search);
            resumed_search(s, search.map_or(LONGER, budgets_needed))
        },
    ),
    Case::new(
        "ops took longer than probes",
        |s| no_mark(s, &[NoMarkReason::OpsTooLong]),
        |s| {
            of_question(s, ExperimentRecord::search, |line, search| {
                let probe = span(search.policy.probe_ns.saturating_mul(LONGER_PROBES));
                within(line, search.policy.budget_ns, LONGER_PROBES)
                    .without(&["quick"])
                    .with("probe", probe)
                    .to_string()
            })
        },
    ),
    Case::new(
        "not even the lowest value met the objective",
        |s| no_mark(s, &[NoMarkReason::BelowLowest]),
        |s| commands::one_session(s.line(), s.run).to_string(),
    ),
    Case::new(
        "a search found wrong rows",
        |s| no_mark(s, &[NoMarkReason::WrongData]),
        |s| s.show(" -v"),
    ),
    Case::new(
        "a search was ended by the load generator or the target",
        |s| {
            let ends = [
                NoMarkReason::ClientCeiling,
                NoMarkReason::TargetLost,
                NoMarkReason::NothingAcknowledged,
            ];
            no_mark(s, &ends)
        },
        check,
    ),
    Case::new(
        "the load generator kept a mark from being higher",
        |s| {
            of_search_is(s, |search| {
                of_search(search).is_some_and(|limit| {
                    let by = limit.by.as_ref();
                    by.is_some_and(|by| by.resource == Resource::LoadGenerator)
                })
            })
        },
        check,
    ),
    Case::new(
        "a mark did not hold for long",
        |s| {
            let failed = |search: &SearchRecord| {
                let soak = search.soak();
                soak.is_some_and(|soak| soak.verdict == ProbeVerdict::Failed)
            };
            of_search_is(s, failed)
        },
        |s| {
            of_question(s, ExperimentRecord::search, |line, search| {
                let policy = &search.policy;
                let held = policy.confirmation_ns.max(policy.soak_ns.unwrap_or(0));
                within(line, policy.budget_ns, LONGER)
                    .without(&["quick"])
                    .with("confirm", span(held))
                    .to_string()
            })
        },
    ),
    Case::new(
        "a mark is below the minimum",
        |s| of_mark(s, |search, mark| search.floor.is_some_and(|floor| mark.confirmed < floor)),
        |s| {
            let sessions = s.run.streams.iter().map(|stream| stream.sessions).max();
            commands::tune_sessions(s.line(), s.run, sessions.unwrap_or(1)).to_string()
        },
    ),
    Case::new(
        "a mark was confirmed",
        |s| of_mark(s, |search, _| search.soak().is_none() && !s.measured.is_empty()),
        |s| commands::soak(&s.line(), s.run, s.measured).to_string(),
    ),
    Case::answered("a mark was confirmed, and held for long", |s| of_mark(s, |_, _| true)),
    Case::new(
        "a tuning found wrong rows",
        |s| no_best(s, &[NoBestReason::WrongData]),
        |s| s.show(" -v"),
    ),
    Case::new("no configuration counted", |s| no_best(s, &[NoBestReason::NoneCounts]), check),
    Case::new(
        "a tuning did not end",
        |s| of_tune(s).is_some_and(|tune| best(tune).is_none()),
        |s| {
            of_question(s, ExperimentRecord::tune, |line, tune| {
                let longer = match &tune.outcome {
                    Some(TuneOutcome::NoBest(no)) if no.why == NoBestReason::BudgetSpent => LONGER,
                    _ => 1,
                };
                s.resumed(within(line, Some(tune.policy.budget_ns), longer))
            })
        },
    ),
    Case::new(
        "the best value is the greatest that was tried",
        |s| of_tune(s).is_some_and(|tune| further_axis(tune).is_some()),
        |s| {
            of_question(s, ExperimentRecord::tune, |line, tune| {
                let further = further_axis(tune);
                let mut all = line.clone().without(&["over"]);
                for over in line.values("over") {
                    let name = over.split('=').next().unwrap_or_default();
                    let further = further.as_ref().filter(|(axis, _)| *axis == name);
                    let values =
                        further.map(|(axis, values)| format!("{axis}={}", values.join(",")));
                    all = all.and("over", values.unwrap_or_else(|| over.to_owned()));
                }
                all.to_string()
            })
        },
    ),
    Case::new(
        "a best configuration was found",
        |s| of_tune(s).is_some(),
        |s| s.line().turned("find").with("tuned", s.directory).to_string(),
    ),
    Case::new(
        "a group of runs ran out of time",
        |s| of_group(s).is_some_and(|group| group.outcome == Some(GroupOutcome::BudgetSpent)),
        |s| {
            of_question(s, ExperimentRecord::group, |line, group| {
                s.resumed(within(line, group.budget_ns, LONGER))
            })
        },
    ),
    Case::new(
        "a group of runs did not end",
        |s| of_group(s).is_some_and(|group| group.outcome != Some(GroupOutcome::Complete)),
        |s| s.resumed(s.line()),
    ),
    Case::new(
        "variants cannot be distinguished, and more runs would",
        |s| of_group(s).is_some_and(|group| repeats_that_decide(group).is_some()),
        |s| {
            of_question(s, ExperimentRecord::group, |line, group| {
                let times = repeats_that_decide(group).unwrap_or(group.times);
                s.resumed(line.with("repeat", times.to_string()))
            })
        },
    ),
    Case::new("a group of runs is complete", |s| of_group(s).is_some(), |s| s.show(" --open")),
    Case::new(
        "a growth found wrong rows",
        |s| scale_ended(s, &[ScaleOutcome::WrongData]),
        |s| s.show(" -v"),
    ),
    Case::new(
        "a growth was ended by the load generator, or measured no size",
        |s| {
            let ends = [ScaleOutcome::Complete, ScaleOutcome::Reached];
            let is_empty = |scale: &ScaleRecord| report(scale).sizes.is_empty();
            scale_ended(s, &[ScaleOutcome::ClientCeiling])
                || (scale_ended(s, &ends) && of_scale(s).is_some_and(is_empty))
        },
        |s| {
            of_question(s, ExperimentRecord::scale, |_, scale| match &scale.cluster_file {
                Some(file) => format!("highwater check {}", quoted(file)),
                None => check(s),
            })
        },
    ),
    Case::new(
        "the machine drifted during a growth",
        |s| {
            let ends = [ScaleOutcome::Complete, ScaleOutcome::Reached];
            let drifted =
                |of: &ScaleRecord| report(of).drift.is_some_and(|drift| drift.is_drifted());
            scale_ended(s, &ends) && of_scale(s).is_some_and(drifted)
        },
        |s| rested(s.line()),
    ),
    Case::new(
        "a growth is complete",
        |s| scale_ended(s, &[ScaleOutcome::Complete, ScaleOutcome::Reached]),
        |s| of_question(s, ExperimentRecord::scale, |_, scale| sized(s, scale)),
    ),
    Case::new(
        "a growth did not end",
        |s| of_scale(s).is_some(),
        |s| {
            of_question(s, ExperimentRecord::scale, |line, scale| {
                let is_spent = scale.outcome == Some(ScaleOutcome::BudgetSpent);
                s.resumed(within(line, scale.budget_ns, if is_spent { LONGER } else { 1 }))
            })
        },
    ),
];

fn of_search_is(s: &Situation<'_>, is: impl Fn(&SearchRecord) -> bool) -> bool {
    let search = s.experiment().and_then(ExperimentRecord::search);
    search.is_some_and(is)
}

fn of_mark(s: &Situation<'_>, is: impl Fn(&SearchRecord, &Mark) -> bool) -> bool {
    of_search_is(s, |search| match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => is(search, mark),
        _ => false,
    })
}

/// Whether a search has no mark, for one of these reasons.
fn no_mark(s: &Situation<'_>, reasons: &[NoMarkReason]) -> bool {
    of_search_is(s, |search| match &search.outcome {
        Some(SearchOutcome::NoMark(no_mark)) => reasons.contains(&no_mark.why),
        Some(SearchOutcome::Mark(_)) | None => false,
    })
}

/// The same search with its time multiplied by `longer`, resumed if possible.
fn resumed_search(s: &Situation<'_>, longer: u64) -> String {
    of_question(s, ExperimentRecord::search, |line, search| {
        let policy = &search.policy;
        let is_full = search.probes.len() >= policy.probes_max as usize;
        let line =
            within(line, policy.budget_ns, if is_full { longer.max(LONGER) } else { longer });
        if is_full { line.to_string() } else { s.resumed(line) }
    })
}

fn of_tune<'a>(s: &Situation<'a>) -> Option<&'a TuneRecord> {
    s.experiment()?.tune()
}

fn best(tune: &TuneRecord) -> Option<&BestConfiguration> {
    match &tune.outcome {
        Some(TuneOutcome::Best(best)) => Some(best),
        Some(TuneOutcome::NoBest(_)) | None => None,
    }
}

/// Whether a tuning has no best configuration, for one of these reasons.
fn no_best(s: &Situation<'_>, reasons: &[NoBestReason]) -> bool {
    of_tune(s).is_some_and(|tune| match &tune.outcome {
        Some(TuneOutcome::NoBest(no_best)) => reasons.contains(&no_best.why),
        Some(TuneOutcome::Best(_)) | None => false,
    })
}

/// An axis whose maximum is significantly the best value, and the values from there on.
fn further_axis(tune: &TuneRecord) -> Option<(&str, Vec<String>)> {
    let best = best(tune)?;
    let stands_out = best.runner_up.as_ref().is_some_and(|o| o.is_significant);
    let mut axes = tune.axes.iter().zip(&best.at);
    axes.find_map(|(axis, at)| {
        let counts: Vec<u64> =
            axis.values.iter().map(|value| parse_count(value).ok()).collect::<Option<_>>()?;
        let here = *counts.get(*at)?;
        let is_greatest = counts.len() > 1 && counts.iter().all(|count| *count <= here);
        let is_endless = ENDLESS.contains(&axis.name.as_str());
        let further = [1, 2, 4].map(|times| print_count(here.saturating_mul(times)));
        (stands_out && is_greatest && is_endless).then(|| (axis.name.as_str(), further.to_vec()))
    })
}

fn of_group<'a>(s: &Situation<'a>) -> Option<&'a GroupRecord> {
    s.experiment()?.group()
}

/// Runs per variant that would decide, if they are more than there were, and not too many.
fn repeats_that_decide(group: &GroupRecord) -> Option<u32> {
    let undecided = comparisons(group).into_iter().filter(|(_, comparison)| {
        comparison.verdict() == Verdict::Inconclusive && !comparison.is_guarded()
    });
    let repeats =
        undecided.filter_map(|(_, comparison)| Some(comparison.primary()?.repeats)).max()?;
    (group.times < repeats && repeats <= RUNS_MOST).then_some(repeats)
}

fn of_scale<'a>(s: &Situation<'a>) -> Option<&'a ScaleRecord> {
    s.experiment()?.scale()
}

fn scale_ended(s: &Situation<'_>, ends: &[ScaleOutcome]) -> bool {
    let outcome = of_scale(s).and_then(|scale| scale.outcome);
    outcome.is_some_and(|outcome| ends.contains(&outcome))
}

/// The same growth with an idle time before each run.
fn rested(line: CommandLine) -> String {
    const SETTLE: &str = "settle";
    let has_rested = line.values(SETTLE).any(|given| given == "1m");
    line.with(SETTLE, if has_rested { "5m" } else { "1m" }).to_string()
}

/// The command with its budget multiplied by `longer`.
fn within(line: CommandLine, budget_ns: Option<u64>, longer: u64) -> CommandLine {
    match budget_ns {
        Some(budget) if longer > 1 => line.with("budget", span(budget.saturating_mul(longer))),
        _ => line,
    }
}

/// The cluster for the requested rate, or for more than the largest size sustains.
fn sized(s: &Situation<'_>, of: &ScaleRecord) -> String {
    let grown = report(of);
    let largest = grown.sizes.last().map_or(0.0, |size| size.trial.figures.per_s);
    let kind = match of.unit {
        Unit::Rows => "",
        Unit::Queries | Unit::Transactions => "q/s",
    };
    let more = flag_rate(largest * FURTHER);
    format!("highwater size {more}{kind} --from {}", quoted(s.directory))
}

/// The result of `then` for the command and the experiment's question, if it is of this kind.
fn of_question<T>(
    s: &Situation<'_>,
    part: fn(&ExperimentRecord) -> Option<&T>,
    then: impl Fn(CommandLine, &T) -> String,
) -> String {
    let part = s.experiment().and_then(part);
    part.map(|part| then(s.line(), part)).unwrap_or_default()
}
