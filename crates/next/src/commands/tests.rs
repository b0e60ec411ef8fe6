//! Commands as they are typed.

use std::collections::BTreeMap;

use super::chosen_ns;
use super::*;
use highwater_analysis::fixture;
use highwater_analysis::judge::measured_streams;
use highwater_model::units::{Nanos, Rate};

/// Flags with their values, as a user gave them.
fn given(flags: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    flags.iter().map(|(name, values)| ((*name).to_owned(), owned(values))).collect()
}

#[test]
fn settings_given_by_the_user_are_repeated() {
    let mut record = fixture::closed();
    record.header.given = given(&[
        ("file", &["my flow.toml"]),
        ("seed", &["7"]),
        ("set", &["batch=500", "host=a b"]),
        ("spawn-rate", &["2"]),
        ("until", &["ci95<1%"]),
    ]);
    record.plan.definition.stop.minimum = Nanos::from_secs(5);
    let measured = measured_streams(&record);
    insta::assert_snapshot!(
        open(&record, &measured),
        @"highwater run -f 'my flow.toml' sqlite: --seed 7 --set batch=500 --set 'host=a b' --until 'ci95<1%' --rate 295k -d 30s --p99 20ms"
    );
    let begin = base("run", &record, &[]);
    insta::assert_snapshot!(
        run(&record, begin, &measured, 1.0, Length::Same),
        @"highwater run -f 'my flow.toml' sqlite: --seed 7 --set batch=500 --set 'host=a b' --spawn-rate 2 --until 'ci95<1%' -c 4 -d 5s..10s --p99 20ms"
    );
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

#[test]
fn sessions_keep_their_think_time_and_rates_have_none() {
    // Four sessions with a think time of a second, given with their pace.
    let mut record = fixture::closed();
    record.plan.definition.streams[0].think = Some(Nanos::SECOND);
    for is_given in [false, true] {
        if is_given {
            record.header.given = given(&[(THINK, &["1s"])]);
        }
        let measured = measured_streams(&record);
        let begin = base("run", &record, &[]);
        let again = run(&record, begin, &measured, 1.0, Length::Same);
        for command in [
            again,
            find_sessions(&record, &measured),
            tune_sessions(&record, 4),
            one_session(&record),
        ] {
            assert_eq!(command.matches(" --think 1s").count(), 1, "{command}");
        }
        for command in [
            open(&record, &measured),
            find(&record, &measured, " --start 1k"),
            ceiling(&record, "null:"),
        ] {
            assert!(!command.contains("think"), "{command}");
        }
    }
}

#[test]
fn a_flag_of_the_last_command_that_the_next_one_refuses_is_left_out() {
    let mut record = fixture::closed();
    record.header.given =
        given(&[("abort-on-miss", &[]), ("spawn-rate", &["2"]), ("until", &["ci95<1%"])]);
    // Nothing can be missed without an objective, and only a plain run is stopped by a miss.
    assert!(!one_session(&record).contains("--abort-on-miss"));
    for command in [
        tune_sessions(&record, 4),
        find_sessions(&record, &measured_streams(&record)),
        ceiling(&record, "null:"),
    ] {
        for name in record.header.given.keys() {
            assert!(!command.contains(&format!("--{name}")), "{command}");
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
    let flags: String = [
        Objective::Latency { quantile_ppm: 999_000, max: Nanos::from_millis(50), op: None },
        Objective::RowLatency { quantile_ppm: 990_000, max: Nanos::SECOND },
        Objective::Errors { max_ppm: 1_000 },
        Objective::Rejected { max_ppm: 0 },
        Objective::Throughput { min },
        Objective::Cpu { max_ppm: 800_000 },
    ]
    .iter()
    .map(flag)
    .collect();
    let expected =
        " --p999 50ms --row-p99 1s --errors 0.1% --rejected 0% --min-rate 50k --max-cpu 80%";
    assert_eq!(flags, expected);
}

#[test]
fn a_url_is_quoted_if_a_shell_would_split_it() {
    assert_eq!(quoted("sim:?nodes=3&rate=1"), "'sim:?nodes=3&rate=1'");
    assert_eq!(quoted("http://h:4200/doc"), "http://h:4200/doc");
    assert_eq!(quoted("a'b"), r"'a'\''b'");
}

#[test]
fn a_cluster_that_was_up_is_named_by_its_file_and_not_by_its_nodes() {
    let mut record = fixture::closed();
    record.header.given = given(&[(CLUSTER, &["lab.toml"])]);
    insta::assert_snapshot!(base("run", &record, &[]), @"highwater run cpu --cluster lab.toml");
    // A sink is not a node of the cluster.
    assert!(!ceiling(&record, "null:postgres").contains(CLUSTER));
}
