//! The next step of an expert, as one command: a table of cases, the first applicable of which decides; each line is a
//! condition and the proposed command.
//!
//! A proposal must never be a command that is known to fail, or the one that just ran, unless the user stopped it. It
//! uses the user's words and units. If the question is answered, its case states why nothing is proposed.

mod of_experiments;
mod of_runs;

#[cfg(test)]
mod tests;

use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::{ExperimentRecord, RecordRef, RunRecord};

use crate::commands::{self, CommandLine};

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
    if record.header().is_of_others || record.judgments().is_running() {
        return None;
    }
    let run = record.measured_run();
    let situation = Situation { record, run: run.run, measured, directory };
    let next = case(&situation)?.then.map(|command| command(&situation));
    // Shares that were merged to be shown have an ID, and no directory to name.
    let is_stored = situation.run.clients.len() < 2 || directory != record.header().id;
    next.filter(|command| is_stored || !command.contains(directory))
}

/// The first case that applies.
fn case(situation: &Situation<'_>) -> Option<&'static Case> {
    cases().find(|case| (case.applies)(situation))
}

/// Inputs when a command has ended.
#[derive(Clone, Copy)]
struct Situation<'a> {
    record: RecordRef<'a>,
    /// The run; for an experiment, its last run.
    run: &'a RunRecord,
    measured: &'a [MeasuredStream<'a>],
    /// Where the record is stored, as the user would type it.
    directory: &'a str,
}

impl<'a> Situation<'a> {
    /// The experiment, if it is one.
    fn experiment(&self) -> Option<&'a ExperimentRecord> {
        self.record.experiment()
    }

    /// The command that made the record.
    fn line(&self) -> CommandLine {
        CommandLine::new(self.record)
    }

    /// The command, resumed from where it was stored.
    fn resumed(&self, line: CommandLine) -> String {
        // Shares begin with empty tables, and those of the experiment hold its rows.
        let line = if line.has("share") { line.switched("drop") } else { line };
        line.with("resume", self.directory).to_string()
    }

    /// `highwater show` of the stored record, followed by `rest`.
    fn show(&self, rest: &str) -> String {
        commands::show(self.directory, rest)
    }
}

/// A look at the targets.
fn check(s: &Situation<'_>) -> String {
    commands::check(s.record.header(), s.run)
}

/// A line of the table.
struct Case {
    /// The condition in words; identifies its example in the tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers and tests"))]
    when: &'static str,
    /// The condition.
    applies: fn(&Situation<'_>) -> bool,
    /// The proposed command; absent if the question is answered.
    then: Option<fn(&Situation<'_>) -> String>,
}

impl Case {
    const fn new(
        when: &'static str,
        applies: fn(&Situation<'_>) -> bool,
        command: fn(&Situation<'_>) -> String,
    ) -> Self {
        Self { when, applies, then: Some(command) }
    }

    const fn answered(when: &'static str, applies: fn(&Situation<'_>) -> bool) -> Self {
        Self { when, applies, then: None }
    }
}
