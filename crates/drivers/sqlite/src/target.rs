//! The target: opens sessions, the admin and the telemetry reader of one database file.
//!
//! Must not execute statements.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::contract::{
    Admin, Capabilities, Connect, Response, Session, Target, Timeline,
};
use highwater_driver::telemetry::{MetricSample, TelemetryReader, names};
use highwater_model::numbers::len_to_f64;
use highwater_model::op::PlaceholderStyle;
use highwater_model::units::Nanos;

use super::admin::SqliteAdmin;
use super::database::Database;
use super::session::SqliteSession;
use super::settings::INSERT_MODES;

/// Sessions of a closed pace without a number: enough to keep the single writer busy while others prepare.
const DEFAULT_SESSIONS: u32 = 4;
/// For estimating an audit: `cargo xtask bench audit` measured 2.9 µs.
const AUDIT_NS_PER_ROW: u64 = 3_000;

/// One database file.
#[derive(Debug)]
pub(super) struct SqliteTarget {
    /// Its file is opened by its first session or admin.
    pub(super) database: Arc<Database>,
}

impl Target for SqliteTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            embedded: true,
            audit_ns_per_row: AUDIT_NS_PER_ROW,
            default_sessions: DEFAULT_SESSIONS,
            insert_modes: INSERT_MODES,
            ..Capabilities::SERVER
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Question
    }

    fn urls(&self) -> Vec<String> {
        vec![self.database.settings.url.clone()]
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let session = SqliteSession::open(&self.database, connect).await?;
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let admin = SqliteAdmin::open(&self.database, timeline).await?;
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        _timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        let database = Arc::clone(&self.database);
        let reader: Box<dyn TelemetryReader> = Box::new(FileReader { database });
        Box::pin(std::future::ready(Ok(Some(reader))))
    }

    fn embedded_cpu(&self) -> Nanos {
        self.database.cpu()
    }
}

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
