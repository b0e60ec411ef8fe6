//! Running cargo and rustc from a task. No shell: arguments are passed as they are.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The root of the repository: that of the cargo that runs us, since a build directory may be
/// shared by several checkouts. Only the root has a lock file.
pub fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.ancestors().find(|directory| directory.join("Cargo.lock").exists());
    root.unwrap_or(&package).to_path_buf()
}

/// A command of cargo, at the root, with the cargo that runs us.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // What the cargo that runs us says of this package would be taken by build scripts for a change, and half
    // of the workspace built again whenever a task and a plain cargo take turns.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name.as_ref());
        }
    }
    command
}

/// Runs a command to its end, its output going where ours goes.
pub fn run(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    let status = command.status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed: {status}")) }
}

/// Runs a command to its end and returns what it wrote on stdout.
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

/// What cargo knows of the packages that are built on this kind of machine.
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

/// A command as one would type it, for messages.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}
