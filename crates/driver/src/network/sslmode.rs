//! libpq's `sslmode`, which all network URLs support, and its default.
//!
//! Must not handle certificates; see `tls`.

use std::net::IpAddr;

use highwater_model::user_error::UserError;

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// Never TLS.
    Disable,
    /// TLS only if the server rejects plain connections.
    Allow,
    /// TLS if the server supports it, without checks.
    Prefer,
    /// TLS; the certificate is checked only if `sslrootcert` is given.
    Require,
    /// TLS, and the certificate's chain is checked.
    VerifyCa,
    /// TLS, and the certificate's chain and name are checked.
    VerifyFull,
}

impl SslMode {
    /// Parses libpq's value.
    pub fn parse(text: &str) -> Result<Self, UserError> {
        Ok(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(UserError::usage(format!("`sslmode={text}` is not known")).with_hint(
                    "sslmode is one of disable, allow, prefer, require, verify-ca, verify-full",
                ));
            }
        })
    }

    /// The default: `prefer` on loopback, `verify-full` elsewhere.
    pub fn default_for(host: &str) -> Self {
        if is_loopback(host) { Self::Prefer } else { Self::VerifyFull }
    }

    /// The kinds of connection to try, encrypted or not, in libpq's order.
    pub fn kinds(self) -> &'static [bool] {
        match self {
            Self::Disable => &[false],
            Self::Allow => &[false, true],
            Self::Prefer => &[true, false],
            Self::Require | Self::VerifyCa | Self::VerifyFull => &[true],
        }
    }
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
