//! `cargo xtask tidy`: what the compiler and clippy do not check, and reviewers forget.
//!
//! A rule is a pure function from the [`Tree`] to findings, so that each is tested on files in
//! memory. STYLE.md says why each rule exists.

mod architecture;
mod circles;
mod crates;
mod files;
mod finding;
mod house;
pub mod licenses;
pub mod markdown;
mod modules;
mod percentages;
mod purity;
mod retired;
mod tokens;
mod tree;
mod tuples;
mod words;

#[cfg(test)]
mod tests;

pub use finding::Finding;
pub use tree::Tree;

/// A rule: all of its violations in a tree.
type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule that looks at files alone.
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
    modules::every_file_is_reached,
    modules::one_style,
    circles::no_circles,
    retired::stays_retired,
    percentages::percentages_are_closed,
    tuples::no_tuple_parameters,
    crates::dependencies_point_one_way,
    crates::drivers_say_what_they_name,
    crates::lints_are_inherited,
    crates::is_small_enough,
    markdown::one_title,
    markdown::links_resolve,
    markdown::commands_are_tagged,
    architecture::names_what_exists,
    architecture::names_every_crate,
    house::ci_runs_the_readme,
];

/// Rules that have a task of their own, by its name.
const OF_TASKS: &[(&str, Rule)] = &[
    ("circles", circles::no_circles),
    ("retired", retired::stays_retired),
    ("tuples", tuples::no_tuple_parameters),
    ("modules", modules::one_style),
];

/// Applies every rule to `tree`; sorted by path and line.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

/// Applies the rule that has a task of this name; nothing where none has.
pub fn check_one(task: &str, tree: &Tree) -> Option<Vec<Finding>> {
    let (_, rule) = OF_TASKS.iter().find(|(name, _)| *name == task)?;
    Some(rule(tree))
}
