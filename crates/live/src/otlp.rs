//! `--otlp URL`: the same metrics, pushed to an OTLP collector over HTTP, as protobuf.
//!
//! Values are cumulative: a failed push loses nothing that the next one does not contain, so nothing is queued. Uses
//! the messages of OpenTelemetry's crates instead of its meters, which take no existing counts: without an observable
//! histogram, each op would have to be recorded in them again. Must not delay or end a command, or read the
//! environment.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use highwater_driver::Secret;
use highwater_driver::clock::wall_clock;
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::network::{SslMode, Stream, Tls, TlsFiles, connect_tcp, unreachable};
use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use percent_encoding::percent_decode_str;
use prost::Message;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::metrics::{self, Family, Label, PREFIX, Point, Points, apart, sum_s};
use crate::routes::random_digits;
use crate::server::{ServerState, lock};

/// Interval of pushes.
const PUSH: Duration = Duration::from_secs(5);
/// Timeout of a push.
const WITHIN: Duration = Duration::from_secs(4);
/// Timeout of the last push, which the end of the command waits for.
pub(crate) const LAST_WITHIN: Duration = Duration::from_secs(1);
/// Maximum bytes of a response that are parsed.
const RESPONSE_MAX: usize = 4_096;
/// Random bytes that distinguish two commands.
const INSTANCE_BYTES: usize = 16;

/// Settings of pushes.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// URL of the collector.
    pub url: OtlpUrl,
    /// Headers of each push.
    pub headers: OtlpHeaders,
    /// Reports the first failure.
    pub warn: fn(&str),
}

/// State shared by all pushes of a command.
pub(crate) struct Pusher {
    settings: OtlpSettings,
    tls: Tls,
    instance: Instance,
    warned: bool,
}

impl Pusher {
    /// # Errors
    /// If the system provides no random bytes.
    pub(crate) fn new(settings: OtlpSettings) -> io::Result<Self> {
        Ok(Self {
            settings,
            tls: Tls::new(TlsFiles::default(), SslMode::VerifyFull),
            instance: Instance { id: random_digits::<INSTANCE_BYTES>()?, started: wall_clock() },
            warned: false,
        })
    }

    /// Pushes until the command has ended, and then the final state.
    pub(crate) async fn push_on(
        mut self,
        shared: Arc<ServerState>,
        mut over: watch::Receiver<bool>,
    ) {
        let mut due = interval(PUSH);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is immediate, when there is nothing to push.
        due.tick().await;
        loop {
            let is_over = tokio::select! {
                _ = due.tick() => false,
                () = end(&mut over) => true,
            };
            let known = metrics::of_command(&lock(&shared.watched));
            let body = request(&known, &self.instance, wall_clock());
            let pushed = if is_over {
                self.within(LAST_WITHIN, &body).await
            } else {
                tokio::select! {
                    pushed = self.within(WITHIN, &body) => pushed,
                    // The final state is pushed instead.
                    () = end(&mut over) => continue,
                }
            };
            if let Err(why) = pushed {
                self.warn(&why);
            }
            if is_over {
                return;
            }
        }
    }

    async fn within(&self, limit: Duration, body: &[u8]) -> Result<(), String> {
        let in_time = timeout(limit, self.push(body)).await;
        in_time.unwrap_or_else(|_| {
            let (url, limit) = (&self.settings.url, limit.as_secs());
            Err(format!("{url} does not respond within {limit} s"))
        })
    }

    async fn push(&self, body: &[u8]) -> Result<(), String> {
        let OtlpSettings { url, headers, .. } = &self.settings;
        let response = self.exchange(body).await.map_err(|error| error.message)?;
        match response.status {
            200..300 => match rejected(&response.body) {
                None => Ok(()),
                Some(why) => {
                    let why = headers.cut_out_of(&why);
                    Err(format!("{url} rejects some metrics: {why}"))
                }
            },
            status @ (401 | 403) => Err(format!(
                "{url} responds with {status}; what it wants to see goes into {}, as name=value",
                OTLP_HEADER_VARIABLES[1]
            )),
            status => Err(format!("{url} responds with {status}")),
        }
    }

    async fn exchange(&self, body: &[u8]) -> Result<Response, UserError> {
        let url = &self.settings.url;
        let (place, host) = (url.to_string(), url.host.as_str());
        let stream = connect_tcp(&place, host, url.port).await?;
        let stream = if url.is_encrypted {
            Stream::Tls(Box::new(self.tls.handshake(&place, host, stream).await?))
        } else {
            Stream::Tcp(stream)
        };
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\
             User-Agent: highwater/{}\r\nConnection: close\r\n{}\r\n",
            url.path,
            url.authority(),
            body.len(),
            env!("CARGO_PKG_VERSION"),
            self.settings.headers.lines()
        );
        let mut response = Response::default();
        let mut connection = HttpConnection::new(stream);
        let exchanged = connection.exchange(head.as_bytes(), body, &mut response).await;
        exchanged.map_err(|error| unreachable(&place, &error))?;
        Ok(response)
    }

    fn warn(&mut self, why: &str) {
        if self.warned {
            return;
        }
        self.warned = true;
        (self.settings.warn)(&format!(
            "--otlp: {why}; the command continues and retries every {} s, without another warning",
            PUSH.as_secs()
        ));
    }
}

/// Returns when the command has ended.
async fn end(over: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped, so the command has ended as well.
    let _ = over.wait_for(|is_over| *is_over).await;
}

/// Status, and the start of the body.
#[derive(Default)]
struct Response {
    status: u16,
    body: Vec<u8>,
}

impl Sink for Response {
    fn status(&mut self, status: u16) {
        self.status = status;
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        let room = RESPONSE_MAX.saturating_sub(self.body.len());
        self.body.extend(bytes.iter().take(room));
        self.body.len() < RESPONSE_MAX
    }
}

/// The variables that hold the headers; the one for metrics comes first, because it takes precedence.
pub const OTLP_HEADER_VARIABLES: [&str; 2] =
    ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// Maximum bytes of all headers together, well below the limits of receivers.
const BYTES_MAX: usize = 6_000;
/// Headers that the push itself sets.
const OWN: [&str; 11] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// Headers of each push; their values must not appear in any text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtlpHeaders(Vec<(String, Secret)>);

/// Why a text cannot be parsed. Pairs are counted from 1, and their content is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpHeadersError {
    /// It has no `=`.
    Pair(usize),
    /// Its name is invalid.
    Name(usize),
    /// Its name is one that the push sets.
    Own(usize, &'static str),
    /// Its value is empty.
    Empty(usize),
    /// Its value has a character that is invalid in a header.
    Value(usize),
    /// All headers together are too long.
    Long,
}

impl OtlpHeaders {
    /// Lines of the head of a request.
    fn lines(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}: {}\r\n", value.reveal())).collect()
    }

    /// Text of another program, with the values removed.
    fn cut_out_of(&self, text: &str) -> String {
        let cut = |text: String, (_, value): &(String, Secret)| text.replace(value.reveal(), "***");
        self.0.iter().fold(text.to_owned(), cut)
    }
}

impl FromStr for OtlpHeaders {
    type Err = OtlpHeadersError;

    fn from_str(text: &str) -> Result<Self, OtlpHeadersError> {
        if text.len() > BYTES_MAX {
            return Err(OtlpHeadersError::Long);
        }
        let mut all: Vec<(String, Secret)> = Vec::new();
        let pairs = text.split(',').zip(1..);
        for (pair, number) in pairs.filter(|(pair, _)| !pair.trim().is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(OtlpHeadersError::Pair(number))?;
            let name = name.trim();
            if name.is_empty() || !name.chars().all(is_of_name) {
                return Err(OtlpHeadersError::Name(number));
            }
            if let Some(own) = OWN.into_iter().find(|own| own.eq_ignore_ascii_case(name)) {
                return Err(OtlpHeadersError::Own(number, own));
            }
            let value = percent_decode_str(value.trim()).decode_utf8();
            let value = value.map_err(|_| OtlpHeadersError::Value(number))?;
            if value.trim().is_empty() {
                return Err(OtlpHeadersError::Empty(number));
            }
            // A line end would begin another header.
            if !value.chars().all(|c| matches!(c, ' '..='~')) {
                return Err(OtlpHeadersError::Value(number));
            }
            // As in every parser of this format, the last value of a name wins.
            all.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            all.push((name.to_owned(), Secret::new(value)));
        }
        Ok(Self(all))
    }
}

/// Whether a character is valid in the name of a header.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

impl fmt::Display for OtlpHeadersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(number) => write!(f, "header {number} has no `=`"),
            Self::Name(number) => write!(f, "the name of header {number} is none"),
            Self::Own(number, name) => {
                write!(f, "header {number} is `{name}`, which only Highwater sets")
            }
            Self::Empty(number) => write!(f, "header {number} has no value"),
            Self::Value(number) => {
                write!(f, "the value of header {number} has a character that no header can have")
            }
            Self::Long => write!(f, "more than {BYTES_MAX} bytes"),
        }
    }
}

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// The sender of a push.
struct Instance {
    /// Distinguishes two commands.
    id: String,
    /// Wall-clock start of the counters.
    started: Nanos,
}

/// The wall-clock times of a value.
#[derive(Clone, Copy)]
struct Times {
    started: u64,
    now: u64,
}

/// The body of a push.
fn request(families: &[Family], instance: &Instance, now: Nanos) -> Vec<u8> {
    message(families, instance, now).encode_to_vec()
}

fn message(families: &[Family], instance: &Instance, now: Nanos) -> ExportMetricsServiceRequest {
    let times = Times { started: instance.started.0, now: now.0 };
    let about = [
        Label::new("service.name", "highwater"),
        Label::new("service.version", env!("CARGO_PKG_VERSION")),
        Label::new("service.instance.id", &instance.id),
    ];
    let metrics = families.iter().filter_map(|family| metric(family, times));
    let scope = InstrumentationScope {
        name: "highwater".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_metrics =
        ScopeMetrics { scope: Some(scope), metrics: metrics.collect(), ..ScopeMetrics::default() };
    let resource = Resource { attributes: attributes(&about), ..Resource::default() };
    let resource_metrics = ResourceMetrics {
        resource: Some(resource),
        scope_metrics: vec![scope_metrics],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
}

/// Absent if a family has no values: OTLP has no empty metrics.
fn metric(family: &Family, times: Times) -> Option<Metric> {
    let (suffix, unit, data) = match &family.points {
        Points::Info(labels) => {
            let data_points = vec![number(labels, None, times.now, Number::AsInt(1))];
            ("_info", "", Data::Gauge(Gauge { data_points }))
        }
        Points::Gauges(points) => {
            let data_points = each(points, |labels, value| {
                number(labels, None, times.now, Number::AsDouble(*value))
            })?;
            ("", "", Data::Gauge(Gauge { data_points }))
        }
        Points::Counters(points) => {
            let data_points = each(points, |labels, value| {
                // OTLP has no unsigned values.
                let value = Number::AsInt(i64::try_from(*value).unwrap_or(i64::MAX));
                number(labels, Some(times.started), times.now, value)
            })?;
            let sum = Sum { data_points, aggregation_temporality: CUMULATIVE, is_monotonic: true };
            ("", "", Data::Sum(sum))
        }
        Points::Times(points) => {
            let bounds = LATENCY_BOUNDS_NS.map(|bound| to_f64(bound) / 1e9);
            let data_points = each(points, |labels, value| HistogramDataPoint {
                attributes: attributes(labels),
                start_time_unix_nano: times.started,
                time_unix_nano: times.now,
                count: value.up_to.last().copied().unwrap_or(0),
                sum: Some(sum_s(value)),
                bucket_counts: apart(&value.up_to).collect(),
                explicit_bounds: bounds.to_vec(),
                ..HistogramDataPoint::default()
            })?;
            let histogram = Histogram { data_points, aggregation_temporality: CUMULATIVE };
            ("", "s", Data::Histogram(histogram))
        }
    };
    Some(Metric {
        name: format!("{PREFIX}_{}{suffix}", family.name),
        description: family.help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    })
}

fn each<T, P>(points: &[Point<T>], made: impl Fn(&[Label], &T) -> P) -> Option<Vec<P>> {
    let made: Vec<P> = points.iter().map(|Point { labels, value }| made(labels, value)).collect();
    (!made.is_empty()).then_some(made)
}

/// `started`: start of the count, for counters.
fn number(labels: &[Label], started: Option<u64>, now: u64, value: Number) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: started.unwrap_or_default(),
        time_unix_nano: now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn attributes(labels: &[Label]) -> Vec<KeyValue> {
    labels
        .iter()
        .map(|Label { name, value }| KeyValue {
            key: (*name).to_owned(),
            value: Some(AnyValue { value: Some(Attribute::StringValue(value.clone())) }),
            ..KeyValue::default()
        })
        .collect()
}

/// Why a collector rejected a part; absent if it accepted everything, or if its response is not OTLP.
fn rejected(response: &[u8]) -> Option<String> {
    let partial = ExportMetricsServiceResponse::decode(response).ok()?.partial_success?;
    let why = match partial.error_message {
        empty if empty.is_empty() => "it does not say why".to_owned(),
        said => said,
    };
    (partial.rejected_data_points != 0).then_some(why)
}

/// The path of metrics for an address without a path.
const METRICS_PATH: &str = "/v1/metrics";

/// The address of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpUrl {
    is_encrypted: bool,
    /// Without brackets.
    host: String,
    port: u16,
    path: String,
}

/// Why a text is not such a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpUrlError {
    /// It begins with neither `http://` nor `https://`.
    Scheme,
    /// It contains a user or a password.
    User,
    /// It has no host, or an invalid port.
    Authority,
    /// It has a character that is invalid in a request line.
    Path,
}

impl OtlpUrl {
    fn authority(&self) -> String {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl FromStr for OtlpUrl {
    type Err = OtlpUrlError;

    fn from_str(text: &str) -> Result<Self, OtlpUrlError> {
        let (is_encrypted, rest) =
            match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
                (Some(rest), _) => (false, rest),
                (None, Some(rest)) => (true, rest),
                (None, None) => return Err(OtlpUrlError::Scheme),
            };
        let path_at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        if authority.contains('@') {
            return Err(OtlpUrlError::User);
        }
        let usual = if is_encrypted { 443 } else { 80 };
        let (host, port) = match authority.rsplit_once(':') {
            // The colons belong to an address in brackets.
            Some((_, after)) if after.ends_with(']') => (authority, usual),
            Some((host, port)) => (host, port.parse().map_err(|_| OtlpUrlError::Authority)?),
            None => (authority, usual),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if host.is_empty() || !host.chars().all(is_name) || (bare.is_none() && host.contains(':')) {
            return Err(OtlpUrlError::Authority);
        }
        if !path.chars().all(|c| c.is_ascii_graphic() && c != '#') {
            return Err(OtlpUrlError::Path);
        }
        let path = if matches!(path, "" | "/") { METRICS_PATH } else { path };
        Ok(Self { is_encrypted, host: host.to_owned(), port, path: path.to_owned() })
    }
}

impl fmt::Display for OtlpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

impl fmt::Display for OtlpUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "begins with neither http:// nor https://",
            Self::User => {
                "has a user or a password, which would be seen by everyone on this machine"
            }
            Self::Authority => "has no host, or a port that is no number",
            Self::Path => "has a path with characters that no request can have",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_report::TimesTotal;
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, OtlpHeadersError>) {
        let lines = text.parse().map(|headers: OtlpHeaders| headers.lines());
        assert_eq!(lines.as_deref().map_err(|error| *error), expected, "{text}");
    }

    #[test]
    fn pairs_become_headers_and_values_are_decoded() {
        check("", Ok(""));
        check("api-key=a1", Ok("api-key: a1\r\n"));
        check("api-key=a%2C1, X-Scope = b ,", Ok("api-key: a,1\r\nX-Scope: b\r\n"));
        check("Authorization=Bearer%20a+b/c==", Ok("Authorization: Bearer a+b/c==\r\n"));
        check("Authorization=Basic YTpi", Ok("Authorization: Basic YTpi\r\n"));
        check("a=1,A=2", Ok("A: 2\r\n"));
    }

    #[test]
    fn an_invalid_header_is_rejected_by_its_number() {
        check("a=1,geheim", Err(OtlpHeadersError::Pair(2)));
        check("=geheim", Err(OtlpHeadersError::Name(1)));
        check("a b=geheim", Err(OtlpHeadersError::Name(1)));
        check("a:=geheim", Err(OtlpHeadersError::Name(1)));
        check("a=1,,Host=geheim", Err(OtlpHeadersError::Own(3, "host")));
        check("api-key=", Err(OtlpHeadersError::Empty(1)));
        check("api-key=%20", Err(OtlpHeadersError::Empty(1)));
        check("a=b%0D%0AHost: c", Err(OtlpHeadersError::Value(1)));
        check("a=%ff", Err(OtlpHeadersError::Value(1)));
        check("a=ü", Err(OtlpHeadersError::Value(1)));
        let long = format!("a={}", "1".repeat(BYTES_MAX));
        check(&long, Err(OtlpHeadersError::Long));
    }

    #[test]
    fn values_are_in_no_text_that_anybody_reads() {
        let headers: OtlpHeaders = "api-key=geheim".parse().unwrap();
        assert!(!format!("{headers:?}").contains("geheim"), "{headers:?}");
        assert_eq!(headers.cut_out_of("no geheim here"), "no *** here");
    }

    fn made(points: Points) -> Vec<Metric> {
        let instance = Instance { id: "1f".to_owned(), started: Nanos::from_secs(1) };
        let family = Family::new("x", "What", points);
        let body = request(&[family], &instance, Nanos::from_secs(2));
        let decoded = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
        decoded.resource_metrics[0].scope_metrics[0].metrics.clone()
    }

    #[test]
    fn counters_are_cumulative_sums_and_too_many_for_the_format_are_its_most() {
        for (counted, sent) in [(7, 7), (u64::MAX, i64::MAX)] {
            let labels = vec![Label::new("stream", "in\"sert")];
            let made = made(Points::Counters(vec![Point { labels, value: counted }]));
            let point = NumberDataPoint {
                attributes: attributes(&[Label::new("stream", "in\"sert")]),
                start_time_unix_nano: 1_000_000_000,
                time_unix_nano: 2_000_000_000,
                value: Some(Number::AsInt(sent)),
                ..NumberDataPoint::default()
            };
            let sum =
                Sum { data_points: vec![point], aggregation_temporality: 2, is_monotonic: true };
            assert_eq!(made[0].name, "highwater_x");
            assert_eq!(made[0].description, "What");
            assert_eq!(made[0].data, Some(Data::Sum(sum)));
        }
    }

    #[test]
    fn a_histogram_has_one_count_more_than_bounds_and_they_add_up() {
        let mut value = TimesTotal::default();
        for (place, count) in value.up_to.iter_mut().enumerate() {
            *count = if place < 5 { 3 } else { 7 };
        }
        let labels = Vec::new();
        let made = made(Points::Times(vec![Point { labels, value }]));
        let Some(Data::Histogram(histogram)) = &made[0].data else {
            panic!("{made:?}");
        };
        let point = &histogram.data_points[0];
        let counts = &point.bucket_counts;
        assert_eq!(counts.len(), point.explicit_bounds.len() + 1);
        assert_eq!((counts[0], counts[5], counts.iter().sum()), (3, 4, 7));
        assert_eq!((point.count, made[0].unit.as_str()), (7, "s"));
    }

    #[test]
    fn a_family_without_values_is_left_out() {
        assert_eq!(made(Points::Gauges(Vec::new())), []);
    }

    #[test]
    fn only_a_rejected_part_is_reported() {
        let said = |rejected_data_points, error_message: &str| {
            let partial = ExportMetricsPartialSuccess {
                rejected_data_points,
                error_message: error_message.to_owned(),
            };
            let response = ExportMetricsServiceResponse { partial_success: Some(partial) };
            rejected(&response.encode_to_vec())
        };
        assert_eq!(said(3, "too old").as_deref(), Some("too old"));
        assert_eq!(said(3, "").as_deref(), Some("it does not say why"));
        assert_eq!(said(0, "take care"), None);
        assert_eq!(rejected(b""), None);
        assert_eq!(rejected(b"{\"partialSuccess\":{}}"), None);
        assert_eq!(rejected(b"welcome"), None);
    }

    #[track_caller]
    fn check_url(text: &str, expected: Result<&str, OtlpUrlError>) {
        let parsed = text.parse::<OtlpUrl>().map(|url| url.to_string());
        assert_eq!(parsed, expected.map(str::to_owned), "{text}");
    }

    #[test]
    fn an_address_without_a_path_gets_the_usual_one() {
        let local = Ok("http://localhost:4318/v1/metrics");
        check_url("http://localhost:4318", local);
        check_url("http://localhost:4318/", local);
        check_url("http://localhost:4318/v1/metrics", local);
        check_url("http://[::1]:4318", Ok("http://[::1]:4318/v1/metrics"));
        let usual_port = Ok("https://otel.example:443/v1/metrics");
        check_url("https://otel.example", usual_port);
        check_url("http://[::1]", Ok("http://[::1]:80/v1/metrics"));
        let own = "http://prometheus:9090/api/v1/otlp/v1/metrics";
        check_url(own, Ok(own));
    }

    #[test]
    fn an_invalid_address_is_rejected() {
        check_url("localhost:4318", Err(OtlpUrlError::Scheme));
        check_url("grpc://localhost:4317", Err(OtlpUrlError::Scheme));
        check_url("http://user:secret@host", Err(OtlpUrlError::User));
        check_url("http://", Err(OtlpUrlError::Authority));
        check_url("http://host:port", Err(OtlpUrlError::Authority));
        check_url("http://::1", Err(OtlpUrlError::Authority));
        check_url("http://a b", Err(OtlpUrlError::Authority));
        check_url("http://host/a b", Err(OtlpUrlError::Path));
        check_url("http://host/a\r\nX: y", Err(OtlpUrlError::Path));
    }
}
