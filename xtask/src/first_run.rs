//! `cargo xtask docs --measured`: the output of the README's first command, which differs from run to run.

use crate::blocks;
use crate::process;

/// The document with the output.
pub const DOCUMENT: &str = "README.md";
/// Name of its block.
pub const BLOCK: &str = "first-run";

/// Runs the command and writes its output.
pub fn write() -> Result<String, String> {
    let said = process::output(&mut process::cargo(&["run", "--release", "--quiet", "--", "run"]))?;
    blocks::rewrite(DOCUMENT, BLOCK, &blocks::verbatim(&said))?;
    Ok(format!("docs: wrote {DOCUMENT}"))
}
