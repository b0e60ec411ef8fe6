//! Packages of npm that only tests use: fetched once, kept among what tests build, never shipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::programs::{NPM, leave_out};

/// Tests of one process fetch one after another: two of npm in one directory leave half of each.
static FETCHING: Mutex<()> = Mutex::new(());

/// The directory of these packages, each with its version as `name@1.2.3`, below the directory that a test keeps what
/// it builds in; their files are in `node_modules` there. `None` if they cannot be had and their tests are left out.
///
/// # Panics
/// They cannot be had, and [`crate::programs::REQUIRE_ALL`] is set.
pub fn fetched(kept: &Path, packages: &[&str]) -> Option<PathBuf> {
    if NPM.is_left_out() {
        return None;
    }
    let _one_at_a_time = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.join("npm");
    let names = packages.join("+").replace(['/', '@'], "-");
    let directory = kept.join(names);
    if directory.exists() {
        return Some(directory);
    }
    // Whole or not at all: tests of other processes may look for the same.
    let unfinished = kept.join(format!("of-{}", std::process::id()));
    let done = std::fs::create_dir_all(&unfinished).is_ok() && install(&unfinished, packages);
    let done = done && std::fs::rename(&unfinished, &directory).is_ok() || directory.exists();
    if !done {
        let packages = packages.join(" and ");
        let why = format!("npm cannot fetch {packages}");
        leave_out(&format!("need {packages}"), &why);
        return None;
    }
    Some(directory)
}

fn install(directory: &Path, packages: &[&str]) -> bool {
    let output = Command::new("npm")
        .args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"])
        .arg("--prefix")
        .arg(directory)
        .args(packages)
        .output();
    output.is_ok_and(|output| output.status.success())
}
