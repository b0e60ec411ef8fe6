//! The supported formats: the tool and a description of each.
//!
//! Must not recognize or read a format; see `importer`.

macro_rules! formats {
    ($($variant:ident = $tool:literal, $about:literal;)*) => {
        /// A kind of output.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format { $(#[doc = $about] $variant,)* }

        impl Format {
            /// All formats, the most reliably recognized first.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The tool, as `--tool` names it.
            pub const fn tool(self) -> &'static str {
                match self { $(Self::$variant => $tool,)* }
            }

            /// Description.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }
        }
    };
}

formats! {
    PgbenchLog = "pgbench", "log of transactions";
    PgbenchOutput = "pgbench", "printed output";
    Sysbench = "sysbench", "printed output";
    K6Lines = "k6", "JSON lines";
    K6Summary = "k6", "JSON summary";
    HdrLog = "hdrhistogram", "interval log";
    HdrPercentiles = "hdrhistogram", "percentiles";
    IngestBench = "nodeingestbench", "printed output";
    LocustStats = "locust", "statistics as CSV";
    LocustHistory = "locust", "history as CSV";
    CockroachOutput = "cockroach", "printed output";
    CockroachHistograms = "cockroach", "histograms as JSON";
}
