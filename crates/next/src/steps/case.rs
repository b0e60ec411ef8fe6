//! A line of the table of next steps: a condition, and the proposed command. Must not contain a case.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::{ExperimentRecord, RecordRef, RunRecord};

use crate::commands;

/// Inputs when a command has ended.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) record: RecordRef<'a>,
    /// The run; for an experiment, its last run.
    pub(super) run: &'a RunRecord,
    pub(super) measured: &'a [MeasuredStream<'a>],
    /// Where the record is stored, as the user would type it.
    pub(super) directory: &'a str,
}

impl<'a> Situation<'a> {
    /// The experiment, if it is one.
    pub(super) fn experiment(&self) -> Option<&'a ExperimentRecord> {
        self.record.experiment()
    }

    /// `highwater show` of the stored record, followed by `rest`.
    pub(super) fn show(&self, rest: &str) -> String {
        commands::show(self.directory, rest)
    }
}

/// A line of the table.
pub(super) struct Case {
    /// The condition in words; identifies its example in the tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers and tests"))]
    pub(super) when: &'static str,
    /// The condition.
    pub(super) applies: fn(&Situation<'_>) -> bool,
    /// The proposed command; absent if the question is answered.
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
