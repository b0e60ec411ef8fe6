//! The rule that CI runs the command that the README recommends to contributors.

use super::finding::Finding;
use super::tree::Tree;

/// The README's command for the tests.
const TEST_COMMAND: &str = "cargo xtask test";

/// README and CI name the same command for the tests.
pub(super) fn ci_runs_the_readme(tree: &Tree) -> Vec<Finding> {
    let lacks_it = |path: &&str| {
        let text = tree.text(path).unwrap_or_default();
        !text.lines().any(|line| line.trim().ends_with(TEST_COMMAND))
    };
    Finding::in_each(
        ["README.md", ".ci/run"].into_iter().filter(lacks_it),
        &format!("`{TEST_COMMAND}` is not in it"),
        "a newcomer and CI run the same command",
    )
}
