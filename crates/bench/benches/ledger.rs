//! The ledger in the load path: nanoseconds of CPU per row when its batch is acknowledged.

use std::error::Error;
use std::hint::black_box;

use highwater_bench::figures::{self, Figure, median};
use highwater_bench::job::{cpu_workload, workload};
use highwater_bench::meters::thread_cpu;
use highwater_model::op::{PlaceholderStyle, RowBatch};
use highwater_model::outcome::Outcome;
use highwater_runner::ledger::Ledger;
use highwater_runner::store::Spill;

const ROUNDS: usize = 9;
const BATCHES: u32 = 500;
const BATCH: u32 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let cpu = workload(cpu_workload()?, &[])?;
    let bound = cpu
        .bind(&["sqlite".to_owned()], PlaceholderStyle::Question)
        .map_err(|error| error.message)?;
    let rows = usize::try_from(BATCH)?;
    let batches: Vec<RowBatch> =
        (0..BATCHES).map(|batch| cpu.row_batch(0, u64::from(batch * BATCH), rows)).collect();
    let (mut made, mut counted, mut summed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut batch = RowBatch::default();
        made.push(per_row(|| {
            for number in 0..BATCHES {
                cpu.fill_row_batch(0, u64::from(number * BATCH), rows, &mut batch);
                black_box(&batch);
            }
        }));
        counted.push(noted(&batches, Ledger::new(&[], spill()?)));
        let columns = bound.tables[0].columns.as_slice();
        summed.push(noted(&batches, Ledger::new(columns, spill()?)));
    }
    let made = median(&made);
    let figures = [
        Figure::new("ledger, counts alone, per row", "ns", median(&counted))
            .beside("making the row", made),
        Figure::new("ledger, counts and checksums, per row", "ns", median(&summed))
            .beside("making the row", made),
    ];
    figures::print(
        &figures,
        &format!(
            "CPU time of one thread, medians of {ROUNDS} rounds of {BATCHES} batches of {BATCH} `cpu` \
             rows of twelve columns, noted as acknowledged; the batches were made before, and are \
             larger than the caches. Making the row: the same batches generated."
        ),
    )
}

fn spill() -> Result<Spill, Box<dyn Error>> {
    // Nothing is spilled if everything is acknowledged, so the directory may be gone.
    Ok(Spill::at(tempfile::tempdir()?.path().join("exceptions")))
}

fn noted(batches: &[RowBatch], mut ledger: Ledger) -> f64 {
    let mut note = || {
        for batch in batches {
            let outcome = Outcome::applied(u64::from(BATCH));
            ledger.note(batch.first_row, u64::from(BATCH), Some(batch), &outcome);
        }
    };
    // Hashes dictionaries before measuring, as that is done once.
    note();
    let per_row = per_row(note);
    black_box(ledger.totals());
    per_row
}

/// Nanoseconds of CPU per row.
fn per_row(work: impl FnOnce()) -> f64 {
    let begin = thread_cpu();
    work();
    let used = thread_cpu().saturating_sub(begin);
    used.as_secs_f64() * 1e9 / (f64::from(BATCHES) * f64::from(BATCH))
}
