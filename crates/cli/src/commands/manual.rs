//! `highwater completions SHELL` and `highwater man [COMMAND]`: generated from the grammar.

use std::path::Path;
use std::{fs, io};

use clap_complete::Shell;
use highwater_model::user_error::UserError;

use crate::exit;
use crate::grammar::{CommandSpec, command_line};
use crate::terminal;

/// Prints a shell completion script.
pub fn completions(commands: &[&CommandSpec], shell: &str) -> Result<u8, UserError> {
    let shell: Shell = shell.parse().map_err(|_| {
        UserError::usage(format!("unknown shell `{shell}`"))
            .with_hint("there are bash, elvish, fish, powershell and zsh")
    })?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_line(commands), "highwater", &mut script);
    terminal::data(&String::from_utf8_lossy(&script)).map(|()| exit::SUCCESS)
}

/// Prints the manual page of the program or of one command, or writes all pages to a directory.
pub fn manual(
    commands: &[&CommandSpec],
    command: Option<&str>,
    directory: Option<&str>,
) -> Result<u8, UserError> {
    let mut program = command_line(commands);
    program.build();
    if let Some(directory) = directory {
        let place = Path::new(directory);
        fs::create_dir_all(place)
            .and_then(|()| clap_mangen::generate_to(program, place))
            .map_err(|error| cannot_write(&format!("to {directory}"), &error))?;
        return Ok(exit::SUCCESS);
    }
    let page = match command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            UserError::usage(format!("unknown command `{name}`"))
                .with_hint("`highwater help` lists the commands")
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(|error| cannot_write("", &error))?;
    terminal::data(&String::from_utf8_lossy(&text)).map(|()| exit::SUCCESS)
}

fn cannot_write(place: &str, error: &io::Error) -> UserError {
    let place = if place.is_empty() { String::new() } else { format!(" {place}") };
    UserError::usage(format!("cannot write the manual page{place}: {error}"))
}
