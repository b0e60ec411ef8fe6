//! The telemetry that is polled during the load. Must not poll.

use highwater_driver::metrics::{Endpoint, Mapping};
use highwater_model::user_error::UserError;
use highwater_runner::request::TelemetryRequest;

use crate::layers::Layers;

/// Maximum number of endpoints, and of mappings.
const MOST_ENDPOINTS: usize = 8;
const MOST_MAPPINGS: usize = 64;

pub(super) fn telemetry(layers: &Layers) -> Result<TelemetryRequest, UserError> {
    let mut mappings = Vec::new();
    for given in layers.list("metric") {
        mappings.push(given.parse(Mapping::parse)?);
        if mappings.len() > MOST_MAPPINGS {
            return Err(given.failure(format!("more than {MOST_MAPPINGS} of them")));
        }
    }
    let urls = layers.list("metrics");
    if urls.len() > MOST_ENDPOINTS {
        let cause = format!("--metrics: more than {MOST_ENDPOINTS} of them");
        return Err(UserError::usage(cause));
    }
    if urls.is_empty() && !mappings.is_empty() {
        return Err(UserError::usage("--metric: no endpoint is given")
            .with_hint("add --metrics URL, such as --metrics http://host:9100/metrics"));
    }
    let off = layers.switch("no-telemetry")?;
    // Without mappings, those of well-known exporters are used.
    let mut telemetry = layers.of_cluster.clone();
    telemetry.off = off;
    for given in urls {
        let endpoint = Endpoint::new(&given.text, &mappings)?;
        telemetry.endpoints.push(endpoint);
    }
    Ok(telemetry)
}
