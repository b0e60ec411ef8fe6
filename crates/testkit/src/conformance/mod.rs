//! The conformance suite: rules for every driver, run against any target.
//!
//! A driver's integration test describes its target as a [`Subject`], and expects [`broken_rules`] to return none. Each
//! rule states the capabilities that it requires, so that the other rules also apply to a model or a sink, which stores
//! nothing. The suite creates only tables whose names start with `highwater_conformance_`.
//!
//! Must not name or know a database; a dialect is passed in as [`SqlWords`].

mod broken;
mod dialect;
mod leasing;
mod refusing;
mod sample;
mod serving;
mod storing;
mod subject;

use broken::Broken;
use highwater_driver::contract::{BoxFuture, Capabilities};
use highwater_model::user_error::UserError;

pub use dialect::SqlWords;
pub use subject::Subject;

/// One rule; the documentation of its check describes it.
pub struct Rule {
    /// Short and stable name, with underscores.
    pub name: &'static str,
    /// Whether it applies to a target with these capabilities.
    applies: fn(&Capabilities) -> bool,
    check: fn(&Subject) -> BoxFuture<'_, Result<(), Broken>>,
}

fn always(_: &Capabilities) -> bool {
    true
}

fn with_values(capabilities: &Capabilities) -> bool {
    capabilities.stores_values
}

fn with_unique_keys(capabilities: &Capabilities) -> bool {
    capabilities.stores_values && capabilities.unique_keys
}

/// A rule that a driver broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{rule}`: {message}")]
pub struct ConformanceError {
    /// The rule's name.
    pub rule: &'static str,
    /// The expected and the actual result.
    pub message: String,
}

impl Rule {
    /// Checks the rule.
    pub async fn check(&self, subject: &Subject) -> Result<(), ConformanceError> {
        (self.check)(subject)
            .await
            .map_err(|broken| ConformanceError { rule: self.name, message: broken.0 })
    }
}

/// Checks all rules that apply, one after the other, and returns the broken ones.
///
/// Fails if the target cannot even be opened.
pub async fn broken_rules(subject: &Subject) -> Result<Vec<ConformanceError>, UserError> {
    broken_among(subject, |_| true).await
}

/// Like [`broken_rules`], for the rules with these names: two targets of one kind can share the
/// work.
pub async fn broken_among(
    subject: &Subject,
    is_among: impl Fn(&str) -> bool,
) -> Result<Vec<ConformanceError>, UserError> {
    let capabilities = subject.open(None)?.capabilities();
    let mut broken = Vec::new();
    let rules = RULES.iter().filter(|rule| (rule.applies)(&capabilities));
    for rule in rules.filter(|rule| is_among(rule.name)) {
        if let Err(error) = rule.check(subject).await {
            broken.push(error);
        }
    }
    Ok(broken)
}

/// A rule whose check has the rule's name.
macro_rules! rule {
    ($module:ident :: $name:ident, $applies:ident) => {
        Rule {
            name: stringify!($name),
            applies: $applies,
            check: |subject| Box::pin($module::$name(subject)),
        }
    };
}

/// All rules.
pub const RULES: &[Rule] = &[
    rule!(serving::capabilities_are_usable, always),
    rule!(serving::urls_show_no_secret, always),
    rule!(serving::facts_are_reported, always),
    rule!(serving::rows_applied_are_counted, always),
    rule!(serving::requests_come_back, always),
    rule!(serving::sessions_work_side_by_side, always),
    rule!(serving::abandoned_ops_leave_the_target_usable, always),
    rule!(serving::idle_targets_quiesce, always),
    rule!(serving::running_ops_are_not_idle, with_values),
    rule!(storing::an_endless_answer_is_refused, with_values),
    rule!(serving::an_idle_session_is_closed_only_by_its_target, with_values),
    rule!(leasing::a_share_of_a_table_is_leased_once_and_given_back, with_values),
    rule!(refusing::tables_are_registered, with_values),
    rule!(refusing::tables_are_continued, with_values),
    rule!(refusing::foreign_tables_are_left_alone, with_values),
    rule!(refusing::duplicate_keys_are_refused, with_unique_keys),
    rule!(refusing::wrong_statements_are_refused, with_values),
    rule!(storing::values_come_back_exactly, with_values),
    rule!(storing::responses_are_counted, with_values),
    rule!(storing::queries_of_the_audit_return_text, with_values),
    rule!(storing::parameters_of_each_type_are_bound, with_values),
    rule!(storing::keys_are_counted_by_bucket, with_values),
    rule!(storing::checksums_are_those_of_the_rows_sent, with_values),
    rule!(storing::rows_are_read_back_exactly, with_values),
    rule!(storing::rows_are_found_by_their_values, with_values),
    rule!(storing::abandoned_batches_are_whole, with_values),
];
