//! analysis (filled by the slices that follow).
