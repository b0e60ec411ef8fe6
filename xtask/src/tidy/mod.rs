//! `cargo xtask tidy`: checks that neither the compiler nor clippy makes, and that reviewers overlook.
//!
//! A rule is a pure function from the [`Tree`] to findings, so that each is tested on files in memory. STYLE.md states
//! the reason for each rule. Spelling and links are checked by other tools, in CI.

mod crates;
pub mod documents;
mod sources;
mod tree;

#[cfg(test)]
mod tests;

pub use tree::{Finding, Tree};

/// A rule: all of its violations in a tree.
type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule.
const RULES: &[Rule] = &[
    sources::is_short_and_says_its_purpose,
    sources::no_path_of_one_machine,
    sources::pure_crates_are_pure,
    sources::one_clock,
    sources::databases_stay_in_their_drivers,
    crates::dependencies_point_one_way,
    documents::commands_are_tagged,
    documents::the_map_is_true,
];

/// Applies every rule to `tree`; sorted by path and line.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}
