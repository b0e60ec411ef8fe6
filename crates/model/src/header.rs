//! The header of every record: format version, ID, and who measured when and where. Must not hold measurements.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the record format.
pub const RECORD_SCHEMA: &str = "highwater-record/2";

/// The beginning of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// Name of the directory of the run or the experiment.
    pub id: String,
    /// Who measured, or read what another tool measured.
    pub highwater: ProgramRecord,
    /// Wall clock at the start of the first phase, RFC 3339, UTC.
    pub started_at: String,
    /// Machine and system.
    pub environment: BTreeMap<String, String>,
    /// What the user noted with `--label`.
    pub labels: BTreeMap<String, String>,
    /// What the user gave that the plan does not show as such, by flag: the workload file, its
    /// parameters, the insert mode, the seed … Said again, it goes on with this run.
    pub given: BTreeMap<String, Vec<String>>,
    /// Others than its user can have written what was read. Nothing of it is proposed as a command.
    #[serde(skip)]
    pub is_of_others: bool,
    /// The working directory's file of settings, where it decided anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_file: Option<String>,
}

/// The program that measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRecord {
    /// Its version.
    pub version: String,
}
