//! Virtual scheduling against a simulation that steps through every millisecond.

use std::collections::VecDeque;
use std::sync::Arc;

use highwater_model::units::{Nanos, Seed};
use proptest::prelude::*;

use super::super::cluster::{Cluster, SimOp, Work};
use super::{ms, parse, workload};

/// A node in milliseconds: running, waiting, and ended jobs.
struct Naive {
    /// Per core, the job and its remaining time.
    cores: Vec<Option<(usize, u64)>>,
    waiting: VecDeque<(usize, u64)>,
    queue: usize,
    /// (start, end) of stalls.
    stalls: Vec<(u64, u64)>,
    ends: Vec<Option<Nanos>>,
}

impl Naive {
    /// Runs jobs (arrival, length), ascending, and returns when each ended; `None` for rejected ones.
    fn run(mut self, jobs: &[(u64, u64)]) -> Vec<Option<Nanos>> {
        self.ends = vec![None; jobs.len()];
        let mut next = 0;
        let mut now = 0;
        while next < jobs.len() || self.is_busy() {
            let stalled = self.stalls.iter().any(|(at, end)| (*at..*end).contains(&now));
            while !stalled && self.start_next() {}
            while next < jobs.len() && jobs[next].0 == now {
                self.waiting.push_back((next, jobs[next].1));
                let starts = !stalled && self.start_next();
                if !starts && self.waiting.len() > self.queue {
                    self.waiting.pop_back();
                }
                next += 1;
            }
            now += 1;
            if !stalled {
                self.work(now);
            }
        }
        self.ends
    }

    fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || self.cores.iter().any(Option::is_some)
    }

    fn start_next(&mut self) -> bool {
        let idle = self.cores.iter_mut().find(|core| core.is_none());
        match (idle, self.waiting.front()) {
            (Some(core), Some(job)) => {
                *core = Some(*job);
                self.waiting.pop_front();
                true
            }
            _ => false,
        }
    }

    /// One millisecond of work, which ends now.
    fn work(&mut self, now: u64) {
        for core in &mut self.cores {
            match core {
                Some((job, 1)) => {
                    self.ends[*job] = Some(ms(now));
                    *core = None;
                }
                Some((_, left)) => *left -= 1,
                None => {}
            }
        }
    }
}

proptest! {
    #[test]
    fn booking_ahead_equals_stepping_through(
        mut jobs in prop::collection::vec((0_u64..120, 1_u64..12), 1..60),
        cores in 1_usize..4,
        queue in 0_usize..6,
        stalls in prop::collection::vec((0_u64..150, 1_u64..20), 0..4),
    ) {
        jobs.sort_by_key(|(arrival, _)| *arrival);
        let stall: Vec<String> = stalls.iter().map(|(at, len)| format!("{at}ms+{len}ms")).collect();
        let stall = if stall.is_empty() { String::new() } else { format!("&stall={}", stall.join(",")) };
        let parameters = parse(&format!(
            "nodes=1&shards=1&replicas=0&rtt=0&service=constant&request=0&row=1ms&cores={cores}\
             &queue={queue}{stall}"
        ))
        .unwrap();
        let mut cluster = Cluster::new(Arc::new(parameters), Seed(1));
        cluster.create_table(&workload(), 0);
        let booked: Vec<Option<Nanos>> = (0..)
            .zip(&jobs)
            .map(|(index, (arrival, length))| {
                let work = Work::Insert { table: 0, first_row: 0, rows: *length };
                let op = SimOp { position: 0, index, work };
                let answer = cluster.submit(ms(*arrival), &op).unwrap();
                answer.outcome.is_success().then_some(answer.at)
            })
            .collect();
        let naive = Naive {
            cores: vec![None; cores],
            waiting: VecDeque::new(),
            queue,
            stalls: stalls.iter().map(|(at, length)| (*at, at + length)).collect(),
            ends: Vec::new(),
        };
        prop_assert_eq!(booked, naive.run(&jobs));
    }
}
