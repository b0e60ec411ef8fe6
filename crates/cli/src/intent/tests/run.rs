//! `run`: workload, target, length, and output.

use highwater_model::plan::StopRule;

use super::*;

fn stream(name: Option<&str>, paces: &[PaceInput]) -> StreamInput {
    StreamInput { think: None, name: name.map(str::to_owned), paces: paces.to_vec() }
}

#[test]
fn without_arguments_cpu_runs_closed_on_the_default_target_for_twenty_seconds() {
    let settings = run("");
    assert_eq!(settings.workload, WorkloadChoice::Named("cpu".to_owned()));
    assert_eq!(urls(&settings), ["file:"]);
    let plan = settings.plan;
    assert_eq!(plan.streams, [stream(None, &[PaceInput::Closed(None)])]);
    assert_eq!(plan.sessions, None);
    assert_eq!(plan.warm_up, Nanos::from_secs(2));
    assert_eq!(plan.stop, StopRule::default());
    assert_eq!(plan.step, Nanos::from_secs(20));
    assert_eq!(plan.timeout, Nanos::from_secs(30));
    assert_eq!(plan.audit.level, AuditLevel::Sums);
    assert_eq!(plan.audit.limit, Nanos::from_secs(600));
    assert_eq!(plan.share, Share::WHOLE);
    assert_eq!(plan.objectives, []);
    assert_eq!(settings.seed, Seed(42));
    assert_eq!(settings.out, Path::new("highwater-runs"));
}

#[test]
fn the_first_word_without_a_scheme_is_the_workload_and_all_others_are_targets() {
    for (words, workload, targets) in [
        ("kv", "kv", vec!["file:"]),
        ("kv|db://h1|db://h2/n", "kv", vec!["db://h1", "db://h2/n"]),
        ("db://h|kv|-c|4", "kv", vec!["db://h"]),
        ("db://h1,h2:4200/n", "cpu", vec!["db://h1,h2:4200/n"]),
        ("-d|5s|file:a.db", "cpu", vec!["file:a.db"]),
    ] {
        let settings = run(words);
        assert_eq!(settings.workload, WorkloadChoice::Named(workload.to_owned()), "{words}");
        assert_eq!(urls(&settings), targets, "{words}");
    }
    assert_eq!(run("-f|my.toml|db://h").workload, WorkloadChoice::File("my.toml".into()));
}

#[test]
fn wrong_workloads_and_targets() {
    assert_snapshot!(errors(&[
        "kv|localhost",
        "kv|localhost:4200",
        "kv|dbs://u:geheim@h",
        "kv|db://u:geheim@h:99999",
        "my.toml",
        "kv|-f|my.toml",
    ]), @"
    error: TARGET: `localhost` is not a URL
    hint: a target's URL begins with one of `db:`, `file:`
    error: TARGET: unknown scheme `localhost:`
    hint: a target's URL begins with one of `db:`, `file:`
    error: TARGET: unknown scheme `dbs:`
    hint: a target's URL begins with one of `db:`, `file:`
    error: TARGET: `99999` is not a port in the target's host `h`
    hint: a port is a number from 1 to 65535; percent-encode `@`, `:` and `/` in a password
    error: WORKLOAD: `my.toml` is a file, not a workload's name
    hint: give it as `--file my.toml`
    error: --file: cannot be given together with WORKLOAD
    ");
}

#[test]
fn streams_and_paces() {
    let settings = run("--stream|insert@1k|--stream|dashboards@50,100/s,0.5|--step|5m");
    let per_second = Rate::per_second;
    let open = |rate| PaceInput::Open(rate);
    let half = Rate { micro_per_s: 500_000 };
    assert_eq!(
        settings.plan.streams,
        [
            stream(Some("insert"), &[open(per_second(1_000))]),
            stream(Some("dashboards"), &[open(per_second(50)), open(per_second(100)), open(half)]),
        ]
    );
    assert_eq!(settings.plan.step, Nanos::from_secs(300));
    let closed = run("--stream|a@8c,16c,max|--stream|b|-d|1m|-c|4|--spawn-rate|2");
    let closed_by = PaceInput::Closed;
    assert_eq!(
        closed.plan.streams,
        [
            stream(Some("a"), &[closed_by(Some(8)), closed_by(Some(16)), closed_by(None)]),
            stream(Some("b"), &[closed_by(None)]),
        ]
    );
    assert_eq!(closed.plan.step, Nanos::from_secs(60));
    assert_eq!(closed.plan.sessions, Some(4));
    assert_eq!(closed.plan.spawn_rate, Some(per_second(2)));
    let open = run("-R|50k|--arrivals|poisson");
    let rate = PaceInput::Open(per_second(50_000));
    assert_eq!(open.plan.streams, [stream(None, &[rate])]);
    assert_eq!(open.plan.arrivals, Some(Arrivals::Poisson));
}

#[test]
fn a_ramp_is_ten_even_steps() {
    let settings = run("--stream|a@10c..100c:10m");
    let sessions = |sessions| PaceInput::Closed(Some(sessions));
    let tens: Vec<PaceInput> = (1..=10).map(|ten| sessions(10 * ten)).collect();
    assert_eq!(settings.plan.streams, [stream(Some("a"), &tens)]);
    assert_eq!(settings.plan.step, Nanos::from_secs(60));
    // Descending, rounded, and with the unit only at the end.
    let down = run("--stream|a@200..50c:10m").plan.streams;
    let of: Vec<PaceInput> = [200, 183, 167, 150, 133, 117, 100, 83, 67, 50].map(sessions).into();
    assert_eq!(down, [stream(Some("a"), &of)]);
    // Rates, next to a stream with one pace.
    let rates = run("--stream|a@1k..10k:100s|--stream|b@5").plan;
    let thousands = (1..=10).map(|k| PaceInput::Open(Rate::per_second(1_000 * k)));
    assert_eq!(rates.streams[0].paces, thousands.collect::<Vec<_>>());
    assert_eq!(rates.step, Nanos::from_secs(10));
}

#[test]
fn a_ramp_has_fewer_steps_if_ten_would_be_too_short_or_equal() {
    let check = |ramp: &str, steps: usize, seconds: u64| {
        let plan = run(&format!("--stream|a@{ramp}")).plan;
        let found = (plan.streams[0].paces.len(), plan.step);
        assert_eq!(found, (steps, Nanos::from_secs(seconds)), "{ramp}");
    };
    check("1c..2c:60s", 2, 30);
    check("1c..4c:60s", 4, 15);
    check("10..100:6s", 2, 3);
    check("10..100:30s", 10, 3);
}

#[test]
fn a_think_time_is_that_of_a_stream_or_of_all_closed_ones() {
    let think = |words: &str| {
        run(words)
            .plan
            .streams
            .into_iter()
            .map(|stream| stream.think.map(|think| think.0 / Nanos::SECOND.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(think("--stream|a@8c,think=2s"), [Some(2)]);
    assert_eq!(think("--stream|a,think=2s"), [Some(2)]);
    assert_eq!(think("--stream|a@8c,16c,think=2s"), [Some(2)]);
    assert_eq!(think("--stream|a@8c..16c:1m,think=2s"), [Some(2)]);
    assert_eq!(think("-c|8|--think|1s"), [Some(1)]);
    assert_eq!(
        think("--think|1s|--stream|a@8c,think=2s|--stream|b@4c|--stream|c@5"),
        [Some(2), Some(1), None]
    );
}

#[test]
fn wrong_ramps_and_think_times() {
    assert_snapshot!(errors(&[
        "--stream|a@50c..200c",
        "--stream|a@50..:10m",
        "--stream|a@50c..200:10m",
        "--stream|a@50c..50c:10m",
        "--stream|a@50c..200c:5s",
        "--stream|a@5..9:1m,7",
        "--stream|a@1..10:1m|--stream|b@1..10:2m",
        "--stream|a@1..10:1m|-d|5m",
        "--stream|a@1..10:1m|--step|5m",
        "--stream|a@8c,think=0",
        "--stream|a@8c,think=soon",
        "--rate|5|--think|1s",
    ]), @"
    error: --stream: `50c..200c` is a ramp without a length
    hint: a ramp is written `NAME@FROM..TO:DURATION`, such as `dashboards@50c..200c:10m` for sessions or `insert@1k..50k:10m` for a rate
    error: --stream: `` is empty
    hint: a ramp is written `NAME@FROM..TO:DURATION`, such as `dashboards@50c..200c:10m` for sessions or `insert@1k..50k:10m` for a rate
    error: --stream: `50c` has the unknown unit `c`
    hint: a ramp is written `NAME@FROM..TO:DURATION`, such as `dashboards@50c..200c:10m` for sessions or `insert@1k..50k:10m` for a rate
    error: --stream: `50c..50c:10m` begins and ends at the same pace
    hint: a ramp is written `NAME@FROM..TO:DURATION`, such as `dashboards@50c..200c:10m` for sessions or `insert@1k..50k:10m` for a rate
    error: --stream: `50c..200c:5s` is too short: two steps of 3 s are the least
    hint: a ramp is written `NAME@FROM..TO:DURATION`, such as `dashboards@50c..200c:10m` for sessions or `insert@1k..50k:10m` for a rate
    error: --stream: `1m,7` has the unknown unit `m`
    hint: a ramp is written `NAME@FROM..TO:DURATION`, such as `dashboards@50c..200c:10m` for sessions or `insert@1k..50k:10m` for a rate
    error: --stream: ramps of one run take the same time
    hint: give both the same DURATION and as many steps
    error: --stream: cannot be given together with --duration
    error: --stream: cannot be given together with --step
    error: --stream: `0` is no pause
    hint: a think time is above zero, such as `1s`
    error: --stream: `soon` is not a number
    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    error: --think: is the pause of a closed session, and every stream has a rate
    hint: leave it out, or give sessions in place of the rate, such as -c 50
    ");
}

#[test]
fn wrong_streams_and_paces() {
    assert_snapshot!(errors(&[
        "--stream|@1k",
        "--stream|a@",
        "--stream|a@1k,",
        "--stream|a@0c",
        "--stream|a@8x",
        "--stream|a@1k,8c",
        "--stream|a@1,2|--stream|b@1,2,3",
        "--stream|a|--stream|a",
        "--stream|a@1k|--rate|2k",
        "--rate|50x",
        "--rate|-5",
        "--sessions|0",
        "--arrivals|random",
        "--rate|50|--step|5s",
    ]), @"
    error: --stream: `@1k` has no name
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`; `,think=1s` behind it pauses between ops
    error: --stream: pace `` is empty
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`; `,think=1s` behind it pauses between ops
    error: --stream: pace `` is empty
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`; `,think=1s` behind it pauses between ops
    error: --stream: pace `0` is not above zero
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`; `,think=1s` behind it pauses between ops
    error: --stream: pace `8x` has the unknown unit `x`
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`; `,think=1s` behind it pauses between ops
    error: --stream: `a@1k,8c` mixes open and closed paces, which cannot be compared
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`; `,think=1s` behind it pauses between ops
    error: --stream: `b` has 3 steps, but `a` has 2
    hint: give all streams the same number of paces, or just one
    error: --stream: `a` is given twice
    hint: several paces of one stream are steps: `NAME@PACE,PACE`
    error: --stream: cannot be given together with --rate
    error: --rate: `50x` has the unknown unit `x`
    hint: a rate is a number per second, such as `500`, `50k`, `1.5M` or `0.5/s`
    error: --rate: `-5` is negative
    hint: a rate is a number per second, such as `500`, `50k`, `1.5M` or `0.5/s`
    error: --sessions: `0` is not above zero
    hint: give at least 1
    error: --arrivals: `random` is not a kind of arrivals
    hint: there are `constant` and `poisson`
    error: --step: no stream has steps
    hint: give a stream several paces, such as --stream NAME@50,100,150
    ");
}

#[test]
fn length_of_a_run() {
    let plan = run("-d|1m..30m|--until|ci95 < 0.5%|--warm-up|0|--rows|1M").plan;
    assert_eq!(plan.warm_up, Nanos::ZERO);
    assert_eq!(plan.step, Nanos::from_secs(1_800));
    assert_eq!(
        plan.stop,
        StopRule {
            rows: Some(1_000_000),
            fills: false,
            minimum: Nanos::from_secs(60),
            until: Some(Predicate::RelativeCiBelow { ppm: 5_000 }),
            on_miss: false,
        }
    );
    assert_eq!(
        run("--until|errors>100").plan.stop.until,
        Some(Predicate::ErrorsAbove { count: 100 })
    );
    assert_snapshot!(errors(&[
        "-d|60",
        "-d|0s",
        "-d|1m..30m",
        "-d|2m..1m|--until|errors>1",
        "--until|p99<1ms",
        "--until|ci95<0%",
        "--rows|0",
        "--timeout|0s",
    ]), @"
    error: --duration: `60` has no unit
    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    error: --duration: must be above zero
    error: --duration: `1m..30m` needs a rule for when to stop
    hint: add --until, such as --until 'ci95<1%'
    error: --duration: `2m..1m` does not go upwards
    hint: a range is written `MIN..MAX`, such as `1m..30m`
    error: --until: `p99<1ms` is not a predicate
    hint: there are `ci95<PERCENT` and `errors>N`, such as 'ci95<1%' and 'errors>100'
    error: --until: `ci95<0%` can never hold
    hint: there are `ci95<PERCENT` and `errors>N`, such as 'ci95<1%' and 'errors>100'
    error: --rows: `0` is not above zero
    hint: give at least 1
    error: --timeout: must be above zero
    ");
}

#[test]
fn a_warm_up_has_a_length_or_lasts_until_throughput_is_steady() {
    for (given, length_s, until_steady) in
        [("5s", 5, false), ("steady", 120, true), ("steady:10m", 600, true)]
    {
        let plan = run(&format!("--warm-up|{given}")).plan;
        let expected = (Nanos::from_secs(length_s), until_steady);
        assert_eq!((plan.warm_up, plan.until_steady), expected, "{given}");
    }
    assert_snapshot!(errors(&[
        "--warm-up|5",
        "--warm-up|steady:0s",
        "--warm-up|steadyish",
        "--warm-up|steady|--share|1/2",
    ]), @"
    error: --warm-up: `5` has no unit
    hint: give a duration, such as `30s`; or `steady`, or `steady:5m`, to run until throughput is steady, for that long at most
    error: --warm-up: `steady:0s` leaves no time to become steady
    hint: give a duration, such as `30s`; or `steady`, or `steady:5m`, to run until throughput is steady, for that long at most
    error: --warm-up: `steadyish` is not a warm-up
    hint: give a duration, such as `30s`; or `steady`, or `steady:5m`, to run until throughput is steady, for that long at most
    error: --warm-up: `steady` cannot be combined with --share: each share sees only its own results
    hint: give the warm-up a length, such as --warm-up 60s, or use one load generator
    ");
}

#[test]
fn objectives_and_the_audit() {
    let settings =
        run("--p50|1ms|--p999|2s|--row-p99|100ms|--errors|0.05%|--rejected|0|--min-rate|49.5k|\
         --max-cpu|80%|--audit|off");
    assert_eq!(
        settings.plan.objectives,
        [
            Objective::Latency { quantile_ppm: 500_000, max: Nanos::from_millis(1), op: None },
            Objective::Latency { quantile_ppm: 999_000, max: Nanos::from_secs(2), op: None },
            Objective::RowLatency { quantile_ppm: 990_000, max: Nanos::from_millis(100) },
            Objective::Errors { max_ppm: 500 },
            Objective::Rejected { max_ppm: 0 },
            Objective::Throughput { min: Rate::per_second(49_500) },
            Objective::Cpu { max_ppm: 800_000 },
        ]
    );
    assert_eq!(settings.plan.audit.level, AuditLevel::Off);
    assert_eq!(run("--audit|count").plan.audit.level, AuditLevel::Count);
    assert_eq!(run("--audit|full").plan.audit.level, AuditLevel::Full);
    assert_eq!(run("--rejected|2%").plan.objectives, [Objective::Rejected { max_ppm: 20_000 }]);
    assert_snapshot!(errors(&["--p99|50", "--errors|1", "--max-cpu|120%", "--audit|all"]), @"
    error: --p99: `50` has no unit
    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    error: --errors: `1` does not end in `%`
    hint: a percentage ends in `%`, such as `0.1%`
    error: --max-cpu: `120%` is more than 100%
    hint: a percentage ends in `%`, such as `0.1%`
    error: --audit: `all` is not an audit level
    hint: there are `count`, `sums`, `full` and `off`
    ");
}

#[test]
fn other_settings_of_a_run() {
    let settings = run(
        "--set|hosts=4000|--batch|2k|--insert|copy|--retries|3|--seed|7|--drop|--drop-foreign|a|--drop-foreign|b|\
         --share|2/4|--start-at|2026-11-20T18:30:00Z|--label|team=x=y|-q|--json|--plan|-o|runs",
    );
    let parameters: Vec<_> = settings.parameters.iter().collect();
    assert_eq!(format!("{parameters:?}"), r#"[("batch", "2000"), ("hosts", "4000")]"#);
    assert_eq!(settings.insert.as_deref(), Some("copy"));
    assert_eq!(settings.options.drop_foreign, ["a", "b"]);
    assert_eq!(
        (settings.plan.retry.attempts, settings.seed, settings.options.drop),
        (3, Seed(7), true)
    );
    let share = Share { index: 2, of: 4, start_at: Some("2026-11-20T18:30:00Z".to_owned()) };
    assert_eq!(settings.plan.share, share);
    assert_eq!(settings.start_at, Some(StartAt::Instant(Nanos::from_secs(1_795_199_400))));
    assert_eq!(settings.options.labels["team"], "x=y");
    assert_eq!(settings.out, Path::new("runs"));
    let RunOutput { quiet, json, plan_only, .. } = settings.output;
    assert_eq!((quiet, json, plan_only), (true, true, true));
    assert_eq!(run("--start-at|+10s").start_at, Some(StartAt::Delay(Nanos::from_secs(10))));
    assert_snapshot!(errors(&[
        "--share|0/4",
        "--share|5/4",
        "--share|1/65",
        "--start-at|noon",
        "--set|hosts",
        "--set|a b=1",
        "--set|batch=1|--batch|2",
        "--batch|0",
        "--seed|-1",
        "--retries|5k",
    ]), @"
    error: --share: `0/4` is not a share
    hint: a share is `i/n`, with i from 1 to n and n at most 64; or `auto`, to take both from the program that starts the load generators
    error: --share: `5/4` is not a share
    hint: a share is `i/n`, with i from 1 to n and n at most 64; or `auto`, to take both from the program that starts the load generators
    error: --share: `1/65` is not a share
    hint: a share is `i/n`, with i from 1 to n and n at most 64; or `auto`, to take both from the program that starts the load generators
    error: --start-at: `noon` is not a point in time
    hint: give a point in time, such as `2026-11-20T18:30:00Z`, or a delay, such as `+10s`
    error: --set: `hosts` has no `=`
    hint: it is written `NAME=VALUE`; a name has letters, digits, `_`, `-` and `.`
    error: --set: `a b` is not a name
    hint: it is written `NAME=VALUE`; a name has letters, digits, `_`, `-` and `.`
    error: --batch: cannot be given together with --set batch=…
    error: --batch: `0` is not above zero
    hint: give at least 1
    error: --seed: `-1` is not a seed
    hint: a seed is a whole number from 0 to 18446744073709551615
    error: --retries: `5k` is too large
    hint: give at most 1000
    ");
}

#[test]
fn wrong_words() {
    assert_snapshot!(errors(&[
        "--sesions|4",
        "--color",
        "-x",
        "--rate",
        "--drop=yes",
        "--rate|1|--rate|2",
        "--audti=count",
    ]), @"
    error: unknown flag `--sesions`
    hint: did you mean `--sessions`?
    error: unknown flag `--color`
    hint: `highwater run --help-all` lists the flags
    error: unknown flag `-x`
    hint: `highwater run --help-all` lists the flags
    error: --rate needs a value
    hint: `highwater run --help-all` lists the flags
    error: --drop takes no value
    hint: `highwater run --help-all` lists the flags
    error: --rate is given more than once
    hint: `highwater run --help-all` lists the flags
    error: unknown flag `--audti`
    hint: did you mean `--audit`?
    ");
}
