//! Highwater: arguments → settings → plan → run → record → report → exit code.

use std::path::Path;
use std::process::ExitCode;

use highwater_cli::commands::{
    audit, check, compare, demo, find, import, manual, repeat, run, show, size, table, tune,
    workloads,
};
use highwater_cli::failure::Failure;
use highwater_cli::grammar::{self, Arguments, Command, Request};
use highwater_cli::invocation::Invocation;
use highwater_cli::layers::Layers;
use highwater_cli::layers::file::ConfigFile;
use highwater_cli::settings::{
    AuditSettings, CheckSettings, CompareSettings, DemoSettings, FindSettings, ImportSettings,
    RepeatSettings, RunSettings, ShowSettings, SizeSettings, TableSettings, TargetSchemes,
    TuneSettings, WorkloadsSettings,
};
use highwater_cli::{exit, process_title, terminal, tuned};

fn main() -> ExitCode {
    let code = start().unwrap_or_else(|failure| terminal::fail(&failure));
    ExitCode::from(code)
}

fn start() -> Result<u8, Failure> {
    let (invocation, warning) = process_title::invocation()?;
    if invocation.without_color() {
        terminal::without_color();
    }
    if let Some(warning) = warning {
        terminal::warn(&warning);
    }
    answer(&invocation).map_err(|failure| {
        let variables = invocation.environment.iter().map(|(_, value)| value);
        let words = invocation.arguments.iter().chain(variables);
        failure.without_passwords_of(words.map(String::as_str))
    })
}

fn answer(invocation: &Invocation) -> Result<u8, Failure> {
    match grammar::parse(&invocation.arguments)? {
        Request::Text(text) => terminal::styled(&text.ansi().to_string()).map(|()| exit::SUCCESS),
        Request::Completions(shell) => manual::completions(&shell),
        Request::Manual => manual::manual(),
        Request::Command(command, arguments) => execute(command, arguments, invocation),
    }
}

fn execute(command: Command, arguments: Arguments, invocation: &Invocation) -> Result<u8, Failure> {
    let file = ConfigFile::read(Path::new("."))?;
    let mut layers = Layers::gather(command, arguments, &invocation.environment, file.as_ref())?;
    if layers.switch("no-color")? {
        terminal::without_color();
    }
    for warning in &layers.warnings {
        terminal::warn(warning);
    }
    tuned::apply(&mut layers)?;
    let supported = TargetSchemes::built_in();
    match command {
        Command::Demo => demo::demo(&DemoSettings::resolve(&layers)?),
        Command::Run => repeat::repeat(&RepeatSettings::resolve(&layers, &supported)?),
        Command::Load => run::run(&RunSettings::resolve_load(&layers, &supported)?),
        Command::Tune => tune::tune(&TuneSettings::resolve(&layers, &supported)?),
        Command::Find => find::find(&FindSettings::resolve(&layers, &supported)?),
        Command::Show => show::show(&ShowSettings::resolve(&layers)?),
        Command::Audit => audit::audit(&AuditSettings::resolve(&layers, &supported)?),
        Command::Compare => compare::compare(&CompareSettings::resolve(&layers)?),
        Command::Import => import::import(&ImportSettings::resolve(&layers)?),
        Command::Size => size::size(&SizeSettings::resolve(&layers)?),
        Command::Table => table::table(&TableSettings::resolve(&layers)?),
        Command::Check => check::check(&CheckSettings::resolve(&layers, &supported)?),
        Command::Workloads => {
            workloads::workloads(&WorkloadsSettings::resolve(&layers, &supported)?)
        }
    }
}
