//! Polls the cluster's telemetry over HTTP. Must not know the statements: they are shared with the PostgreSQL wire.

use super::options::Node;
use super::query;
use highwater_driver::contract::Response;
use highwater_driver::http::HttpConnection;
use highwater_driver::sql::cratedb_telemetry::{STATEMENTS, metric_samples};
use highwater_driver::telemetry::{MetricSample, TelemetryReader};

/// Polls over HTTP.
pub(super) struct HttpReader {
    pub(super) connection: HttpConnection,
    pub(super) node: Node,
}

impl TelemetryReader for HttpReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let mut responses = Vec::new();
            for sql in STATEMENTS {
                let rows = query::rows(&mut self.connection, &self.node, sql).await;
                let place = &self.node.shown;
                responses.push(rows.map_err(|failure| failure.into_target_error(place))?);
            }
            Ok(metric_samples(&responses))
        })
    }
}
