//! A line of the table of next steps: when it applies, and what is proposed then. Must hold no case.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::{ExperimentRecord, RecordRef, RunRecord};

use crate::commands;

/// What is known when a command has ended.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) record: RecordRef<'a>,
    /// Of an experiment the last run.
    pub(super) run: &'a RunRecord,
    pub(super) measured: &'a [MeasuredStream<'a>],
    /// Where the record is stored, as the user would type it.
    pub(super) directory: &'a str,
}

impl<'a> Situation<'a> {
    /// The experiment, of one.
    pub(super) fn experiment(&self) -> Option<&'a ExperimentRecord> {
        self.record.experiment()
    }

    /// `highwater show` of what is stored, with this behind it.
    pub(super) fn show(&self, rest: &str) -> String {
        commands::show(self.directory, rest)
    }
}

/// A line of the table.
pub(super) struct Case {
    /// When it applies, in words: what its example in the tests is found by.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers and tests"))]
    pub(super) when: &'static str,
    /// When it applies.
    pub(super) applies: fn(&Situation<'_>) -> bool,
    /// The command that is proposed; none where the question is answered.
    pub(super) then: Option<fn(&Situation<'_>) -> String>,
}

impl Case {
    pub(super) const fn new(
        when: &'static str,
        applies: fn(&Situation<'_>) -> bool,
        command: fn(&Situation<'_>) -> String,
    ) -> Self {
        Self { when, applies, then: Some(command) }
    }

    pub(super) const fn answered(when: &'static str, applies: fn(&Situation<'_>) -> bool) -> Self {
        Self { when, applies, then: None }
    }
}
