//! Runs cargo and rustc for a task. Uses no shell: arguments are passed unchanged.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The root of the repository: that of the calling cargo, because several checkouts may share a build directory. Only
/// the root has a lock file.
pub fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.ancestors().find(|directory| directory.join("Cargo.lock").exists());
    root.unwrap_or(&package).to_path_buf()
}

/// A command of the calling cargo, at the root.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // Build scripts would treat the package variables of the calling cargo as a change, and half of the workspace would
    // be rebuilt whenever a task and a plain cargo alternate.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name.as_ref());
        }
    }
    command
}

/// Runs a command to its end; its output goes to this process' output.
pub fn run(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    let status = command.status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed: {status}")) }
}

/// Runs a command to its end and returns its stdout.
pub fn output(command: &mut Command) -> Result<String, String> {
    let shown = shown(command);
    let done = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if !done.status.success() {
        return Err(format!("`{shown}` failed: {}", done.status));
    }
    String::from_utf8(done.stdout).map_err(|_| format!("`{shown}` wrote bytes that are no text"))
}

/// Cargo's metadata of the packages for this kind of machine.
pub fn metadata() -> Result<Value, String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("`rustc -vV` names no host")?;
    let text = output(&mut cargo(&[
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        host,
    ]))?;
    serde_json::from_str(&text).map_err(|error| format!("`cargo metadata`: {error}"))
}

/// A command as typed in a shell, for messages.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}
