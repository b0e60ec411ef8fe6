//! The load of a run over time: a bounded number of slots, which double in length when there are too many.

use highwater_model::event::{SecondProgress, StreamProgress};
use highwater_model::plan::Unit;

/// Maximum number of slots; half as many are left after joining.
const SLOTS_MAX: usize = 600;

/// The seconds of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Seconds {
    /// In order; none is longer than [`Self::slot_s`].
    pub slots: Vec<Slot>,
    /// Seconds that a slot holds.
    pub slot_s: u64,
}

/// One or several seconds, all of one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Name of the phase.
    pub phase: String,
    /// Where it begins, in seconds from the start of the first phase.
    pub from_s: u64,
    /// Seconds that are in it.
    pub seconds: u64,
    /// Maximum number of open sessions.
    pub sessions: u32,
    /// Streams, in the order of the plan.
    pub streams: Vec<SlotStream>,
}

/// A stream in a slot.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotStream {
    /// Its name.
    pub stream: String,
    /// The unit that it counts.
    pub unit: Unit,
    /// Units with an acknowledgment that was reported in the same second.
    pub units: f64,
    /// All acknowledged units, including those that were reported later.
    pub acknowledged: u64,
    /// Units that the plan offered; absent in closed load.
    pub offered: Option<f64>,
    /// Median of the slowest second; a percentile is never averaged.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the slowest second; with few ops, also over the seconds before it.
    pub p99_ns: Option<u64>,
    /// Ops that failed.
    pub errors: u64,
    /// Failed ops that were rejected for lack of capacity.
    pub rejected: u64,
    /// Intended ops that were never sent.
    pub dropped: u64,
}

impl Default for Seconds {
    fn default() -> Self {
        Self { slots: Vec::new(), slot_s: 1 }
    }
}

impl Seconds {
    /// Adds the next second.
    pub fn add(&mut self, second: &SecondProgress) {
        self.push(Slot::of(second));
        // Phases that are shorter than a slot are not joined; with more phases than any run may have, slots double on.
        while self.slots.len() >= SLOTS_MAX && self.slot_s < u64::MAX / 2 {
            self.double();
        }
    }

    fn double(&mut self) {
        self.slot_s *= 2;
        let slots = std::mem::replace(&mut self.slots, Vec::with_capacity(SLOTS_MAX));
        for slot in slots {
            self.push(slot);
        }
    }

    fn push(&mut self, slot: Slot) {
        match self.slots.last_mut() {
            Some(last) if last.takes(&slot, self.slot_s) => last.join(&slot),
            _ => self.slots.push(slot),
        }
    }
}

impl Slot {
    fn of(second: &SecondProgress) -> Self {
        Self {
            phase: second.phase.clone(),
            from_s: second.second.saturating_sub(1),
            seconds: 1,
            sessions: second.sessions,
            streams: second.streams.iter().map(SlotStream::of).collect(),
        }
    }

    /// Whether the next slot can be joined to this one: slots lie at multiples of their length.
    fn takes(&self, next: &Self, slot_s: u64) -> bool {
        let same_place = self.from_s / slot_s == next.from_s / slot_s;
        // A slot of a year joins everything, so that the number of phases cannot exceed the bound.
        let same_phase = self.phase == next.phase || slot_s > 365 * 86_400;
        same_place && same_phase && self.streams.len() == next.streams.len()
    }

    fn join(&mut self, next: &Self) {
        self.seconds += next.seconds;
        self.sessions = self.sessions.max(next.sessions);
        for (stream, next) in self.streams.iter_mut().zip(&next.streams) {
            stream.units += next.units;
            stream.acknowledged += next.acknowledged;
            stream.offered = stream.offered.zip(next.offered).map(|(a, b)| a + b);
            stream.p50_ns = stream.p50_ns.max(next.p50_ns);
            stream.p99_ns = stream.p99_ns.max(next.p99_ns);
            stream.errors += next.errors;
            stream.rejected += next.rejected;
            stream.dropped += next.dropped;
        }
    }
}

impl SlotStream {
    fn of(stream: &StreamProgress) -> Self {
        // A stream with few ops shows the percentile of its last seconds together.
        let recent = stream.recent;
        Self {
            stream: stream.stream.clone(),
            unit: stream.unit,
            units: stream.units_per_s,
            acknowledged: match stream.unit {
                Unit::Rows => stream.counts.rows_acknowledged,
                Unit::Queries | Unit::Transactions => stream.counts.acknowledged,
            },
            offered: stream.offered_per_s,
            p50_ns: stream.p50_ns.or(recent.and_then(|of| of.p50_ns)),
            p99_ns: stream.p99_ns.or(recent.and_then(|of| of.p99_ns)),
            errors: stream.errors,
            rejected: stream.rejected,
            dropped: stream.counts.dropped,
        }
    }
}
