//! An OS thread that owns a connection, and the two ends of the talk with it.
//!
//! One question is under way at a time, so every channel has one place and nothing is ever full.
//! Questions are moved in and their buffers come back in the answer. Dropping the executor's side
//! between questions ends the thread; dropping it while a question is under way also interrupts
//! the statement. What must not be here: what is asked, and SQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use futures_util::future::{Either, select};
use highwater_core::model::units::Nanos;
use rusqlite::{Connection, InterruptHandle};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{mpsc, oneshot};

use crate::contract::{TargetError, Timeline};

use super::target::{Database, Running};

/// The executor's side.
pub(super) struct ConnectionThread<Q, A> {
    // None once a question was abandoned.
    questions: Option<mpsc::Sender<(Q, Running)>>,
    answers: mpsc::Receiver<A>,
    database: Arc<Database>,
    abandoned: Arc<AtomicBool>,
    interrupt: InterruptHandle,
}

/// The thread's side.
pub(super) struct ConnectionWorker<Q, A> {
    opened: Option<oneshot::Sender<Result<InterruptHandle, TargetError>>>,
    questions: mpsc::Receiver<(Q, Running)>,
    answers: mpsc::Sender<A>,
    database: Arc<Database>,
    abandoned: Arc<AtomicBool>,
    charged: Nanos,
}

/// Why a question has no answer.
pub(super) enum Lost<Q> {
    /// It never reached the thread, and here it is.
    NotAsked(Q),
    /// The thread ended while it worked on it.
    Unanswered,
}

/// Opens a connection on a new thread and lets `serve` answer questions there.
///
/// `serve` must call [`ConnectionWorker::ready`] or [`ConnectionWorker::refuse`] first.
pub(super) async fn start<Q, A>(
    database: &Arc<Database>,
    name: String,
    timeline: &dyn Timeline,
    serve: impl FnOnce(&Connection, &mut ConnectionWorker<Q, A>) + Send + 'static,
) -> Result<ConnectionThread<Q, A>, TargetError>
where
    Q: Send + 'static,
    A: Send + 'static,
{
    let (question_sender, question_receiver) = mpsc::channel(1);
    let (answer_sender, answer_receiver) = mpsc::channel(1);
    let (opened_sender, opened_receiver) = oneshot::channel();
    let abandoned = Arc::new(AtomicBool::new(false));
    let mut desk = ConnectionWorker {
        opened: Some(opened_sender),
        questions: question_receiver,
        answers: answer_sender,
        database: Arc::clone(database),
        abandoned: Arc::clone(&abandoned),
        charged: Nanos::ZERO,
    };
    let work = move || match desk.database.open_connection(&desk.abandoned) {
        Ok(connection) => serve(&connection, &mut desk),
        Err(error) => desk.refuse(error),
    };
    // The handle is let go: a thread ends by itself once its channel is closed.
    drop(
        thread::Builder::new()
            .name(name)
            .spawn(work)
            .map_err(|error| {
                TargetError::unreachable(format!("cannot start a thread for a session: {error}"))
                    .with_hint("lower the number of sessions, -c")
            })?,
    );
    let deadline = timeline
        .now()
        .saturating_add(database.settings().connect_timeout);
    let interrupt = match select(opened_receiver, timeline.sleep_until(deadline)).await {
        Either::Left((Ok(opened), _)) => opened?,
        Either::Left((Err(_), _)) => {
            return Err(TargetError::unreachable(
                "a session's thread ended while it opened",
            ));
        }
        Either::Right(((), _)) => {
            return Err(TargetError::unreachable(format!(
                "`{}` was not open in time",
                database.settings().path.display()
            ))
            .with_hint("another program may hold the file"));
        }
    };
    Ok(ConnectionThread {
        questions: Some(question_sender),
        answers: answer_receiver,
        database: Arc::clone(database),
        abandoned,
        interrupt,
    })
}

impl<Q, A> ConnectionThread<Q, A> {
    /// SqlQuery and waits. Dropping the future abandons the question and the connection.
    pub(super) async fn ask(&mut self, question: Q) -> Result<A, Lost<Q>> {
        let Some(sender) = self.questions.as_ref() else {
            return Err(Lost::NotAsked(question));
        };
        let running = Database::enter(&self.database);
        if let Err(error) = sender.try_send((question, running)) {
            return Err(Lost::NotAsked(error.into_inner().0));
        }
        let mut wait = Wait {
            thread: self,
            over: false,
        };
        let answer = wait.thread.answers.recv().await;
        wait.over = true;
        answer.ok_or(Lost::Unanswered)
    }

    fn abandon(&mut self) {
        self.questions = None;
        // The flag first: it also stops what starts after the interrupt.
        self.abandoned.store(true, Ordering::Release);
        self.interrupt.interrupt();
    }
}

/// Abandons the question unless its wait is over.
struct Wait<'a, Q, A> {
    thread: &'a mut ConnectionThread<Q, A>,
    over: bool,
}

impl<Q, A> Drop for Wait<'_, Q, A> {
    fn drop(&mut self) {
        if !self.over {
            self.thread.abandon();
        }
    }
}

impl<Q, A> ConnectionWorker<Q, A> {
    /// The connection is open and prepared.
    pub(super) fn ready(&mut self, connection: &Connection) {
        self.charge();
        if let Some(opened) = self.opened.take() {
            // A caller that has gone away closes the channel of questions too.
            drop(opened.send(Ok(connection.get_interrupt_handle())));
        }
    }

    /// There will be no answers, and this is why.
    pub(super) fn refuse(&mut self, error: TargetError) {
        if let Some(opened) = self.opened.take() {
            drop(opened.send(Err(error)));
        }
    }

    /// The next question; none once nobody will ask again. The op counts as running until the
    /// second value is dropped.
    pub(super) fn next(&mut self) -> Option<(Q, Running)> {
        self.questions.blocking_recv()
    }

    /// Answers the question at hand, after its CPU time was charged.
    pub(super) fn answer(&mut self, answer: A) {
        self.charge();
        // There is a free place unless nobody listens any more.
        drop(self.answers.try_send(answer));
    }

    /// The target's shared state.
    pub(super) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Whether nobody waits for the answer to the question at hand.
    pub(super) fn abandoned(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.abandoned)
    }

    fn charge(&mut self) {
        let now = thread_cpu();
        self.database.charge_cpu(now.saturating_sub(self.charged));
        self.charged = now;
    }
}

impl<Q, A> Drop for ConnectionWorker<Q, A> {
    fn drop(&mut self) {
        self.charge();
    }
}

/// CPU time of the calling thread.
fn thread_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos::from_secs(seconds).saturating_add(Nanos(nanos))
}
