//! The simulated cluster passes the conformance suite, here on real time. The model's own tests check it on simulated
//! time.

use highwater_driver_sim::SimDriver;
use highwater_testkit::conformance::{RULES, SqlWords, Subject, broken_rules};
use highwater_testkit::support;

/// Rules for targets that store values that also apply to the model: it counts rows.
const COUNTING: [&str; 3] =
    ["tables_are_registered", "keys_are_counted_by_bucket", "abandoned_batches_are_whole"];

#[expect(clippy::unwrap_used, reason = "a test that cannot start has failed")]
fn check(url: &str) {
    let subject = Subject {
        driver: &SimDriver,
        urls: vec![url.to_owned()],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        // Statements are never read.
        sql: SqlWords::new(|_| "", |_, _, _| String::new()),
        cut: None,
    };
    let broken = support::block_on(async {
        let mut broken = broken_rules(&subject).await.unwrap();
        for name in COUNTING {
            let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
            broken.extend(rule.check(&subject).await.err());
        }
        broken
    });
    let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_cluster_keeps_every_rule_that_needs_no_values() {
    check("sim:?clock=real");
}

#[test]
fn a_cluster_without_delays_keeps_them_too() {
    check("sim:?clock=real&nodes=1&shards=1&replicas=0&request=0&row=0&rtt=0&queue=0&cores=inf");
}
