//! Settings of `highwater audit`. Must not audit.

use std::path::PathBuf;

use highwater_driver::TargetUrl;
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;

use super::resolve::{as_targets, as_values, duration_above_zero, events, files, targets};
use super::{RunOutput, TargetSchemes, WorkloadChoice, parsers};
use crate::failure::Failure;
use crate::layers::{Layers, has_scheme};

/// Everything `highwater audit` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// Directory, `record.json`, id or its beginning; the newest run where absent.
    pub run: Option<String>,
    /// Where the database is now; empty: where the run found it.
    pub targets: Vec<TargetUrl>,
    /// At most; the run's own level where absent.
    pub level: Option<AuditLevel>,
    /// Bound of the audit's duration.
    pub limit: Nanos,
    /// The run store's directory, where ids are looked up.
    pub out: PathBuf,
    /// What it shows.
    pub output: RunOutput,
}

impl AuditSettings {
    /// Settings of `highwater audit`.
    pub fn resolve(layers: &Layers, supported: &TargetSchemes) -> Result<Self, Failure> {
        let words: Vec<&str> = layers.positionals.iter().map(String::as_str).collect();
        let is_run = words.first().is_some_and(|word| !has_scheme(word));
        let (run, rest) = words.split_at(usize::from(is_run));
        let given = as_targets(rest);
        if let Some(other) = given.iter().find(|given| !has_scheme(&given.text)) {
            let message = format!("`{}` is no database URL", other.text);
            let hint = "one run at a time is audited; the words behind it are URLs of its database";
            return Err(Failure::usage(message).with_hint(hint));
        }
        Ok(Self {
            run: run.first().map(|run| (*run).to_owned()),
            targets: if given.is_empty() {
                Vec::new()
            } else {
                targets(&given, supported)?
            },
            level: layers.parse("audit", parsers::audit)?,
            limit: duration_above_zero(layers, "audit-timeout")?.unwrap_or(Nanos::MAX),
            out: layers.require("out", parsers::word)?.into(),
            output: RunOutput {
                quiet: layers.switch("quiet")?,
                json: layers.switch("json")?,
                events: events(layers)?,
                plan_only: false,
                no_color: layers.switch("no-color")?,
            },
        })
    }
}

impl WorkloadChoice {
    /// What the user chose for a stored run: its files, or without any a workload of this name.
    pub fn stored(name: &str, given: &[String]) -> Result<Self, Failure> {
        if given.is_empty() {
            return Ok(Self::Named(name.to_owned()));
        }
        let words: Vec<&str> = given.iter().map(String::as_str).collect();
        files(&as_values("file", &words))
    }
}
