//! Telemetry of the database: the size of its files, and the writer queue. Read from the file
//! system and from this process. Must not execute a statement.

use std::path::Path;
use std::sync::Arc;

use highwater_model::numbers::len_to_f64;

use super::database::Database;
use highwater_driver::contract::Response;
use highwater_driver::telemetry::{MetricSample, TelemetryReader, names};

/// Reads one database.
pub(super) struct FileReader {
    pub(super) database: Arc<Database>,
}

impl FileReader {
    fn samples(&self) -> Vec<MetricSample> {
        let settings = &self.database.settings;
        let (active, waiting) = self.database.busy();
        let mut samples = vec![
            MetricSample::level(names::ACTIVE, "1", len_to_f64(active.saturating_sub(waiting))),
            MetricSample::level(names::QUEUE, "1", len_to_f64(waiting)),
        ];
        let mut size = |name, path: &Path| {
            let bytes = std::fs::metadata(path).map(|file| file.len());
            samples.extend(bytes.ok().map(|bytes| {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                MetricSample::level(name, "bytes", len_to_f64(bytes))
            }));
        };
        size("database_bytes", &settings.path);
        size("log_bytes", &settings.log_path());
        samples
    }
}

impl TelemetryReader for FileReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(std::future::ready(Ok(self.samples())))
    }
}
