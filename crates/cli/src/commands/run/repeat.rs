//! `highwater run --repeat`: repeats a run, alternating with a second target or with other
//! configurations of the same one, to measure run-to-run variation. Must not compare runs itself.

use std::ffi::OsString;
use std::process::Command;

use highwater_analysis::comparison::PRACTICAL;
use highwater_driver::redaction::redacted;
use highwater_drivers::drivers;
use highwater_model::record::Record;
use highwater_report as report;

use super::intent::{RepeatIntent, Variant};
use super::single;
use crate::commands::compare::{Loaded, against_first};
use crate::event_log::{self, EventLog};
use crate::exit;
use crate::failure::Failure;
use crate::intent::RunIntent;
use crate::invocation::PREFIX;
use crate::{prepare, terminal};

/// Does what the settings ask for: one run, or a group of runs and their comparison.
pub(super) fn repeat(settings: &RepeatIntent) -> Result<u8, Failure> {
    if settings.is_plain() || settings.run.output.plan_only {
        return single::run(&settings.run);
    }
    if settings.run.control.is_some() {
        let message = "--control: commands are for one run, and several are to be made";
        return Err(
            Failure::usage(message).with_hint("leave out --repeat, --interleave, and --variant")
        );
    }
    let interrupts = prepare::signals()?;
    let log = EventLog::open(settings.run.output.events.as_ref())?;
    let group = settings.run.out.join(prepare::id("group", "", ""));
    let variants = settings.variants.iter();
    let mut groups: Vec<Loaded> = variants
        .map(|variant| Loaded {
            name: group.join(&variant.name).display().to_string(),
            records: Vec::new(),
        })
        .collect();
    let mut code = exit::SUCCESS;
    for round in 0..settings.times {
        for position in order(settings.variants.len(), round) {
            let variant = &settings.variants[position];
            if interrupts.requested().is_some() {
                break;
            }
            terminal::note(&format!(
                "run {} of {}, variant {}\n",
                round + 1,
                settings.times,
                variant.name
            ));
            prepare(variant)?;
            let of_variant = of_variant(settings, variant, round, group.join(&variant.name));
            let record = single::record(&of_variant, interrupts.clone(), log.as_ref())?;
            code = exit::of_both(code, exit::of(&record));
            groups[position].records.push(Record::Run(Box::new(record)));
        }
    }
    groups.retain(|group| !group.records.is_empty());
    let text = if groups.len() > 1 {
        report::compare_text(&against_first(&groups, PRACTICAL))
    } else {
        run_lines(&groups)
    };
    let text = format!("{text}\ngroup          {}\n", group.display());
    event_log::result(&settings.run.output, &text)?;
    Ok(code)
}

/// Alternates the direction of rounds, so that changes over time affect all variants equally.
fn order(variants: usize, round: u32) -> Vec<usize> {
    let forth = 0..variants;
    if round.is_multiple_of(2) {
        forth.collect()
    } else {
        forth.rev().collect()
    }
}

/// Runs the user's command in a shell, without the passwords of this program's environment; its
/// output is for the reader.
fn prepare(variant: &Variant) -> Result<(), Failure> {
    let Some(command) = &variant.command else {
        return Ok(());
    };
    let place = format!("--variant {}", variant.name);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    for name in secret_variables() {
        shell.env_remove(name);
    }
    let status = shell.status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(
            Failure::usage(format!("{place}: the command ended with {status}"))
                .with_hint("make the command configure the target and exit with 0"),
        ),
        Err(error) => Err(Failure::usage(format!(
            "{place}: cannot start a shell: {error}"
        ))),
    }
}

/// The variables of this process that a driver takes a password from, and those of ours that hold
/// the password of a URL.
fn secret_variables() -> Vec<OsString> {
    let of_drivers = drivers()
        .iter()
        .flat_map(|driver| driver.secret_variables());
    let ours = std::env::vars_os().filter(|(name, value)| {
        name.to_string_lossy().starts_with(PREFIX) && redacted(&value.to_string_lossy()).is_some()
    });
    of_drivers
        .map(OsString::from)
        .chain(ours.map(|(name, _)| name))
        .collect()
}

/// The settings of one run: a simulated target gets another seed; rows and ops stay the same.
fn of_variant(
    settings: &RepeatIntent,
    variant: &Variant,
    round: u32,
    out: std::path::PathBuf,
) -> RunIntent {
    let mut run = settings.run.clone();
    run.targets.clone_from(&variant.targets);
    run.out = out;
    run.labels
        .insert("variant".to_owned(), variant.name.clone());
    run.labels
        .insert("repeat".to_owned(), (round + 1).to_string());
    run.round = round;
    run
}

/// The main lines of each run, for a single group.
fn run_lines(groups: &[Loaded]) -> String {
    let records = groups.iter().flat_map(|group| &group.records);
    let lines = records.flat_map(|record| {
        let text = report::text(record);
        let lines = text.lines().filter(|line| {
            ["rows  ", "queries  ", "record"]
                .iter()
                .any(|begin| line.starts_with(begin))
        });
        lines.map(|line| format!("{line}\n")).collect::<Vec<_>>()
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_alternate_in_both_directions() {
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [2, 1, 0]);
    }
}
