//! Opens an authenticated connection: TCP or socket, TLS, login, session settings.
//!
//! Secrets are only sent to the server.

use std::io;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::errors::{Failure, ServerError};
use super::facts::Product;
use super::handshake::{Greeting, Method, Reply, password};
use super::options::{Address, Node};
use super::wire::{Connection, HEADER, Reader};
use super::{handshake, wire};
use highwater_driver::contract::Timeline;
use highwater_driver::failure::{self, ServerMessage};
use highwater_driver::network::{
    AttemptError, SslMode, Stream, by_kind, connect_tcp, lost, no_tls, one_line, unreachable,
};
use highwater_driver::sql::connection::{TextWire, rows_of, values};
use highwater_driver::system::connect_local;
use highwater_driver::target_url::without_secrets;
use highwater_driver::time_limit;
use highwater_model::user_error::UserError;

/// Maximum bytes of a greeting.
const GREETING_MAX: usize = 4 * 1024;
/// Maximum authentication methods that a server may request in sequence.
const ROUNDS_MAX: usize = 8;
/// The session's own mode, whatever the server's: values that do not fit are rejected.
const SQL_MODE: &str = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
/// Seconds that a statement waits for a table lock.
const TABLE_LOCK_SECONDS: u32 = 50;
/// The limit if the server does not report the maximum length of a statement.
const PACKET_MAX: usize = 1024 * 1024;

/// A connection that is ready for statements.
pub(super) struct OpenConnection {
    pub(super) connection: Connection,
    pub(super) product: Product,
    /// Maximum bytes of a statement.
    pub(super) packet_max: usize,
    /// It belongs to a cluster that replicates its rows: Galera's `wsrep_on`.
    pub(super) replicates: bool,
}

/// Connects within the login's time limit.
pub(super) async fn open(
    node: &Node,
    timeline: &Rc<dyn Timeline>,
) -> Result<OpenConnection, UserError> {
    let opening = async {
        let attempt = async |encrypted| attempt(node, encrypted).await;
        let connection = by_kind(&node.tls, &node.shown, attempt).await?;
        settle(node, connection).await
    };
    let bound = node.login.connect_timeout;
    time_limit::connected(timeline, bound, &node.shown, opening).await
}

async fn attempt(node: &Node, encrypted: bool) -> Result<Connection, AttemptError> {
    let place = &node.shown;
    let (greeting, stream) = match &node.address {
        Address::Socket(path) => {
            let stream = connect_local(path).await;
            let mut stream = stream.map_err(|error| unreachable(place, &error))?;
            (greeting(node, &mut stream).await?, Stream::Unix(stream))
        }
        Address::Tcp(host, port) => {
            let mut stream = connect_tcp(place, host, *port).await?;
            let greeting = greeting(node, &mut stream).await?;
            let stream = encrypt(node, host, &greeting, encrypted, stream).await?;
            (greeting, stream)
        }
    };
    let mut connection = Connection::new(stream);
    connection.stream.set_backend(greeting.connection.into(), &node.lingering);
    match log_in(node, &greeting, &mut connection).await {
        Ok(()) => Ok(connection),
        Err(LoginError::Client(error)) => Err(error.into()),
        Err(LoginError::Server(failure)) => {
            // `allow` tries without TLS first; some accounts and servers require it.
            let wants_tls =
                matches!(&failure, Failure::Server(error) if [1045, 3159].contains(&error.code));
            Err(AttemptError {
                error: failure.into_target_error(place),
                other_kind: wants_tls && node.tls.mode() == SslMode::Allow,
            })
        }
    }
}

/// Reads exactly the greeting, so that TLS can begin after it.
async fn greeting(
    node: &Node,
    stream: &mut (impl AsyncReadExt + Unpin),
) -> Result<Greeting, UserError> {
    let place = &node.shown;
    let lost = |error: io::Error| lost(place, &error);
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).await.map_err(lost)?;
    let [a, b, c, sequence] = header;
    let length = wire::length(a, b, c);
    let other = || {
        UserError::unreachable(format!(
            "{place}: what answers there does not speak the MySQL protocol"
        ))
        .with_hint("give the port of that protocol (mostly 3306)")
    };
    if length > GREETING_MAX {
        return Err(other());
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await.map_err(lost)?;
    if payload.first() == Some(&0xff) {
        return Err(ServerError::read(sequence, &payload).into_target_error(place));
    }
    Greeting::read(&payload).ok_or_else(other)
}

async fn encrypt(
    node: &Node,
    host: &str,
    greeting: &Greeting,
    encrypted: bool,
    mut stream: TcpStream,
) -> Result<Stream, AttemptError> {
    let place = &node.shown;
    if !encrypted || (!greeting.has_tls() && node.tls.mode() == SslMode::Prefer) {
        return Ok(Stream::Tcp(stream));
    }
    if !greeting.has_tls() {
        return Err(no_tls(place).into());
    }
    let mut request = Vec::new();
    greeting.request_tls(&mut request);
    let sent = stream.write_all(&request).await;
    sent.map_err(|error| lost(place, &error))?;
    match node.tls.handshake(place, host, stream).await {
        Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
        Err(error) => Err(AttemptError { error, other_kind: true }),
    }
}

/// Why a login failed.
type LoginError = failure::LoginError<ServerError>;

/// Replies to the greeting, and to the methods that the server then requests.
async fn log_in(
    node: &Node,
    greeting: &Greeting,
    connection: &mut Connection,
) -> Result<(), LoginError> {
    let login = &node.login;
    let secret = password(node)?;
    let secret = secret.as_ref().map_or("", |secret| secret.reveal());
    // The first reply never contains the password itself: the server has not named the account's method yet.
    let mut method =
        greeting.method.filter(|method| *method != Method::Clear).unwrap_or(Method::Native);
    let answer = method.answer(secret, &greeting.nonce);
    let mut out = Vec::new();
    greeting.reply(
        &mut out,
        connection.is_encrypted(),
        &Reply {
            user: &login.user,
            answer: &answer,
            database: &login.database,
            method,
            application_name: &login.application_name,
        },
    );
    connection.stream.send(&out).await?;
    for _ in 0..ROUNDS_MAX {
        let is_private = connection.is_private();
        let message = connection.next().await?;
        let sequence = message.sequence.wrapping_add(1);
        let answer = match message.payload {
            [0x00, ..] => return Ok(()),
            [0xff, ..] => {
                let failure = ServerError::failure(message.sequence, message.payload);
                return Err(LoginError::Server(failure));
            }
            [0xfe, request @ ..] => {
                let mut reader = Reader(request);
                let name = reader.zero_ended();
                method = Method::from_name(name).ok_or_else(|| unspoken(node, name))?;
                if method == Method::Clear && !is_private {
                    return Err(not_private(node).into());
                }
                let nonce = reader.0.strip_suffix(&[0]).unwrap_or(reader.0);
                method.answer(secret, nonce)
            }
            // The server has the account's password cached.
            [0x01, 0x03] if method == Method::CachingSha2 => continue,
            [0x01, 0x04] if method == Method::CachingSha2 && is_private => handshake::clear(secret),
            [0x01, 0x04] if method == Method::CachingSha2 => return Err(not_private(node).into()),
            _ => return Err(unspoken(node, b"messages that are not known").into()),
        };
        out.clear();
        let at = wire::start(&mut out, sequence);
        out.extend_from_slice(&answer);
        wire::finish(&mut out, at);
        connection.stream.send(&out).await?;
    }
    Err(unspoken(node, b"one method after the other").into())
}

fn unspoken(node: &Node, what: &[u8]) -> UserError {
    let what = without_secrets(one_line(&String::from_utf8_lossy(what)));
    UserError::refused(format!("{}: the server requires {what}", node.shown)).with_hint(
        "mysql_native_password, client_ed25519, caching_sha2_password and, over TLS, \
         mysql_clear_password are spoken",
    )
}

fn not_private(node: &Node) -> UserError {
    UserError::refused(format!(
        "{}: the server requires the password itself, and the connection is not encrypted",
        node.shown
    ))
    .with_hint("`?sslmode=require` uses TLS")
}

/// The initial statements of every session.
async fn settle(node: &Node, mut connection: Connection) -> Result<OpenConnection, UserError> {
    let sql = "SELECT version(), @@version_comment, @@max_allowed_packet";
    let rows = rows_of(&mut connection, &node.shown, sql).await?;
    let [version, comment, packet_max] = values(rows.into_iter().flatten());
    let product = Product::from_version(&version, &comment);
    let mut set = format!(
        "SET NAMES utf8mb4, sql_mode = '{SQL_MODE}', time_zone = '+00:00', autocommit = 1, \
                 sql_select_limit = 18446744073709551615"
    );
    if product.has_table_lock_timeout() {
        set.push_str(&format!(", lock_wait_timeout = {TABLE_LOCK_SECONDS}"));
    }
    rows_of(&mut connection, &node.shown, &set).await?;
    let replicates = product.may_replicate() && {
        let sql = "SHOW VARIABLES LIKE 'wsrep_on'";
        let rows = rows_of(&mut connection, &node.shown, sql).await?;
        rows.into_iter().flatten().flatten().any(|text| text == "ON")
    };
    Ok(OpenConnection {
        replicates,
        connection,
        product,
        packet_max: packet_max.parse().unwrap_or(PACKET_MAX),
    })
}
