//! Headers of each push, such as credentials for a collector. Must not read the environment.
//!
//! The format is that of OpenTelemetry's variables for exporters: `name=value,name=value`, as in the W3C header
//! `baggage` without properties; values are percent-encoded.

use std::fmt;
use std::str::FromStr;

use highwater_driver::Secret;
use percent_encoding::percent_decode_str;

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
    pub(super) fn lines(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}: {}\r\n", value.reveal())).collect()
    }

    /// Text of another program, with the values removed.
    pub(super) fn cut_out_of(&self, text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_is_no_header_is_refused_by_its_number() {
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
}
