//! Settings of the telemetry that is polled during the load. Must not poll.

use highwater_driver::metrics::{Endpoint, Mapping};

use crate::failure::Failure;
use crate::layers::Layers;

/// Most endpoints, and most mappings.
const MOST_ENDPOINTS: usize = 8;
const MOST_MAPPINGS: usize = 64;

/// Sources polled during the load. Their texts may hold a password, so `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// Whether anything is polled.
    pub enabled: bool,
    /// `--metrics`, as given.
    urls: Vec<String>,
    /// `--metric`; those of well-known exporters when empty.
    mappings: Vec<Mapping>,
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Telemetry({}, {} endpoints)",
            self.enabled,
            self.urls.len()
        )
    }
}

impl Telemetry {
    /// From the flags.
    pub(super) fn resolve(layers: &Layers) -> Result<Self, Failure> {
        let mut mappings = Vec::new();
        for given in layers.list("metric") {
            mappings.push(given.parse(Mapping::parse)?);
            if mappings.len() > MOST_MAPPINGS {
                return Err(given.failure(format!("more than {MOST_MAPPINGS} of them")));
            }
        }
        let given = layers.list("metrics");
        let urls: Vec<String> = given.iter().map(|given| given.text.clone()).collect();
        if urls.len() > MOST_ENDPOINTS {
            let cause = format!("--metrics: more than {MOST_ENDPOINTS} of them");
            return Err(Failure::usage(cause));
        }
        if urls.is_empty() && !mappings.is_empty() {
            return Err(Failure::usage("--metric: no endpoint is given")
                .with_hint("add --metrics URL, such as --metrics http://host:9100/metrics"));
        }
        let telemetry = Self {
            enabled: !layers.switch("no-telemetry")?,
            urls,
            mappings,
        };
        telemetry.endpoints()?;
        Ok(telemetry)
    }

    /// The endpoints, ready to be polled.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, Failure> {
        let urls = self.urls.iter();
        urls.map(|url| Ok(Endpoint::new(url, &self.mappings)?))
            .collect()
    }
}
