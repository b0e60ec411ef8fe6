//! The totals of one (phase, stream, op).

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_model::histogram::LatencyHistogram;
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::plan::{Pace, Plan, StreamPlan, Unit};
use highwater_model::record::{AnsweredRecord, RowCounts};
use highwater_model::units::{Nanos, Rate};

use super::Failures;
use crate::pacer::time_of;
use crate::schedule::Schedule;

/// Maximum length of an error example, bytes.
const EXAMPLE_BYTES_MAX: usize = 300;

/// Waiting times of the rows of a batch until it is full: row i of n waits (n - 1 - i) / rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowWait {
    /// Rows of a batch.
    pub rows: u64,
    /// Rows per second.
    pub rate: Rate,
}

/// Row latencies are computed at this many evenly spaced rows of a batch; each represents an equal
/// part of it.
const ROW_STRATA: u64 = 16;

impl RowWait {
    /// Waiting time of the row that is followed by `rows_behind` rows.
    fn wait(self, rows_behind: u64) -> Nanos {
        time_of(u128::from(rows_behind), self.rate)
    }

    /// The latencies of the rows of all batches whose latencies are `ops`: every row of a batch
    /// waits for the batch to fill and then as long as the op. The rows of a batch are taken in
    /// 16 strata, each at its middle, so a wait is off by at most a 32nd of the time in which the
    /// batch filled, and a latency of `ops` by the resolution of its histogram.
    ///
    /// All rows of a batch that failed or never ended count as never ended, and so do the unacknowledged rows of
    /// partial ops: `failed` has them by the latency of their op. They are taken from all strata equally, because not
    /// every target reports which rows they were.
    pub fn row_latencies(
        self,
        ops: &LatencyHistogram,
        failed: Option<&LatencyHistogram>,
    ) -> LatencyHistogram {
        let finite = ops.inner();
        let latencies: Vec<(Nanos, u64, u64)> = finite
            .iter_recorded()
            .map(|bin| {
                let value = bin.value_iterated_to();
                let lowest = Nanos(finite.lowest_equivalent(value));
                let failed = failed.filter(|failed| lowest <= failed.greatest());
                let failed = failed.map_or(0, |failed| failed.inner().count_at(value));
                let latency = Nanos(finite.median_equivalent(value));
                (latency, bin.count_at_value(), failed)
            })
            .collect();
        let mut rows = KeyStats::histogram();
        rows.add_beyond(ops, self.rows);
        let strata = ROW_STRATA.min(self.rows);
        for stratum in 0..strata {
            let begin = stratum * self.rows / strata;
            let end = (stratum + 1) * self.rows / strata;
            let wait = self.wait(self.rows - 1 - u64::midpoint(begin, end - 1));
            for (latency, ops, failed) in &latencies {
                let failed = part(*failed, end, self.rows) - part(*failed, begin, self.rows);
                let all = ops.saturating_mul(end - begin);
                rows.record_n(latency.saturating_add(wait), all.saturating_sub(failed));
                rows.record_beyond(failed, latency.saturating_add(wait));
            }
        }
        rows
    }

    /// Rows of a batch that rank above `bound`: the `failed` ones, and others whose latency is above it, taken equally
    /// from the whole batch.
    pub(super) fn rows_above(self, op_latency: Nanos, failed: u64, bound: Nanos) -> u64 {
        if op_latency > bound {
            return self.rows;
        }
        let spare = u128::from(bound.saturating_sub(op_latency).0);
        // wait(behind) > spare  ⇔  behind > spare × rate
        let within = spare * u128::from(self.rate.micro_per_s) / 1_000_000_000_000_000;
        let late =
            self.rows.saturating_sub(1).saturating_sub(u64::try_from(within).unwrap_or(u64::MAX));
        let failed = failed.min(self.rows);
        failed + part(late, self.rows - failed, self.rows)
    }
}

/// `number` × `part` / `whole`, rounded down; `whole` is above 0.
fn part(number: u64, part: u64, whole: u64) -> u64 {
    let product = u128::from(number) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// The totals of one (phase, stream, op).
#[derive(Debug, Clone)]
pub struct KeyStats {
    /// Ops due.
    pub offered: u64,
    /// Ops sent.
    pub sent: u64,
    /// Ops acknowledged, as a whole or in part.
    pub acknowledged: u64,
    /// Of these, transactions that ended with the ROLLBACK that the workload orders.
    pub rolled_back: u64,
    /// Ops whose outcome is unknown: some of their work may have taken effect.
    pub unknown: u64,
    /// Ops that were intended and never sent.
    pub dropped: u64,
    /// Acknowledgments in the phase, whenever the ops were intended.
    pub answered: AnsweredRecord,
    /// Retries.
    pub retries: u64,
    /// Ops with an error, by class.
    pub errors: BTreeMap<ErrorClass, ClassErrors>,
    /// The same by message.
    pub failures: Failures,
    /// Rows by outcome.
    pub rows: RowCounts,
    /// Bytes of responses.
    pub response_bytes: u64,
    /// Rows of responses.
    pub response_rows: u64,
    /// Finished minus intended.
    pub latency: LatencyHistogram,
    /// Finished minus started.
    pub service: LatencyHistogram,
    /// Session wait: the time during which all sessions were busy.
    pub session_wait: LatencyHistogram,
    /// Client lag.
    pub client_lag: LatencyHistogram,
    /// Finished minus intended, without client lag; open load only.
    pub undelayed: Option<LatencyHistogram>,
    /// Rows of open inserts.
    pub row_latency: Option<LatencyHistogram>,
    /// Rows that partial ops did not store, by the latency of the op.
    pub(super) rows_failed: Option<LatencyHistogram>,
    /// Failed ops.
    pub error_latency: LatencyHistogram,
}

/// Ops with errors of one class.
#[derive(Debug, Clone, Default)]
pub struct ClassErrors {
    /// Ops that failed, completely or in part.
    pub failed: u64,
    /// Those of them that were acknowledged in part.
    pub partial: u64,
    /// The target's message for the first one.
    pub example: String,
}

impl Default for KeyStats {
    /// Nothing yet.
    fn default() -> Self {
        Self {
            offered: 0,
            sent: 0,
            acknowledged: 0,
            rolled_back: 0,
            unknown: 0,
            dropped: 0,
            answered: AnsweredRecord::default(),
            retries: 0,
            errors: BTreeMap::new(),
            failures: Failures::default(),
            rows: RowCounts::default(),
            response_bytes: 0,
            response_rows: 0,
            latency: Self::histogram(),
            service: Self::histogram(),
            session_wait: Self::histogram(),
            client_lag: Self::histogram(),
            undelayed: None,
            row_latency: None,
            rows_failed: None,
            error_latency: Self::histogram(),
        }
    }
}

impl KeyStats {
    /// The histogram of a result: three significant digits.
    pub fn histogram() -> LatencyHistogram {
        LatencyHistogram::fine()
    }

    /// Latencies without client lag, including the ops that never ended.
    pub fn undelayed(&self) -> Option<LatencyHistogram> {
        let mut undelayed = self.undelayed.clone()?;
        undelayed.add_beyond(&self.latency, 1);
        Some(undelayed)
    }

    /// Adds another thread's measurements.
    pub fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.acknowledged += other.acknowledged;
        self.rolled_back += other.rolled_back;
        self.unknown += other.unknown;
        self.dropped += other.dropped;
        self.answered.ops += other.answered.ops;
        self.answered.rows += other.answered.rows;
        self.retries += other.retries;
        for (class, theirs) in &other.errors {
            let mine = self.errors.entry(*class).or_insert_with(|| ClassErrors {
                example: theirs.example.clone(),
                ..ClassErrors::default()
            });
            mine.failed += theirs.failed;
            mine.partial += theirs.partial;
        }
        self.failures.merge(&other.failures);
        self.rows.sent += other.rows.sent;
        self.rows.acknowledged += other.rows.acknowledged;
        self.rows.refused += other.rows.refused;
        self.rows.unknown += other.rows.unknown;
        self.response_bytes += other.response_bytes;
        self.response_rows += other.response_rows;
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        self.session_wait.merge(&other.session_wait);
        self.client_lag.merge(&other.client_lag);
        self.error_latency.merge(&other.error_latency);
        if let Some(undelayed) = &other.undelayed {
            self.undelayed.get_or_insert_with(Self::histogram).merge(undelayed);
        }
        if let Some(rows) = &other.row_latency {
            self.row_latency.get_or_insert_with(Self::histogram).merge(rows);
        }
    }

    pub(super) fn note_rows(&mut self, rows: u64, outcome: &Outcome) {
        self.rows.sent += rows;
        match outcome.certainty {
            Certainty::Applied => {
                self.rows.acknowledged += outcome.rows_applied;
                self.rows.refused += outcome.rows_refused;
                self.rows.unknown += outcome.rows_unknown;
            }
            Certainty::NotApplied => self.rows.refused += rows,
            Certainty::Unknown => self.rows.unknown += rows,
        }
    }

    /// Records the unacknowledged rows of a partial op with this latency.
    pub(super) fn note_rows_failed(&mut self, latency: Nanos, rows: u64) {
        if rows > 0 {
            let failed = self.rows_failed.get_or_insert_with(Self::histogram);
            failed.record_n(latency, rows);
        }
    }

    /// Records why an op failed, completely or in part.
    pub(super) fn note_error(&mut self, outcome: &Outcome, latency: Nanos) {
        let Some(error) = &outcome.error else { return };
        self.failures.note(error, 0);
        let entry = self.errors.entry(error.class).or_insert_with(|| {
            let code = error.code.as_deref().map(|code| format!("{code}: ")).unwrap_or_default();
            let text = format!("{code}{}", error.message);
            ClassErrors {
                example: text.chars().take(EXAMPLE_BYTES_MAX).collect(),
                ..ClassErrors::default()
            }
        });
        entry.failed += 1;
        if outcome.is_partial() {
            entry.partial += 1;
        } else {
            self.error_latency.record(latency);
        }
    }
}

/// The source of the keys of a pass.
#[derive(Debug, Clone)]
pub(crate) struct PhaseKeys {
    /// The plan.
    pub(crate) plan: Arc<Plan>,
    /// The phases of the plan, and the added ones.
    pub(crate) schedule: Arc<Schedule>,
    /// Ops of the workload.
    pub(crate) ops: usize,
}

impl PhaseKeys {
    /// All keys in their current state, ordered by phase, stream, and op, each with how its rows wait for their
    /// batch.
    pub(crate) fn all(&self) -> Vec<Option<RowWait>> {
        let mut keys = Vec::new();
        for phase in self.schedule.all() {
            for (planned, pace) in self.plan.streams.iter().zip(phase.paces) {
                keys.extend(std::iter::repeat_n(row_wait(planned, pace), self.ops));
            }
        }
        keys
    }
}

fn row_wait(planned: &StreamPlan, pace: Pace) -> Option<RowWait> {
    match pace {
        Pace::Open { rate } if planned.unit == Unit::Rows => {
            Some(RowWait { rows: planned.units_per_op, rate })
        }
        _ => None,
    }
}
