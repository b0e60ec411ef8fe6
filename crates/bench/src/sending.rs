//! Cost of one session's part of a load: generating and encoding rows, and resending one encoded body.

use std::error::Error;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::{Connect, Encoder, Request, Session, Target, Timeline};
use highwater_model::op::{Op, OpBody, OpId, RowBatch};
use highwater_workload::Workload;

use crate::meters::{process_cpu, thread_cpu};

/// Cost of sending the batches of a workload's first table without a run.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// Rows generated per CPU second.
    pub made: f64,
    /// Rows generated and encoded per CPU second, without sending.
    pub encoded: f64,
    /// Rows per CPU second if one session resends one body.
    pub replayed: f64,
    /// Bytes per encoded row.
    pub bytes_per_row: f64,
}

/// Generates and encodes `batches` batches of `batch` rows, then sends the last one as often.
///
/// # Errors
///
/// If the target cannot be used, or an op failed.
pub fn parts(
    workload: &Arc<Workload>,
    target: &Arc<dyn Target>,
    batches: u32,
    batch: u32,
) -> Result<Parts, Box<dyn Error>> {
    RealTimeline::block_on(RealClock::start(), |timeline| {
        let (workload, target) = (Arc::clone(workload), Arc::clone(target));
        async move {
            let mut session = connect(&workload, target.as_ref(), timeline).await?;
            let mut request = inserting();
            let rows = f64::from(batch) * f64::from(batches);
            let mut encoder = session.encoder();
            let made = make(&workload, &mut request, batches, batch);
            let encoded = encode(&workload, encoder.as_mut(), &mut request, batches, batch);
            let bytes = f64::from(u32::try_from(request.bytes.len())?);
            let replayed = replay(target.as_ref(), session.as_mut(), &mut request, batches).await?;
            Ok(Parts {
                made: rows / made.as_secs_f64(),
                encoded: rows / encoded.as_secs_f64(),
                replayed: rows / replayed.as_secs_f64(),
                bytes_per_row: bytes / f64::from(batch),
            })
        }
    })?
}

/// Requests with `batches` batches of `batch` rows, like those of a session.
///
/// # Errors
///
/// If the target cannot be used.
pub fn requests(
    workload: &Arc<Workload>,
    target: &Arc<dyn Target>,
    batches: u32,
    batch: u32,
) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    RealTimeline::block_on(RealClock::start(), |timeline| {
        let (workload, target) = (Arc::clone(workload), Arc::clone(target));
        async move {
            let session = connect(&workload, target.as_ref(), timeline).await?;
            let (mut encoder, mut request) = (session.encoder(), inserting());
            let encoded = (0..batches).map(|number| {
                fill(&workload, &mut request, number, batch);
                encoder.encode(&mut request);
                request.bytes.clone()
            });
            Ok(encoded.collect())
        }
    })?
}

/// A session prepared for the ops of the workload.
async fn connect(
    workload: &Workload,
    target: &dyn Target,
    timeline: Rc<dyn Timeline>,
) -> Result<Box<dyn Session>, Box<dyn Error>> {
    let mut admin = target.administer(Rc::clone(&timeline)).await?;
    let dialects = admin.facts().await?.dialects;
    let bound = workload.bind(&dialects, target.placeholders());
    let connect = Connect {
        workload: Arc::new(bound.map_err(|error| error.message)?),
        number: 0,
        attempt: 0,
        timeline,
    };
    Ok(target.connect(connect).await?)
}

/// A request for the workload's first op, still without rows.
fn inserting() -> Request {
    Request {
        op: Op { id: OpId(0), index: 0, body: OpBody::Insert(RowBatch::default()) },
        bytes: Vec::new(),
    }
}

fn fill(workload: &Workload, request: &mut Request, number: u32, batch: u32) {
    if let OpBody::Insert(rows) = &mut request.op.body {
        let first = u64::from(number) * u64::from(batch);
        let count = usize::try_from(batch).unwrap_or(usize::MAX);
        workload.fill_row_batch(0, first, count, rows);
    }
}

fn make(workload: &Workload, request: &mut Request, batches: u32, batch: u32) -> Duration {
    let begin = thread_cpu();
    for number in 0..batches {
        fill(workload, request, number, batch);
        black_box(&request.op);
    }
    thread_cpu().saturating_sub(begin)
}

fn encode(
    workload: &Workload,
    encoder: &mut dyn Encoder,
    request: &mut Request,
    batches: u32,
    batch: u32,
) -> Duration {
    let begin = thread_cpu();
    for number in 0..batches {
        fill(workload, request, number, batch);
        encoder.encode(request);
        black_box(&request.bytes);
    }
    thread_cpu().saturating_sub(begin)
}

async fn replay(
    target: &dyn Target,
    session: &mut dyn Session,
    request: &mut Request,
    times: u32,
) -> Result<Duration, Box<dyn Error>> {
    let used = || process_cpu().saturating_sub(Duration::from_nanos(target.embedded_cpu().0));
    let begin = used();
    for _ in 0..times {
        let outcome = session.execute(request).await;
        if !outcome.is_success() {
            return Err(format!("{outcome:?}").into());
        }
    }
    Ok(used().saturating_sub(begin))
}
