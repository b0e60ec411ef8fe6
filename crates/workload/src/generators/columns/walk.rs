//! `walk`: a random walk whose value at any tick costs O(1): no history is kept.
//!
//! The original (TSBS) walk is sequential: x₀ uniform on [0, 100], then
//! x ← clamp(x + N(0, 1), 0, 100) a tick, emitted truncated. Row i of it needs every row before.
//! Ours is made of independent parts, each a function of (key, counter):
//!
//! - every `epoch` ticks an *anchor*, uniform on [0, 1), independent of all others;
//! - between anchors a and b, at the share s of the way, v = (1 − s)·a + s·b put through the
//!   exact distribution function of that sum (see [`Bridge`]), so that the value stays uniform
//!   at every s;
//! - noise a tick: the sum of four 16-bit uniform numbers (Irwin–Hall), scaled to `noise`;
//! - the sum is clamped to [min, max] and, for integer columns, rounded down.
//!
//! Deviations from the original, tested in `tests/walk.rs`: the value forgets its past after
//! two epochs (512 ticks by default; the original's reflection needs some 2,000 ticks); ticks
//! two apart differ by no more than ticks one apart, but for the bridge; the bounds are hit in
//! about 0.6% of the ticks (the original sticks to them for about 1%).
//! Alike are: the uniform distribution of the value at any time, the range, the step from tick
//! to tick (deviation near 1), and the independence of fields and of entities.

use super::making::Scope;
use super::making::{Fill, Generate, MadeFor};
use crate::generators::prelude::{
    ColumnData, ColumnType, Draws, NUMBERS, Section, Segments, Serialize, Spec, Value, specs,
};
use crate::layout::Segment;
use crate::layout::{floats, integers};
use crate::random::{mix, sum_of_parts, unit_of};
use highwater_model::numbers::truncate_to_i64;

/// What a walk looks like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Walk {
    min: f64,
    /// Above `min`.
    max: f64,
    /// Ticks between anchors, at least 1.
    epoch: u64,
    /// Standard deviation of the noise, at least 0.
    noise: f64,
}

impl Generate for Walk {
    const SPECS: &'static [Spec] = specs!(
        "walk", "up and down between min and max, for each entity", NUMBERS,
        ["min": Float, "max": Float; "epoch": Integer, "noise": Float];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let (min, max) = (of.float("min", None), of.float("max", None));
        let epoch = of.integer("epoch", 2..=1_000_000, Some(256)).unsigned_abs();
        let noise = of.float("noise", Some(0.7));
        // Their distance must be a number too.
        of.check_order(min < max && (max - min).is_finite());
        let whole = min.fract() == 0.0 && min.abs() <= 2e9 && max.abs() <= 2e9;
        let fits = scope.kind == ColumnType::Float || whole;
        let good = fits && noise >= 0.0 && noise <= max - min;
        let message = format!("the numbers of {} do not make a walk", of.place);
        let hint = "`noise` is from 0 to max − min; integers need a whole `min`, within 2e9";
        of.check(good, message, hint);
        of.good(Self { min, max, epoch, noise })
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        Walks {
            shape: self.clone(),
            is_float: column.kind == ColumnType::Float,
            anchors: column.draws(),
            noise: Draws::of(column.seed, &["column", column.table, column.column, "noise"]),
        }
    }
}

/// A walk for each entity of a table.
#[derive(Debug)]
struct Walks {
    shape: Walk,
    is_float: bool,
    /// Number n·2³² + e is the n-th anchor of entity e.
    anchors: Draws,
    /// Number i is the noise of row i.
    noise: Draws,
}

/// The distribution function of (1 − s)·a + s·b for independent a, b uniform on [0, 1].
///
/// With p = min(s, 1 − s) and q = max(s, 1 − s) its density is a trapezoid: F(v) is v²/(2pq) for
/// v < p, (v − p/2)/q for p ≤ v ≤ 1 − p, and 1 − F(1 − v) above the middle. Both lower pieces are
/// (v² − max(v − p, 0)²)/(2pq), which needs no branch that a processor would guess wrong.
#[derive(Debug, Clone, Copy)]
struct Bridge {
    near: f64,
    far: f64,
    p: f64,
    inverse_2pq: f64,
}

/// Stands for p = 0 at an anchor: far below any 1/epoch, far above a double's resolution.
const LEAST_P: f64 = 1e-8;

impl Bridge {
    #[expect(clippy::cast_precision_loss, reason = "an epoch has far fewer than 2^53 ticks")]
    fn at(tick_of_epoch: u64, epoch: u64) -> Self {
        let s = tick_of_epoch as f64 / epoch as f64;
        let (p, q) = (s.min(1.0 - s).max(LEAST_P), s.max(1.0 - s));
        Self { near: 1.0 - s, far: s, p, inverse_2pq: 1.0 / (2.0 * p * q) }
    }

    #[inline]
    fn value(&self, near: f64, far: f64) -> f64 {
        let from_middle = self.near * near + self.far * far - 0.5;
        let v = 0.5 - from_middle.abs();
        let beyond = if v > self.p { v - self.p } else { 0.0 };
        let share = (v * v - beyond * beyond) * self.inverse_2pq;
        0.5 + (0.5 - share).copysign(from_middle)
    }
}

impl Fill for Walks {
    fn extremes(&self) -> Vec<Value> {
        let value = |end: f64| {
            if self.is_float { Value::Float(end) } else { Value::Integer(truncate_to_i64(end)) }
        };
        [self.shape.min, self.shape.max].map(value).to_vec()
    }

    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        if self.is_float {
            let min = self.shape.min;
            floats(data, segments, |segment, values| {
                self.append(segment, values, |value| min + value);
            });
        } else {
            let min = truncate_to_i64(self.shape.min);
            integers(data, segments, |segment, values| {
                self.append(segment, values, |value| min + truncate_to_i64(value));
            });
        }
    }
}

impl Walks {
    /// Appends a value for every row of `segment`: what `convert` makes of the walk's value less
    /// its least one.
    #[inline]
    fn append<T: Copy + Default>(
        &self,
        segment: Segment,
        values: &mut Vec<T>,
        convert: impl Fn(f64) -> T,
    ) {
        let epoch = segment.tick / self.shape.epoch;
        let bridge = Bridge::at(segment.tick % self.shape.epoch, self.shape.epoch);
        let width = self.shape.max - self.shape.min;
        // Four uniform 16-bit numbers have a deviation of 65,536 / √3.
        let noise_scale = self.shape.noise * SQRT_3 / 65_536.0;
        let mut near = self.anchors.weyl((epoch << 32) | segment.entity);
        let mut far = self.anchors.weyl((epoch.wrapping_add(1) << 32) | segment.entity);
        let mut noise = self.noise.weyl(segment.row);
        let done = values.len();
        values.resize(done + segment.rows, T::default());
        for value in values.iter_mut().skip(done) {
            let base = bridge.value(unit_of(mix(near)), unit_of(mix(far))) * width;
            let parts = f64::from(sum_of_parts(mix(noise))) - MEAN_OF_PARTS;
            *value = convert((base + parts * noise_scale).clamp(0.0, width));
            near = near.wrapping_add(self.anchors.stride());
            far = far.wrapping_add(self.anchors.stride());
            noise = noise.wrapping_add(self.noise.stride());
        }
    }
}

/// √3 to a double's precision.
const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// The mean of the sum of four 16-bit uniform numbers.
const MEAN_OF_PARTS: f64 = 131_070.0;
