//! Figures that others published, compiled in: what can be sized with before anything is measured.
//!
//! The files are the same that stand under `examples/published`; each names its source.

/// A file of published figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Its name under `examples/published`.
    pub file: &'static str,
    /// The file's text, for [`super::read`].
    pub text: &'static str,
}

macro_rules! published {
    ($($file:literal),+ $(,)?) => {
        &[$(Published {
            file: $file,
            text: include_str!(concat!("../../../../examples/published/", $file)),
        }),+]
    };
}

/// All of them.
pub const PUBLISHED: &[Published] = published![
    "one-million-rows.csv",
    "query-scaling.csv",
    "kv-writes.csv",
    "big-bite.csv",
    "benchmarking-guide.csv",
];
