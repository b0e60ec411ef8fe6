//! The rules that every driver keeps, as one suite that runs against any target.
//!
//! A driver's integration test describes its target as a [`Subject`] and expects
//! [`broken_rules`] to be empty. Rules state in [`Needs`] what they require of a target, so
//! that a model or a sink, which stores nothing, is held to the others all the same. The suite
//! creates tables whose names start with `highwater_conformance_`, and no others.
//!
//! Must not name any database, or know one; dialects come in as
//! [`SqlWords`].

mod answers;
mod broken;
mod dialect;
mod idling;
mod leasing;
mod refusing;
mod sample;
mod serving;
mod storing;
mod subject;

use crate::contract::{BoxFuture, Capabilities, TargetError};
use broken::Broken;

pub use dialect::SqlWords;
pub use subject::Subject;

/// One rule.
pub struct Rule {
    /// Short and stable, with underscores.
    pub name: &'static str,
    /// What a driver that keeps it does, one sentence.
    pub about: &'static str,
    /// What it requires of a target.
    pub needs: Needs,
    check: fn(&Subject) -> BoxFuture<'_, Result<(), Broken>>,
}

/// What a rule requires of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: every target keeps it.
    Nothing,
    /// [`Capabilities::stores_values`].
    StoredValues,
    /// [`Capabilities::unique_keys`], and values that are stored.
    UniqueKeys,
}

/// A rule that a driver broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{rule}`: {message}")]
pub struct ConformanceError {
    /// The rule's name.
    pub rule: &'static str,
    /// What was expected and what came.
    pub message: String,
}

impl Rule {
    /// Whether a target with these capabilities is held to the rule.
    pub fn applies(&self, capabilities: &Capabilities) -> bool {
        match self.needs {
            Needs::Nothing => true,
            Needs::StoredValues => capabilities.stores_values,
            Needs::UniqueKeys => capabilities.stores_values && capabilities.unique_keys,
        }
    }

    /// Checks the rule.
    pub async fn check(&self, subject: &Subject) -> Result<(), ConformanceError> {
        (self.check)(subject)
            .await
            .map_err(|broken| ConformanceError {
                rule: self.name,
                message: broken.0,
            })
    }
}

/// Checks all rules that apply, one after the other, and returns the broken ones.
///
/// Fails if the target cannot even be named.
pub async fn broken_rules(subject: &Subject) -> Result<Vec<ConformanceError>, TargetError> {
    let capabilities = subject.open(None)?.capabilities();
    let mut broken = Vec::new();
    for rule in rules().iter().filter(|rule| rule.applies(&capabilities)) {
        if let Err(error) = rule.check(subject).await {
            broken.push(error);
        }
    }
    Ok(broken)
}

/// All rules.
pub fn rules() -> &'static [Rule] {
    RULES
}

/// A rule whose check has the rule's name.
macro_rules! rule {
    ($module:ident :: $name:ident, $needs:ident, $about:literal) => {
        Rule {
            name: stringify!($name),
            about: $about,
            needs: Needs::$needs,
            check: |subject| Box::pin($module::$name(subject)),
        }
    };
}

const RULES: &[Rule] = &[
    rule!(
        serving::capabilities_are_usable,
        Nothing,
        "there is a default insert mode and a default number of sessions"
    ),
    rule!(
        serving::urls_show_no_secret,
        Nothing,
        "every host has a URL for display, without the password of the URL that was given"
    ),
    rule!(
        serving::facts_are_reported,
        Nothing,
        "version, dialects, durability and insert mode are reported"
    ),
    rule!(
        serving::rows_applied_are_counted,
        Nothing,
        "batches of no row, one row and thousands are applied, and the outcome says how many"
    ),
    rule!(
        serving::requests_come_back,
        Nothing,
        "a request keeps its op, and one encoder and one request serve op after op"
    ),
    rule!(
        serving::sessions_work_side_by_side,
        Nothing,
        "two sessions execute at the same time"
    ),
    rule!(
        serving::abandoned_ops_leave_the_target_usable,
        Nothing,
        "a session dropped in the middle of an op disturbs no other"
    ),
    rule!(
        serving::idle_targets_quiesce,
        Nothing,
        "without running ops the target is idle at once"
    ),
    rule!(
        serving::running_ops_are_not_idle,
        StoredValues,
        "while an op runs the target is not reported as idle"
    ),
    rule!(
        answers::an_endless_answer_is_refused,
        StoredValues,
        "an answer of which there is no end is refused while it is read, and the target responds to the next op"
    ),
    rule!(
        idling::an_idle_session_is_closed_only_by_its_target,
        StoredValues,
        "an idle session says at once that its target closed it, and never else"
    ),
    rule!(
        leasing::a_share_of_a_table_is_leased_once_and_given_back,
        StoredValues,
        "of two takers of a lease one has it, a heartbeat is seen, and what ended can be taken again"
    ),
    rule!(
        refusing::tables_are_registered,
        StoredValues,
        "a table that Highwater created for another workload is kept without `drop` and made \
         anew with it"
    ),
    rule!(
        refusing::tables_are_continued,
        StoredValues,
        "a table of the same workload is kept, and its registry entry is returned as written"
    ),
    rule!(
        refusing::foreign_tables_are_left_alone,
        StoredValues,
        "a table that Highwater did not create is refused, with `drop` too, and keeps its rows \
         until it is named"
    ),
    rule!(
        refusing::duplicate_keys_are_refused,
        UniqueKeys,
        "a duplicate key is a constraint error, what was stored is what was acknowledged"
    ),
    rule!(
        refusing::wrong_statements_are_refused,
        StoredValues,
        "a statement about a missing table is a statement error, early or late"
    ),
    rule!(
        storing::values_come_back_exactly,
        StoredValues,
        "every insert mode stores every value of every type exactly"
    ),
    rule!(
        storing::responses_are_counted,
        StoredValues,
        "the outcome of a query has the number of its rows, none included"
    ),
    rule!(
        storing::queries_of_the_audit_return_text,
        StoredValues,
        "a query of the workload's own is answered with its rows as text, null as none, and a wrong \
         one with an error"
    ),
    rule!(
        storing::parameters_of_each_type_are_bound,
        StoredValues,
        "parameters of each type reach the statement exactly: near misses find nothing"
    ),
    rule!(
        storing::keys_are_counted_by_bucket,
        StoredValues,
        "rows are counted by key div width, for narrow and wide buckets, gaps left out"
    ),
    rule!(
        storing::checksums_are_those_of_the_rows_sent,
        StoredValues,
        "checksums by key are those that the rows have that were sent, for every type of value"
    ),
    rule!(
        storing::rows_are_read_back_exactly,
        StoredValues,
        "rows are read back with every value, for one key, many ranges and keys that are not there"
    ),
    rule!(
        storing::rows_are_found_by_their_values,
        StoredValues,
        "a condition made of a row's values finds that row, whatever the key"
    ),
    rule!(
        storing::abandoned_batches_are_whole,
        StoredValues,
        "after an abandoned batch and quiescence its rows are all there or none, if the target \
         says that batches are atomic, and do not change any more"
    ),
];
