//! What a target says of itself beside the load: readings, and who reads them.
//!
//! A reader has a connection of its own and may fail at any time; nothing that it does may disturb
//! or end a load. It keeps no history: what counters mean over time is the runner's business.

use std::borrow::Cow;

use crate::error::TargetError;
use crate::future::BoxFuture;

pub use highwater_core::model::target_telemetry::names;

/// One figure, as it stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// One of [`names`], or another word of the target's own.
    pub name: Cow<'static, str>,
    /// What it is counted in: `share` (0 to 1), `bytes`, `s`, or `1`.
    pub unit: Cow<'static, str>,
    /// Which node, disk or network it is of, where there are several.
    pub node: Option<String>,
    /// How it is to be read.
    pub measure: Measure,
    /// Its value; one that is not finite is passed over.
    pub value: f64,
}

/// How a reading is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// It goes up and down.
    Level,
    /// It only goes up, until a restart.
    Count,
    /// Seconds that only go up; their share of the time that passed is a level.
    Seconds,
}

impl Reading {
    /// A level.
    pub fn level(name: &'static str, unit: &'static str, value: f64) -> Self {
        Self::new(name, unit, Measure::Level, value)
    }

    /// A counter.
    pub fn count(name: &'static str, unit: &'static str, value: f64) -> Self {
        Self::new(name, unit, Measure::Count, value)
    }

    /// A counter of seconds, told as a share of the time.
    pub fn seconds(name: &'static str, value: f64) -> Self {
        Self::new(name, "share", Measure::Seconds, value)
    }

    /// The same, of one node, disk or network of several.
    #[must_use]
    pub fn of(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }

    fn new(name: &'static str, unit: &'static str, measure: Measure, value: f64) -> Self {
        Self {
            name: Cow::Borrowed(name),
            unit: Cow::Borrowed(unit),
            node: None,
            measure,
            value,
        }
    }
}

/// SqlQuery for readings.
pub trait TelemetryReader {
    /// All figures as they stand now; as few and as cheap questions as they can be, about once a
    /// second. Dropping the future abandons the reader. After an error it is not asked again.
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Reading>, TargetError>>;
}
