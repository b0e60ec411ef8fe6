//! Units in types: nanoseconds, rates, seeds. Interfaces must not use a bare `u64` for these.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use crate::numbers::to_f64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A span of time, or a point on the run's timeline, in nanoseconds.
///
/// A point counts from the start of the run's first phase.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// Later than any time in a run.
    pub const MAX: Self = Self(u64::MAX);
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000);

    /// From microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// From seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// As seconds, for display and for statistics only.
    pub fn as_secs_f64(self) -> f64 {
        to_f64(self.0) / 1e9
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or the greatest value.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// A rate in millionths of a unit per second, so that plans can be hashed and split exactly.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Rate {
    /// Millionths of a unit per second; at least 1 in a valid plan.
    pub micro_per_s: u64,
}

impl Rate {
    /// From whole units per second.
    pub const fn per_second(units: u64) -> Self {
        Self { micro_per_s: units.saturating_mul(1_000_000) }
    }

    /// Units per second, for display and for statistics only.
    pub fn as_f64(self) -> f64 {
        to_f64(self.micro_per_s) / 1e6
    }
}

/// Whether a value is omitted from a record.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The seed from which all random values of a run are derived, each together with an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
