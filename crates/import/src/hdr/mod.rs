//! HdrHistogram's own files: interval logs (`.hlog`), and percentiles as they are printed (`.hgrm`).
//!
//! Neither reports what was counted, nor how the load was made. A log has distributions, and mostly a
//! time; a percentile file has the rows that it prints and nothing between them.

mod log;
mod measures;
mod percentiles;
mod recorded_values;

pub(super) use log::{Reader as LogReader, is_log};
pub(super) use percentiles::{Reader as PercentileReader, is_percentiles};
pub(super) use recorded_values::TOOL;
