//! TLS according to libpq's `sslmode`, which all network URLs support: its default, connection attempts, encrypted or
//! not, in libpq's order, trusted certificates, and checks.
//!
//! A certificate listed in `sslrootcert` is trusted directly (without checking its dates), because self-signed server
//! certificates are common and often marked as authorities.
//!
//! The first bytes from an address that was expected to use another protocol are shown in the error message at the
//! first contact.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{self, CryptoProvider, WebPkiSupportedAlgorithms, ring};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::{Stream, connect_tcp, describe};
use crate::contract::{Listener, Timeline};
use crate::regular_file::{self, WRITTEN_BYTES_MAX};
use crate::system::{self, FileRights};
use crate::time_limit::ended;

/// The PEM files named by a URL or the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// `sslrootcert`: the trusted certificates; `system` means the machine's list.
    pub root: Option<String>,
    /// `sslcert`: the client certificate.
    pub certificate: Option<String>,
    /// `sslkey`: its private key.
    pub key: Option<String>,
}

impl TlsFiles {
    /// The files that `given` returns for libpq's parameter names.
    pub fn named(given: impl Fn(&str) -> Option<String>) -> Self {
        Self { root: given("sslrootcert"), certificate: given("sslcert"), key: given("sslkey") }
    }
}

/// TLS with one server; configured at the first connection, so that certificates are read once.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    mode: SslMode,
    config: OnceLock<Result<Arc<ClientConfig>, UserError>>,
}

impl Tls {
    /// Does not read any file yet.
    pub fn new(files: TlsFiles, mode: SslMode) -> Self {
        Self { files, mode, config: OnceLock::new() }
    }

    /// The requested mode.
    pub fn mode(&self) -> SslMode {
        self.mode
    }

    /// Reads the files named by the URL, so that a wrong one is reported before connecting.
    pub fn check_files(&self) -> Result<(), UserError> {
        if self.mode == SslMode::Disable || self.files == TlsFiles::default() {
            return Ok(());
        }
        config(&self.files, self.mode).map(drop)
    }

    /// A connection that is encrypted from its first byte, or not at all; `place` names the server.
    ///
    /// # Errors
    ///
    /// The server is unreachable, or the handshake failed.
    pub async fn connect(
        &self,
        place: &str,
        host: &str,
        port: u16,
        encrypted: bool,
    ) -> Result<Stream, UserError> {
        let stream = connect_tcp(place, host, port).await?;
        if !encrypted {
            return Ok(Stream::Tcp(stream));
        }
        let stream = self.handshake(place, host, stream).await?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// Performs the TLS handshake with a server that agreed to it; `place` names it in errors.
    pub async fn handshake(
        &self,
        place: &str,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, UserError> {
        let make = || config(&self.files, self.mode);
        let config = self.config.get_or_init(make).clone()?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            UserError::usage(format!("{place}: `{host}` cannot be a name in a certificate"))
        })?;
        TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
            UserError::refused(format!("{place}: TLS: {}", describe(&error)))
                .with_hint(hint(self.mode))
        })
    }
}

fn hint(mode: SslMode) -> &'static str {
    match mode {
        SslMode::VerifyFull => {
            "`?sslrootcert=FILE` names the authority to trust; `?sslmode=verify-ca` leaves the \
             name unchecked, `?sslmode=require` the certificate"
        }
        SslMode::VerifyCa => {
            "`?sslrootcert=FILE` names the authority to trust; `?sslmode=require` without it \
             leaves the certificate unchecked"
        }
        _ => "`?sslmode=disable` uses no TLS; `?sslcert=FILE&sslkey=FILE` show a certificate",
    }
}

/// The TLS client configuration for one server.
fn config(files: &TlsFiles, mode: SslMode) -> Result<Arc<ClientConfig>, UserError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(verifier(files, mode, &provider)?);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| UserError::usage(format!("TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match (&files.certificate, &files.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(certificate), Some(key)) => builder
            .with_client_auth_cert(certificates(certificate, "sslcert")?, private_key(key)?)
            .map_err(|error| wrong_file("sslcert", certificate, &error.to_string()))?,
        _ => {
            return Err(UserError::usage("one of sslcert and sslkey is missing")
                .with_hint("a client certificate needs `?sslcert=FILE&sslkey=FILE`"));
        }
    };
    Ok(Arc::new(config))
}

fn verifier(
    files: &TlsFiles,
    mode: SslMode,
    provider: &Arc<CryptoProvider>,
) -> Result<Verifier, UserError> {
    let mut verifier = Verifier {
        known: provider.signature_verification_algorithms,
        chain: None,
        pinned: Vec::new(),
        check_name: mode == SslMode::VerifyFull,
    };
    // As in libpq: a root certificate makes `require` as strict as `verify-ca`.
    let checked = match mode {
        SslMode::VerifyCa | SslMode::VerifyFull => true,
        SslMode::Require => files.root.is_some(),
        SslMode::Disable | SslMode::Allow | SslMode::Prefer => false,
    };
    if !checked {
        return Ok(verifier);
    }
    let mut roots = RootCertStore::empty();
    match files.root.as_deref() {
        Some(file) if file != "system" => {
            verifier.pinned = certificates(file, "sslrootcert")?;
            roots.add_parsable_certificates(verifier.pinned.iter().cloned());
        }
        _ => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| {
            UserError::usage(format!("TLS: no certificate to trust: {error}"))
                .with_hint("`?sslrootcert=FILE` names the authority to trust, as PEM")
        })?;
    verifier.chain = Some(chain);
    Ok(verifier)
}

fn certificates(file: &str, parameter: &str) -> Result<Vec<CertificateDer<'static>>, UserError> {
    let pem = pem_of(file, parameter)?;
    let found: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong_file(parameter, file, &error.to_string()))?;
    if found.is_empty() {
        return Err(wrong_file(parameter, file, "it holds no certificate"));
    }
    Ok(found)
}

fn private_key(file: &str) -> Result<PrivateKeyDer<'static>, UserError> {
    let about = fs::metadata(Path::new(file))
        .map_err(|error| wrong_file("sslkey", file, &error.to_string()))?;
    // libpq's rule: only the owner, or root's group if root owns it; unchecked without owners.
    let is_open = |rights: FileRights| {
        let open = if rights.owner == 0 { 0o037 } else { 0o077 };
        rights.mode & open != 0
    };
    if system::rights(&about).is_some_and(is_open) {
        return Err(wrong_file("sslkey", file, "others may read it")
            .with_hint(format!("chmod 0600 {file}")));
    }
    PrivateKeyDer::from_pem_slice(&pem_of(file, "sslkey")?)
        .map_err(|error| wrong_file("sslkey", file, &error.to_string()))
}

fn pem_of(file: &str, parameter: &str) -> Result<Vec<u8>, UserError> {
    regular_file::read(Path::new(file), WRITTEN_BYTES_MAX)
        .map_err(|error| wrong_file(parameter, file, &error.to_string()))
}

fn wrong_file(parameter: &str, file: &str, cause: &str) -> UserError {
    UserError::usage(format!("{parameter} `{file}`: {cause}"))
        .with_hint(format!("`{parameter}` names a PEM file"))
}

/// Checks the chain, the name, both, or neither; always checks the handshake's signatures.
#[derive(Debug)]
struct Verifier {
    known: WebPkiSupportedAlgorithms,
    /// Checks the chain; `None` accepts any certificate.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Directly trusted certificates.
    pinned: Vec<CertificateDer<'static>>,
    check_name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        if self.pinned.iter().any(|pinned| pinned == certificate) {
            if self.check_name {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match chain.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            // The name is checked last, after the chain was accepted.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.check_name => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, certificate, signature, &self.known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signature, &self.known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.known.supported_schemes()
    }
}

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

/// The listener of a server at this address; `None` if it is not on this machine.
pub fn local_listener(host: &str, port: u16) -> Option<Listener> {
    is_loopback(host).then_some(Listener::Port(port))
}

/// Why one attempt failed.
pub struct AttemptError {
    /// The reason.
    pub error: UserError,
    /// Whether the other kind of connection, encrypted or not, may succeed.
    pub other_kind: bool,
}

impl From<UserError> for AttemptError {
    /// An error that ends the attempts.
    fn from(error: UserError) -> Self {
        Self { error, other_kind: false }
    }
}

/// Tries the kinds of connection that the mode allows; `attempt` receives whether to encrypt.
///
/// # Errors
///
/// The first error is returned, because it is that of the preferred kind.
pub async fn by_kind<T>(
    tls: &Tls,
    place: &str,
    attempt: impl AsyncFn(bool) -> Result<T, AttemptError>,
) -> Result<T, UserError> {
    let mut first = None;
    for encrypted in tls.mode().kinds() {
        match attempt(*encrypted).await {
            Ok(opened) => return Ok(opened),
            Err(failed) => {
                let error = first.get_or_insert(failed.error);
                if !failed.other_kind {
                    return Err(error.clone());
                }
            }
        }
    }
    Err(first.unwrap_or_else(|| UserError::unreachable(format!("{place}: not tried"))))
}

/// TLS is required, and the server does not support it; `place` names the server.
pub fn no_tls(place: &str) -> UserError {
    UserError::refused(format!("{place}: the server offers no TLS"))
        .with_hint("`?sslmode=disable` uses none")
}

/// Time limit for a response.
const LIMIT: Nanos = Nanos::SECOND;
/// The first bytes of the response to a request, if they arrive in time.
pub async fn first_bytes(
    host: &str,
    port: u16,
    request: &[u8],
    timeline: &Rc<dyn Timeline>,
) -> Option<Vec<u8>> {
    let exchange = async {
        let mut stream = TcpStream::connect((host, port)).await.ok()?;
        stream.write_all(request).await.ok()?;
        let mut bytes = vec![0; 5];
        let count = stream.read(&mut bytes).await.ok()?;
        bytes.truncate(count);
        Some(bytes)
    };
    ended(timeline, LIMIT, exchange).await.flatten()
}
