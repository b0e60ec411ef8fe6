//! From an address to an authenticated connection: TCP or socket, TLS, start-up, password.
//!
//! Secrets go to the wire and nowhere else.

use std::rc::Rc;

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::errors::{Failure, ServerError};
use super::message;
use super::options::{Address, Node};
use super::password::password;
use super::wire::Connection;
use highwater_driver::contract::{TargetError, TargetErrorKind, Timeline};
use highwater_driver::failure;
use highwater_driver::network::{
    AttemptError, SslMode, Stream, by_kind, connect_tcp, first_bytes, no_tls, unreachable,
};
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::time_limit;

/// A connection that is ready for queries.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// From the parameters that the server reported.
    pub(super) dialect: Dialect,
    /// Why the server cannot run COPY as a whole, if so.
    pub(super) copies: Result<(), &'static str>,
}

/// Connects within the login's bound.
pub(super) async fn open(node: &Node, timeline: &Rc<dyn Timeline>) -> Result<Opened, TargetError> {
    let attempt = async |encrypted| attempt(node, encrypted).await;
    let opening = by_kind(&node.tls, &node.shown, attempt);
    let bound = node.login.connect_timeout;
    time_limit::connected(timeline, bound, &node.shown, opening).await
}

/// The error of a first contact; where something else answers, it says what.
pub(super) async fn explained(
    error: TargetError,
    node: &Node,
    timeline: &Rc<dyn Timeline>,
) -> TargetError {
    let Address::Tcp(host, port) = &node.address else {
        return error;
    };
    if error.kind != TargetErrorKind::Unreachable {
        return error;
    }
    let answer = first_bytes(host, *port, b"GET / HTTP/1.0\r\n\r\n", timeline).await;
    if !answer.is_some_and(|bytes| bytes.starts_with(b"HTTP/")) {
        return error;
    }
    TargetError::unreachable(format!(
        "{}: an HTTP server answers there, not one with the PostgreSQL protocol",
        node.shown
    ))
    .with_hint("give the port of that protocol (mostly 5432); `crate://` is for CrateDB over HTTP")
}

async fn attempt(node: &Node, encrypted: bool) -> Result<Opened, AttemptError> {
    let stream = connect(node, encrypted).await?;
    let mut connection = Connection::new(stream);
    match start_up(node, &mut connection).await {
        Ok((dialect, copies)) => Ok(Opened {
            connection,
            dialect,
            copies,
        }),
        Err(StartUpError::Client(error)) => Err(error.into()),
        Err(StartUpError::Server(failure)) => {
            let other_kind = matches!(&failure, Failure::Server(error) if error.code == "28000");
            Err(AttemptError {
                error: failure.into_target_error(&node.shown),
                other_kind,
            })
        }
    }
}

async fn connect(node: &Node, encrypted: bool) -> Result<Stream, AttemptError> {
    let place = &node.shown;
    let failed = |error| AttemptError::from(unreachable(place, &error));
    let (host, port) = match &node.address {
        Address::Socket(directory, port) => {
            let path = directory.join(format!(".s.PGSQL.{port}"));
            let stream = UnixStream::connect(path).await;
            return stream.map(Stream::Unix).map_err(failed);
        }
        Address::Tcp(host, port) => (host, *port),
    };
    let mut stream = connect_tcp(place, host, port).await?;
    if !encrypted {
        return Ok(Stream::Tcp(stream));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await.map_err(failed)?;
    let answer = stream.read_u8().await.map_err(failed)?;
    match (answer, node.tls.mode()) {
        (b'S', _) => match node.tls.handshake(place, host, stream).await {
            Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
            Err(error) => Err(AttemptError {
                error,
                other_kind: true,
            }),
        },
        (b'N', SslMode::Prefer) => Ok(Stream::Tcp(stream)),
        (b'N', _) => Err(AttemptError {
            error: no_tls(place),
            other_kind: true,
        }),
        _ => Err(TargetError::unreachable(format!(
            "{place}: what answers there does not speak the PostgreSQL protocol"
        ))
        .into()),
    }
}

/// Why start-up failed.
type StartUpError = failure::LoginError<ServerError>;

/// The server's dialect, and why it cannot run COPY as a whole, if so.
type StartedServer = (Dialect, Result<(), &'static str>);

async fn start_up(node: &Node, connection: &mut Connection) -> Result<StartedServer, StartUpError> {
    let login = &node.login;
    let mut parameters = vec![
        ("user", login.user.as_str()),
        ("application_name", login.application_name.as_str()),
        ("client_encoding", "UTF8"),
        // Timestamps without a zone compare with our parameters as UTC, whatever the machine.
        ("TimeZone", "UTC"),
    ];
    let database = login.database.as_deref();
    parameters.extend(database.map(|name| ("database", name)));
    parameters.extend(login.options.as_deref().map(|options| ("options", options)));
    let mut request = BytesMut::new();
    frontend::startup_message(parameters, &mut request)?;
    connection.send(&request).await?;
    authenticate(node, connection).await?;
    let mut dialect = Dialect::PostgreSql;
    let mut version = String::new();
    let mut backend = None;
    loop {
        let message = connection.next().await?;
        match message.tag {
            b'Z' => break,
            b'E' => return Err(server_error(message.body)),
            b'K' => backend = message.body.first_chunk::<4>().copied(),
            b'S' => {
                let mut texts = message.body.split(|byte| *byte == 0);
                let mut next = || String::from_utf8_lossy(texts.next().unwrap_or_default());
                let (name, value) = (next(), next());
                if let Some(reported) = Dialect::of_parameter(&name) {
                    dialect = reported;
                    version = value.into_owned();
                }
            }
            _ => {}
        }
    }
    if let Some(backend) = backend {
        connection.set_backend(i32::from_be_bytes(backend).into(), &node.lingering);
    }
    if let (None, Some(statement)) = (database, dialect.without_database()) {
        let mut request = Vec::new();
        message::query(&mut request, statement);
        let selected = connection.request(&request, |_| {}).await;
        selected.map_err(StartUpError::Server)?;
    }
    Ok((dialect, dialect.copies(&version)))
}

fn server_error(body: &[u8]) -> StartUpError {
    StartUpError::Server(Failure::Server(ServerError::read(body)))
}

/// The request of an authentication message.
enum AuthenticationRequest {
    Nothing,
    ClearText,
    Md5([u8; 4]),
    Sasl(Vec<u8>),
    SaslContinue(Vec<u8>),
    SaslFinal(Vec<u8>),
    Other(u32),
}

fn authentication_request(body: &[u8]) -> AuthenticationRequest {
    let Some((code, rest)) = body.split_first_chunk::<4>() else {
        return AuthenticationRequest::Other(u32::MAX);
    };
    match (u32::from_be_bytes(*code), rest.first_chunk::<4>()) {
        (0, _) => AuthenticationRequest::Nothing,
        (3, _) => AuthenticationRequest::ClearText,
        (5, Some(salt)) => AuthenticationRequest::Md5(*salt),
        (10, _) => AuthenticationRequest::Sasl(rest.to_vec()),
        (11, _) => AuthenticationRequest::SaslContinue(rest.to_vec()),
        (12, _) => AuthenticationRequest::SaslFinal(rest.to_vec()),
        (code, _) => AuthenticationRequest::Other(code),
    }
}

async fn authenticate(node: &Node, connection: &mut Connection) -> Result<(), StartUpError> {
    let mut scram: Option<ScramSha256> = None;
    let mut request = BytesMut::new();
    loop {
        let message = connection.next().await?;
        let requested = match message.tag {
            b'R' => authentication_request(message.body),
            b'E' => return Err(server_error(message.body)),
            _ => continue,
        };
        request.clear();
        match (requested, &mut scram) {
            (AuthenticationRequest::Nothing, None) => return Ok(()),
            // A server that skips its proof is not the one that knows the password.
            (AuthenticationRequest::Nothing, Some(_)) => return Err(unproven(node)),
            (AuthenticationRequest::ClearText, None) => {
                frontend::password_message(password(node)?.reveal().as_bytes(), &mut request)?;
            }
            (AuthenticationRequest::Md5(salt), None) => {
                let secret = password(node)?;
                let user = node.login.user.as_bytes();
                let hash = md5_hash(user, secret.reveal().as_bytes(), salt);
                frontend::password_message(hash.as_bytes(), &mut request)?;
            }
            (AuthenticationRequest::Sasl(mechanisms), None) => {
                if !mechanisms
                    .split(|b| *b == 0)
                    .any(|name| name == SCRAM_SHA_256.as_bytes())
                {
                    return Err(unsupported(
                        node,
                        "a SASL mechanism other than SCRAM-SHA-256",
                    ));
                }
                let secret = password(node)?;
                let state =
                    ScramSha256::new(secret.reveal().as_bytes(), ChannelBinding::unsupported());
                frontend::sasl_initial_response(SCRAM_SHA_256, state.message(), &mut request)?;
                scram = Some(state);
            }
            (AuthenticationRequest::SaslContinue(data), Some(state)) => {
                state.update(&data)?;
                frontend::sasl_response(state.message(), &mut request)?;
            }
            (AuthenticationRequest::SaslFinal(data), Some(state)) => {
                state.finish(&data).map_err(|_| unproven(node))?;
                scram = None;
                continue;
            }
            (AuthenticationRequest::Other(code), _) => {
                return Err(unsupported(node, &format!("authentication method {code}")));
            }
            _ => return Err(unsupported(node, "authentication messages out of order")),
        }
        connection.send(&request).await?;
    }
}

fn unproven(node: &Node) -> StartUpError {
    let place = &node.shown;
    StartUpError::Client(TargetError::refused(format!(
        "{place}: the server did not prove that it knows the password"
    )))
}

fn unsupported(node: &Node, what: &str) -> StartUpError {
    let error = TargetError::refused(format!("{}: the server asks for {what}", node.shown))
        .with_hint("password (clear text, MD5, SCRAM-SHA-256) and trust are spoken");
    StartUpError::Client(error)
}
