//! Rates of generating and encoding rows, and of a simulated run, per CPU second.

use std::error::Error;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use highwater_bench::figures::{self, Figure, median};
use highwater_bench::job::{Job, SEED, cpu_workload, measured, target, workload};
use highwater_bench::meters::{process_cpu, thread_cpu};
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::{Connect, Encoder, Request, TablePolicy, Timeline};
use highwater_model::numbers::to_f64;
use highwater_model::op::{Op, OpBody, OpId, RowBatch};
use highwater_model::units::Nanos;
use highwater_runner::request::Silent;
use highwater_testing::postgres::{Postgres, SUPERUSER};
use highwater_workload::Workload;

const DATABASE: &str = "postgres";
const ROUNDS: usize = 9;
const BATCH: u64 = 1_000;
/// Batches per round.
const BATCHES: u64 = 300;
/// A simulated cluster for 24,000 queries or a million rows per second.
const SIMULATED: &str = "sim:?query=500us&row=4us&request=50us&queue=inf";
const SIMULATED_LENGTH: Nanos = Nanos::from_secs(20);
const SIMULATED_ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let workload = workload(cpu_workload()?, &[])?;
    let mut encoder = encoder(&workload)?;
    let (mut made, mut encoded, mut bytes) = (vec![], vec![], 0.0);
    for _ in 0..ROUNDS {
        made.push(make(&workload));
        let (speed, size) = make_and_encode(&workload, encoder.as_mut());
        encoded.push(speed);
        bytes = size;
    }
    let (made, encoded) = (median(&made), median(&encoded));
    let queries = simulated("latest-metrics")?;
    let inserts = simulated("insert")?;
    let figures = [
        Figure::new("`cpu` rows made", "rows/CPU s", made),
        Figure::new("made and encoded for COPY", "rows/CPU s", encoded).beside("made only", made),
        Figure::new("the same in bytes", "MB/CPU s", encoded * bytes / 1e6),
        Figure::new("bytes of an encoded row", "bytes", bytes),
        Figure::new("simulated run, queries", "ops/CPU s", queries),
        Figure::new("simulated run, `cpu` rows in batches", "rows/CPU s", inserts * to_f64(BATCH))
            .beside("made only", made),
    ];
    figures::print(
        &figures,
        &format!(
            "Medians of {ROUNDS} rounds of {BATCHES} batches of {BATCH} rows, CPU time of one \
             thread, every value fresh. Simulated runs: the whole path from plan to record, {} s of \
             simulated time, 64 sessions closed, CPU time of the process, medians of \
             {SIMULATED_ROUNDS}.",
            SIMULATED_LENGTH.0 / Nanos::SECOND.0
        ),
    )
}

/// Rows per CPU second of the generators.
fn make(workload: &Workload) -> f64 {
    let mut batch = RowBatch::default();
    let begin = thread_cpu();
    for number in 0..BATCHES {
        workload.fill_row_batch(0, number * BATCH, rows(), &mut batch);
        black_box(&batch);
    }
    speed(begin)
}

/// Rows per CPU second of generators and encoder, and bytes per row.
fn make_and_encode(workload: &Workload, encoder: &mut dyn Encoder) -> (f64, f64) {
    let mut request = Request {
        op: Op { id: OpId(0), index: 0, body: OpBody::Insert(RowBatch::default()) },
        bytes: Vec::new(),
    };
    let mut bytes = 0;
    let begin = thread_cpu();
    for number in 0..BATCHES {
        if let OpBody::Insert(batch) = &mut request.op.body {
            workload.fill_row_batch(0, number * BATCH, rows(), batch);
        }
        encoder.encode(&mut request);
        bytes += black_box(&request.bytes).len();
    }
    let speed = speed(begin);
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    (speed, to_f64(bytes) / to_f64(BATCHES * BATCH))
}

fn speed(begin: Duration) -> f64 {
    to_f64(BATCHES * BATCH) / thread_cpu().saturating_sub(begin).as_secs_f64()
}

/// An encoder like that of a session; the server is used for nothing else.
fn encoder(workload: &Arc<Workload>) -> Result<Box<dyn Encoder>, Box<dyn Error>> {
    let server = Postgres::start();
    let target = target(&format!("{}?sslmode=disable", server.url(SUPERUSER, DATABASE)))?;
    let workload = Arc::clone(workload);
    RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let timeline: Rc<dyn Timeline> = timeline;
        let mut admin = target.administer(Rc::clone(&timeline)).await?;
        let dialects = admin.facts().await?.dialects;
        let identity = workload.row_identity(&dialects).map_err(|error| error.message)?;
        let bound = workload.bind(&dialects, target.placeholders());
        let bound = Arc::new(bound.map_err(|error| error.message)?);
        admin.create_tables(&bound, &TablePolicy::new(&identity, SEED)).await?;
        let connect = Connect { workload: bound, number: 0, attempt: 0, timeline };
        Ok(target.connect(connect).await?.encoder())
    })?
}

/// Ops per CPU second of a whole run on the simulated clock.
fn simulated(stream: &str) -> Result<f64, Box<dyn Error>> {
    let mut speeds = Vec::new();
    for _ in 0..SIMULATED_ROUNDS {
        let job = Job {
            stream,
            measure: SIMULATED_LENGTH,
            ..Job::inserting(cpu_workload()?, SIMULATED, 64)
        };
        let begin = process_cpu();
        let record = job.run(Rc::new(Silent))?;
        let cpu = process_cpu().saturating_sub(begin).as_secs_f64();
        speeds.push(to_f64(measured(&record)?.acknowledged) / cpu);
    }
    Ok(median(&speeds))
}

fn rows() -> usize {
    usize::try_from(BATCH).unwrap_or(0)
}
