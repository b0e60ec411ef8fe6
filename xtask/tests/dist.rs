//! What installs without a compiler: equal for equal commits, and complete in a tree that has nothing else.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::process::{output, root};

/// A clone of the repository's last commit in a folder, and what its `cargo xtask dist` prints.
fn made(clone: &Path) -> String {
    fs::create_dir_all(clone.parent().unwrap()).unwrap();
    output(Command::new("git").args(["clone", "--quiet"]).arg(root()).arg(clone)).unwrap();
    task(clone, &["dist"])
}

fn task(clone: &Path, words: &[&str]) -> String {
    let mut task = Command::new("cargo");
    task.arg("xtask").args(words).current_dir(clone).env("CARGO_TARGET_DIR", clone.join("target"));
    // Otherwise the folders of this process count as those of the clone.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO"] {
        task.env_remove(name);
    }
    output(&mut task).unwrap()
}

#[test]
#[ignore = "long: two release builds, half an hour on two cores"]
fn long_two_builds_in_two_folders_are_equal_and_install_in_trees_without_rust() {
    let place = std::env::temp_dir().join(format!("highwater-builds-{}", std::process::id()));
    let [one, other] = ["one/clone", "a/longer/path/to/another"].map(|folder| place.join(folder));
    let sums = made(&one);
    assert_eq!(sums.lines().count(), 4, "archive, wheel, package, image: {sums}");
    let tried = task(&one, &["dist", "--check"]);
    assert_eq!(tried.matches(": installed and ran").count(), 4, "{tried}");
    assert_eq!(made(&other), sums);
    fs::remove_dir_all(&place).unwrap();
}
