//! Telemetry from an endpoint with the Prometheus text format: any exporter, many databases.
//!
//! Each poll sends one request on a separate connection, and keeps only those metrics of the response that are mapped
//! to metric names of a record. Must not interpret a value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use highwater_model::user_error::UserError;

use crate::contract::{Response, Timeline};
use crate::http::basic_login;
use crate::network::{SslMode, Stream, Tls, TlsFiles, lost};
use crate::target_url::{Host, Secret, TargetUrl};
use crate::telemetry::{Measure, MetricSample, TelemetryReader, units};

/// Maximum bytes of a response.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum headers of a response.
const HEADERS_MAX: usize = 64;
/// The path if a URL has none.
const DEFAULT_PATH: &str = "/metrics";

/// An endpoint and its mappings.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// For display and records: without a password.
    shown: String,
    host: String,
    port: u16,
    request: Arc<Secret>,
    tls: Option<Arc<Tls>>,
    mappings: Arc<[Mapping]>,
}

impl Endpoint {
    /// Parses a URL such as `http://host:9100/metrics`; without mappings, uses those of well-known exporters.
    ///
    /// Fails with a usage error that shows the form of such a URL.
    pub fn new(url: &str, mappings: &[Mapping]) -> Result<Self, UserError> {
        let hint = "give --metrics a URL such as http://host:9100/metrics";
        let wrong = |cause: &str| UserError::usage(format!("--metrics: {cause}")).with_hint(hint);
        let parsed = TargetUrl::parse(url).map_err(|error| wrong(&error.message))?;
        let (port, tls) = match parsed.scheme.as_str() {
            "http" => (80, None),
            "https" => {
                let tls = Tls::new(TlsFiles::default(), SslMode::VerifyFull);
                (443, Some(Arc::new(tls)))
            }
            scheme => return Err(wrong(&format!("`{scheme}:` is no http or https URL"))),
        };
        let [Host { name, port: given }] = parsed.hosts.as_slice() else {
            return Err(wrong(&format!("`{parsed}` does not name one host")));
        };
        let mappings = if mappings.is_empty() { standard_mappings() } else { mappings.to_vec() };
        // A parameter may be a token, and none is needed to identify the endpoint.
        let mut shown = parsed.clone();
        shown.parameters.clear();
        Ok(Self {
            shown: shown.to_string(),
            host: name.clone(),
            port: given.unwrap_or(port),
            request: Arc::new(request(url, &parsed, name)),
            tls,
            mappings: mappings.into(),
        })
    }

    /// Its name in records.
    pub fn name(&self) -> &str {
        &self.shown
    }

    /// A reader; it reconnects for each poll.
    pub fn open(
        &self,
        _timeline: Rc<dyn Timeline>,
    ) -> Response<'static, Option<Box<dyn TelemetryReader>>> {
        let reader: Box<dyn TelemetryReader> = Box::new(MetricsReader(self.clone()));
        Box::pin(std::future::ready(Ok(Some(reader))))
    }

    async fn response(&self) -> Result<Vec<u8>, UserError> {
        let lost = |error: std::io::Error| lost(&self.shown, &error);
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(lost)?;
        let mut stream = match &self.tls {
            None => Stream::Tcp(stream),
            Some(tls) => {
                let encrypted = tls.handshake(&self.shown, &self.host, stream).await?;
                Stream::Tls(Box::new(encrypted))
            }
        };
        let request = self.request.reveal().as_bytes();
        let written = stream.write_all(request).await;
        written.map_err(lost)?;
        stream.flush().await.map_err(lost)?;
        let mut response = Vec::new();
        let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX);
        let read = stream.take(limit + 1).read_to_end(&mut response).await;
        read.map_err(lost)?;
        if response.len() > ANSWER_BYTES_MAX {
            return Err(self.refused("the answer is longer than 16 MiB"));
        }
        Ok(response)
    }

    fn refused(&self, cause: &str) -> UserError {
        UserError::statement(format!("{}: {cause}", self.shown))
    }

    fn samples(&self, response: &[u8]) -> Result<Vec<MetricSample>, UserError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut headers);
        let Ok(httparse::Status::Complete(length)) = head.parse(response) else {
            return Err(self.refused("what answers there does not speak HTTP"));
        };
        match head.code {
            Some(200) => {}
            code => return Err(self.refused(&format!("HTTP status {}", code.unwrap_or(0)))),
        }
        let body = String::from_utf8_lossy(response.get(length..).unwrap_or_default());
        let samples =
            samples(&body, |metric| self.mappings.iter().any(|mapping| mapping.metric == metric))
                .ok_or_else(|| self.refused(TOO_MANY))?;
        let samples = metric_samples(&self.mappings, &samples);
        if samples.is_empty() {
            return Err(self.refused("it has none of the metrics that are read"));
        }
        Ok(samples)
    }
}

/// HTTP/1.0, so that the response is not chunked and ends with the connection.
fn request(text: &str, url: &TargetUrl, host: &str) -> Secret {
    let path = match url.path.as_str() {
        "" => DEFAULT_PATH.to_owned(),
        path => format!("/{path}"),
    };
    let query = text.split_once('?').map_or("", |(_, query)| query);
    let mark = if query.is_empty() { "" } else { "?" };
    let login = url.user.as_deref().map(|user| basic_login(user, url.password.as_ref()));
    Secret::new(format!(
        "GET {path}{mark}{query} HTTP/1.0\r\nHost: {host}\r\nAccept: text/plain\r\n{}\r\n",
        login.unwrap_or_default()
    ))
}

struct MetricsReader(Endpoint);

impl TelemetryReader for MetricsReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let response = self.0.response().await?;
            self.0.samples(&response)
        })
    }
}

/// The form of a mapping.
const HINT: &str = "write NAME=METRIC, such as queue=tasks_waiting, queue=tasks{state=\"waiting\"}, or \
                    disk_written[device]=disk_bytes_total for a series for each value of a label";
/// Maximum length of a mapping.
const LENGTH_MAX: usize = 500;

/// One metric, and its name in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    name: String,
    /// The label whose values become nodes, one series each.
    by: Option<String>,
    metric: String,
    /// Labels that a sample must have.
    labels: Vec<(String, String)>,
    /// How to read the metric, if this does not depend on the endpoint's type.
    measure: Option<Measure>,
    unit: Cow<'static, str>,
}

impl Mapping {
    /// Reads `NAME=METRIC`, `NAME=METRIC{label="value"}` or `NAME[LABEL]=METRIC`.
    pub fn parse(text: &str) -> Result<Self, UserError> {
        let fail = |cause: &str| UserError::usage(format!("`{text}` {cause}")).with_hint(HINT);
        if text.len() > LENGTH_MAX {
            return Err(
                UserError::usage("a mapping is longer than 500 bytes".to_owned()).with_hint(HINT)
            );
        }
        let (left, right) = text.split_once('=').ok_or_else(|| fail("has no `=`"))?;
        let (name, by) = match left.split_once('[') {
            None => (left, None),
            Some((name, label)) => {
                let label = label.strip_suffix(']');
                (name, Some(label.ok_or_else(|| fail("has no `]`"))?))
            }
        };
        let (metric, labels) = match right.split_once('{') {
            None => (right, Vec::new()),
            Some((metric, rest)) => {
                let inside = rest.strip_suffix('}').ok_or_else(|| fail("has no `}`"))?;
                let pairs = inside.split(',').map(|pair| {
                    let (name, value) = pair.split_once('=')?;
                    Some((name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
                });
                let labels: Option<Vec<_>> = pairs.collect();
                (metric, labels.ok_or_else(|| fail("has a label without a value"))?)
            }
        };
        let is_word = |word: &str| {
            let mut characters = word.chars();
            !word.is_empty() && characters.all(|c| c.is_ascii_alphanumeric() || "_:.".contains(c))
        };
        if !is_word(name) || !is_word(metric) || by.is_some_and(|label| !is_word(label)) {
            return Err(fail("is not made of names"));
        }
        Ok(Self {
            name: name.to_owned(),
            by: by.map(str::to_owned),
            metric: metric.to_owned(),
            labels,
            measure: None,
            unit: Cow::Borrowed(""),
        })
    }

    fn takes(&self, sample: &Sample<'_>) -> bool {
        self.metric == sample.metric
            && self.labels.iter().all(|(name, value)| {
                let mut labels = sample.labels.iter();
                labels.any(|(label, found)| label == name && found == value)
            })
    }

    /// A counter of seconds becomes a fraction of the elapsed time.
    fn measure(&self, sample: &Sample<'_>) -> Measure {
        let seconds = self.metric.contains("_seconds");
        self.measure.unwrap_or(match (sample.counter, seconds) {
            (true, true) => Measure::Seconds,
            (true, false) => Measure::Count,
            (false, _) => Measure::Level,
        })
    }

    fn unit(&self, measure: Measure) -> Cow<'static, str> {
        Cow::Borrowed(match measure {
            _ if !self.unit.is_empty() => return self.unit.clone(),
            Measure::Seconds => units::SHARE,
            _ if self.metric.contains("bytes") => "bytes",
            _ => "1",
        })
    }
}

/// Sums samples that differ only in labels outside the mapping.
fn metric_samples(mappings: &[Mapping], lines: &[Sample<'_>]) -> Vec<MetricSample> {
    let mut samples = Vec::new();
    for mapping in mappings {
        let mut sums: BTreeMap<Option<&str>, (f64, Measure)> = BTreeMap::new();
        for sample in lines.iter().filter(|sample| mapping.takes(sample)) {
            let node = mapping.by.as_ref().map(|by| {
                let label = sample.labels.iter().find(|(name, _)| name == by);
                label.map_or("", |(_, value)| value.as_str())
            });
            let sum = sums.entry(node).or_insert((0.0, mapping.measure(sample)));
            sum.0 += sample.value;
        }
        samples.extend(sums.into_iter().map(|(node, (value, measure))| MetricSample {
            name: Cow::Owned(mapping.name.clone()),
            unit: mapping.unit(measure),
            node: node.map(str::to_owned),
            measure,
            value,
        }));
    }
    samples
}

/// Standard metrics of processes, machines, and one family of databases: the mapping, how it is read, and its unit.
/// Sources: the Prometheus client libraries' `process_` metrics, node_exporter, and the list of metrics in that
/// database's documentation (self-hosted, "essential metrics").
const STANDARD_MAPPINGS: &[&str] = &[
    "process_cpu=process_cpu_seconds_total seconds cores",
    "process_memory=process_resident_memory_bytes level bytes",
    "load=node_load1 level 1",
    "disk_read[device]=node_disk_read_bytes_total count bytes",
    "disk_written[device]=node_disk_written_bytes_total count bytes",
    "disk_busy[device]=node_disk_io_time_seconds_total seconds share",
    "net_received[device]=node_network_receive_bytes_total count bytes",
    "net_sent[device]=node_network_transmit_bytes_total count bytes",
    "cpu_busy[node_id]=sys_cpu_combined_percent_normalized level share",
    "memory[node_id]=sys_rss level bytes",
    "disk_read[node_id]=sys_host_disk_read_bytes count bytes",
    "disk_written[node_id]=sys_host_disk_write_bytes count bytes",
    "net_received[node_id]=sys_host_net_recv_bytes count bytes",
    "net_sent[node_id]=sys_host_net_send_bytes count bytes",
    "disk_free[store]=capacity_available level bytes",
    "connections[node_id]=sql_conns level 1",
    "admission_waits[node_id]=admission_wait_queue_length_kv level 1",
    "admission_store_waits[store]=admission_wait_queue_length_kv_stores level 1",
    "compaction_overload[store]=admission_io_overload level 1",
    "write_stalls[store]=storage_write_stalls count 1",
];

/// The mappings that apply without `--metric`.
fn standard_mappings() -> Vec<Mapping> {
    STANDARD_MAPPINGS.iter().copied().filter_map(standard).collect()
}

fn standard(line: &'static str) -> Option<Mapping> {
    let mut words = line.split(' ');
    let mapping = Mapping::parse(words.next()?).ok()?;
    let measure = match words.next()? {
        "seconds" => Measure::Seconds,
        "count" => Measure::Count,
        _ => Measure::Level,
    };
    Some(Mapping { measure: Some(measure), unit: Cow::Borrowed(words.next()?), ..mapping })
}

/// Maximum selected samples of a response.
const SAMPLES_MAX: usize = 10_000;
/// Error text if a response has more.
const TOO_MANY: &str = "it has more than 10,000 samples of what is read";

/// One line of figures.
#[derive(Debug, Clone, PartialEq)]
struct Sample<'a> {
    metric: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
    /// From its `# TYPE` line.
    counter: bool,
}

/// The samples of the selected metrics; `None` if there are too many, because a part of them could be mistaken for
/// all.
fn samples(text: &str, is_needed: impl Fn(&str) -> bool) -> Option<Vec<Sample<'_>>> {
    let mut samples = Vec::new();
    let mut counter = ("", false);
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_whitespace();
            if words.next() == Some("TYPE") {
                counter = (words.next().unwrap_or(""), words.next() == Some("counter"));
            }
            continue;
        }
        let end = line.find(|c: char| c == '{' || c.is_whitespace());
        let metric = line.get(..end.unwrap_or(line.len())).unwrap_or("");
        if metric.is_empty() || !is_needed(metric) {
            continue;
        }
        if let Some((labels, value)) = labels_and_value(&line[metric.len()..]) {
            let is_counter = counter.0 == metric;
            samples.push(Sample {
                metric,
                labels,
                value,
                counter: if is_counter { counter.1 } else { metric.ends_with("_total") },
            });
        }
        if samples.len() > SAMPLES_MAX {
            return None;
        }
    }
    Some(samples)
}

type Labels<'a> = Vec<(&'a str, String)>;

/// The text after the name: labels in braces, if any, the value, and an optional time.
fn labels_and_value(rest: &str) -> Option<(Labels<'_>, f64)> {
    let (labels, rest) = match rest.strip_prefix('{') {
        None => (Vec::new(), rest),
        Some(inside) => labels(inside)?,
    };
    let value = rest.split_whitespace().next()?;
    Some((labels, value.parse().ok()?))
}

/// Labels up to the closing brace, and the remaining text.
fn labels(mut rest: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, quoted) = rest.split_once('=')?;
        let (value, behind) = unquoted(quoted.trim_start().strip_prefix('"')?)?;
        labels.push((name.trim(), value));
        rest = behind;
    }
}

/// A text up to its closing quote, and the remaining text.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::telemetry::Measure;

    fn refused(url: &str) -> String {
        Endpoint::new(url, &[]).unwrap_err().message
    }

    #[test]
    fn a_url_is_checked_before_any_request() {
        assert!(refused("ftp://h/x").contains("no http or https"));
        assert!(refused("http://a,b/metrics").contains("one host"));
        assert!(refused("localhost").contains("not a URL"));
        let endpoint = Endpoint::new("http://u:geheim@h:9100", &[]).unwrap();
        assert!(!endpoint.name().contains("geheim") && !format!("{endpoint:?}").contains("geheim"));
        let request = endpoint.request.reveal();
        assert!(request.starts_with("GET /metrics HTTP/1.0\r\n"), "{request}");
        assert!(request.contains("Authorization: Basic dTpnZWhlaW0="));
        let other = Endpoint::new("http://h/_status/vars?x=1", &[]).unwrap();
        assert_eq!(other.name(), "http://h/_status/vars");
        assert!(other.request.reveal().starts_with("GET /_status/vars?x=1 HTTP/1.0"));
    }

    #[test]
    fn the_scheme_determines_port_and_encryption_unless_the_url_names_a_port() {
        let of = |url: &str| {
            let endpoint = Endpoint::new(url, &[]).unwrap();
            (endpoint.port, endpoint.tls.is_some())
        };
        assert_eq!(of("http://h/metrics"), (80, false));
        assert_eq!(of("https://h/metrics"), (443, true));
        assert_eq!(of("https://h:9100"), (9_100, true));
        let endpoint = Endpoint::new("http://h:9100", &[]).unwrap();
        let request = endpoint.request.reveal();
        assert!(request.contains("\r\nHost: h\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\n") && !request.contains("Authorization"));
    }

    #[test]
    fn an_endpoint_that_answers_without_end_is_left() {
        use std::io::{Read, Write};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1_024];
            assert!(stream.read(&mut request).unwrap() > 0);
            let piece = vec![b'\n'; 1 << 16];
            // Until the peer closes.
            while stream.write_all(&piece).is_ok() {}
        });
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let endpoint = Endpoint::new(&url, &[]).unwrap();
        let error = runtime.block_on(endpoint.response()).unwrap_err();
        assert!(error.message.contains("longer than 16 MiB"), "{error}");
    }

    #[test]
    fn well_known_metrics_need_no_mapping() {
        let endpoint = Endpoint::new("http://h/", &[]).unwrap();
        let response = "HTTP/1.0 200 OK\r\n\r\n\
            process_cpu_seconds_total 3\nnode_load1 0.5\nother 1\n\
            node_disk_io_time_seconds_total{device=\"sda\"} 7\n\
            sys_cpu_combined_percent_normalized{node_id=\"2\"} 0.25\n\
            # TYPE sys_host_disk_read_bytes gauge\nsys_host_disk_read_bytes{node_id=\"2\"} 9\n";
        let samples = endpoint.samples(response.as_bytes()).unwrap();
        let found: Vec<_> = samples
            .iter()
            .map(|r| (&*r.name, &*r.unit, r.node.as_deref(), r.measure, r.value))
            .collect();
        let expected = [
            ("process_cpu", "cores", None, Measure::Seconds, 3.0),
            ("load", "1", None, Measure::Level, 0.5),
            ("disk_busy", "share", Some("sda"), Measure::Seconds, 7.0),
            ("cpu_busy", "share", Some("2"), Measure::Level, 0.25),
            // It increases, whatever type its endpoint reports.
            ("disk_read", "bytes", Some("2"), Measure::Count, 9.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_response_without_the_metric_is_reported() {
        let mapping = Mapping::parse("queue=waiting").unwrap();
        let endpoint = Endpoint::new("http://h/", &[mapping]).unwrap();
        let response = |text: &str| endpoint.samples(text.as_bytes());
        let read = response("HTTP/1.0 200 OK\r\n\r\nwaiting 3\nother 4\n").unwrap();
        assert_eq!((read.len(), read[0].value.to_bits()), (1, 3_f64.to_bits()));
        let message = |text: &str| response(text).unwrap_err().message;
        assert!(message("HTTP/1.0 200 OK\r\n\r\nother 4\n").contains("none of the metrics"));
        assert!(message("HTTP/1.0 404 Not Found\r\n\r\n").contains("HTTP status 404"));
        assert!(message("SSH-2.0-x\r\n").contains("does not speak HTTP"));
    }

    fn read(mapping: &str, text: &str) -> Vec<(String, Option<String>, f64, Measure)> {
        let mappings = [Mapping::parse(mapping).unwrap()];
        let lines = samples(text, |_| true).unwrap();
        metric_samples(&mappings, &lines)
            .into_iter()
            .map(|r| (r.name.into_owned(), r.node, r.value, r.measure))
            .collect()
    }

    const TEXT: &str = "# TYPE b counter\nb{d=\"x\",o=\"r\"} 1\nb{d=\"x\",o=\"w\"} 2\n\
                        b{d=\"y\",o=\"w\"} 4\n# TYPE q gauge\nq 8\n\
                        # TYPE cpu_seconds_total counter\ncpu_seconds_total 16\n";

    #[test]
    fn labels_select_and_split_and_other_samples_are_added_up() {
        let name = || "n".to_owned();
        let node = |name: &str| Some(name.to_owned());
        assert_eq!(read("n=b", TEXT), [(name(), None, 7.0, Measure::Count)]);
        let by =
            [(name(), node("x"), 3.0, Measure::Count), (name(), node("y"), 4.0, Measure::Count)];
        assert_eq!(read("n[d]=b", TEXT), by);
        let chosen = [(name(), node("x"), 2.0, Measure::Count), by[1].clone()];
        assert_eq!(read("n[d]=b{o=\"w\"}", TEXT), chosen);
        assert_eq!(read("n=q", TEXT), [(name(), None, 8.0, Measure::Level)]);
        let seconds = [(name(), None, 16.0, Measure::Seconds)];
        assert_eq!(read("n=cpu_seconds_total", TEXT), seconds);
        assert_eq!(read("n=none", TEXT), []);
        // A missing label has an empty value.
        assert_eq!(read("n[d]=q", TEXT), [(name(), node(""), 8.0, Measure::Level)]);
    }

    #[test]
    fn the_unit_of_a_metric_follows_from_its_name() {
        let text = "# TYPE a_seconds counter\na_seconds 1\nb_bytes 2\nc_seconds 3\nd 4\n";
        let samples = samples(text, |_| true).unwrap();
        let unit = |metric: &str| {
            let mapping = Mapping::parse(&format!("n={metric}")).unwrap();
            metric_samples(&[mapping], &samples)[0].unit.clone()
        };
        // A level of seconds is not a fraction of anything.
        let units = ["a_seconds", "b_bytes", "c_seconds", "d"].map(unit);
        assert_eq!(units, ["share", "bytes", "1", "1"]);
    }

    #[test]
    fn every_standard_mapping_can_be_read() {
        let mappings = standard_mappings();
        assert_eq!(mappings.len(), STANDARD_MAPPINGS.len());
        let shares = mappings.iter().filter(|m| m.unit == units::SHARE);
        assert_eq!(shares.count(), 2);
    }

    #[test]
    fn an_invalid_mapping_has_a_reason() {
        let says = |text: &str| Mapping::parse(text).unwrap_err().message;
        for (text, cause) in [
            ("queue", "has no `=`"),
            ("queue[=x", "has no `]`"),
            ("queue=x{a=\"b\"", "has no `}`"),
            ("queue=x{a}", "a label without a value"),
            ("=x", "not made of names"),
            ("q=a b", "not made of names"),
        ] {
            assert!(says(text).contains(cause), "{text}: {}", says(text));
        }
        assert!(says(&"x".repeat(501)).contains("500 bytes"));
    }

    const ANSWER: &str = r#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400",} 3

# TYPE msdos_file_access_time_seconds gauge
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="no \"file\"\n"} 1.458255915e9
metric_without_timestamp_and_labels 12.47
something_weird{problem="division by zero"} +Inf -3982045
untold_total 7
broken{a="b 1
broken{a=b} 1
broken
"#;

    #[test]
    fn the_example_of_the_format_is_read() {
        let read = samples(ANSWER, |_| true).unwrap();
        let values: Vec<(&str, f64, bool)> =
            read.iter().map(|s| (s.metric, s.value, s.counter)).collect();
        let expected = [
            ("http_requests_total", 1_027.0, true),
            ("http_requests_total", 3.0, true),
            ("msdos_file_access_time_seconds", 1.458_255_915e9, false),
            ("metric_without_timestamp_and_labels", 12.47, false),
            ("something_weird", f64::INFINITY, false),
            ("untold_total", 7.0, true),
        ];
        assert_eq!(values, expected);
        let post = ("method", "post".to_owned());
        assert_eq!(read[1].labels, [post, ("code", "400".to_owned())]);
        assert_eq!(read[2].labels[0].1, r"C:\DIR\FILE.TXT");
        assert_eq!(read[2].labels[1].1, "no \"file\"\n");
        assert_eq!(samples(ANSWER, |metric| metric == "untold_total").unwrap().len(), 1);
    }

    #[test]
    fn a_list_beyond_the_bound_is_refused_and_not_cut() {
        let of = |lines: usize| "m{a=\"b\"} 1\n".repeat(lines);
        let most = of(SAMPLES_MAX);
        assert_eq!(samples(&most, |_| true).map_or(0, |all| all.len()), SAMPLES_MAX);
        assert_eq!(samples(&of(SAMPLES_MAX + 1), |_| true), None);
        let shown = highwater_model::display::count(SAMPLES_MAX as u64);
        assert!(TOO_MANY.contains(&shown));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "([a-z#{}=\",\\\\ 0-9.\n]|ä){0,200}") {
            samples(&text, |_| true);
        }
    }
}
