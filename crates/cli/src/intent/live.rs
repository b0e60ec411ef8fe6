//! `--ui`, `--ui-control`, `--metrics-listen` and `--otlp` as typed values. Must not listen.

use highwater_model::user_error::UserError;

use super::{LiveRequest, parsers};
use crate::layers::Layers;

/// The page and metrics to serve.
pub(super) fn live(layers: &Layers) -> Result<LiveRequest, UserError> {
    let page = layers.parse("ui", parsers::page_address)?;
    let control = layers.switch("ui-control")?;
    if control && page.is_none() {
        let cause = "--ui-control: there is no page to control from";
        return Err(UserError::usage(cause).with_hint("add --ui"));
    }
    Ok(LiveRequest {
        page,
        control,
        metrics: layers.parse("metrics-listen", parsers::address)?,
        otlp: layers.parse("otlp", parsers::otlp_url)?,
    })
}
