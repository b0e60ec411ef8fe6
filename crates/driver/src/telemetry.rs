//! A target's telemetry during the load: metric samples, and the reader that polls them.
//!
//! A reader has its own connection and may fail at any time. Must not disturb or end a load, and
//! must not keep history: the runner computes rates of counters.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::contract::Response;

pub use highwater_model::target_telemetry::{names, units};

/// The current value of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    /// One of [`names`], or another name chosen by the target.
    pub name: Cow<'static, str>,
    /// Its unit: `share` (0 to 1), `bytes`, `s`, or `1`.
    pub unit: Cow<'static, str>,
    /// The node, disk, or network, if there are several.
    pub node: Option<String>,
    /// How to read the value.
    pub measure: Measure,
    /// Its value; non-finite values are ignored.
    pub value: f64,
}

/// How to read the value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// It can rise and fall.
    Level,
    /// It only rises, until a restart.
    Count,
    /// Seconds that only rise; their increase as a fraction of the elapsed time is a level.
    Seconds,
}

impl MetricSample {
    /// A level.
    pub fn level(name: &'static str, unit: &'static str, value: f64) -> Self {
        Self::new(name, unit, Measure::Level, value)
    }

    /// A counter.
    pub fn count(name: &'static str, unit: &'static str, value: f64) -> Self {
        Self::new(name, unit, Measure::Count, value)
    }

    /// A counter of seconds, reported as a fraction of the elapsed time.
    pub fn seconds(name: &'static str, value: f64) -> Self {
        Self::new(name, units::SHARE, Measure::Seconds, value)
    }

    /// The same metric of one node, disk, or network of several.
    #[must_use]
    pub fn on_node(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// For the target as a whole.
    pub fn new(name: &'static str, unit: &'static str, measure: Measure, value: f64) -> Self {
        Self { name: Cow::Borrowed(name), unit: Cow::Borrowed(unit), node: None, measure, value }
    }
}

/// A value that a server reports under its own name, and its metric.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// The server's name for it, or the expression that reads it.
    pub source: &'static str,
    /// As in [`MetricSample`].
    pub name: &'static str,
    /// As in [`MetricSample`].
    pub unit: &'static str,
    /// As in [`MetricSample`].
    pub measure: Measure,
}

/// A level without a unit.
pub const fn level(source: &'static str, name: &'static str) -> Figure {
    Figure { source, name, unit: "1", measure: Measure::Level }
}

/// A counter without a unit.
pub const fn count(source: &'static str, name: &'static str) -> Figure {
    Figure { measure: Measure::Count, ..level(source, name) }
}

impl Figure {
    /// The same figure with this unit.
    #[must_use]
    pub const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// A sample of its current value.
    pub fn sample(&self, value: f64) -> MetricSample {
        MetricSample::new(self.name, self.unit, self.measure, value)
    }
}

/// Samples of the figures for which a server has a value, excluding the statement that reads them, which is itself
/// active.
pub fn samples(figures: &[Figure], value: impl Fn(&str) -> Option<f64>) -> Vec<MetricSample> {
    let found = figures.iter().filter_map(|figure| {
        let own = f64::from(figure.name == names::ACTIVE);
        Some(figure.sample((value(figure.source)? - own).max(0.0)))
    });
    found.collect()
}

/// Polls a target's metrics.
pub trait TelemetryReader {
    /// The current samples, about once a second; an implementation uses as few and as cheap statements as possible.
    /// Dropping the future abandons the reader. After an error, it is not polled again.
    fn read(&mut self) -> Response<'_, Vec<MetricSample>>;
}

/// A node on this machine whose CPU a control group limits.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitedNode {
    /// Its name in the record.
    pub node: String,
    /// The cores that it may use.
    pub cores: f64,
    /// Its control group: one directory per hierarchy.
    pub group: Vec<PathBuf>,
}
