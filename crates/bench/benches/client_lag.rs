//! Client lag at half of the client's ceiling: open load on a target without cost.
//!
//! The floor is a thread that only sleeps from one time to the next: the machine's own wake-up latency.

use std::error::Error;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use highwater_bench::figures::{self, Budget, Figure, middle};
use highwater_bench::job::{Job, cpu_workload, measured};
use highwater_driver::clock::RealClock;
use highwater_model::histogram::LatencyHistogram;
use highwater_model::numbers::{to_f64, truncate_to_u64};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{ClientRecord, RunRecord};
use highwater_model::units::{Nanos, Rate};
use highwater_runner::planner::PaceInput;
use highwater_runner::request::Silent;

/// A cluster that takes no time, a fifth of a millisecond away.
const TARGET: &str = "sim:?clock=real&nodes=1&cores=inf&shards=1&replicas=0&request=0&row=0\
                      &query=0&service=constant&queue=inf&rtt=200us";
const SESSIONS: u32 = 128;
const ROUNDS: usize = 5;
const CEILING_LENGTH: Nanos = Nanos::from_secs(3);
const LAG_LENGTH: Nanos = Nanos::from_secs(6);
/// Number of milliseconds to each of which the floor's thread sleeps.
const WAKES: u64 = 4_000;

/// p50, p99 and p99.9 in microseconds.
type Percentiles = [f64; 3];

/// Results of a round.
struct Round {
    /// Ops per second in closed load.
    ceiling: f64,
    lag: Percentiles,
    floor: Percentiles,
    /// Cores used by other programs meanwhile.
    others: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| round()).collect::<Result<_, _>>()?;
    let remark = format!(
        "Medians of {ROUNDS} rounds: {WAKES} sleeps of 1 ms in an otherwise idle process, {} s \
         closed with {SESSIONS} sessions, {} s open at half of what that gave. Queries of `cpu` \
         on `{TARGET}`.",
        CEILING_LENGTH.0 / Nanos::SECOND.0,
        LAG_LENGTH.0 / Nanos::SECOND.0
    );
    figures::print(&figures_of(&rounds), &remark)
}

fn round() -> Result<Round, Box<dyn Error>> {
    let floor = floor();
    let closed = run(PaceInput::Closed(Some(SESSIONS)), CEILING_LENGTH)?;
    let ceiling = measured(&closed)?.throughput.ops_per_s;
    let open = run(PaceInput::Open(rate(ceiling / 2.0)), LAG_LENGTH)?;
    let lag = &measured(&open)?.client_lag_ns;
    let client = open.clients.first().ok_or("the record has no client")?;
    Ok(Round {
        ceiling,
        lag: [lag.p50, lag.p99, lag.p999].map(micros),
        floor,
        others: cores_of_others(client),
    })
}

fn figures_of(rounds: &[Round]) -> Vec<Figure> {
    let middle = |of: &dyn Fn(&Round) -> f64| middle(rounds, of);
    let ceiling = middle(&|round| round.ceiling);
    let mut figures = vec![
        Figure::new("ceiling of the client, closed load", "ops/s", ceiling),
        Figure::new("half of it, open load", "ops/s", ceiling / 2.0),
    ];
    for (i, name) in ["p50", "p99", "p99.9"].into_iter().enumerate() {
        let what = format!("client lag at half the ceiling, {name}");
        let budget = if name == "p99" { Budget::AtMost(1_000.0) } else { Budget::None };
        figures.push(
            Figure::new(what, "µs", middle(&|round| round.lag[i]))
                .beside("a sleeping thread", middle(&|round| round.floor[i]))
                .budget(budget),
        );
    }
    let calmest = rounds.iter().map(|round| round.lag[1]).fold(f64::INFINITY, f64::min);
    figures.push(Figure::new("p99 of the calmest round", "µs", calmest));
    let what = "cores that other programs used meanwhile";
    figures.push(Figure::new(what, "cores", middle(&|round| round.others)));
    figures
}

fn run(pace: PaceInput, measure: Nanos) -> Result<RunRecord, Box<dyn Error>> {
    let job = Job {
        stream: "latest-metrics",
        pace,
        warm_up: Nanos::SECOND,
        measure,
        audit: AuditLevel::Off,
        ..Job::inserting(cpu_workload()?, TARGET, SESSIONS)
    };
    job.run(Rc::new(Silent))
}

/// Wake-up latency of a thread that sleeps to each millisecond.
fn floor() -> Percentiles {
    let mut lag = LatencyHistogram::fine();
    let clock = RealClock::start();
    for wake in 1..=WAKES {
        let due = Nanos::from_millis(wake);
        let left = due.saturating_sub(clock.now());
        if left == Nanos::ZERO {
            // The last sleep ended after this time, and its latency has been counted.
            continue;
        }
        thread::sleep(Duration::from_nanos(left.0));
        lag.record(clock.now().saturating_sub(due));
    }
    let summary = lag.summary();
    [summary.p50, summary.p99, summary.p999].map(micros)
}

/// CPU time of the whole machine minus that of this process, in cores.
fn cores_of_others(client: &ClientRecord) -> f64 {
    client
        .machine_cpu_fraction
        .map_or(f64::NAN, |machine| (machine - client.cpu_fraction) * f64::from(client.cores))
}

fn rate(ops_per_s: f64) -> Rate {
    Rate::per_second(truncate_to_u64(ops_per_s).max(1))
}

fn micros(nanos: Option<u64>) -> f64 {
    nanos.map_or(f64::NAN, |nanos| to_f64(nanos) / 1e3)
}
