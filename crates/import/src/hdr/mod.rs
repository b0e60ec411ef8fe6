//! HdrHistogram's own files: interval logs (`.hlog`), and printed percentiles (`.hgrm`).
//!
//! Neither describes what was counted, or the load. A log has distributions, and mostly a start time; a percentile file
//! has only the printed rows.

mod log;
mod measures;
mod percentiles;
mod recorded_values;

pub(super) use log::{Reader as LogReader, is_log};
pub(super) use percentiles::{Reader as PercentileReader, is_percentiles};
pub(super) use recorded_values::TOOL;
