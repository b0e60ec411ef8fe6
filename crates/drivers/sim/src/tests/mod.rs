//! The model against theory, and the driver against its contract.
//!
//! This file has a timeline without a clock, and the smallest workload with every kind of op.

mod conformance;
mod contract;
mod faults;
mod model;
mod naive;
mod parameters;
mod queueing_theory;
mod random;
mod store;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use highwater_model::op::{
    BoundOp, BoundOpKind, BoundTable, BoundWorkload, Op, OpBody, OpId, RowBatch,
};
use highwater_model::units::{Nanos, Seed};

use super::{SimParameters, SimTarget};
use highwater_driver::contract::{Admin, BoxFuture, Connect, Request, Session, Target, Timeline};
use highwater_driver::table_registry::TablePolicy;
use highwater_driver::target_url::TargetUrl;
use highwater_model::user_error::UserError;

/// Time that does not advance while any task can run, then jumps to the next deadline.
#[derive(Default)]
struct VirtualTime {
    now: Cell<Nanos>,
    asleep: RefCell<BinaryHeap<Reverse<(Nanos, u64)>>>,
    wakers: RefCell<HashMap<u64, Waker>>,
    sleeps: Cell<u64>,
}

/// A shared [`VirtualTime`].
#[derive(Clone, Default)]
struct Clock(Rc<VirtualTime>);

impl Timeline for Clock {
    fn now(&self) -> Nanos {
        self.0.now.get()
    }

    fn sleep_until(&self, deadline: Nanos) -> BoxFuture<'static, ()> {
        let time = Rc::clone(&self.0);
        let number = time.sleeps.replace(time.sleeps.get() + 1);
        time.asleep.borrow_mut().push(Reverse((deadline, number)));
        Box::pin(poll_fn(move |context: &mut Context<'_>| {
            if time.now.get() >= deadline {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            time.wakers.borrow_mut().insert(number, waker);
            Poll::Pending
        }))
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Clock {
    fn timeline(&self) -> Rc<dyn Timeline> {
        Rc::new(self.clone())
    }

    /// Runs all tasks to their end.
    fn run<'a>(&self, tasks: Vec<BoxFuture<'a, ()>>) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut tasks: FuturesUnordered<BoxFuture<'a, ()>> = tasks.into_iter().collect();
        loop {
            while woken.0.swap(false, Ordering::Relaxed) {
                while let Poll::Ready(ended) = tasks.poll_next_unpin(&mut context) {
                    if ended.is_none() {
                        return;
                    }
                }
            }
            let Reverse((deadline, number)) =
                self.0.asleep.borrow_mut().pop().expect("a task waits for nothing");
            self.0.now.set(self.0.now.get().max(deadline));
            if let Some(waker) = self.0.wakers.borrow_mut().remove(&number) {
                waker.wake();
            }
        }
    }

    /// Runs one future to its end.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let slot = RefCell::new(None);
        self.run(vec![Box::pin(async {
            *slot.borrow_mut() = Some(future.await);
        })]);
        slot.into_inner().expect("ran to its end")
    }
}

const INSERT: u16 = 0;
const QUERY: u16 = 1;
const OTHER_INSERT: u16 = 2;

/// Two tables, an insert into each, and a query.
fn workload() -> BoundWorkload {
    let table = |name: &str| BoundTable {
        name: name.to_owned(),
        columns: Vec::new(),
        create: Vec::new(),
        key: String::new(),
        locate: None,
        replaces: false,
        slice: None,
    };
    let op = |name: &str, kind| BoundOp { name: name.to_owned(), kind };
    BoundWorkload {
        tables: vec![table("readings"), table("events")],
        ops: vec![
            op("insert", BoundOpKind::Insert { table: 0, batch: 1 }),
            op("query", BoundOpKind::Query { sql: String::new(), parameters: Vec::new() }),
            op("other", BoundOpKind::Insert { table: 1, batch: 1 }),
        ],
        rows: None,
    }
}

fn insert(index: u64, first_row: u64, rows: usize) -> Request {
    request(INSERT, index, OpBody::Insert(RowBatch { first_row, rows, columns: Vec::new() }))
}

fn query(index: u64) -> Request {
    request(QUERY, index, OpBody::Query(Vec::new()))
}

fn request(op: u16, index: u64, body: OpBody) -> Request {
    let op = Op { id: OpId(op), index, body };
    Request { op, bytes: Vec::new() }
}

fn parse(query: &str) -> Result<SimParameters, UserError> {
    SimParameters::parse(&TargetUrl::parse(&format!("sim:?{query}"))?.parameters)
}

fn target(query: &str, seed: u64) -> SimTarget {
    let url = TargetUrl::parse(&format!("sim:?{query}")).unwrap();
    SimTarget::open(&url, Seed(seed)).unwrap()
}

/// A target with its tables.
fn ready(query: &str, clock: &Clock) -> SimTarget {
    let target = target(query, 42);
    clock.block_on(async {
        let mut admin = administer(&target, clock).await;
        admin.create_tables(&workload(), &TablePolicy::new("f", Seed(1))).await.unwrap();
    });
    target
}

async fn administer(target: &SimTarget, clock: &Clock) -> Box<dyn Admin> {
    target.administer(clock.timeline()).await.unwrap()
}

async fn try_connect(target: &SimTarget, clock: &Clock) -> Result<Box<dyn Session>, UserError> {
    target
        .connect(Connect {
            workload: Arc::new(workload()),
            number: 0,
            attempt: 0,
            timeline: clock.timeline(),
        })
        .await
}

async fn connect(target: &SimTarget, clock: &Clock) -> Box<dyn Session> {
    try_connect(target, clock).await.unwrap()
}

/// Rows found in the first table, by index div `width`.
async fn counts(target: &SimTarget, clock: &Clock, width: u64) -> Vec<(u64, u64)> {
    let mut admin = administer(target, clock).await;
    let table = &workload().tables[0];
    admin.count_by_key(table, width).await.unwrap().buckets
}

async fn found(target: &SimTarget, clock: &Clock) -> u64 {
    let buckets = counts(target, clock, 1 << 20).await;
    buckets.iter().map(|(_, rows)| rows).sum()
}

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}
