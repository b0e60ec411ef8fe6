//! `cargo xtask docs --measured`: the output of the README's first command, which differs from run to run.

use std::fs;

use crate::blocks;
use crate::process;

/// The document that shows it.
pub const DOCUMENT: &str = "README.md";
/// Its block there.
pub const BLOCK: &str = "first-run";

/// Runs the command and keeps what it says.
pub fn write() -> Result<String, String> {
    let said = process::output(&mut process::cargo(&[
        "run",
        "--release",
        "--quiet",
        "--",
        "run",
    ]))?;
    let path = process::root().join(DOCUMENT);
    let old = fs::read_to_string(&path).map_err(|error| format!("reading {DOCUMENT}: {error}"))?;
    let new = blocks::replace(&old, BLOCK, &blocks::verbatim(&said))
        .map_err(|error| format!("{DOCUMENT}:1: {error}"))?;
    fs::write(&path, new).map_err(|error| format!("writing {DOCUMENT}: {error}"))?;
    Ok(format!("docs: wrote {DOCUMENT}"))
}
