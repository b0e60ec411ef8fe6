//! Highwater: words → intent → plan → run → record → report → exit code.

use std::process::ExitCode;

use highwater_cli::commands::{self, manual};
use highwater_cli::exit::without_passwords_of;
use highwater_cli::grammar::{self, Arguments, CommandSpec, Request};
use highwater_cli::sources::{ConfigFile, Invocation};
use highwater_cli::{exit, secrets, sources, terminal, variants};
use highwater_model::user_error::UserError;

fn main() -> ExitCode {
    let code = start().unwrap_or_else(|failure| terminal::fail(&failure));
    ExitCode::from(code)
}

fn start() -> Result<u8, UserError> {
    let (invocation, warning) = secrets::invocation()?;
    if invocation.without_color() {
        terminal::without_color();
    }
    if let Some(warning) = warning {
        terminal::warn(&warning);
    }
    answer(&invocation).map_err(|failure| {
        let variables = invocation.environment.iter().map(|(_, value)| value);
        let words = invocation.arguments.iter().chain(variables);
        without_passwords_of(failure, words.map(String::as_str))
    })
}

fn answer(invocation: &Invocation) -> Result<u8, UserError> {
    match grammar::parse(commands::ALL, &invocation.arguments)? {
        Request::Text(text) => terminal::styled(&text.ansi().to_string()).map(|()| exit::SUCCESS),
        Request::Completions(shell) => manual::completions(commands::ALL, &shell),
        Request::Manual { command, directory } => {
            manual::manual(commands::ALL, command.as_deref(), directory.as_deref())
        }
        Request::Command(command, arguments) => execute(command, arguments, invocation),
    }
}

fn execute(
    command: &CommandSpec,
    arguments: Arguments,
    invocation: &Invocation,
) -> Result<u8, UserError> {
    let named = arguments.flags.get("config").and_then(|files| files.last());
    let files = ConfigFile::all(named.map(String::as_str))?;
    let environment = &invocation.environment;
    let mut layers = sources::gather(command, commands::ALL, arguments, environment, &files)?;
    if layers.switch("no-color")? {
        terminal::without_color();
    }
    for warning in &layers.warnings {
        terminal::warn(warning);
    }
    variants::apply(&mut layers)?;
    (command.run)(&layers)
}
