//! Tests of the form: the resulting commands, and the ones that must not be started.

use super::*;
use crate::commands::{find, run, scale, tune};

static COMMANDS: [&CommandSpec; 4] =
    [&run::COMMAND, &find::COMMAND, &tune::COMMAND, &scale::COMMAND];

const ALLOWED_TARGET: &str = "postgres://me@db/x?sslmode=require";

fn arguments(allows_all: bool, fields: &[(&str, &str)]) -> Result<String, String> {
    let rights = StartRights {
        out: PathBuf::from("runs"),
        targets: vec![TargetUrl::parse(ALLOWED_TARGET).unwrap()],
        allows_all,
        ..StartRights::default()
    };
    let starter = PageStarter::new(&COMMANDS, rights);
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let filled = fields.iter().map(own).collect();
    let arguments = starter.arguments(&filled)?;
    Ok(starter.command_line(&arguments))
}

#[track_caller]
fn refused(fields: &[(&str, &str)], why: &str) {
    let error = arguments(false, fields).unwrap_err();
    assert!(error.contains(why), "{fields:?}: {error}");
}

const RUN: (&str, &str) = ("command", "run");

#[test]
fn fields_belong_to_the_command_that_is_shown() {
    let fields = [
        RUN,
        ("workload", "cpu"),
        ("target", "sim:"),
        ("rate", "20k"),
        ("p99", "insert<50ms"),
        ("more", "--drop --label 'why=a b'"),
    ];
    assert_eq!(
        arguments(false, &fields).unwrap(),
        "highwater run --out=runs --quiet cpu sim: --rate=20k '--p99=insert<50ms' --drop --label 'why=a b'"
    );
}

#[test]
fn flags_that_run_commands_or_name_files_need_a_separate_permission() {
    let needs = "--allow-commands";
    for more in [
        "--variant a=true --variant b=true",
        "-f own.toml",
        "--file=own.toml",
        "--events /tmp/x",
        "--ui=0.0.0.0:1",
        "--control /tmp/x",
        "--metrics http://10.0.0.1/metrics",
        "--otlp http://10.0.0.1",
        "--drop-foreign t",
        "--tuned /tmp/x",
        "--interleave sim:",
        "/etc/passwd",
        "own.toml",
    ] {
        refused(&[RUN, ("more", more)], needs);
    }
    let scale = |more| [("command", "scale"), ("target", "sim:?nodes={nodes}"), ("more", more)];
    refused(&scale("--nodes 1,2 --cluster own.toml"), needs);
    assert!(arguments(false, &scale("--nodes 1,2")).is_ok());
    let tune = |more| [("command", "tune"), ("target", "sim:"), ("more", more)];
    let engine = "--over 'with.engine=Log,File(CSV)'";
    refused(&tune(engine), needs);
    assert!(arguments(true, &tune(engine)).is_ok());
    assert!(arguments(false, &tune("--over batch=100,200")).is_ok());
    let variant = [RUN, ("target", "sim:"), ("more", "--variant a=true")];
    assert!(arguments(true, &variant).unwrap().contains("--variant a=true"));
}

#[test]
fn the_page_takes_neither_passwords_nor_its_own_flags_nor_what_is_no_command() {
    let secret = [RUN, ("target", "postgres://u:secret@db/x")];
    refused(&secret, "takes no password");
    let error = arguments(true, &secret).unwrap_err();
    assert!(!error.contains("secret"), "{error}");
    refused(&[RUN, ("more", "--out /tmp/x")], "set by the page");
    refused(&[RUN, ("more", "--config /tmp/x")], "set by the page");
    refused(&[RUN, ("more", "--label 'x")], "a quote has no end");
    refused(&[RUN, ("more", "--help")], "start nothing");
    refused(&[("command", "serve")], "serve");
    refused(&[], "");
}

#[test]
fn a_value_is_never_a_flag() {
    let shown = arguments(false, &[RUN, ("label", "--variant=x"), ("target", "sim:")]);
    assert!(shown.unwrap().contains("--label=--variant=x"));
}

#[test]
fn the_flags_of_the_page_hold_whatever_the_further_arguments_end() {
    let shown = arguments(false, &[RUN, ("more", "-- sim:")]).unwrap();
    assert_eq!(shown, "highwater run --out=runs --quiet -- sim:");
    let words = shlex::split(&shown).unwrap();
    let Ok(Request::Command(_, given)) = grammar::parse(&COMMANDS, &words) else {
        panic!("{shown}");
    };
    assert_eq!(given.flags["out"], ["runs"]);
    assert_eq!(given.positionals, ["sim:"]);
}

#[test]
fn targets_are_those_that_were_named_and_those_inside_the_process() {
    for target in [
        "postgres://me@db/x",
        "postgres://me@127.0.0.1:1/x?sslmode=require",
        "postgres://me@db/x%3Fsslmode=require",
        "postgres://me@db/x?sslmode=require&sslkey=/keys/own",
        "postgres:",
        "sqlite:/tmp/x.db",
        "sqlite:%2Ftmp/x.db",
        "sim://db",
    ] {
        for allows_all in [false, true] {
            let error = arguments(allows_all, &[RUN, ("target", target)]).unwrap_err();
            let is_refused = error.contains("--allow-target") || target == "sim://db";
            assert!(is_refused, "{target}: {error}");
        }
        let beside = format!("--interleave '{target}'");
        let error = arguments(true, &[RUN, ("target", "sim:"), ("more", &beside)]).unwrap_err();
        assert!(error.contains("--allow-target") || target == "sim://db", "{error}");
    }
    for allowed in ["sqlite:", "null:mysql", "sim:?nodes=2", ALLOWED_TARGET] {
        let filled = [RUN, ("target", allowed)];
        assert!(arguments(false, &filled).is_ok(), "{allowed}");
    }
}

#[test]
fn passwords_are_for_named_targets_and_for_those_of_the_users_own_environment() {
    let has = |words: &str| {
        let rights = StartRights {
            targets: vec![TargetUrl::parse(ALLOWED_TARGET).unwrap()],
            allows_all: true,
            ..StartRights::default()
        };
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        PageStarter::new(&COMMANDS, rights).has_passwords(&words)
    };
    assert!(has("run cpu"), "the target of the environment");
    assert!(has(&format!("run cpu {ALLOWED_TARGET}")));
    assert!(!has("run cpu sim:"));
    assert!(!has(&format!("run cpu {ALLOWED_TARGET} sim:")));
    assert!(!has("run cpu --cluster lab.toml"));
}
