//! The URL of a collector. Must not connect.

use std::fmt;
use std::str::FromStr;

/// The path of metrics for an address without a path.
const METRICS_PATH: &str = "/v1/metrics";

/// The address of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpUrl {
    pub(super) is_encrypted: bool,
    /// Without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
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
    pub(super) fn authority(&self) -> String {
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

    #[track_caller]
    fn check(text: &str, expected: Result<&str, OtlpUrlError>) {
        let parsed = text.parse::<OtlpUrl>().map(|url| url.to_string());
        assert_eq!(parsed, expected.map(str::to_owned), "{text}");
    }

    #[test]
    fn an_address_without_a_path_gets_the_usual_one() {
        let local = Ok("http://localhost:4318/v1/metrics");
        check("http://localhost:4318", local);
        check("http://localhost:4318/", local);
        check("http://localhost:4318/v1/metrics", local);
        check("http://[::1]:4318", Ok("http://[::1]:4318/v1/metrics"));
        let usual_port = Ok("https://otel.example:443/v1/metrics");
        check("https://otel.example", usual_port);
        check("http://[::1]", Ok("http://[::1]:80/v1/metrics"));
        let own = "http://prometheus:9090/api/v1/otlp/v1/metrics";
        check(own, Ok(own));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        check("localhost:4318", Err(OtlpUrlError::Scheme));
        check("grpc://localhost:4317", Err(OtlpUrlError::Scheme));
        check("http://user:secret@host", Err(OtlpUrlError::User));
        check("http://", Err(OtlpUrlError::Authority));
        check("http://host:port", Err(OtlpUrlError::Authority));
        check("http://::1", Err(OtlpUrlError::Authority));
        check("http://a b", Err(OtlpUrlError::Authority));
        check("http://host/a b", Err(OtlpUrlError::Path));
        check("http://host/a\r\nX: y", Err(OtlpUrlError::Path));
    }
}
