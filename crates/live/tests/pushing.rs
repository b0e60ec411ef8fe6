//! `--otlp`: the pushes that a collector on loopback receives; an unreachable or slow one does not affect a command.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use highwater_live::{Live, LiveSettings, OtlpSettings};
use highwater_model::event::{Event, LoadBounds, SecondProgress, StreamCounts, StreamProgress};
use highwater_model::judgment::Judgments;
use highwater_model::plan::Unit;
use highwater_runner::request::Observer;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point::Value};
use prost::Message;

/// Warnings of all tests of this program.
static WARNED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn warn(text: &str) {
    WARNED.lock().unwrap().push(text.to_owned());
}

/// Warnings about this collector.
fn warned(of: SocketAddr) -> Vec<String> {
    let all = WARNED.lock().unwrap();
    let of = format!("http://{of}/");
    all.iter().filter(|text| text.contains(&of)).cloned().collect()
}

/// Exactly one warning about this collector, with this text.
#[track_caller]
fn assert_warned(of: SocketAddr, said: &str) {
    let warned = warned(of);
    let is_one = warned.len() == 1 && warned[0].contains(said);
    assert!(is_one, "{warned:?}");
}

fn pushing(to: SocketAddr) -> Live {
    pushing_with(to, "")
}

fn pushing_with(to: SocketAddr, headers: &str) -> Live {
    let otlp = OtlpSettings {
        url: format!("http://{to}").parse().unwrap(),
        headers: headers.parse().unwrap(),
        warn,
    };
    Live::start(LiveSettings { otlp: Some(otlp), ..LiveSettings::default() }).unwrap()
}

fn second(acknowledged: u64) -> Event {
    let stream = StreamProgress {
        stream: "insert".to_owned(),
        unit: Unit::Rows,
        offered_per_s: None,
        units_per_s: 0.0,
        p50_ns: None,
        p99_ns: None,
        p99_at_least: false,
        max_ns: None,
        recent: None,
        errors: 0,
        rejected: 0,
        counts: StreamCounts {
            acknowledged,
            latency_up_to: vec![acknowledged; 19],
            ..StreamCounts::default()
        },
    };
    Event::Second(SecondProgress {
        second: 1,
        phase: "measure".to_owned(),
        streams: vec![stream],
        errors: 0,
        dropped: 0,
        sessions: 8,
        ..SecondProgress::default()
    })
}

/// The head of a push, and its message.
type Push = (String, ExportMetricsServiceRequest);

/// A collector that takes one push and responds with this status and body; its thread ends with the push.
fn collector(status: &'static str, response: Vec<u8>) -> (SocketAddr, JoinHandle<Push>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let taken = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let mut lines = head.lines();
        let length = lines.find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let sent = response.len();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {sent}\r\n\r\n");
        let answer = [answer.into_bytes(), response].concat();
        reader.get_mut().write_all(&answer).unwrap();
        let said = ExportMetricsServiceRequest::decode(body.as_slice());
        (head, said.unwrap())
    });
    (address, taken)
}

#[test]
fn a_collector_gets_the_final_figures_when_the_command_ends() {
    let (address, taken) = collector("200 OK", Vec::new());
    let live = pushing(address);
    live.event(&Event::Load(LoadBounds::default()));
    live.event(&second(5));
    live.event(&second(7));
    live.event(&Event::Ended {
        directory: "runs/1".to_owned(),
        judgments: Judgments::default(),
        rows_found: Some(11),
    });
    drop(live);
    let (head, body) = taken.join().unwrap();
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
    let kind = "Content-Type: application/x-protobuf\r\n";
    assert!(head.contains(kind), "{head}");
    let pushed = &body.resource_metrics[0];
    let metrics = &pushed.scope_metrics[0].metrics;
    let data = |name: &str| {
        let named = metrics.iter().find(|metric| metric.name == name);
        let named = named.unwrap_or_else(|| panic!("no {name} in {metrics:?}"));
        named.data.clone()
    };
    let Some(Data::Sum(ops)) = data("highwater_ops_acknowledged") else {
        panic!("{metrics:?}");
    };
    assert_eq!(ops.data_points[0].value, Some(Value::AsInt(12)));
    let Some(Data::Sum(found)) = data("highwater_rows_found") else {
        panic!("{metrics:?}");
    };
    assert_eq!(found.data_points[0].value, Some(Value::AsInt(11)));
    let Some(Data::Histogram(latency)) = data("highwater_latency") else {
        panic!("{metrics:?}");
    };
    assert_eq!(latency.data_points[0].count, 12);
    let Some(Data::Gauge(sessions)) = data("highwater_sessions") else {
        panic!("{metrics:?}");
    };
    assert_eq!(sessions.data_points[0].value, Some(Value::AsDouble(8.0)));
    let service = &pushed.resource.as_ref().unwrap().attributes[0];
    let name = service.value.clone().unwrap().value;
    assert_eq!(name, Some(any_value::Value::StringValue("highwater".to_owned())));
    assert_eq!(warned(address), [""; 0]);
}

#[test]
fn a_collector_gets_the_configured_headers() {
    let (address, taken) = collector("200 OK", Vec::new());
    drop(pushing_with(address, "Authorization=Bearer%20geheim,x-scope=a%2Cb"));
    let (head, _) = taken.join().unwrap();
    let sent = "\r\nAuthorization: Bearer geheim\r\nx-scope: a,b\r\n\r\n";
    assert!(head.ends_with(sent), "{head}");
    assert_eq!(warned(address), [""; 0]);
}

#[test]
fn a_warning_about_a_collector_shows_no_value_of_a_header_even_if_the_collector_does() {
    let partial = ExportMetricsPartialSuccess {
        rejected_data_points: 1,
        error_message: "not for geheim".to_owned(),
    };
    let response = ExportMetricsServiceResponse { partial_success: Some(partial) };
    let (address, taken) = collector("200 OK", response.encode_to_vec());
    drop(pushing_with(address, "api-key=geheim"));
    taken.join().unwrap();
    let warned = warned(address);
    assert!(warned.len() == 1 && warned[0].contains("not for ***"), "{warned:?}");
}

#[test]
fn a_collector_that_requires_authentication_is_a_warning_that_names_the_variable() {
    let (address, taken) = collector("401 No", Vec::new());
    drop(pushing(address));
    taken.join().unwrap();
    let warned = warned(address);
    assert!(
        warned.len() == 1
            && warned[0].contains("responds with 401")
            && warned[0].contains("OTEL_EXPORTER_OTLP_HEADERS"),
        "{warned:?}"
    );
}

#[test]
fn a_collector_that_is_away_is_one_warning() {
    // The listener is closed immediately.
    let listener = TcpListener::bind("127.0.0.1:0");
    let address = listener.unwrap().local_addr().unwrap();
    let live = pushing(address);
    live.event(&second(5));
    drop(live);
    assert_warned(address, "the command continues");
}

#[test]
fn a_collector_that_refuses_is_named_with_its_status() {
    let (address, taken) = collector("415 No", Vec::new());
    drop(pushing(address));
    taken.join().unwrap();
    assert_warned(address, "responds with 415");
}

#[test]
fn a_collector_that_never_responds_holds_up_neither_events_nor_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let live = pushing(address);
    // More than the queue holds: each call returns, even if nothing is received.
    for _ in 0..10_000 {
        live.event(&second(1));
    }
    // Returns although no connection is ever accepted.
    drop(live);
    assert_warned(address, "does not respond within");
    drop(listener);
}
