//! The next step of an expert, as one command: a table of cases, of which the first that applies decides.
//!
//! A proposal must never be the command that was just run, or one that is known to fail, and uses the user's words and
//! units. If the question is answered, its case states why nothing is proposed.

mod case;
mod of_experiments;
mod of_runs;
#[cfg(test)]
mod tests;

use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::RecordRef;

use case::{Case, Situation};

/// All cases in order.
fn cases() -> impl Iterator<Item = &'static Case> {
    of_experiments::CASES.iter().chain(of_runs::CASES)
}

/// The proposed next command; absent if the question is answered.
pub fn next_command(
    record: RecordRef<'_>,
    measured: &[MeasuredStream<'_>],
    directory: &str,
) -> Option<String> {
    if record.header().is_of_others {
        return None;
    }
    let run = record.measured_run();
    let situation = Situation { record, run: run.run, measured, directory };
    case(&situation)?.then.map(|command| command(&situation))
}

/// The first case that applies.
fn case(situation: &Situation<'_>) -> Option<&'static Case> {
    cases().find(|case| (case.applies)(situation))
}
