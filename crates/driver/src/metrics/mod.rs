//! Telemetry from an endpoint with the Prometheus text format: any exporter, many databases.
//!
//! Each poll sends one request on a separate connection, and keeps only the mapped metrics of the response. Must not
//! interpret a value.

mod mapping;

use std::rc::Rc;
use std::sync::Arc;

use highwater_model::user_error::UserError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub use self::mapping::Mapping;

use crate::contract::{Response, Timeline};
use crate::http::basic_login;
use crate::network::{SslMode, Stream, Tls, TlsFiles, lost};
use crate::target_url::{Host, Secret, TargetUrl};
use crate::telemetry::{MetricSample, TelemetryReader};

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
        let mappings =
            if mappings.is_empty() { mapping::standard_mappings() } else { mappings.to_vec() };
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
        let samples = mapping::samples(&body, |metric| {
            self.mappings.iter().any(|mapping| mapping.metric == metric)
        })
        .ok_or_else(|| self.refused(mapping::TOO_MANY))?;
        let samples = mapping::metric_samples(&self.mappings, &samples);
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

#[cfg(test)]
mod tests {
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
    fn the_scheme_says_port_and_encryption_unless_the_url_names_a_port() {
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
    fn an_answer_without_what_is_read_says_so() {
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
}
