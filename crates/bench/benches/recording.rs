//! CPU time to record one op, compared with one record in a bare histogram.

use std::error::Error;
use std::hint::black_box;

use hdrhistogram::Histogram;
use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::job::SEED;
use highwater_bench::meters::thread_cpu;
use highwater_model::outcome::Outcome;
use highwater_model::plan::Objective;
use highwater_model::units::{Nanos, Rate};
use highwater_runner::recorder::{FinishedOp, Recorder, RowWait};
use highwater_workload::random::Draws;

/// Distinct ops that are recorded repeatedly; few enough to stay in the cache.
const SHAPES: u64 = 4_096;
/// Ops per round.
const OPS: u64 = 1_000_000;
const ROUNDS: usize = 9;
/// Time between two ops of one thread: 50,000 ops per second.
const GAP: Nanos = Nanos::from_micros(20);
/// Rows per insert.
const ROWS: u64 = 1_000;

/// The wait and service time of an op, and which of eight keys it has.
#[derive(Clone, Copy)]
struct Shape {
    session_wait: Nanos,
    lag: Nanos,
    service: Nanos,
    key: usize,
}

/// The kind of op recorded.
struct Case {
    what: &'static str,
    keys: usize,
    row_wait: Option<RowWait>,
    objectives: Vec<Objective>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let shapes = shapes();
    let cases = cases();
    let mut seen: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    let mut floor = Vec::new();
    for _ in 0..ROUNDS {
        floor.push(bare_histogram(&shapes)?);
        for (case, seen) in cases.iter().zip(&mut seen) {
            seen.push(recorder(case, &shapes));
        }
    }
    let floor = median(&floor);
    let figures: Vec<Figure> = cases
        .iter()
        .zip(&seen)
        .map(|(case, seen)| {
            Figure::new(format!("recording an op, {}", case.what), "ns", median(seen))
                .beside("one record of a bare histogram", floor)
                .budget(Budget::AtMost(100.0))
        })
        .collect();
    figures::print(
        &figures,
        &format!(
            "CPU time of one thread, medians of {ROUNDS} interleaved rounds of a million ops: lognormal \
             service times around 1 ms, 50,000 ops a second, what came in taken once a second, \
             totals finished. The floor records one of an op's four latencies."
        ),
    )
}

fn cases() -> Vec<Case> {
    let row_wait = RowWait { rows: ROWS, rate: Rate::per_second(1_000_000) };
    let op_objective =
        Objective::Latency { quantile_ppm: 990_000, max: Nanos::from_millis(3), op: None };
    let row_objective = Objective::RowLatency { quantile_ppm: 990_000, max: Nanos::from_millis(3) };
    let case = |what, keys, row_wait, objectives| Case { what, keys, row_wait, objectives };
    vec![
        case("one key", 1, None, vec![]),
        case("one key, latency objective", 1, None, vec![op_objective.clone()]),
        case("eight keys", 8, None, vec![]),
        case("eight keys, latency objective", 8, None, vec![op_objective.clone()]),
        case("insert with row latency", 1, Some(row_wait), vec![]),
        case(
            "insert with row latency and both objectives",
            1,
            Some(row_wait),
            vec![op_objective, row_objective],
        ),
    ]
}

/// Nanoseconds per op.
fn recorder(case: &Case, shapes: &[Shape]) -> f64 {
    let keys = vec![case.row_wait; case.keys];
    let mut recorder = Recorder::new(keys, &case.objectives, Nanos::ZERO);
    let outcome =
        if case.row_wait.is_some() { Outcome::applied(ROWS) } else { Outcome::answered(1, 120) };
    let mut intended = Nanos::ZERO;
    let mut next_take = Nanos::SECOND;
    let begin = thread_cpu();
    for shape in shapes.iter().cycle().take(usize::try_from(OPS).unwrap_or(0)) {
        intended += GAP;
        let free = intended + shape.session_wait;
        let started = free + shape.lag;
        let finished = started + shape.service;
        let key = shape.key % case.keys;
        recorder.record(&FinishedOp {
            key,
            intended,
            closed: false,
            free,
            started,
            finished,
            phase_start: Nanos::ZERO,
            finished_in: Some((key, Nanos::ZERO)),
            rows: outcome.rows_applied,
            retries: 0,
            outcome: black_box(&outcome),
        });
        if finished > next_take {
            drop(black_box(recorder.take()));
            next_take += Nanos::SECOND;
        }
    }
    drop(black_box(recorder.finish()));
    per_op(begin)
}

/// Nanoseconds per record in the kind of histogram that results use.
fn bare_histogram(shapes: &[Shape]) -> Result<f64, Box<dyn Error>> {
    let mut histogram = Histogram::<u64>::new_with_bounds(1, 86_400_000_000_000, 3)?;
    let begin = thread_cpu();
    for shape in shapes.iter().cycle().take(usize::try_from(OPS)?) {
        histogram.record(black_box(shape.service.0))?;
    }
    drop(black_box(histogram));
    Ok(per_op(begin))
}

#[expect(clippy::cast_precision_loss, reason = "a million")]
fn per_op(begin: std::time::Duration) -> f64 {
    thread_cpu().saturating_sub(begin).as_secs_f64() * 1e9 / OPS as f64
}

/// Ops of a busy target: one in five finds all sessions busy.
fn shapes() -> Vec<Shape> {
    let draws = |name| Draws::new(SEED, &["recording", name]);
    let (wait, lag, service) = (draws("wait"), draws("lag"), draws("service"));
    (0..SHAPES)
        .map(|n| Shape {
            session_wait: if wait.below(n, 5) == 0 {
                lognormal(&wait, n, 300_000.0, 1.0)
            } else {
                Nanos::ZERO
            },
            lag: lognormal(&lag, n, 5_000.0, 0.7),
            service: lognormal(&service, n, 1_000_000.0, 0.5),
            key: usize::try_from(draws("key").below(n, 8)).unwrap_or(0),
        })
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds below an hour"
)]
fn lognormal(draws: &Draws, n: u64, median_ns: f64, sigma: f64) -> Nanos {
    Nanos((median_ns * (sigma * draws.normal(n)).exp()) as u64)
}
