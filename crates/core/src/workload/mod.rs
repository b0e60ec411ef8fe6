//! workload (filled by the slices that follow).
