//! `cargo xtask tidy`: checks that neither the compiler nor clippy makes, and that reviewers
//! overlook.
//!
//! A rule is a pure function from the [`Tree`] to findings, so that each is tested on files in
//! memory. STYLE.md states the reason for each rule. Spelling and links are checked by other tools,
//! in CI.

mod crates;
pub mod documents;
mod files;
mod purity;
mod tree;
mod words;

#[cfg(test)]
mod tests;

pub use tree::{Finding, Tree};

/// A rule: all of its violations in a tree.
type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule that only checks files.
const RULES: &[Rule] = &[
    files::opens_with_its_purpose,
    files::is_short_enough,
    files::has_a_telling_name,
    files::has_clean_whitespace,
    words::nothing_is_left_open,
    words::no_path_of_one_machine,
    words::databases_stay_in_their_drivers,
    purity::pure_crates_are_pure,
    purity::one_clock,
    crates::dependencies_point_one_way,
    crates::drivers_say_what_they_name,
    crates::lints_are_inherited,
    crates::is_small_enough,
    documents::one_title,
    documents::commands_are_tagged,
    documents::names_what_exists,
    documents::names_every_crate,
    documents::ci_runs_the_readme,
];

/// Applies every rule to `tree`; sorted by path and line.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}
