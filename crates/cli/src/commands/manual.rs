//! `highwater completions SHELL` and `highwater man`: generated from the grammar.

use clap_complete::Shell;

use crate::exit;
use crate::failure::Failure;
use crate::grammar::{CommandSpec, command_line};
use crate::terminal;

/// Prints a shell completion script.
pub fn completions(commands: &[&CommandSpec], shell: &str) -> Result<u8, Failure> {
    let shell: Shell = shell.parse().map_err(|_| {
        Failure::usage(format!("unknown shell `{shell}`"))
            .with_hint("there are bash, elvish, fish, powershell and zsh")
    })?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_line(commands), "highwater", &mut script);
    terminal::data(&String::from_utf8_lossy(&script)).map(|()| exit::SUCCESS)
}

/// Prints the manual page.
pub fn manual(commands: &[&CommandSpec]) -> Result<u8, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command_line(commands))
        .render(&mut page)
        .map_err(|error| Failure::usage(format!("cannot write the manual page: {error}")))?;
    terminal::data(&String::from_utf8_lossy(&page)).map(|()| exit::SUCCESS)
}
