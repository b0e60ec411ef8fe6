//! Settings of `highwater compare`, and of runs that are repeated for a comparison. Must not compare.

use std::path::PathBuf;

use highwater_analysis::comparison::PRACTICAL;
use highwater_driver::TargetUrl;
use highwater_model::quantity::{Ppm, parse_percent};

use super::{CompareFormat, RunSettings, TargetSchemes, parsers, resolve};
use crate::failure::Failure;
use crate::layers::Layers;

/// Variants of one call, at most.
const VARIANTS_MAX: usize = 16;

/// Settings of `highwater compare`.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// At least two: runs, directories of runs, or several of these separated by commas.
    pub groups: Vec<String>,
    /// Smallest relative difference that is not reported as equal.
    pub threshold: f64,
    /// Whether the exit code reports a worse figure.
    pub gate: bool,
    /// What is printed.
    pub format: CompareFormat,
    /// The run store's directory, where ids are looked up.
    pub out: PathBuf,
}

impl CompareSettings {
    /// Settings of `highwater compare`.
    pub fn resolve(layers: &Layers) -> Result<Self, Failure> {
        if layers.positionals.len() < 2 {
            let message = "compare needs at least two runs, or groups of runs";
            return Err(Failure::usage(message).with_hint("name them, the baseline first"));
        }
        let gate: Option<Ppm> = layers.parse("fail-if-worse", parse_percent)?;
        let threshold = match gate {
            Some(gate) => Some(gate),
            None => layers.parse("threshold", parse_percent)?,
        };
        let threshold = threshold.map_or(PRACTICAL, |ppm| f64::from(ppm.0) / 1e6);
        if threshold <= 0.0 {
            let message = "the threshold is not above 0%";
            return Err(Failure::usage(message).with_hint("set it to, for example, 5%"));
        }
        Ok(Self {
            groups: layers.positionals.clone(),
            threshold,
            gate: gate.is_some(),
            format: layers.require("format", parsers::compare_format)?,
            out: layers.require("out", parsers::word)?.into(),
        })
    }
}

/// A run, or repetitions of it on one target or alternating between several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatSettings {
    /// Common settings.
    pub run: RunSettings,
    /// Runs of each variant.
    pub times: u32,
    /// At least one; the first is the baseline.
    pub variants: Vec<Variant>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// In the directory's name, and in the comparison.
    pub name: String,
    /// Its target.
    pub targets: Vec<TargetUrl>,
    /// Command that configures the target before each run.
    pub command: Option<String>,
}

impl RepeatSettings {
    /// Settings of `highwater run`.
    pub fn resolve(layers: &Layers, supported: &TargetSchemes) -> Result<Self, Failure> {
        let run = RunSettings::resolve(layers, supported)?;
        let times = layers.require("repeat", parsers::positive)?;
        let mut variants = Vec::new();
        for given in layers.list("variant") {
            let (name, command) = given.parse(parsers::pair)?;
            let fit = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if !name.chars().all(fit) || name.starts_with('.') {
                return Err(given.failure(format!("`{name}` is no name for a directory")));
            }
            if variants.iter().any(|other: &Variant| other.name == name) {
                return Err(given.failure(format!("variant `{name}` is given twice")));
            }
            variants.push(Variant {
                name,
                targets: run.targets.clone(),
                command: Some(command),
            });
        }
        if variants.len() > VARIANTS_MAX {
            return Err(Failure::usage(format!("more than {VARIANTS_MAX} variants")));
        }
        let second = layers.list("interleave");
        if !second.is_empty() && !variants.is_empty() {
            let message = "--interleave cannot be combined with --variant";
            return Err(Failure::usage(message).with_hint(
                "use --variant to restart one target, or --interleave to alternate with a second one",
            ));
        }
        if variants.is_empty() {
            variants.push(Variant {
                name: "a".to_owned(),
                targets: run.targets.clone(),
                command: None,
            });
        }
        if !second.is_empty() {
            variants.push(Variant {
                name: "b".to_owned(),
                targets: resolve::targets(second, supported)?,
                command: None,
            });
        }
        let settings = Self {
            run,
            times,
            variants,
        };
        settings.check()
    }

    /// Whether it is one run and nothing else.
    pub fn is_plain(&self) -> bool {
        self.times == 1 && self.variants.len() == 1 && self.variants[0].command.is_none()
    }

    fn check(self) -> Result<Self, Failure> {
        let output = &self.run.output;
        if !self.is_plain() && (output.json || self.run.share.of > 1) {
            let message = "--json and --share cannot be combined with several runs";
            return Err(Failure::usage(message)
                .with_hint("find the record.json of each run in the group's directory"));
        }
        Ok(self)
    }
}
