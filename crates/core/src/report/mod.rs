//! report (filled by the slices that follow).
