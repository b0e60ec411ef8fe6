//! One node: a FIFO queue with identical cores, scheduled virtually.
//!
//! Work is booked on arrival: `start = max(arrival, earliest free core)`, `finish = start + service`. With arrivals in
//! time order, this is exactly a FIFO queue with c servers, without an event per start and end. Starts never decrease,
//! so waiting work is a deque of starts.
//!
//! A node's disk accepts rows at a rate, and above that rate while its credit lasts. A leaky bucket, scheduled
//! virtually: `due` is when everything written so far would be done at the rate; rows wait for the part beyond the
//! credit. (The generic cell rate algorithm; ITU-T I.371, annex A.)

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::units::Nanos;

use super::parameters::Stall;
use super::slowdown::{Slowdown, Slowdowns};

/// One node of the cluster.
#[derive(Debug)]
pub(super) struct Node {
    /// When each core becomes free; `None` for infinitely many cores.
    free: Option<BinaryHeap<Reverse<Nanos>>>,
    /// Starts of booked work that is still waiting.
    waiting: VecDeque<Nanos>,
    /// Maximum number of waiting pieces.
    queue: Option<u32>,
    /// Total booked core time so far, including stalls.
    booked: Nanos,
    /// The disk for its rows; `None` without a limit.
    disk: Option<Disk>,
    slowdowns: Slowdowns,
}

/// The state of a node at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeSnapshot {
    /// Core time occupied so far; `None` for infinitely many cores.
    pub(super) occupied: Option<Nanos>,
    /// Cores occupied now.
    pub(super) active: usize,
    /// Pieces waiting for a core.
    pub(super) waiting: usize,
}

impl Node {
    /// An idle node. `None` means infinitely many cores, or a queue without a bound.
    pub(super) fn new(cores: Option<u32>, queue: Option<u32>, disk: Option<Disk>) -> Self {
        Self {
            booked: Nanos::ZERO,
            slowdowns: Slowdowns::default(),
            disk,
            free: cores.map(|cores| (0..cores).map(|_| Reverse(Nanos::ZERO)).collect()),
            waiting: VecDeque::new(),
            queue,
        }
    }

    /// Whether `pieces` more pieces of work, arriving together, all find an idle core or a queue below its limit.
    /// `stalled` means that no core starts anything at `now`.
    pub(super) fn has_room(&mut self, now: Nanos, pieces: usize, stalled: bool) -> bool {
        let Some(queue) = self.queue.and_then(|queue| usize::try_from(queue).ok()) else {
            return true;
        };
        self.forget_started(now);
        let idle = match &self.free {
            _ if stalled || self.slowdowns.is_still(now) || !self.waiting.is_empty() => 0,
            None => pieces,
            Some(cores) => cores.iter().filter(|Reverse(free)| *free <= now).count(),
        };
        self.waiting.len() + pieces <= queue + idle
    }

    fn forget_started(&mut self, now: Nanos) {
        while self.waiting.front().is_some_and(|start| *start <= now) {
            self.waiting.pop_front();
        }
    }

    /// Its current state; work booked for later is not done yet.
    pub(super) fn snapshot(&mut self, now: Nanos) -> NodeSnapshot {
        self.forget_started(now);
        let ahead = self.cores().map(|free| free.saturating_sub(now).0);
        let ahead = Nanos(ahead.fold(0, u64::saturating_add));
        NodeSnapshot {
            occupied: self.free.as_ref().map(|_| self.booked.saturating_sub(ahead)),
            active: self.cores().filter(|free| *free > now).count(),
            waiting: self.waiting.len(),
        }
    }

    /// The disk for its rows.
    pub(super) fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    /// When rows that arrive now are on its disk.
    pub(super) fn write(&mut self, now: Nanos, rows: u64) -> Nanos {
        self.disk.as_mut().map_or(now, |disk| disk.write(now, rows))
    }

    /// Everything in progress ends at once, without a result.
    pub(super) fn clear(&mut self, now: Nanos) {
        let ahead: u64 = self.cores().map(|free| free.saturating_sub(now).0).sum();
        self.booked = self.booked.saturating_sub(Nanos(ahead));
        self.shift(|free| free.min(now));
        self.waiting.clear();
        if let Some(disk) = &mut self.disk {
            disk.due = disk.due.min(now);
        }
    }

    /// Slows down from now on. Returns when what is booked for a time is done instead.
    pub(super) fn slow_down(&mut self, slowdown: Slowdown) -> impl Fn(Nanos) -> Nanos + use<> {
        let (now, old) = (slowdown.from, self.slowdowns.clone());
        self.slowdowns.add(slowdown);
        let new = self.slowdowns.clone();
        let later = move |at| if at <= now { at } else { new.done(now, old.work(now, at)) };
        self.forget_started(now);
        let before: u64 = self.cores().map(|free| free.0).sum();
        self.shift(&later);
        let after: u64 = self.cores().map(|free| free.0).sum();
        self.booked = self.booked.saturating_add(Nanos(after.saturating_sub(before)));
        self.waiting.iter_mut().for_each(|start| *start = later(*start));
        if let Some(disk) = &mut self.disk {
            disk.due = later(disk.due);
        }
        later
    }

    fn cores(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.free.iter().flatten().map(|Reverse(free)| *free)
    }

    fn shift(&mut self, to: impl Fn(Nanos) -> Nanos) {
        if let Some(cores) = &mut self.free {
            *cores = cores.drain().map(|Reverse(free)| Reverse(to(free))).collect();
        }
    }

    /// Books one piece of work, and returns when it finishes. `service` returns its length, given its start; stalls
    /// delay its start and prolong it.
    pub(super) fn book(
        &mut self,
        now: Nanos,
        stalls: &[Stall],
        service: impl FnOnce(Nanos) -> Nanos,
    ) -> Nanos {
        let core = self.free.as_mut().and_then(BinaryHeap::pop);
        let ready = core.map_or(now, |Reverse(free)| free.max(now));
        let start = stall_at(stalls, ready).map_or(ready, Stall::end);
        let start = self.slowdowns.done(start, Nanos::ZERO);
        let length = self.slowdowns.done(start, service(start)) - start;
        let finish = prolonged(stalls, start, length);
        if let Some(cores) = &mut self.free {
            cores.push(Reverse(finish));
        }
        self.booked = self.booked.saturating_add(finish.saturating_sub(ready));
        self.forget_started(now);
        if start > now {
            self.waiting.push_back(start);
        }
        finish
    }
}

/// The stall that covers this moment. `stalls` are ascending and disjoint.
pub(super) fn stall_at(stalls: &[Stall], at: Nanos) -> Option<&Stall> {
    let after = stalls.partition_point(|stall| stall.at <= at);
    stalls[..after].last().filter(|stall| at < stall.end())
}

/// When work of this length that starts outside a stall ends: each stall on the way adds its whole length.
fn prolonged(stalls: &[Stall], start: Nanos, work: Nanos) -> Nanos {
    let mut finish = start.saturating_add(work);
    let first = stalls.partition_point(|stall| stall.at < start);
    for stall in &stalls[first..] {
        if stall.at >= finish {
            break;
        }
        finish = finish.saturating_add(stall.length);
    }
    finish
}

/// One disk.
#[derive(Debug)]
pub(super) struct Disk {
    /// Time per row at the rate, nanoseconds.
    row_ns: f64,
    /// How far `due` may be ahead of now before rows wait.
    credit: Nanos,
    due: Nanos,
    /// Rows accepted so far.
    rows: u64,
}

impl Disk {
    /// A disk that was idle for a long time; `rows_per_s` is above 0.
    pub(super) fn new(rows_per_s: f64, burst_rows: f64) -> Self {
        let row_ns = 1e9 / rows_per_s;
        Self { row_ns, credit: nanos(burst_rows * row_ns), due: Nanos::ZERO, rows: 0 }
    }

    /// When rows that arrive now are written.
    pub(super) fn write(&mut self, now: Nanos, rows: u64) -> Nanos {
        self.rows = self.rows.saturating_add(rows);
        let length = nanos(to_f64(rows) * self.row_ns);
        self.due = self.due.max(now).saturating_add(length);
        self.due.saturating_sub(self.credit).max(now)
    }

    /// Rows accepted so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Remaining fraction of its credit; 0 without any.
    pub(super) fn credit_left(&self, now: Nanos) -> f64 {
        let credit = self.credit.as_secs_f64();
        if credit <= 0.0 {
            return 0.0;
        }
        let used = self.due.saturating_sub(now).as_secs_f64();
        (1.0 - used / credit).clamp(0.0, 1.0)
    }

    /// Whether written rows are waiting for it now.
    pub(super) fn holds_back(&self, now: Nanos) -> bool {
        self.due.saturating_sub(now) > self.credit
    }
}

fn nanos(length: f64) -> Nanos {
    Nanos(round_to_u64(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_only_when_the_credit_is_used_up() {
        let second = Nanos::SECOND;
        let mut disk = Disk::new(1_000.0, 2_000.0);
        assert_eq!(disk.write(second, 2_000), second, "all of it on credit");
        assert!((disk.credit_left(second) - 0.0).abs() < 1e-9 && !disk.holds_back(second));
        assert_eq!(disk.write(second, 500), Nanos::from_millis(1_500));
        assert!(disk.holds_back(second));
        let later = Nanos::from_millis(2_500);
        assert!((disk.credit_left(later) - 0.5).abs() < 1e-9, "earned back at the rate");
        assert_eq!(disk.write(later, 1_000), later);
        assert_eq!(disk.rows(), 3_500);
    }

    #[test]
    fn without_credit_each_row_takes_its_full_time() {
        let mut disk = Disk::new(1_000.0, 0.0);
        assert_eq!(disk.write(Nanos::ZERO, 100), Nanos::from_millis(100));
        assert_eq!(disk.write(Nanos::ZERO, 100), Nanos::from_millis(200));
        assert!((disk.credit_left(Nanos::ZERO) - 0.0).abs() < 1e-9);
    }
}
