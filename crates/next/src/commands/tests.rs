//! Commands as they are typed.

use super::chosen_ns;
use super::*;
use highwater_analysis::fixture;
use highwater_analysis::judge::measured_streams;
use highwater_model::record::SettingRecord;
use highwater_model::units::{Nanos, Rate};

/// A closed run that was typed with these flags.
fn typed(flags: &str) -> RunRecord {
    let mut record = fixture::closed();
    record.header.command = fixture::typed("run", flags);
    record
}

fn line(record: &RunRecord) -> CommandLine {
    CommandLine::new(RecordRef::Run(record))
}

#[test]
fn what_was_typed_is_typed_again() {
    let flags = "drop|duration 5s..10s|file my flow.toml|seed 7|set batch=500|set host=a b|spawn-rate 2|until ci95<1%";
    let record = typed(flags);
    insta::assert_snapshot!(line(&record), @"highwater run -f 'my flow.toml' sqlite: --drop -d 5s..10s --seed 7 --set batch=500 --set 'host=a b' --spawn-rate 2 --until 'ci95<1%'");
    let measured = measured_streams(&record);
    insta::assert_snapshot!(open(line(&record), &record, &measured), @"highwater run -f 'my flow.toml' sqlite: --drop --seed 7 --set batch=500 --set 'host=a b' --until 'ci95<1%' --rate 295k -d 30s --p99 20ms");
    insta::assert_snapshot!(lasting(line(&record), &measured, 60_000_000_000), @"highwater run -f 'my flow.toml' sqlite: --drop --seed 7 --set batch=500 --set 'host=a b' --spawn-rate 2 --until 'ci95<1%' -d 1m");
}

/// What files, the environment, and `--tuned` say holds again, and needs no words.
#[test]
fn what_was_not_typed_is_not_repeated_but_for_what_continues_the_rows() {
    let mut record = typed("tuned best|set batch=7");
    let mut say = |name: &str, value: &str, origin| {
        let setting = SettingRecord { value: Some(value.to_owned()), origin };
        record.header.command.settings.entry(name.to_owned()).or_default().push(setting);
    };
    say("timeout", "30s", SettingOrigin::Default);
    say("rate", "5k", SettingOrigin::File);
    say("out", "runs", SettingOrigin::Environment);
    say("shards", "12", SettingOrigin::Tuned);
    say("set", "start=2026-11-20T18:20:11Z", SettingOrigin::Derived);
    insta::assert_snapshot!(line(&record), @"highwater run cpu sqlite: --set batch=7 --set start=2026-11-20T18:20:11Z --tuned best");
}

/// A probe of a search names the search's command, and is itself a run.
#[test]
fn a_trial_is_repeated_as_the_run_that_it_was() {
    let mut record = fixture::open_gate();
    record.header.command =
        fixture::typed("find", "budget 1h|drop|p99 10ms|quick|seed 7|shards 8,16");
    let trial = SettingRecord { value: Some("16".to_owned()), origin: SettingOrigin::Trial };
    let shards = record.header.command.settings.get_mut("shards").unwrap();
    shards.push(trial);
    insta::assert_snapshot!(line(&record), @"highwater run cpu sqlite: --drop --p99 10ms --seed 7 --shards 16 --stream insert@1k -d 10s");
    // A switch that the experiment and its trial both name is given once.
    let drop = SettingRecord { value: None, origin: SettingOrigin::Trial };
    record.header.command.settings.get_mut("drop").unwrap().push(drop);
    let printed = line(&record).to_string();
    assert_eq!(printed.matches("--drop").count(), 1, "{printed}");
    // One run of a group has neither repetitions nor variants.
    let group = typed("budget 1h|repeat 5|settle 2s|variant a=x|variant b=y|seed 7");
    insta::assert_snapshot!(line(&group), @"highwater run cpu sqlite: --seed 7");
}

/// A stream that is not the workload's first keeps its name at every pace.
#[test]
fn a_stream_is_called_by_its_name_where_the_command_did() {
    let record = typed("duration 10s|stream insert@4c,think=1s");
    let measured = measured_streams(&record);
    let line = line(&record);
    for command in [
        open(line.clone(), &record, &measured),
        find(&line, &record, &measured, Some(("start", "1k".to_owned()))),
        find_sessions(&line, &record, &measured),
        one_session(line.clone(), &record),
        with_sessions(line.clone(), &record, 3),
        soak(&line, &record, &measured),
    ] {
        assert_eq!(command.values("stream").count(), 1, "{command}");
        assert!(command.values("stream").all(|own| own.starts_with("insert@")), "{command}");
        assert!(!command.has("rate") && !command.has("sessions"), "{command}");
    }
    assert!(ceiling(&record, "null:").contains(" --stream insert@4c "));
}

#[test]
fn lengths_are_in_the_units_that_people_choose() {
    assert_eq!(span(600 * Nanos::SECOND.0), "10m");
    assert_eq!(span(1_500_000_000), "1.5s");
    let chosen = [1, 30, 31, 700, 90_000].map(|s| span(chosen_ns(s * Nanos::SECOND.0)));
    assert_eq!(chosen, ["30s", "30s", "1m", "15m", "25h"]);
}

#[test]
fn a_run_lasts_as_long_as_the_ops_of_an_objective_require() {
    let p99 = |op: Option<&str>| Objective::Latency {
        quantile_ppm: 990_000,
        max: Nanos::from_millis(10),
        op: op.map(str::to_owned),
    };
    // A thousand ops a second of one kind, and one of another.
    let mut record = fixture::open_gate();
    let mut rare = record.results[0].clone();
    rare.op = "report".to_owned();
    rare.answered.ops = 10;
    record.results.push(rare);
    record.results[0].op = "upsert".to_owned();
    let mut length = |objectives: &[Objective]| {
        record.plan.definition.objectives = objectives.to_vec();
        until_percentiles_ns(&record, &measured_streams(&record)).map(span)
    };
    // A p99 needs 1,000 ops: of the rare op, 1,000 seconds plus 20%.
    assert_eq!(length(&[p99(Some("upsert"))]).as_deref(), Some("30s"));
    assert_eq!(length(&[p99(Some("report"))]).as_deref(), Some("30m"));
    assert_eq!(length(&[p99(None)]).as_deref(), Some("30m"));
    assert_eq!(length(&[p99(Some("another"))]), None);
}

/// At a rate, sessions are the limit of ops in flight.
#[test]
fn a_rate_keeps_its_limit_of_sessions() {
    let mut record = fixture::open_gate();
    let original = record.clone();
    let measured = measured_streams(&original);
    record.header.command = fixture::typed("run", "duration 10s|p99 10ms|rate 1k|sessions 8");
    let search = find(&line(&record), &record, &measured, None);
    insta::assert_snapshot!(search, @"highwater find cpu sqlite: --p99 10ms -c 8");
    let mut found = CommandLine::typed(&record.header, &record, false);
    "find".clone_into(&mut found.name);
    let run = soak(&found, &record, &measured);
    insta::assert_snapshot!(run, @"highwater run cpu sqlite: --p99 10ms -c 8 --rate 700 -d 30s");
}

#[test]
fn sessions_keep_their_think_time_and_rates_have_none() {
    // Four sessions with a think time of a second, given with their pace or as a flag.
    for flags in ["duration 10s", "duration 10s|think 1s"] {
        let mut record = typed(flags);
        record.plan.definition.streams[0].think = Some(Nanos::SECOND);
        let measured = measured_streams(&record);
        let line = line(&record);
        for command in [
            at(line.clone(), &measured, 1.0, "10s".to_owned()),
            find_sessions(&line, &record, &measured),
            tune_sessions(line.clone(), &record, 4),
            one_session(line.clone(), &record),
        ] {
            assert_eq!(command.to_string().matches(" --think 1s").count(), 1, "{command}");
        }
        let searched = find(&line, &record, &measured, Some(("start", "1k".to_owned())));
        for command in [open(line, &record, &measured), searched] {
            assert!(!command.has(THINK), "{command}");
        }
        assert!(!ceiling(&record, "null:").contains(THINK));
    }
}

#[test]
fn a_flag_of_the_last_command_that_the_next_one_refuses_is_left_out() {
    let record = typed("abort-on-miss|duration 1s..9s|rows 7|spawn-rate 2|until ci95<1%");
    let measured = measured_streams(&record);
    // Nothing can be missed without an objective, and only a plain run is stopped by a miss.
    assert!(!one_session(line(&record), &record).has("abort-on-miss"));
    let ceiling = ceiling(&record, "null:");
    for command in [
        tune_sessions(line(&record), &record, 4),
        find_sessions(&line(&record), &record, &measured),
    ] {
        for name in ["abort-on-miss", "duration", "rows", "spawn-rate", "until"] {
            assert!(!command.has(name), "{command}");
            assert!(name == "duration" || !ceiling.contains(name), "{ceiling}");
        }
    }
}

#[test]
fn rates_are_short_and_round() {
    let texts = [294_840.0, 1_234_567.0, 50.0, 999.9, 0.0].map(flag_rate);
    assert_eq!(texts, ["295k", "1.23M", "50", "1k", "0.01"]);
}

#[test]
fn bounds_are_round_and_not_below_measured_values() {
    let rounded = [1, 1_000_000, 4_400_000, 5_000_001].map(round_above);
    assert_eq!(rounded, [1_000_000, 1_000_000, 5_000_000, 10_000_000]);
}

#[test]
fn every_objective_is_repeated_by_its_flag() {
    let min = Rate::per_second(50_000);
    let objectives = [
        Objective::Latency { quantile_ppm: 999_000, max: Nanos::from_millis(50), op: None },
        Objective::RowLatency { quantile_ppm: 990_000, max: Nanos::SECOND },
        Objective::Errors { max_ppm: 1_000 },
        Objective::Rejected { max_ppm: 0 },
        Objective::Throughput { min },
        Objective::Cpu { max_ppm: 800_000 },
    ];
    let flags = objectives.iter().filter_map(flag).map(|(name, value)| format!("--{name} {value}"));
    assert_eq!(
        flags.collect::<Vec<_>>().join(" "),
        "--p999 50ms --row-p99 1s --errors 0.1% --rejected 0% --min-rate 50k --max-cpu 80%"
    );
}

#[test]
fn a_url_is_quoted_if_a_shell_would_split_it() {
    assert_eq!(quoted("sim:?nodes=3&rate=1"), "'sim:?nodes=3&rate=1'");
    assert_eq!(quoted("http://h:4200/doc"), "http://h:4200/doc");
    assert_eq!(quoted("a'b"), r"'a'\''b'");
}

#[test]
fn a_cluster_that_was_up_is_named_by_its_file_and_not_by_its_nodes() {
    let record = typed("cluster lab.toml|duration 10s");
    insta::assert_snapshot!(line(&record), @"highwater run cpu --cluster lab.toml -d 10s");
    // A sink is not a node of the cluster.
    assert!(!ceiling(&record, "null:postgres").contains(CLUSTER));
}

/// A search within a growth has the growth's command, and searches one of its clusters.
#[test]
fn a_size_of_a_growth_is_repeated_as_a_search_of_its_cluster() {
    let search = fixture::search(Vec::new());
    let mut record =
        highwater_analysis::search::conclude(fixture::closed(), search, "a".to_owned());
    record.last_run.target.urls = vec!["sim:?nodes=2".to_owned()];
    record.header.command =
        fixture::typed("scale", "nodes 1,2,4|each find|price 3|p99 10ms|probe 5s|sessions 8");
    let target = SettingRecord {
        value: Some("sim:?nodes={nodes}".to_owned()),
        origin: SettingOrigin::CommandLine,
    };
    record.header.command.settings.insert("target".to_owned(), vec![target]);
    let line = CommandLine::new(RecordRef::from(&record));
    insta::assert_snapshot!(line, @"highwater find cpu 'sim:?nodes=2' --p99 10ms --probe 5s -c 8");
}
