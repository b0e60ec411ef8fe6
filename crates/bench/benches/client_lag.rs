//! Client lag at half of the client's ceiling: open load on a target that costs nothing.
//!
//! The floor is threads that do nothing but sleep to one time after the other and burn as much CPU
//! as the client did: how late the machine lets anybody work who works that much.

use std::error::Error;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::job::{Job, cpu_workload, measured};
use highwater_bench::meters::thread_cpu;
use highwater_core::model::histogram::LatencyHistogram;
use highwater_core::model::plan::AuditLevel;
use highwater_core::model::record::{ClientRecord, RunRecord};
use highwater_core::model::units::{Nanos, Rate};
use highwater_runner::clock::RealClock;
use highwater_runner::observer::Silent;
use highwater_runner::planner::PaceInput;

/// A cluster that takes no time, a fifth of a millisecond away.
const TARGET: &str = "sim:?clock=real&nodes=1&cores=inf&shards=1&replicas=0&request=0&row=0\
                      &query=0&service=constant&queue=inf&rtt=200us";
const SESSIONS: u32 = 128;
const ROUNDS: usize = 5;
const CEILING_LENGTH: Nanos = Nanos::from_secs(3);
const LAG_LENGTH: Nanos = Nanos::from_secs(6);
/// Between the times to which the floor's thread sleeps.
const WAKE_EVERY: Duration = Duration::from_millis(1);
const WAKES: u64 = 4_000;

/// p50, p99 and p99.9 in microseconds.
type Percentiles = [f64; 3];

/// What one round says.
struct Round {
    /// Ops per second, closed.
    ceiling: f64,
    lag: Percentiles,
    floor: Percentiles,
    /// Cores that the client used at half the ceiling, and other programs meanwhile.
    cores: [f64; 2],
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| round()).collect::<Result<_, _>>()?;
    let remark = format!(
        "Medians of {ROUNDS} rounds: {} s closed with {SESSIONS} sessions, {} s open at half of \
         what that gave, then the floor: one thread a core that sleeps to each of {WAKES} \
         milliseconds and burns as much CPU as the client did. Queries of `cpu` on `{TARGET}`.",
        CEILING_LENGTH.0 / Nanos::SECOND.0,
        LAG_LENGTH.0 / Nanos::SECOND.0
    );
    figures::print(&figures_of(&rounds), &remark)?;
    Ok(())
}

fn round() -> Result<Round, Box<dyn Error>> {
    let closed = run(PaceInput::Closed(Some(SESSIONS)), CEILING_LENGTH)?;
    let ceiling = measured(&closed)?.throughput.ops_per_s;
    let open = run(PaceInput::Open(rate(ceiling / 2.0)), LAG_LENGTH)?;
    let lag = &measured(&open)?.client_lag_ns;
    let client = open.clients.first().ok_or("the record has no client")?;
    let used = client.cpu_share * f64::from(client.cores);
    Ok(Round {
        ceiling,
        lag: [lag.p50, lag.p99, lag.p999].map(micros),
        floor: floor(client.cpu_share),
        cores: [used, cores_of_others(client)],
    })
}

fn figures_of(rounds: &[Round]) -> Vec<Figure> {
    let middle = |of: &dyn Fn(&Round) -> f64| median(&rounds.iter().map(of).collect::<Vec<f64>>());
    let ceiling = middle(&|round| round.ceiling);
    let mut figures = vec![
        Figure::new("ceiling of the client, closed load", "ops/s", ceiling),
        Figure::new("half of it, open load", "ops/s", ceiling / 2.0),
    ];
    for (i, name) in ["p50", "p99", "p99.9"].into_iter().enumerate() {
        let what = format!("client lag at half the ceiling, {name}");
        let budget = if name == "p99" {
            Budget::AtMost(1_000.0)
        } else {
            Budget::None
        };
        figures.push(
            Figure::new(what, "µs", middle(&|round| round.lag[i]))
                .beside(
                    "threads that sleep and burn",
                    middle(&|round| round.floor[i]),
                )
                .budget(budget),
        );
    }
    let calmest = rounds.iter().map(|round| round.lag[1]);
    let calmest = calmest.fold(f64::INFINITY, f64::min);
    figures.push(Figure::new("p99 of the calmest round", "µs", calmest));
    let whose = [
        "CPU of the client meanwhile",
        "CPU of other programs meanwhile",
    ];
    for (i, what) in whose.into_iter().enumerate() {
        figures.push(Figure::new(what, "cores", middle(&|round| round.cores[i])));
    }
    figures
}

fn run(pace: PaceInput, measure: Nanos) -> Result<RunRecord, Box<dyn Error>> {
    let job = Job {
        workload: cpu_workload()?,
        settings: &[],
        target: TARGET,
        stream: "latest-metrics",
        pace,
        sessions: SESSIONS,
        warm_up: Nanos::SECOND,
        measure,
        audit: AuditLevel::Off,
    };
    job.run(Rc::new(Silent))
}

/// How late threads are that sleep to each millisecond and burn `share` of their time: as many
/// as there are cores, like the client's executors.
fn floor(share: f64) -> Percentiles {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let sleepers: Vec<_> = (0..cores)
        .map(|_| thread::spawn(move || sleep_and_burn(WAKE_EVERY.mul_f64(share.clamp(0.0, 1.0)))))
        .collect();
    let mut lateness = LatencyHistogram::fine();
    for sleeper in sleepers
        .into_iter()
        .filter_map(|sleeper| sleeper.join().ok())
    {
        lateness.merge(&sleeper);
    }
    let summary = lateness.summary();
    [summary.p50, summary.p99, summary.p999].map(micros)
}

fn sleep_and_burn(burn: Duration) -> LatencyHistogram {
    let mut lateness = LatencyHistogram::fine();
    let clock = RealClock::start();
    for wake in 1..=WAKES {
        let due = Nanos::from_millis(wake);
        thread::sleep(Duration::from_nanos(due.saturating_sub(clock.now()).0));
        lateness.record(clock.now().saturating_sub(due));
        let begin = thread_cpu();
        while thread_cpu().saturating_sub(begin) < burn {
            std::hint::spin_loop();
        }
    }
    lateness
}

/// Processor time of the whole machine less ours, in cores.
fn cores_of_others(client: &ClientRecord) -> f64 {
    client.machine_cpu_share.map_or(f64::NAN, |machine| {
        (machine - client.cpu_share) * f64::from(client.cores)
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ops per second of one machine"
)]
fn rate(ops_per_s: f64) -> Rate {
    Rate::per_second((ops_per_s as u64).max(1))
}

#[expect(clippy::cast_precision_loss, reason = "microseconds for display")]
fn micros(nanos: Option<u64>) -> f64 {
    nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e3)
}
