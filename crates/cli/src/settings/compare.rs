//! Settings of `highwater compare`, and of runs that are repeated so that they can be compared.

use std::path::PathBuf;

use highwater_core::analysis::comparison::PRACTICAL;
use highwater_core::model::quantity::{Ppm, parse_percent};
use highwater_driver::TargetUrl;

use super::{RunSettings, TargetSchemes, resolve, words};
use crate::failure::Failure;
use crate::layers::Layers;

/// Variants of one call, at most.
const VARIANTS_MAX: usize = 16;

/// Everything `highwater compare` needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// At least two: runs, directories of runs, or several of them with commas between.
    pub groups: Vec<String>,
    /// A difference that matters, as a part.
    pub practical: f64,
    /// Whether the exit code says that something is worse.
    pub gate: bool,
    /// What is printed.
    pub format: CompareFormat,
    /// The run store's directory, where ids are looked up.
    pub out: PathBuf,
}

/// A form of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareFormat {
    /// For people.
    Text,
    /// For a comment on a change.
    Markdown,
    /// A page.
    Html,
}

impl CompareSettings {
    /// Settings of `highwater compare`.
    pub fn resolve(layers: &Layers) -> Result<Self, Failure> {
        if layers.positionals.len() < 2 {
            let message = "compare needs at least two runs, or groups of runs";
            return Err(Failure::usage(message)
                .with_hint("name them, the one that the others are compared with first"));
        }
        let gate: Option<Ppm> = layers.parse("fail-if-worse", parse_percent)?;
        let practical = match gate {
            Some(gate) => Some(gate),
            None => layers.parse("threshold", parse_percent)?,
        };
        let practical = practical.map_or(PRACTICAL, |ppm| f64::from(ppm.0) / 1e6);
        if practical <= 0.0 {
            let message = "a difference that matters is above 0 %";
            return Err(Failure::usage(message).with_hint("such as 5%"));
        }
        Ok(Self {
            groups: layers.positionals.clone(),
            practical,
            gate: gate.is_some(),
            format: layers.require("format", words::compare_format)?,
            out: layers.require("out", words::word)?.into(),
        })
    }
}

/// A run, or several of it, on one target or on several in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatSettings {
    /// What all of them have in common.
    pub run: RunSettings,
    /// Runs of each variant.
    pub times: u32,
    /// At least one, the one that the others are compared with first.
    pub variants: Vec<Variant>,
}

/// What differs between runs that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// In the directory's name, and in the comparison.
    pub name: String,
    /// Its target.
    pub targets: Vec<TargetUrl>,
    /// A command that brings the target into this configuration, before each run.
    pub command: Option<String>,
}

impl RepeatSettings {
    /// Settings of `highwater run`.
    pub fn resolve(layers: &Layers, known: &TargetSchemes) -> Result<Self, Failure> {
        let run = RunSettings::resolve(layers, known)?;
        let times = layers.require("repeat", words::positive)?;
        let mut variants = Vec::new();
        for given in layers.list("variant") {
            let (name, command) = given.parse(words::pair)?;
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
            let message = "--interleave and --variant exclude each other";
            return Err(Failure::usage(message).with_hint(
                "--variant restarts one target, --interleave takes turns with a second one",
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
                targets: resolve::targets(second, known)?,
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
            let message = "--json and --share belong to one run, not to several";
            return Err(Failure::usage(message)
                .with_hint("each run leaves its record.json in the group's directory"));
        }
        Ok(self)
    }
}
