//! The sink's threads: each has its own listener and executor, and serves the sessions that connect to it. Their CPU
//! time is measured separately from the client's. Each protocol of the sink has its real driver. Must not interpret
//! bytes.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, thread};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use highwater_driver::contract::Driver;
use highwater_driver::sql::cratedb::CRATEDB;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::system::thread_cpu;
use highwater_driver::target_url::{Host, Secret, TargetUrl};
use highwater_driver_clickhouse::{CLICKHOUSE, ClickHouseDriver};
use highwater_driver_cratedb::CrateDbDriver;
use highwater_driver_mysql::{MYSQL, MySqlDriver};
use highwater_driver_postgres::{POSTGRESQL, PostgresDriver};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::conversation::{Conversation, FramedConnection, HttpServer, WorkloadTables};
use super::{clickhouse, cratedb, mysql, postgres};

/// Bytes of one read.
const READ_BYTES: usize = 256 * 1024;
/// Maximum number of threads; more sessions share them.
const THREADS_MAX: usize = 64;

/// Running threads, which end when it is dropped.
#[derive(Debug)]
pub(super) struct Sink {
    /// Its ports on loopback, one per thread.
    pub(super) ports: Vec<u16>,
    /// The tables of the sessions that will connect.
    pub(super) tables: Arc<WorkloadTables>,
    /// CPU time of each thread, nanoseconds.
    cpu: Vec<Arc<AtomicU64>>,
    _running: watch::Sender<()>,
}

impl Sink {
    /// Starts one thread per core of the machine.
    pub(super) fn start(protocol: Protocol) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (running, over) = watch::channel(());
        let mut sink =
            Self { ports: Vec::new(), tables: Arc::default(), cpu: Vec::new(), _running: running };
        for number in 0..cores.min(THREADS_MAX) {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            sink.ports.push(listener.local_addr()?.port());
            let cpu = Arc::default();
            sink.cpu.push(Arc::clone(&cpu));
            let (tables, over) = (Arc::clone(&sink.tables), over.clone());
            let serve = move || {
                // A sink that cannot serve refuses connections, which is sufficient.
                drop(serve(protocol, listener, &tables, &cpu, over));
            };
            thread::Builder::new().name(format!("sink-{number}")).spawn(serve)?;
        }
        Ok(sink)
    }

    /// CPU time of its threads so far.
    pub(super) fn cpu(&self) -> Nanos {
        let threads = self.cpu.iter();
        Nanos(threads.map(|cpu| cpu.load(Ordering::Relaxed)).sum())
    }
}

fn serve(
    protocol: Protocol,
    listener: TcpListener,
    tables: &Arc<WorkloadTables>,
    cpu: &Arc<AtomicU64>,
    mut over: watch::Receiver<()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            tokio::select! {
                // The sender is dropped with the sink.
                _ = over.changed() => return Ok(()),
                accepted = listener.accept() => {
                    let (stream, _) = accepted?;
                    let conversation = begin(protocol, tables);
                    // The task ends with its connection, or with the runtime.
                    drop(tokio::spawn(answer(stream, conversation, Arc::clone(cpu))));
                }
            }
        }
    })
}

fn begin(protocol: Protocol, tables: &Arc<WorkloadTables>) -> Box<dyn Conversation + Send> {
    let tables = Arc::clone(tables);
    match protocol {
        Protocol::Postgres => Box::new(FramedConnection::new(postgres::Server::new(tables))),
        Protocol::MySql => Box::new(FramedConnection::new(mysql::Server::default())),
        Protocol::Crate => Box::new(HttpServer::new(cratedb::Endpoint::default())),
        Protocol::ClickHouse => Box::new(HttpServer::new(clickhouse::Interface::new(tables))),
    }
}

async fn answer(
    mut stream: TcpStream,
    mut conversation: Box<dyn Conversation + Send>,
    cpu: Arc<AtomicU64>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = vec![0; READ_BYTES];
    let mut answer = Vec::new();
    conversation.greet(&mut answer);
    stream.write_all(&answer).await?;
    answer.clear();
    loop {
        let count = stream.read(&mut input).await?;
        let goes_on = count > 0 && conversation.take(&input[..count], &mut answer);
        stream.write_all(&answer).await?;
        answer.clear();
        cpu.store(thread_cpu().unwrap_or_default().0, Ordering::Relaxed);
        if !goes_on {
            return Ok(());
        }
    }
}

/// A protocol of the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// The PostgreSQL wire protocol, version 3.
    Postgres,
    /// The MySQL wire protocol.
    MySql,
    /// CrateDB's HTTP endpoint.
    Crate,
    /// ClickHouse's HTTP interface.
    ClickHouse,
}

impl Protocol {
    const ALL: [Self; 4] = [Self::Postgres, Self::MySql, Self::Crate, Self::ClickHouse];

    /// The protocol named by a URL.
    pub(super) fn from_url(url: &TargetUrl) -> Result<Self, UserError> {
        let names: Vec<String> =
            Self::ALL.iter().map(|protocol| format!("`null:{}`", protocol.name())).collect();
        let plain = url.hosts.is_empty() && url.user.is_none() && url.parameters.is_empty();
        Self::ALL.into_iter().find(|protocol| plain && protocol.name() == url.path).ok_or_else(
            || {
                UserError::usage(format!("target `{url}` is no sink that there is"))
                    .with_hint(format!("there are {}", names.join(", ")))
            },
        )
    }

    /// Its name, the driver of its sessions, and that driver's SQL.
    const fn parts(self) -> (&'static str, &'static dyn Driver, &'static Dialect) {
        match self {
            Self::Postgres => ("postgres", &PostgresDriver, &POSTGRESQL),
            Self::MySql => ("mysql", &MySqlDriver, &MYSQL),
            Self::Crate => ("crate", &CrateDbDriver, &CRATEDB),
            Self::ClickHouse => ("clickhouse", &ClickHouseDriver, &CLICKHOUSE),
        }
    }

    /// The name after `null:`.
    pub(super) const fn name(self) -> &'static str {
        self.parts().0
    }

    /// The driver whose sessions are measured.
    pub(super) const fn driver(self) -> &'static dyn Driver {
        self.parts().1
    }

    /// The dialect of a real server.
    pub(super) const fn dialect(self) -> &'static Dialect {
        self.parts().2
    }

    /// The URL that the real driver gets for sinks on these ports.
    pub(super) fn url(self, ports: &[u16]) -> TargetUrl {
        let hosts = ports.iter().map(|port| Host::at("127.0.0.1", *port));
        TargetUrl {
            scheme: self.name().to_owned(),
            user: Some("highwater".to_owned()),
            // The sink accepts any password, so no file is read for one.
            password: (self == Self::MySql).then(|| Secret::new("")),
            hosts: hosts.collect(),
            path: "sink".to_owned(),
            parameters: [("sslmode".to_owned(), "disable".to_owned())].into(),
        }
    }
}
