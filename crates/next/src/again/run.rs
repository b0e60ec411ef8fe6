//! The command that repeats a plain run exactly, from its plan and the user's flags.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_model::plan::{Objective, Pace, PhaseKind, StreamPlan};
use highwater_model::record::RunRecord;

use crate::commands;

/// The command, without passwords, which are not in records.
pub(crate) fn again(record: &RunRecord) -> String {
    let plan = &record.plan.definition;
    if plan.stop.fills {
        return commands::base("load", record, &[]);
    }
    let mut command = commands::base("run", record, &[]);
    for stream in &plan.streams {
        command += &commands::stream_flag(&stream.name, &paces(stream));
    }
    let is_closed = |pace: &Pace| matches!(pace, Pace::Closed { .. });
    let streams = || plan.streams.iter();
    if !record.header.given.contains_key("sessions")
        && streams().flat_map(|stream| &stream.paces).any(is_closed)
        && let Some(sessions) = streams().map(|stream| stream.sessions).max()
    {
        let _ = write!(command, " -c {sessions}");
    }
    let mut measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    if let Some(first) = measured.next() {
        let length = commands::between(plan.stop.minimum.0, first.duration.0);
        let is_stepped = measured.next().is_some();
        let flag = if is_stepped { "--step" } else { "-d" };
        let _ = write!(command, " {flag} {length}");
    }
    for objective in &plan.objectives {
        match objective {
            Objective::Throughput { min } => {
                let _ = write!(command, " --min-rate {}", min.as_f64());
            }
            other => command += &commands::flag(other),
        }
    }
    if plan.share.of > 1 {
        let _ = write!(command, " --share {}/{}", plan.share.index, plan.share.of);
    }
    command
}

/// `50,100`, or `4c` for closed sessions, and `4c,think=1s` for sessions with a think time.
fn paces(stream: &StreamPlan) -> String {
    stream
        .paces
        .iter()
        .map(|pace| match pace {
            Pace::Open { rate } => rate.as_f64().to_string(),
            Pace::Closed { sessions } => format!("{sessions}c"),
        })
        .collect::<Vec<_>>()
        .join(",")
        + &commands::think(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;

    #[test]
    fn the_command_says_the_plan_again() {
        insta::assert_snapshot!(
            again(&fixture::closed()),
            @"highwater run cpu sqlite: --stream insert@4c -c 16 -d 10s"
        );
        insta::assert_snapshot!(
            again(&fixture::open_steps()),
            @"highwater run cpu sqlite: --stream insert@50000,50000 --stream dashboards@50,100 --step 10s --errors 0.1%"
        );
        insta::assert_snapshot!(
            again(&fixture::open_gate()),
            @"highwater run cpu sqlite: --stream insert@1000 -d 10s --p99 10ms"
        );
    }
}
