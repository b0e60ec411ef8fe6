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

#[test]
#[ignore = "long: compiles for another system"]
fn long_the_program_compiles_for_macos() {
    compiles("aarch64-apple-darwin");
}

#[test]
#[ignore = "long: compiles for another system"]
fn long_the_program_compiles_for_windows() {
    compiles("x86_64-pc-windows-gnu");
}

/// Only a compiler tries it here. What is Linux alone (process files, the real-time class, the fast timer, clusters) is
/// behind a module each, which is absent there; what else differs is in `crates/driver/src/system`.
#[track_caller]
fn compiles(triple: &str) {
    output(Command::new("rustup").args(["target", "add", triple])).unwrap();
    let place = std::env::temp_dir().join(format!("highwater-{triple}-{}", std::process::id()));
    let tools = place.join("tools");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&tools);
    output(pip.args(["cargo-zigbuild==0.24.1", "ziglang==0.17.1"])).unwrap();
    let mut check = Command::new(tools.join("bin/cargo-zigbuild"));
    check.args(["check", "--locked", "--package", "highwater", "--target", triple]);
    check.current_dir(root()).env("CARGO_TARGET_DIR", place.join("target"));
    output(check.env("PYTHONPATH", &tools)).unwrap();
    fs::remove_dir_all(&place).unwrap();
}
