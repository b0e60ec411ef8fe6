//! A worker thread that owns a connection, and the channel ends used to talk to it.
//!
//! Only one request is in flight at a time, so every channel has capacity 1 and never fills up. Requests are moved in,
//! and their buffers return with the response. Dropping the executor's side between requests ends the thread; dropping
//! it during a request also interrupts the statement. Must not know the requests, or any SQL.
//!
//! A session is the executor's end of a connection on its own thread. The lock for the single writer is fair: threads
//! acquire it in order of arrival. With a plain mutex, a thread that has just written can overtake waiting ones, and
//! SQLite's own busy handler sleeps in growing steps. Both would appear as latency that the database did not cause.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use futures_util::future::{Either, select};
use rusqlite::{Connection, InterruptHandle};
use tokio::sync::{mpsc, oneshot};

use highwater_driver::contract::{BoxFuture, Connect, Encoder, Request, Session, Timeline};
use highwater_driver::failure::{closed, gone};
use highwater_driver::system::thread_cpu;
use highwater_driver::time_limit::UnderWay;
use highwater_model::op::BoundWorkload;
use highwater_model::outcome::Outcome;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::database::{Database, Running};
use super::statements::Statements;

/// The executor's end.
pub(super) struct ConnectionThread<Q, R> {
    // None once a request was abandoned.
    requests: Option<mpsc::Sender<(Q, Running)>>,
    responses: mpsc::Receiver<R>,
    database: Arc<Database>,
    abandoned: Arc<AtomicBool>,
    interrupt: InterruptHandle,
}

/// The worker's end.
pub(super) struct ConnectionWorker<Q, R> {
    opened: Option<oneshot::Sender<Result<InterruptHandle, UserError>>>,
    requests: mpsc::Receiver<(Q, Running)>,
    responses: mpsc::Sender<R>,
    /// The target's shared state.
    pub(super) database: Arc<Database>,
    /// Set when the current request was abandoned.
    pub(super) abandoned: Arc<AtomicBool>,
    charged: Nanos,
}

/// Why a request has no response.
pub(super) enum RequestError<Q> {
    /// The request was never sent; returned.
    NotSent(Q),
    /// The thread ended while it worked on the request.
    NoResponse,
}

/// Opens a connection on a new thread and runs `serve` there.
///
/// `serve` must call [`ConnectionWorker::ready`] or [`ConnectionWorker::refuse`] first.
pub(super) async fn start<Q, R>(
    database: &Arc<Database>,
    name: String,
    timeline: &dyn Timeline,
    serve: impl FnOnce(&Connection, &mut ConnectionWorker<Q, R>) + Send + 'static,
) -> Result<ConnectionThread<Q, R>, UserError>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    let (request_sender, request_receiver) = mpsc::channel(1);
    let (response_sender, response_receiver) = mpsc::channel(1);
    let (opened_sender, opened_receiver) = oneshot::channel();
    let abandoned = Arc::new(AtomicBool::new(false));
    let mut worker = ConnectionWorker {
        opened: Some(opened_sender),
        requests: request_receiver,
        responses: response_sender,
        database: Arc::clone(database),
        abandoned: Arc::clone(&abandoned),
        charged: Nanos::ZERO,
    };
    let work = move || match worker.database.open_connection(&worker.abandoned) {
        Ok(connection) => serve(&connection, &mut worker),
        Err(error) => worker.refuse(error),
    };
    // The thread is not joined: it ends once its channel is closed.
    let started = thread::Builder::new().name(name).spawn(work);
    drop(started.map_err(|error| {
        UserError::unreachable(format!("cannot start a thread for a session: {error}"))
            .with_hint("lower the number of sessions, -c")
    })?);
    let settings = &database.settings;
    let deadline = timeline.now().saturating_add(settings.connect_timeout);
    let interrupt = match select(opened_receiver, timeline.sleep_until(deadline)).await {
        Either::Left((Ok(opened), _)) => opened?,
        Either::Left((Err(_), _)) => {
            return Err(UserError::unreachable("a session's thread ended while it opened"));
        }
        Either::Right(((), _)) => {
            return Err(UserError::unreachable(format!(
                "`{}` was not open in time",
                settings.path.display()
            ))
            .with_hint("another program may hold the file"));
        }
    };
    Ok(ConnectionThread {
        requests: Some(request_sender),
        responses: response_receiver,
        database: Arc::clone(database),
        abandoned,
        interrupt,
    })
}

impl<Q, R> ConnectionThread<Q, R> {
    /// Sends a request and waits for the response. Dropping the future abandons the request and the
    /// connection.
    pub(super) async fn request(&mut self, request: Q) -> Result<R, RequestError<Q>> {
        let Some(sender) = self.requests.as_ref() else {
            return Err(RequestError::NotSent(request));
        };
        let running = Database::enter(&self.database);
        if let Err(error) = sender.try_send((request, running)) {
            return Err(RequestError::NotSent(error.into_inner().0));
        }
        let under_way = UnderWay::new(|| {
            self.requests = None;
            // Set the flag first: it also stops a statement that starts after the interrupt.
            self.abandoned.store(true, Ordering::Release);
            self.interrupt.interrupt();
        });
        let response = self.responses.recv().await;
        under_way.ended();
        response.ok_or(RequestError::NoResponse)
    }
}

impl<Q, R> ConnectionWorker<Q, R> {
    /// The connection is open and prepared.
    pub(super) fn ready(&mut self, connection: &Connection) {
        self.charge();
        if let Some(opened) = self.opened.take() {
            // If the caller was dropped, the channel of requests is closed too.
            drop(opened.send(Ok(connection.get_interrupt_handle())));
        }
    }

    /// The connection is unusable; `error` is the reason.
    fn refuse(&mut self, error: UserError) {
        if let Some(opened) = self.opened.take() {
            drop(opened.send(Err(error)));
        }
    }

    /// Waits for the next request; `None` once the executor's end is dropped. The op counts as running until the second
    /// value is dropped.
    pub(super) fn next(&mut self) -> Option<(Q, Running)> {
        self.requests.blocking_recv()
    }

    /// Responds to the current request, after charging its CPU time.
    pub(super) fn respond(&mut self, response: R) {
        self.charge();
        // The channel is empty, or its receiver was dropped.
        drop(self.responses.try_send(response));
    }

    fn charge(&mut self) {
        let now = thread_cpu().unwrap_or_default();
        self.database.charge_cpu(now.saturating_sub(self.charged));
        self.charged = now;
    }
}

impl<Q, R> Drop for ConnectionWorker<Q, R> {
    fn drop(&mut self) {
        self.charge();
    }
}

type Response = (Request, Outcome);

/// One connection, prepared for a workload.
pub(super) struct SqliteSession {
    thread: ConnectionThread<Request, Response>,
}

impl SqliteSession {
    /// Opens the file and prepares the workload's statements.
    pub(super) async fn open(
        database: &Arc<Database>,
        connect: Connect,
    ) -> Result<Self, UserError> {
        let workload = connect.workload;
        let name = format!("sqlite-{}", connect.number);
        let serve = move |connection: &Connection,
                          worker: &mut ConnectionWorker<Request, Response>| {
            serve_requests(connection, worker, &workload);
        };
        let thread = start(database, name, connect.timeline.as_ref(), serve).await?;
        Ok(Self { thread })
    }
}

fn serve_requests(
    connection: &Connection,
    worker: &mut ConnectionWorker<Request, Response>,
    workload: &BoundWorkload,
) {
    let (database, abandoned) = (Arc::clone(&worker.database), Arc::clone(&worker.abandoned));
    let prepared = Statements::prepare(connection, workload, &database, abandoned);
    let mut statements = match prepared {
        Ok(statements) => statements,
        Err(error) => return worker.refuse(error),
    };
    worker.ready(connection);
    while let Some((request, running)) = worker.next() {
        let outcome = statements.execute(&request.op);
        drop(running);
        worker.respond((request, outcome));
    }
}

impl Session for SqliteSession {
    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(NoWire)
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let sent = std::mem::replace(request, Request::empty());
            match self.thread.request(sent).await {
                Ok((returned, outcome)) => {
                    *request = returned;
                    outcome
                }
                Err(RequestError::NotSent(unsent)) => {
                    *request = unsent;
                    closed(&request.op)
                }
                Err(RequestError::NoResponse) => {
                    Outcome::unknown(gone("the session's thread ended before it answered"))
                }
            }
        })
    }
}

/// No wire form is needed: rows are bound from the op itself.
struct NoWire;

impl Encoder for NoWire {
    fn encode(&mut self, request: &mut Request) {
        request.bytes.clear();
    }
}

/// Blocks its thread, so it is only for the database's own threads.
#[derive(Debug, Default)]
pub(super) struct FairWriterLock {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    locked: bool,
    // At most one entry per thread of the target.
    waiting: VecDeque<Arc<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    called: AtomicBool,
    thread: Thread,
}

/// The right to write, until it is dropped.
#[derive(Debug)]
pub(super) struct WriterGuard<'a>(&'a FairWriterLock);

impl FairWriterLock {
    /// Number of threads that wait now.
    pub(super) fn waiting(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Waits until this thread may write.
    pub(super) fn acquire(&self) -> WriterGuard<'_> {
        let waiter = {
            let mut queue = self.queue();
            if !queue.locked {
                queue.locked = true;
                return WriterGuard(self);
            }
            let waiter =
                Arc::new(Waiter { called: AtomicBool::new(false), thread: thread::current() });
            queue.waiting.push_back(Arc::clone(&waiter));
            waiter
        };
        while !waiter.called.load(Ordering::Acquire) {
            thread::park();
        }
        WriterGuard(self)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent at every point where a thread can panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WriterGuard<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        match queue.waiting.pop_front() {
            // Passed on without unlocking in between, so that no other thread can overtake.
            Some(next) => {
                next.called.store(true, Ordering::Release);
                next.thread.unpark();
            }
            None => queue.locked = false,
        }
    }
}
