//! Polling during a load, through the whole program: with an endpoint on loopback, and without one.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use highwater_model::judgment::Data;
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::SeriesKind;
use highwater_report as report;
use highwater_runner::record::read as stored;

use crate::called::{Place, expect_undisturbed, experiment, record};

/// An endpoint whose counter grows by ten with each request.
fn endpoint() -> String {
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    let port = serving("/vars", || {
        let ops = 10 * REQUESTS.fetch_add(1, Ordering::Relaxed);
        format!("# TYPE ops counter\nops{{store=\"1\"}} {ops}\nwaiting 4\nother 1\n")
    });
    format!("http://u:geheim@127.0.0.1:{port}/vars")
}

/// The port on which this is served at a path.
pub(crate) fn serving(path: &'static str, body: impl Fn() -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4_096];
            let length = stream.read(&mut request).unwrap();
            if length == 0 {
                // A finished run is no longer polled.
                continue;
            }
            let line = format!("GET {path} HTTP/1.0\r\n");
            assert!(request[..length].starts_with(line.as_bytes()));
            write!(stream, "HTTP/1.0 200 OK\r\n\r\n{}", body()).unwrap();
        }
    });
    port
}

fn run(place: &Place, more: &str) -> RunRecord {
    record(&place.typed(&format!("run cpu -d 3s --warm-up 0s --think 20ms --json {more}")))
}

#[test]
fn an_endpoint_is_polled_once_a_second_for_the_mapped_metrics() {
    let place = Place::new().verbose();
    let url = endpoint();
    let metrics = format!("--metrics {url} --metric queue=waiting --metric ops[store]=ops");
    let record = run(&place, &metrics);
    expect_undisturbed(&record);
    assert_eq!(record.judgments.data.value, Data::Clean);
    let telemetry = record.target_telemetry.unwrap();
    let names: Vec<&str> = telemetry.sources.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names[..2], ["target", "host"]);
    assert!(names[2].contains("127.0.0.1") && !names[2].contains("geheim"), "{names:?}");
    let of_endpoint: Vec<_> = telemetry.series.iter().filter(|s| s.source == names[2]).collect();
    let [queue, ops] = of_endpoint.as_slice() else {
        panic!("{of_endpoint:?}");
    };
    assert_eq!((queue.name.as_str(), queue.kind), ("queue", SeriesKind::Level));
    assert!(queue.values.iter().flatten().all(|value| value.to_bits() == 4_f64.to_bits()));
    assert_eq!((ops.node.as_deref(), ops.kind), (Some("1"), SeriesKind::Count));
    let grown: Vec<f64> = ops.values.iter().copied().flatten().collect();
    assert!(!grown.is_empty(), "{grown:?}");
    // A response that was too late is part of the next one.
    assert!(grown.iter().all(|value| *value >= 10.0 && value % 10.0 < 0.5), "{grown:?}");
    let log = telemetry.series.iter().find(|series| series.name == "log_bytes");
    assert!(log.unwrap().values.iter().flatten().any(|bytes| *bytes > 0.0));
}

#[test]
fn an_unreachable_endpoint_is_noted_and_changes_nothing_else() {
    let place = Place::new().verbose();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}/metrics");
    let record = run(&place, &format!("--metrics {url}"));
    expect_undisturbed(&record);
    assert_eq!(record.judgments.data.value, Data::Clean);
    let telemetry = record.target_telemetry.as_ref().unwrap();
    let source = &telemetry.sources[2];
    assert!(source.failed > 0 && source.failed == source.readings, "{source:?}");
    assert!(report::text(&record).contains("readings failed"));
}

#[test]
fn nothing_is_polled_without_telemetry() {
    let place = Place::new().verbose();
    let record = run(&place, "--no-telemetry --metrics http://127.0.0.1:1/metrics");
    expect_undisturbed(&record);
    assert_eq!(record.judgments.data.value, Data::Clean);
    assert_eq!(record.target_telemetry, None);
}

#[test]
fn a_mapping_or_an_endpoint_that_cannot_be_read_is_a_mistake_of_usage() {
    let place = Place::new().verbose();
    for (words, says) in [
        (vec!["--metric", "queue"], "has no `=`"),
        (vec!["--metric", "queue=x"], "no endpoint is given"),
        (vec!["--metrics", "ftp://h/"], "no http or https URL"),
    ] {
        let called = place.call(&[&["run"], words.as_slice()].concat());
        assert_eq!(called.code, Some(2), "{called:?}");
        assert!(called.stderr.contains(says), "{called:?}");
        assert!(called.stderr.contains("hint:"), "{called:?}");
    }
}

#[test]
fn the_metrics_of_the_nodes_of_a_cluster_file_are_read_at_each_size() {
    let place = Place::new();
    let port = serving("/vars", || "node_load1 0.25\n".to_owned());
    let file = format!(
        "format = 1\nname = 'lab'\n[node]\ncommand = 'echo up; exec sleep 300'\ntargets = 'first'\n\
         ready.log = 'up'\nmetrics = ['http://127.0.0.1:{port}/vars']\n\
         url = 'sim:?clock=real&nodes={{nodes}}&replicas=0'\n"
    );
    place.file("lab.toml", &file);
    let short = "--nodes 1,2 -d 3s --warm-up 0s --settle 0s -q";
    let called = place.typed(&format!("scale cpu --cluster lab.toml --each run {short}"));
    let directory = place.runs().pop().unwrap();
    let grown = experiment(&directory);
    let trials = &grown.scale().unwrap().trials;
    assert_eq!(trials.len(), 3, "{called:?}");
    for trial in trials {
        let run = stored(&directory.join(&trial.run)).unwrap();
        let telemetry = run.into_run().unwrap().target_telemetry.unwrap();
        let loads: Vec<f64> = telemetry
            .series
            .iter()
            .filter(|series| series.source.contains("127.0.0.1"))
            .flat_map(|series| series.values.clone())
            .flatten()
            .collect();
        assert!(loads.contains(&0.25), "{loads:?}");
    }
}
