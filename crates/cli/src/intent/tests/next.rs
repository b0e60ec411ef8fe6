//! What a command gives to the one that repeats it: each flag is kept in the record and typed again, or left out for a
//! reason.

use std::collections::BTreeSet;

use highwater_model::judgment::Judgments;
use highwater_model::record::{
    CommandRecord, ExperimentRecord, Header, Question, RecordRef, RunRecord, SettingOrigin,
};
use highwater_model::scale::ScaleRecord;
use highwater_model::search::SearchRecord;

use super::*;
use crate::grammar::Flag;
use crate::intent::resolve::command;
use crate::layers::Next;

/// The commands whose records propose another one.
const COMMANDS: [&CommandSpec; 5] = [
    &commands::run::COMMAND,
    &commands::run::LOAD_COMMAND,
    &commands::find::COMMAND,
    &commands::tune::COMMAND,
    &commands::scale::COMMAND,
];

/// A value that holds what a shell would split, and what may not be in a record, by the flag's placeholder.
fn sample(flag: &Flag) -> &'static str {
    let placeholder = flag.value.unwrap_or_default();
    if placeholder.contains("COMMAND") {
        "new=PGPASSWORD=secret ./restart.sh 'a b'"
    } else if ["URL", "TARGET"].iter().any(|word| placeholder.contains(word)) {
        "http://me:secret@h:9100/metrics?a=b&c=d"
    } else if flag.repeats {
        "a=b c|a2=it's"
    } else {
        "7"
    }
}

/// The command that is recorded of these words.
fn recorded(words: &[String]) -> CommandRecord {
    match grammar::parse(commands::ALL, words).unwrap() {
        Request::Command(spec, arguments) => {
            command(&gather(spec, commands::ALL, arguments, &[], &[]).unwrap())
        }
        other => panic!("not a command: {other:?}"),
    }
}

/// The command line that repeats an experiment of this command.
fn again(command: &CommandRecord) -> String {
    let mut last = RunRecord::default();
    "cpu".clone_into(&mut last.workload.name);
    let experiment = ExperimentRecord {
        header: Header { command: command.clone(), ..Header::default() },
        judgments: Judgments::default(),
        incidents: Vec::new(),
        interventions: Vec::new(),
        question: match command.name.as_str() {
            "scale" => Question::Scale(ScaleRecord::default()),
            _ => Question::Search(SearchRecord::default()),
        },
        loaded_ns: 0,
        last_run: Box::new(last),
    };
    highwater_next::again(RecordRef::Experiment(&experiment))
}

#[test]
fn every_flag_of_every_command_is_typed_again_as_it_was() {
    for spec in COMMANDS {
        for flag in spec.all_flags() {
            // Files are in the place of the workload.
            let workload = ["cpu"].into_iter().filter(|_| flag.name != "file");
            let words = ["highwater", spec.name].into_iter().chain(workload).chain(["sim:"]);
            let mut words: Vec<String> = words.map(str::to_owned).collect();
            if flag.value.is_none() {
                words.push(format!("--{}", flag.name));
            } else {
                let values = sample(flag).split('|');
                words.extend(values.map(|value| format!("--{}={value}", flag.name)));
            }
            let first = recorded(&words);
            let repeated = again(&first);
            assert!(!repeated.contains("secret"), "{words:?}: {repeated}");
            let is_kept = repeated != format!("highwater {} cpu sim:", spec.name);
            assert_eq!(is_kept, flag.next != Next::LeftOut, "{words:?}: {repeated}");
            assert_eq!(recorded(&shlex::split(&repeated).unwrap()), first, "{words:?}: {repeated}");
        }
    }
}

#[test]
fn the_record_has_every_value_with_its_origin_and_the_next_command_only_what_was_typed() {
    let sources = Sources {
        words: "run|-d|7s|--set|batch=7|db:x",
        environment: &[("HIGHWATER_RETRIES", "3"), ("HIGHWATER_QUIET", "true")],
        file: "seed = 9\nset = { batch = 1, hosts = 2 }",
    };
    let first = command(&layers(&sources).unwrap().1);
    let origins = |name: &str| {
        let all = first.settings.get(name).into_iter().flatten();
        all.map(|of| (of.value.as_deref().unwrap_or_default(), of.origin)).collect::<Vec<_>>()
    };
    assert_eq!(origins("duration"), [("7s", SettingOrigin::CommandLine)]);
    assert_eq!(origins("target"), [("db:x", SettingOrigin::CommandLine)]);
    assert_eq!(origins("retries"), [("3", SettingOrigin::Environment)]);
    assert_eq!(origins("seed"), [("9", SettingOrigin::File)]);
    assert_eq!(origins("timeout"), [("30s", SettingOrigin::Default)]);
    // Pairs are added up; the stronger one of two with a name decides.
    let pairs = [("hosts=2", SettingOrigin::File), ("batch=7", SettingOrigin::CommandLine)];
    assert_eq!(origins("set"), pairs);
    assert_eq!(origins("quiet"), [], "it is about the output");
    assert_snapshot!(again(&first), @"highwater run cpu db:x -d 7s --set batch=7");
}

/// Whoever adds a flag sees here that the commands after `next:` leave it out, and decides whether they may.
#[test]
fn what_is_left_out_is_about_the_output_or_about_one_call() {
    let all = COMMANDS.iter().flat_map(|command| command.all_flags());
    let left_out = all.filter(|flag| flag.next == Next::LeftOut).map(|flag| flag.name);
    let left_out: Vec<&str> = left_out.collect::<BTreeSet<_>>().into_iter().collect();
    assert_snapshot!(left_out.join(" "), @"control drop-foreign dry-run events json metrics-listen no-color otlp plan progress quiet resume start-at ui ui-control verbose");
}

#[test]
fn the_settings_that_follow_a_command_to_another_are_of_run_find_and_tune() {
    let names = |command: &CommandSpec| {
        let kept = command.all_flags().filter(|flag| flag.next != Next::LeftOut);
        kept.map(|flag| flag.name).collect::<BTreeSet<_>>()
    };
    let [run, find, tune] =
        [&commands::run::COMMAND, &commands::find::COMMAND, &commands::tune::COMMAND].map(names);
    let mut all: BTreeSet<&str> = &(&run & &find) & &tune;
    // In another command they mean another load, or another time.
    for other in ["budget", "sessions", "settle"] {
        assert!(all.remove(other), "{other}");
    }
    assert_eq!(highwater_next::SHARED.split(' ').collect::<BTreeSet<_>>(), all);
}
