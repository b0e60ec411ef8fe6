//! `--fault`: actions on a cluster during the load, what they did to it, and that nothing of them remains.

use std::fs;
use std::time::Duration;

use highwater_analysis::availability::fault_effects;
use highwater_model::control::Change;
use highwater_model::record::{Question, Record, RunRecord};
use highwater_model::search::SearchOutcome;
use highwater_model::units::Nanos;
use highwater_runner::record;
use highwater_testing::{galera, postgres};
use rustix::process::Signal;

use crate::called::{Called, Place, experiment, split};
use crate::growing::Lab;

/// A PostgreSQL that is up; none where it is not installed.
fn postgres() -> Option<Lab> {
    if postgres::skipped() {
        return None;
    }
    let lab = Lab::new("postgres-standby.toml");
    let up = lab.cluster("up", &["--nodes", "1"]);
    assert_eq!(up.code, Some(0), "{up:?}");
    Some(lab)
}

const LOAD: &str = "run kv --cluster lab.toml --read-percent 0 --rate 100 -c 16 --warm-up 1s";

fn last_run(place: &Place) -> RunRecord {
    let last = place.runs().into_iter().max().unwrap();
    match record::read(&last).unwrap() {
        Record::Run(run) => *run,
        _ => panic!("no run"),
    }
}

/// Whether the data are clean; a busy machine has client lag.
fn is_clean(called: &Called) -> bool {
    matches!(called.code, Some(0 | 3))
}

/// The state of the first process of node 1: `T` if it is held.
fn state(lab: &Lab) -> String {
    state_of(&first_process(lab))
}

/// The first process of node 1. The node must answer, so that it is not held in this moment.
fn first_process(lab: &Lab) -> String {
    let status = lab.cluster("status", &[]).stdout;
    let pid = status.split("process ").nth(1).and_then(|rest| rest.split(' ').next());
    pid.unwrap_or_else(|| panic!("{status}")).to_owned()
}

fn state_of(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().trim().chars().take(1).collect()
}

/// Seconds in which the server was away, from its death until the start was complete.
fn away_s(run: &RunRecord) -> f64 {
    let times: Vec<[u64; 2]> = run
        .interventions
        .iter()
        .map(|done| match &done.change {
            Change::Fault { took_ns, failed: None, .. } => [done.time_ns, *took_ns],
            other => panic!("{other:?}"),
        })
        .collect();
    let [[killed, _], [started, took]] = times[..] else {
        panic!("{times:?}");
    };
    Nanos(started + took - killed).as_secs_f64()
}

#[test]
fn a_node_that_is_killed_and_started_again_loses_nothing_and_its_time_is_named() {
    let Some(lab) = postgres() else {
        return;
    };
    let faults = "kill node 1 at 3s, start it at 5s";
    let words = [split(LOAD), vec!["-d", "16s", "--fault", faults]].concat();
    let called = lab.0.call(&words);
    assert!(is_clean(&called), "{called:?}");
    called.prints("node 1 killed: full rate after ");
    called.prints("acknowledged row");
    let run = last_run(&lab.0);
    assert_eq!(run.plan.definition.faults.len(), 2);
    let effects = fault_effects(&run);
    let dip = effects[0].dip.unwrap_or_else(|| panic!("{effects:?}"));
    let again = Nanos(dip.rate_again_ns.unwrap_or_else(|| panic!("{dip:?}"))).as_secs_f64();
    // It answers before the start is known to be complete, and sessions come back within their pause of a second.
    let away = away_s(&run);
    assert!((2.0..=away + 1.5).contains(&again), "{again} s, away for {away} s: {dip:?}");
    assert!(dip.lowest < 0.03 && dip.recovered_ns.is_some(), "{dip:?}");
    assert!(effects[1].is_in_dip, "{effects:?}");
    assert_eq!(run.audit.missing, 0);
    // It is still up, and is ended with the cluster.
    lab.cluster("status", &[]).prints("ready");
}

#[test]
fn a_node_that_is_paused_is_held_for_that_long_however_the_run_ends() {
    let Some(lab) = postgres() else {
        return;
    };
    let words = |fault: &'static str| [split(LOAD), vec!["-d", "12s", "--fault", fault]].concat();
    let called = lab.0.call(&words("pause node 1 for 2s at 2s"));
    assert!(is_clean(&called), "{called:?}");
    let run = last_run(&lab.0);
    let dip = fault_effects(&run)[0].dip.unwrap();
    let again = Nanos(dip.rate_again_ns.unwrap()).as_secs_f64();
    // 300 ms and two arrivals; the signals take their time on a busy machine.
    assert!((1.7..=3.0).contains(&again), "{dip:?}");
    assert_ne!(state(&lab), "T");
    // Stopped meanwhile.
    let mut running = lab.0.start(&words("pause node 1 for 60s at 1s"));
    running.wait_for("node 1 was paused");
    assert_eq!(state(&lab), "T", "a look at the cluster releases nothing");
    running.signal(Signal::INT);
    running.wait_for("node 1 was resumed");
    let stopped: Called = running.end();
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    assert_ne!(state(&lab), "T");
    // Killed meanwhile: the next call releases it.
    let mut running = lab.0.start(&words("pause node 1 for 60s at 1s"));
    running.wait_for("node 1 was paused");
    running.kill();
    assert_ne!(state(&lab), "T");
}

#[test]
fn a_command_is_an_action_and_one_that_fails_is_in_the_record() {
    let place = Place::new();
    let load = "run cpu sqlite: --rate 1k --batch 10 --warm-up 0s -d 6s";
    let fault = "run 'touch made' at 1s, run 'exit 3' at 2s";
    let called = place.call(&[split(load), vec!["--fault", fault]].concat());
    assert!(is_clean(&called), "{called:?}");
    assert!(place.path().join("made").exists());
    called.prints("`touch made` run at ");
    let run = last_run(&place);
    let failed: Vec<bool> = fault_effects(&run).iter().map(|of| of.failed.is_some()).collect();
    assert_eq!(failed, [false, true]);
}

#[test]
fn a_throttled_node_runs_a_part_of_the_time_and_all_of_it_afterwards() {
    let Some(lab) = postgres() else {
        return;
    };
    let words = |fault: &'static str| [split(LOAD), vec!["-d", "12s", "--fault", fault]].concat();
    let throttle = "throttle cpu of node 1 to 0.1 for 60s at 1s";
    let mut running = lab.0.start(&words(throttle));
    running.wait_for("node 1 was throttled");
    // Held for 90 of 100 ms.
    let pid = first_process(&lab);
    let held = (0..200).filter(|_| {
        std::thread::sleep(Duration::from_millis(5));
        state_of(&pid) == "T"
    });
    let held = held.count();
    assert!(held >= 100, "{held} of 200");
    running.signal(Signal::INT);
    running.wait_for("node 1 was resumed");
    assert_eq!(running.end().code, Some(130));
    assert_ne!(state(&lab), "T");
    let mut running = lab.0.start(&words(throttle));
    running.wait_for("node 1 was throttled");
    running.kill();
    lab.cluster("status", &[]).prints("ready");
    assert_ne!(state(&lab), "T");
}

#[test]
fn a_statement_is_an_action_and_one_that_is_rejected_is_in_the_record() {
    let place = Place::new();
    let load = "run cpu sqlite:data.db --rate 1k --batch 10 --warm-up 0s -d 6s";
    let fault = "sql 'CREATE TABLE made (x INTEGER)' at 1s, sql 'INSERT INTO made VALUES (1)' at 2s, \
                 sql 'nonsense' at 3s";
    let called = place.call(&[split(load), vec!["--fault", fault]].concat());
    assert!(is_clean(&called), "{called:?}");
    called.prints("`CREATE TABLE made (x INTEGER)` executed at ");
    let run = last_run(&place);
    let failed: Vec<Option<&str>> = fault_effects(&run).iter().map(|of| of.failed).collect();
    assert!(matches!(failed[..], [None, None, Some(why)] if why.contains("syntax")), "{failed:?}");
}

#[test]
fn a_command_ends_with_all_that_it_started_when_the_run_is_stopped() {
    let place = Place::new();
    let load = "run cpu sqlite: --rate 1k --batch 10 --warm-up 0s -d 60s";
    let fault = "run 'sleep 300 & echo $! > child; sleep 300' at 1s";
    let mut running = place.start(&[split(load), vec!["--fault", fault]].concat());
    let child = place.path().join("child");
    while !fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n')) {
        running.wait_for("measure");
    }
    let pid = fs::read_to_string(&child).unwrap();
    running.signal(Signal::INT);
    let stopped = running.end();
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.is_err() || stat.unwrap().contains(") Z "), "it has ended");
    let run = last_run(&place);
    let effects = fault_effects(&run);
    assert!(effects[0].failed.unwrap().contains("when the run was stopped"), "{effects:?}");
}

#[test]
fn an_action_that_cannot_be_performed_is_refused_before_the_load() {
    let place = Place::new();
    let refused = |target: &str, fault: &str, said: &str| {
        let called = place.call(&["run", "cpu", target, "-d", "20s", "--fault", fault]);
        assert_eq!(called.code, Some(2), "{called:?}");
        called.reports(said);
    };
    refused("sqlite:", "kill node 1 at 2s", "`kill node 1` needs the cluster file of the target");
    refused("sim:", "run 'true' at 20s", "`run 'true' at 20 s` is after the load");
    refused("sim:", "run 'true' at 2s", "`run 'true'`: a simulated cluster has only nodes");
    refused("sim:", "sql 'SELECT 1' at 2s", "`sql 'SELECT 1'`: a simulated cluster has only nodes");
    refused("sqlite:", "rolling restart at 2s", "needs the cluster file of the target");
    refused("sim:", "kill node 4 at 2s", "`kill node 4`: the simulated cluster has 3 nodes");
    refused("sim:", "burn node 1 at 2s", "`burn` is no action");
    assert_eq!(place.runs().len(), 0);
}

#[test]
fn the_nodes_of_a_simulated_cluster_are_acted_on_without_a_cluster_file() {
    let place = Place::new();
    let load = "run cpu sim:?failover=2s --rate 20k --warm-up 0s -d 30s";
    let fault = "kill node 2 at 5s, start it at 12s, start node 1 at 20s";
    let called = place.call(&[split(load), vec!["--fault", fault]].concat());
    assert_eq!(called.code, Some(0), "{called:?}");
    called.prints("node 2 killed: full rate after 2.00 s");
    called.prints("1 node of 3 left the cluster between 4.00 s and 5.00 s, until 13.0 s");
    let run = last_run(&place);
    let failed: Vec<Option<&str>> = fault_effects(&run).iter().map(|of| of.failed).collect();
    assert_eq!(failed, [None, None, Some("node 1 is up")]);
}

#[test]
fn the_objectives_of_faults_are_judged() {
    let place = Place::new();
    let call = |target: &str, fault: &str, objective: &[&str]| {
        let load = ["run", "cpu", target, "--rate", "20k", "--warm-up", "0s", "-d", "30s"];
        let rest = ["--errors", "1%", "--fault", fault];
        place.call(&[&load[..], &rest, objective].concat())
    };
    let check = |fault: &str, objective: &[&str], code: i32, said: &str| {
        let called = call("sim:?failover=2s&lag=300ms", fault, objective);
        assert_eq!(called.code, Some(code), "{called:?}");
        called.prints(said);
    };
    let lost = ["--lost", "100k"];
    let and_lost = |flag, value| [flag, value, "--lost", "100k"];
    let kill = "kill node 2 at 5s, start it at 12s";
    check(kill, &and_lost("--recover-within", "3s"), 0, "full rate within 3 s");
    let late = "node 2 killed: full rate after 2.00 s; the limit is 1 s";
    check(kill, &and_lost("--recover-within", "1s"), 1, late);
    let low = "node 2 killed: 0% of the offered rate in the lowest second; the limit is 50%";
    check(kill, &and_lost("--during", "rate>50%"), 1, low);
    // Too late to know, and with an action that was not possible.
    let open = "no full rate in the 1 s until the end; the limit is 3 s";
    check("kill node 2 at 29s", &and_lost("--recover-within", "3s"), 3, open);
    let failed = "`start node 1` failed: node 1 is up";
    check("start node 1 at 5s", &["--recover-within", "3s"], 3, failed);
    // Rows that were not replicated yet.
    check(kill, &lost, 0, "lost, as allowed");
    check(kill, &["--lost", "1"], 4, "LOST");
    check(kill, &[], 4, "LOST");
    let refused = |words: &[&str], said: &str| {
        let called = place.call(&[&["run", "cpu", "sim:"], words].concat());
        assert_eq!(called.code, Some(2), "{called:?}");
        called.reports(said);
    };
    refused(&["--lost", "5"], "--lost: judges what actions on the cluster do, and there are none");
    let closed = ["--fault", kill, "--during", "rate>50%"];
    refused(&closed, "--during: a closed load offers no rate");
    let wrong = ["--fault", kill, "--during", "p99<1s"];
    refused(&wrong, "`p99<1s` is not a condition for the time of a fault");
}

/// Two nodes serve 1,000 queries a second, and one of them 500.
#[test]
fn the_rate_that_survives_a_fault_is_found() {
    let place = Place::new();
    let target =
        "sim:?nodes=2&cores=1&replicas=0&shards=2&query=2ms&service=constant&start=0&failover=0";
    let find = "--stream latest-metrics@find --start 400 --probe 60s --confirm 60s --warm-up 0s --errors 1%";
    let fault = ["--fault", "kill node 1 at 10s, start it at 40s", "--recover-within", "5s"];
    let mark = |more: &[&str]| {
        let called = place.call(&[&["find", "cpu", target][..], &split(find), more].concat());
        assert_eq!(called.code, Some(0), "{called:?}");
        let last = place.runs().into_iter().max().unwrap();
        let search = experiment(&last).search().cloned().unwrap();
        match search.outcome {
            Some(SearchOutcome::Mark(mark)) => mark.confirmed,
            other => panic!("{other:?}"),
        }
    };
    let whole = mark(&[]);
    assert!(whole >= 900.0, "{whole}");
    let survives = mark(&fault);
    assert!((450.0..=510.0).contains(&survives), "{survives}");
}

#[test]
fn the_standard_set_of_faults_is_one_table_of_one_record() {
    let place = Place::new();
    let line =
        "faults cpu sim:?failover=4s&start=2s&queue=inf --rate 20k --warm-up 0s --errors 1% -d 40s";
    let called = place.call(&split(line));
    assert_eq!(called.code, Some(0), "{called:?}");
    let record = experiment(&place.runs().into_iter().max().unwrap());
    let Question::Group(group) = &record.question else {
        panic!("{called:?}");
    };
    // A baseline before each of the six.
    assert_eq!(group.trials.len(), 12);
    let again = |name: &str| {
        let at = group.variants.iter().position(|variant| variant.name == name).unwrap();
        let trial = group.trials.iter().find(|trial| trial.variant == at).unwrap();
        let fault = trial.fault.as_ref().unwrap();
        assert_eq!((fault.lost, fault.failed.as_ref()), (Some(0), None), "{name}: {fault:?}");
        fault.dip.as_ref().map(|dip| Nanos(dip.rate_again_ns.unwrap()).as_secs_f64())
    };
    assert_eq!(again("kill").map(f64::round), Some(4.0));
    assert_eq!(again("pause").map(f64::round), Some(5.0));
    // The others do without it at once.
    assert_eq!(again("stop"), None);
    called.prints("rolling-restart");
    let shown = place.call(&["show", "--format", "markdown"]);
    shown.prints("| kill |");
}

/// Galera goes on without a silent node after `evs.suspect_timeout`, which is five seconds.
#[test]
fn galera_loses_nothing_when_a_node_is_killed_and_when_one_stands_still() {
    if galera::skipped() {
        return;
    }
    let lab = Lab::new("galera.toml");
    let up = lab.cluster("up", &["--nodes", "3"]);
    assert_eq!(up.code, Some(0), "{up:?}");
    let load = "run kv --cluster lab.toml --read-percent 0 --rate 100 -c 24 --warm-up 1s -d 40s";
    let faults = "kill node 2 at 4s, start it at 11s, pause node 3 for 2s at 26s";
    let called = lab.0.call(&[split(load), vec!["--fault", faults]].concat());
    assert!(is_clean(&called), "{called:?}");
    called.prints("3 copies compared");
    let run = last_run(&lab.0);
    assert_eq!(run.audit.missing, 0);
    let effects = fault_effects(&run);
    assert!(effects.iter().all(|effect| effect.failed.is_none()), "{effects:?}");
    let again = |at: usize| {
        let dip = effects[at].dip.unwrap_or_else(|| panic!("{effects:?}"));
        Nanos(dip.rate_again_ns.unwrap_or_else(|| panic!("{effects:?}"))).as_secs_f64()
    };
    // The timeout, and the new view; sessions of the node come back within their pause of a second.
    assert!((4.5..=12.0).contains(&again(0)), "{effects:?}");
    // A node that stands still for less is waited for.
    assert!((1.7..=5.0).contains(&again(2)), "{effects:?}");
}
