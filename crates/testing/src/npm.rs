//! npm packages that only tests use: fetched once, stored in the build directory, never shipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::programs::{NPM, leave_out};

/// Tests of one process fetch one after the other: two npm processes in one directory corrupt each other's result.
static FETCHING: Mutex<()> = Mutex::new(());

/// The directory of these packages, each with its version as `name@1.2.3`, below a test's build directory; their files
/// are in `node_modules` there. `None` if they are unavailable, and their tests are skipped.
///
/// # Panics
/// They are unavailable, and [`crate::programs::REQUIRE_ALL`] is set.
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
    // Installed atomically: tests of other processes may look for the same directory.
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
