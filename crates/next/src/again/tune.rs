//! The command that repeats a tuning. Must not decide when it is proposed.

use highwater_model::plan::Pace;
use highwater_model::tune::TuneRecord;

use crate::commands::{self, Repeated};

/// A command with the user's flags, except those of the axes: they were set for a configuration, not by the user.
pub(crate) fn without_axes(command: &str, record: Repeated<'_>, tune: &TuneRecord) -> String {
    const PAIRS: [(&str, &str); 2] = [("set", ""), ("with", "with.")];
    let is_axis = |name: &str| tune.axes.iter().any(|axis| axis.name == name);
    let without: Vec<&str> = tune
        .axes
        .iter()
        .map(|axis| axis.name.as_str())
        .chain(PAIRS.map(|(flag, _)| flag))
        .collect();
    let mut command = commands::base(command, record, &without);
    for (flag, axis_of) in PAIRS {
        for given in record.header.given.get(flag).into_iter().flatten() {
            let name = given.split_once('=').map_or("", |(name, _)| name);
            if !is_axis(&format!("{axis_of}{name}")) {
                command += &format!(" --{flag} {}", commands::quoted(given));
            }
        }
    }
    command
}

/// The command that repeats the tuning, without passwords, which are not in records.
pub(crate) fn again(record: Repeated<'_>, tune: &TuneRecord) -> String {
    let is_axis = |name: &str| tune.axes.iter().any(|axis| axis.name == name);
    let mut command = without_axes("tune", record, tune);
    let first = record.plan.definition.streams.first();
    match first.and_then(|stream| stream.paces.first()) {
        Some(Pace::Closed { sessions }) if !is_axis("sessions") => {
            command += &format!(" -c {sessions}");
        }
        Some(Pace::Open { .. }) => {
            let rate = first.map(commands::pace).unwrap_or_default();
            command += &format!(" --rate {rate}");
        }
        _ => {}
    }
    for axis in &tune.axes {
        let values = format!("{}={}", axis.name, axis.values.join(","));
        command += &format!(" --over {}", commands::quoted(&values));
    }
    let stated = record
        .plan
        .definition
        .objectives
        .iter()
        .filter(|objective| !commands::IMPLIED.contains(objective));
    command += &stated.map(commands::flag).collect::<String>();
    format!("{command} --by {}", tune.by.name())
}
