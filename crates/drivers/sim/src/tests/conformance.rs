//! The rules of every driver that apply to a model, on simulated time.

use highwater_model::units::{Nanos, Seed};

use super::super::SimDriver;
use super::Clock;
use highwater_driver::contract::TargetOptions;
use highwater_testkit::conformance::{SqlWords, Subject, broken_rules};

#[test]
fn it_keeps_every_rule_that_needs_no_values() {
    for query in ["", "?stall=1ms+1h", "?service=lognormal:5&nodes=9&replicas=8"] {
        let clock = Clock::default();
        let subject = Subject {
            driver: &SimDriver,
            urls: vec![format!("sim:{query}")],
            options: TargetOptions {
                insert: None,
                data_directory: None,
                leases_directory: None,
                application_name: "test".to_owned(),
                seed: Seed(42),
                connect_timeout: Nanos::SECOND,
            },
            timeline: clock.timeline(),
            // Statements are never read.
            sql: SqlWords::new(|_| "", |_, _, _| String::new()),
            cut: None,
        };
        let broken = clock.block_on(broken_rules(&subject)).unwrap();
        let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "{query}: {}", broken.join("\n"));
    }
}
