//! The flags that a command passes to the one that repeats it: each is stored in the record, or omitted for a
//! reason.

use super::*;
use crate::commands::find::FindIntent;
use crate::exit::render;
use crate::grammar::Flag;
use crate::layers::Next;

/// A value that the flag takes, by its placeholder.
fn sample(flag: &Flag) -> &'static str {
    match (flag.name, flag.value) {
        (_, None) => "",
        ("warm-up" | "settle" | "think" | "timeout" | "probe" | "confirm", _) => "7s",
        ("audit-timeout", _) => "7m",
        ("arrivals", _) => "poisson",
        ("audit", _) => "count",
        ("insert", _) => "values",
        ("until", _) => "errors>9",
        ("metrics", _) => "http://me:secret@h:9100/metrics",
        ("metric", _) => "up=my_up",
        ("label" | "with", _) => "a=b c",
        ("tolerance" | "steady-within", _) => "7%",
        ("out", _) => "elsewhere",
        (_, Some(_)) => "7",
    }
}

/// Words that a flag is not taken without.
fn beside(command: &str, flag: &Flag) -> &'static str {
    match flag.name {
        "think" if command == "find" => "--axis|sessions",
        "metric" => "--metrics|http://h:9100/metrics",
        "abort-on-miss" => "--p99|5ms",
        "until" => "-d|1s..9s",
        _ => "",
    }
}

/// The part of a given flag that the record stores, next to the needed one.
fn kept(command: &str, flag: &Flag) -> Option<Vec<String>> {
    let value = sample(flag);
    let value = if flag.value.is_some() { format!("|{value}") } else { String::new() };
    let words =
        format!("{command}|{}|--{}{value}", beside(command, flag), flag.name).replace("||", "|");
    let sources = Sources { words: &words, ..Sources::default() };
    let resolved = layers(&sources).and_then(|(_, layers)| match command {
        "find" => Ok(FindIntent::resolve(&layers)?.run),
        _ => RunIntent::resolve(&layers),
    });
    let run = resolved.unwrap_or_else(|failure| panic!("{words}: {}", render(&failure)));
    run.repeated_flags.get(flag.name).cloned()
}

#[test]
fn every_repeated_flag_is_kept_as_given() {
    for command in [&commands::run::COMMAND, &commands::find::COMMAND] {
        for flag in command.all_flags() {
            // It names a file that must be there.
            if flag.name == "cluster" {
                continue;
            }
            let expected = match flag.next {
                Next::LeftOut => continue,
                Next::RepeatedSwitch => Vec::new(),
                Next::RepeatedUrl => vec!["http://me@h:9100/metrics".to_owned()],
                Next::Repeated | Next::Parameter => vec![sample(flag).to_owned()],
            };
            assert_eq!(
                kept(command.name, flag),
                Some(expected),
                "{} --{}",
                command.name,
                flag.name
            );
        }
    }
}

/// Whoever adds a flag sees here that the commands after `next:` leave it out, and decides whether they may.
#[test]
fn omitted_flags_are_in_the_plan_or_apply_to_one_call() {
    let left_out = |command: &CommandSpec| {
        let flags = command.all_flags().filter(|flag| flag.next == Next::LeftOut);
        flags.map(|flag| flag.name).collect::<Vec<_>>().join(" ")
    };
    assert_snapshot!(left_out(&commands::run::COMMAND), @"sessions rate stream control duration step file set tuned drop drop-foreign p50 p90 p95 p99 p999 row-p99 errors rejected min-rate max-cpu share start-at repeat interleave variant budget resume dry-run verbose quiet json events ui ui-control metrics-listen otlp progress plan config no-color");
    assert_snapshot!(left_out(&commands::find::COMMAND), @"axis budget then resume dry-run stream sessions file set tuned drop drop-foreign p50 p90 p95 p99 p999 row-p99 errors rejected min-rate max-cpu verbose quiet json events ui ui-control metrics-listen otlp config no-color");
    assert_snapshot!(left_out(&commands::tune::COMMAND), @"over by budget resume dry-run sessions rate file set tuned drop drop-foreign p50 p90 p95 p99 p999 row-p99 errors rejected max-cpu verbose quiet json events ui ui-control metrics-listen otlp config no-color");
    assert_snapshot!(left_out(&commands::scale::COMMAND), @"nodes each cluster no-quota measure-nodes no-measure-nodes variant fresh grow until price budget resume dry-run over each-budget sessions rate stream duration file set tuned drop drop-foreign p50 p90 p95 p99 p999 row-p99 errors rejected max-cpu verbose quiet json events ui ui-control metrics-listen otlp config no-color");
}
