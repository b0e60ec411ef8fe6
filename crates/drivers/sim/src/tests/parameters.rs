//! The text form of the parameters, and the resulting capacity.

use highwater_model::units::Nanos;

use super::super::Stall;
use super::super::{PARAMETERS, SimParameters, capacity};
use super::parse;

const PAGE: &str = include_str!("../../../../../docs/reference/sim.md");

#[test]
fn every_parameter_is_read_and_printed_back() {
    let all = "nodes=4&cores=inf&request=1.5ms&row=250ns&query=0&service=lognormal:1.5&shards=12\
               &replicas=2&replica_cost=0.5&hot_shard=0.25&rtt=100µs&client=9000&lock=3ms&queue=0&disk=20000&burst=7&answer_bytes=10&slow_node=2:0.5,3:2\
               &warm=30s:4&stall=30s%2B2s,1m+500ms&die=1h\
               &failover=3s&start=20s&rebuild=1m:0.3&lag=50ms&drop=0.001&duplicate=0.01&alter=0.1\
               &swap=0.2&offset=1&lose_ack=0.1\
               &fail=1&clock=real";
    let parameters = parse(all).unwrap();
    assert_eq!(parameters.stall[0].end(), Nanos::from_secs(32));
    assert_eq!(parameters.row, Nanos(250));
    let printed = parameters.settings();
    assert_eq!(printed.len(), PARAMETERS.len());
    assert_eq!(SimParameters::parse(&printed).unwrap(), parameters);
    assert_eq!(printed["stall"], "30s+2s,1m+500ms");
    assert_eq!(printed["request"], "1500us");
}

#[test]
fn the_default_is_that_of_the_reference_page() {
    let defaults = SimParameters::default().settings();
    assert_eq!(parse("").unwrap(), SimParameters::default());
    for &name in PARAMETERS {
        let row = PAGE
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("`{name}` has no row in docs/reference/sim.md"));
        let default = defaults.get(name).map_or("none".to_owned(), |text| format!("`{text}`"));
        assert!(row.ends_with(&format!("| {default} |")), "{row}\nshould end in {default}");
    }
}

#[test]
fn credit_without_a_disk_is_refused() {
    let error = parse("burst=1").unwrap_err();
    assert!(error.message.contains("a disk without a bound"), "{error}");
    assert!(error.hint.unwrap().contains("`disk=20000`"));
}

#[test]
fn a_bad_value_is_named_with_valid_ones() {
    for (query, name, says) in [
        ("nodes=0", "nodes", "a whole number from 1 to 1000"),
        ("nodes=x", "nodes", "`x`"),
        ("cores=-1", "cores", "or `inf`"),
        ("row=2", "row", "`200us`"),
        ("row=2parsecs", "row", "`2parsecs`"),
        ("rtt=31.0.0ms", "rtt", "a time"),
        ("rtt=1000h", "rtt", "at most 30 days"),
        ("rtt=99999999999999999999999h", "rtt", "at most 30 days"),
        ("rebuild=30s", "rebuild", "a part of the capacity below 1"),
        ("rebuild=30s:1", "rebuild", "a part of the capacity below 1"),
        ("disk=0", "disk", "from 1 to"),
        ("disk=1&burst=-1", "burst", "from 0 to"),
        ("hot_shard=2", "hot_shard", "from 0 to 1"),
        ("client=0", "client", "from 1 to"),
        ("service=normal", "service", "`lognormal:CV`"),
        ("service=lognormal:0", "service", "above 0"),
        ("drop=1.5", "drop", "from 0 to 1"),
        ("drop=NaN", "drop", "from 0 to 1"),
        ("stall=30s", "stall", "`30s+2s,60s+500ms`"),
        ("stall=30s+0s", "stall", "`30s+2s,60s+500ms`"),
        ("warm=30s", "warm", "`30s:4`"),
        ("warm=30s:0.5", "warm", "from 1"),
        ("slow_node=2:0", "slow_node", "`2:0.5`"),
        ("slow_node=4:1", "slow_node", "from 1 to 3"),
        ("slow_node=0:1", "slow_node", "numbered from 1"),
        ("replicas=3", "replicas", "3 nodes"),
        ("clock=wall", "clock", "`sim` or `real`"),
        ("color=red", "color", "unknown parameter"),
    ] {
        let error = parse(query).unwrap_err();
        assert_eq!(error.kind, highwater_model::user_error::UserErrorKind::Usage, "{query}");
        let message = &error.message;
        assert!(message.contains(&format!("`{name}`")), "{message}");
        assert!(message.contains(says), "{message}");
        let hint = error.hint.unwrap();
        assert!(
            hint.contains("lose_ack") || hint.contains("`nodes`") || hint.contains("`&replicas=2`"),
            "{hint}"
        );
    }
}

#[test]
fn stalls_that_overlap_or_touch_are_one() {
    let parameters = parse("stall=10s+5s,1s+1s,12s+1s,15s+2s").unwrap();
    let stall = |at, length| Stall { at: Nanos::from_secs(at), length: Nanos::from_secs(length) };
    assert_eq!(parameters.stall, [stall(1, 1), stall(10, 7)]);
}

/// One over the busiest node's core time per op, calculated by hand.
#[test]
fn capacity_is_that_of_the_busiest_node() {
    for (query, rows, expected) in [
        // One core, one part of 1 ms + 1,000 × 9 us = 10 ms.
        ("nodes=1&cores=1&shards=1&replicas=0&request=1ms&row=9us", 1_000, 100.0),
        ("nodes=1&cores=4&shards=1&replicas=0&request=1ms&row=9us", 1_000, 400.0),
        // Three nodes share three parts of 1 ms + 333⅓ × 9 us = 4 ms.
        ("nodes=3&cores=1&shards=3&replicas=0&request=1ms&row=9us", 1_000, 250.0),
        // A replica costs the same again, or half.
        ("nodes=3&cores=1&shards=3&replicas=1&request=1ms&row=9us", 1_000, 125.0),
        (
            "nodes=3&cores=1&shards=3&replicas=1&replica_cost=0.5&request=1ms&row=9us",
            1_000,
            250.0 / 1.5,
        ),
        // Four shards on three nodes: one node has two of them, 2 × (1 ms + 250 × 9 us).
        ("nodes=3&cores=1&shards=4&replicas=0&request=1ms&row=9us", 1_000, 1_000.0 / 6.5),
        // The slow node is the limit.
        ("nodes=3&cores=1&shards=3&replicas=0&request=1ms&row=9us&slow_node=2:0.5", 1_000, 125.0),
        // A single row goes to one of three nodes: 1.009 ms every third op.
        ("nodes=3&cores=1&shards=3&replicas=0&request=1ms&row=9us", 1, 3_000.0 / 1.009),
    ] {
        let computed = capacity(&parse(query).unwrap(), rows, true);
        assert!((computed / expected - 1.0).abs() < 1e-9, "{query}: {computed}, not {expected}");
    }
    let queries = parse("nodes=3&cores=4&query=5ms").unwrap();
    assert!((capacity(&queries, 0, false) - 2_400.0).abs() < 1e-6);
    let endless = parse("cores=inf").unwrap();
    assert!(capacity(&endless, 1_000, true).is_infinite());
    let free = parse("request=0&row=0").unwrap();
    assert!(capacity(&free, 1_000, true).is_infinite());
}
