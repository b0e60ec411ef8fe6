//! Opens a connection that is ready for queries: TCP or socket, TLS, start-up. Runs a statement in the text protocol,
//! and reads its rows. Must not choose among hosts.

use std::io;
use std::rc::Rc;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use highwater_driver::contract::Timeline;
use highwater_driver::network::{
    AttemptError, SslMode, Stream, by_kind, connect_tcp, first_bytes, no_tls, unreachable,
};
use highwater_driver::sql::connection::{Row, TextWire};
use highwater_driver::system::connect_local;
use highwater_driver::time_limit;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::authenticate::authenticate;
use super::errors::{Failure, ServerError, StartUpError, server_error};
use super::facts::ReportedRole;
use super::options::{Address, Node, socket_path};
use super::wire;
use super::wire::Connection;
use crate::product::Product;

/// A connection that is ready for queries.
pub(super) struct OpenConnection {
    pub(super) connection: Connection,
    /// Determined from the parameters that the server reported.
    pub(super) product: Product,
    /// Why the server cannot run COPY atomically, if so.
    pub(super) copies: Result<(), &'static str>,
    /// The role that the server reported; see `role`.
    pub(super) reported: ReportedRole,
    /// Whether there is a pooler, so that the next statement may use another server connection.
    pub(super) pooled: bool,
}

/// Connects within the login's time limit.
pub(super) async fn open(
    node: &Node,
    timeline: &Rc<dyn Timeline>,
) -> Result<OpenConnection, UserError> {
    let attempt = async |encrypted| attempt(node, encrypted).await;
    let opening = by_kind(&node.tls, &node.shown, attempt);
    let bound = node.login.connect_timeout;
    time_limit::connected(timeline, bound, &node.shown, opening).await
}

/// The error of a first contact; if another protocol answers, it names it.
pub(super) async fn explained(
    error: UserError,
    node: &Node,
    timeline: &Rc<dyn Timeline>,
) -> UserError {
    let request = b"GET / HTTP/1.0\r\n\r\n";
    if error.kind == UserErrorKind::Unreachable
        && let Address::Tcp(host, port) = &node.address
        && let Some(answer) = first_bytes(host, *port, request, timeline).await
        && answer.starts_with(b"HTTP/")
    {
        let place = &node.shown;
        let cause = "an HTTP server answers there, not one with the PostgreSQL protocol";
        return UserError::unreachable(format!("{place}: {cause}")).with_hint(
            "give the port of that protocol (mostly 5432); `crate://` is for CrateDB over HTTP",
        );
    }
    error
}

async fn attempt(node: &Node, encrypted: bool) -> Result<OpenConnection, AttemptError> {
    let stream = connect(node, encrypted).await?;
    let started = start_up(node, Connection::new(stream)).await;
    started.map_err(|error| match error {
        StartUpError::Client(error) => error.into(),
        StartUpError::Server(failure) => AttemptError {
            other_kind: matches!(&failure, Failure::Server(error) if error.code == "28000"),
            error: failure.into_target_error(&node.shown),
        },
    })
}

async fn connect(node: &Node, encrypted: bool) -> Result<Stream, AttemptError> {
    let place = &node.shown;
    let failed = |error| AttemptError::from(unreachable(place, &error));
    let other_may_do = |error| AttemptError { error, other_kind: true };
    let (host, port) = match &node.address {
        Address::Socket(directory, port) => {
            let stream = connect_local(&socket_path(directory, *port)).await;
            return stream.map(Stream::Unix).map_err(failed);
        }
        Address::Tcp(host, port) => (host, *port),
    };
    let ip = node.host_address.map(|address| address.to_string());
    let mut stream = connect_tcp(place, ip.as_deref().unwrap_or(host), port).await?;
    node.login.tcp.apply(&stream).map_err(failed)?;
    if !encrypted {
        return Ok(Stream::Tcp(stream));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await.map_err(failed)?;
    let answer = stream.read_u8().await.map_err(failed)?;
    match (answer, node.tls.mode()) {
        (b'S', _) => {
            let secured = node.tls.handshake(place, host, stream).await;
            secured.map(|stream| Stream::Tls(Box::new(stream))).map_err(other_may_do)
        }
        (b'N', SslMode::Prefer) => Ok(Stream::Tcp(stream)),
        (b'N', _) => Err(other_may_do(no_tls(place))),
        _ => Err(UserError::unreachable(format!(
            "{place}: what answers there does not speak the PostgreSQL protocol"
        ))
        .into()),
    }
}

async fn start_up(node: &Node, mut connection: Connection) -> Result<OpenConnection, StartUpError> {
    let login = &node.login;
    let mut parameters = vec![
        ("user", login.user.as_str()),
        ("application_name", login.application_name.as_str()),
        ("client_encoding", "UTF8"),
        // Timestamps without a zone are compared with UTC parameters on any machine.
        ("TimeZone", "UTC"),
    ];
    let database = login.database.as_deref();
    parameters.extend(database.map(|name| ("database", name)));
    parameters.extend(login.options.as_deref().map(|options| ("options", options)));
    parameters.extend(login.geqo.as_deref().map(|value| ("geqo", value)));
    let mut request = BytesMut::new();
    frontend::startup_message(parameters, &mut request)?;
    connection.send(&request).await?;
    authenticate(node, &mut connection).await?;
    let mut product = Product::PostgreSql;
    let mut version = String::new();
    let mut backend = None;
    let mut reported = ReportedRole::default();
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
                reported.take(&name, &value);
                if let Some(reported) = Product::of_parameter(&name, &value) {
                    product = reported;
                    version = value.into_owned();
                }
            }
            _ => {}
        }
    }
    let backend = backend.map(|backend| i64::from(i32::from_be_bytes(backend)));
    let pooled =
        product == Product::PostgreSql && is_pooled(node, &mut connection, backend).await?;
    if let Some(backend) = backend.filter(|_| !pooled) {
        connection.set_backend(backend, &node.lingering);
    }
    let unnamed = database.is_none();
    let selecting = product.without_database().filter(|_| unnamed);
    for statement in selecting.into_iter().chain(product.at_start()) {
        let mut request = Vec::new();
        wire::query(&mut request, statement);
        let answered = connection.request(&request, |_| Ok(())).await;
        answered.map_err(StartUpError::Server)?;
    }
    Ok(OpenConnection { connection, product, copies: product.copies(&version), reported, pooled })
}

/// Whether the responding process differs from the one that accepted the login, which indicates a pooler. A pooler with
/// one server connection per client looks the same, and is then only treated as slower. A server that reports no
/// process id, or 0 as compatible servers do, cannot be checked, and counts as direct.
async fn is_pooled(
    node: &Node,
    connection: &mut Connection,
    backend: Option<i64>,
) -> Result<bool, StartUpError> {
    if let Some(known) = node.pooled.get() {
        return Ok(*known);
    }
    let Some(backend) = backend.filter(|process| *process != 0) else {
        return Ok(false);
    };
    let mut answering = None;
    let mut take = |row: Vec<Option<String>>| {
        let value = row.into_iter().flatten().next();
        answering = value.and_then(|value| value.parse::<i64>().ok());
        Ok(())
    };
    let answered = connection.each_row("SELECT pg_catalog.pg_backend_pid()", &mut take).await;
    match answered {
        // A compatible server without this function.
        Ok(()) | Err(Failure::Server(ServerError { fatal: false, .. })) => {}
        Err(failure) => return Err(StartUpError::Server(failure)),
    }
    let pooled = answering.is_some_and(|answering| answering != backend);
    Ok(*node.pooled.get_or_init(|| pooled))
}

impl TextWire for Connection {
    type Error = ServerError;

    async fn each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut request = Vec::new();
        wire::query(&mut request, sql);
        let exchanged = self.request(&request, |message| match message.tag {
            b'D' => take(row(message.body)),
            _ => Ok(()),
        });
        exchanged.await
    }

    fn is_encrypted(&self) -> bool {
        self.is_encrypted()
    }
}

/// The values of a data row in text format; truncated ones stay null.
fn row(body: &[u8]) -> Row {
    let Some((count, mut rest)) = body.split_first_chunk::<2>() else {
        return Vec::new();
    };
    (0..u16::from_be_bytes(*count))
        .map(|_| {
            let (length, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            let (value, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(String::from_utf8_lossy(value).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_rows_are_read_and_short_ones_do_no_harm() {
        let body = [
            &3u16.to_be_bytes()[..],
            &1i32.to_be_bytes(),
            b"7",
            &(-1i32).to_be_bytes(),
            &9i32.to_be_bytes(),
            b"ab",
        ]
        .concat();
        assert_eq!(row(&body), vec![Some("7".to_owned()), None, None]);
        assert_eq!(row(&[0]), Vec::<Option<String>>::new());
    }
}
