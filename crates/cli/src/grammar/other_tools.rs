//! Flags of other load generators, and of other commands of this one, answered with the flag that does the same
//! here. Names are separated by blanks. Must not read any value.

/// The commands that run a workload.
const LOADS: &str = "run load find tune scale";
/// Those of them that take more than a fill.
const RUNS: &str = "run find tune scale";

/// How long a load takes.
const TIMES: &str = "--duration -d --time -T --run-time --test-time";
/// How much it does.
const NUMBERS: &str = "--iterations --transactions --requests --max-ops --max-requests";

/// Flags that mean the same, as they are typed; the commands that do not have them, and answer them so; and what to
/// type instead: flags are those of the command itself, or follow the name of another one.
type OtherFlags = (&'static str, &'static str, &'static str);

/// A command answers each flag in one way.
pub(super) const ALL: &[OtherFlags] = &[
    (
        "--vus --users -u --virtual-users --concurrency --clients --client --threads \
         --connections --workers --num-clients",
        LOADS,
        "use `-c N` (`--sessions N`): N sessions, each with one op in flight",
    ),
    (
        "--rate -R --rps --qps --tps --max-rate --arrival-rate",
        "find",
        "a search offers rates of its own: bound them with `--start RATE` and `--max RATE`, or offer one \
         with `highwater run --rate RATE`",
    ),
    (
        "--rps --qps --tps --max-rate --arrival-rate",
        "run load tune scale",
        "use `--rate RATE`, in rows or queries per second, such as `--rate 50k`",
    ),
    (
        TIMES,
        "find tune",
        "each probe takes `--probe DURATION`, and all together at most `--budget DURATION`",
    ),
    (TIMES, "load", "a load ends with its rows: use `--rows N`"),
    (
        "--time -T --run-time --test-time",
        "run scale",
        "use `-d DURATION` (`--duration`), such as `-d 60s`",
    ),
    (NUMBERS, "run", "use `-d DURATION` for a time, or `--rows N` for a number of rows"),
    (NUMBERS, "load", "use `--rows N`"),
    (NUMBERS, "find tune", "probes are limited by time: use `--probe DURATION`"),
    (
        "--ramp --ramp-up --rampup --hatch-rate --stage --stages",
        "run",
        "use `--stream NAME@50c..200c:10m` for more and more sessions, or `--spawn-rate N` to start N of them \
         per second before the warm-up",
    ),
    (
        "--spawn-rate --ramp --ramp-up --rampup --hatch-rate --stage --stages",
        "find tune scale",
        "sessions start together here; `highwater run --spawn-rate N` starts N per second",
    ),
    (
        "--think-time --wait-time --pause --sleep",
        RUNS,
        "use `--think DURATION`: the pause of a session between a response and its next op",
    ),
    (
        "--jobs -j --processes",
        LOADS,
        "leave it out: one process uses all cores; `-c N` (`--sessions N`) sets the sessions",
    ),
    (
        "--scale -s --scale-factor --table-size --warehouses",
        LOADS,
        "sizes are parameters of the workload: use `--set NAME=VALUE`; `highwater workloads show NAME` lists them",
    ),
    (
        "--tables",
        LOADS,
        "a workload has its own tables: describe yours in a file for `--file FILE`, which \
         `highwater workloads new` begins",
    ),
    ("--batch-size --batch_size --batchsize --bulk-size", LOADS, "use `--batch N`"),
    (
        "--latency-limit -L --thresholds --threshold --sla --percentile",
        RUNS,
        "use `--p99 DURATION`, such as `--p99 50ms`: exit code 1 if it is missed",
    ),
    (
        "--tolerate-errors --max-errors --ignore-errors",
        RUNS,
        "errors never end a run; `--errors PERCENT` makes them an objective",
    ),
    (
        "--script --query --sql --lua --test -e",
        LOADS,
        "use `-f FILE` (`--file`): an SQL file with one statement, or a workload file",
    ),
    (
        "--report-interval -P --summary-interval",
        LOADS,
        "leave it out: each second is shown and stored; `--events FILE` writes them as JSON",
    ),
    (
        "--csv --output --log -l --summary-export --histograms --histogram",
        LOADS,
        "every run is stored below `--out DIR`; `highwater show --format csv` prints its seconds",
    ),
    (
        "--host --port --user --username -U --password -W --dbname --database --db-name --url",
        LOADS,
        "the target is a URL, such as `SCHEME://USER@HOST:PORT/DATABASE`, without a flag; a password is read from a prompt",
    ),
    ("--over --by", "run find load", "settings are varied by `highwater tune --over AXIS=VALUES`"),
    (
        "--nodes",
        "run find tune",
        "sizes of a cluster are measured by `highwater scale --nodes SIZES`; `--label nodes=N` notes the size of \
         one run",
    ),
    (
        "--protocol -M --no-prepare",
        RUNS,
        "queries are prepared; `--literals` sends them unprepared",
    ),
    (
        "--initialize --init -i --prepare --cleanup",
        LOADS,
        "a run creates its tables, and `--drop` recreates them; `highwater load WORKLOAD TARGET` fills them",
    ),
    (
        "--headless --non-gui --no-vacuum",
        LOADS,
        "leave it out: nothing has to be switched off for a run without a terminal",
    ),
    ("--warmup-time --warmup-duration", RUNS, "use `--warm-up DURATION`"),
];

/// What to type instead of a flag that the command does not have.
pub(super) fn instead_of(flag: &str, command: &str) -> Option<&'static str> {
    let has = |names: &str, name: &str| names.split(' ').any(|one| one == name);
    let mut all = ALL.iter();
    let (.., instead) =
        all.find(|(names, commands, _)| has(names, flag) && has(commands, command))?;
    Some(instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;
    use crate::error_text::render;
    use crate::grammar::{CommandSpec, parse};

    fn command(name: &str) -> &'static CommandSpec {
        let mut all = commands::ALL.iter().copied();
        all.find(|command| command.name == name).unwrap()
    }

    fn has(command: &CommandSpec, flag: &str) -> bool {
        let mut flags = command.all_flags();
        match flag.strip_prefix("--") {
            Some(name) => flags.any(|own| own.name == name),
            None => flags.any(|own| {
                flag.strip_prefix('-')
                    .is_some_and(|short| own.short.is_some_and(|of_it| short == of_it.to_string()))
            }),
        }
    }

    /// The flags of a text, each with the command that must have it.
    fn proposed<'a>(instead: &'a str, answering: &'a str) -> Vec<(&'a str, &'a str)> {
        let spans = instead.split('`').skip(1).step_by(2);
        spans
            .flat_map(|span| {
                let of = span.strip_prefix("highwater ").and_then(|rest| rest.split(' ').next());
                span.split(' ')
                    .filter(|word| word.starts_with('-'))
                    .map(move |word| (of.unwrap_or(answering), word))
            })
            .collect()
    }

    #[test]
    fn each_proposed_flag_is_one_of_the_command_that_it_is_proposed_for() {
        let mut checked = 0;
        for (names, commands, instead) in ALL {
            for answering in commands.split(' ') {
                for (of, flag) in proposed(instead, answering) {
                    assert!(has(command(of), flag), "`{of}` has no `{flag}`: {names}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 100, "{checked}");
    }

    #[test]
    fn a_flag_that_the_command_has_itself_is_not_answered() {
        for (names, commands, _) in ALL {
            for answering in commands.split(' ') {
                for name in names.split(' ') {
                    assert!(!has(command(answering), name), "`{answering}` has `{name}`");
                }
            }
        }
    }

    #[test]
    fn a_command_answers_each_flag_in_one_way() {
        let mut seen = std::collections::BTreeSet::new();
        for (names, commands, _) in ALL {
            for answering in commands.split(' ') {
                for name in names.split(' ') {
                    assert!(seen.insert((answering, name)), "{name} of {answering}");
                }
            }
        }
    }

    #[test]
    fn the_answer_is_an_error_of_usage_with_the_flag_of_ours() {
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let failure = parse(commands::ALL, &words).unwrap_err();
            (failure.exit_code(), render(&failure))
        };
        let (exit, text) = said(&["highwater", "run", "cpu", "--vus", "50"]);
        assert_eq!(exit, crate::exit::USAGE);
        insta::assert_snapshot!(text, @"
        error: unknown flag `--vus`

        hint: use `-c N` (`--sessions N`): N sessions, each with one op in flight
        ");
        insta::assert_snapshot!(said(&["highwater", "find", "--over", "batch=1..8"]).1, @"
        error: unknown flag `--over`

        hint: settings are varied by `highwater tune --over AXIS=VALUES`
        ");
        insta::assert_snapshot!(said(&["highwater", "run", "-T", "60"]).1, @"
        error: unknown flag `-T`

        hint: use `-d DURATION` (`--duration`), such as `-d 60s`
        ");
    }
}
