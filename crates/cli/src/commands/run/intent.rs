//! What `highwater run` is to do: one run, or several for a comparison. Must not run or compare.

use highwater_driver::TargetUrl;

use crate::failure::Failure;
use crate::intent::{RunIntent, parsers, resolve};
use crate::layers::Layers;

/// Variants of one call, at most.
const VARIANTS_MAX: usize = 16;

/// A run, or repetitions of it on one target or alternating between several.
#[derive(Debug)]
pub(crate) struct RepeatIntent {
    /// Common settings.
    pub(crate) run: RunIntent,
    /// Runs of each variant.
    pub(crate) times: u32,
    /// At least one; the first is the baseline.
    pub(crate) variants: Vec<Variant>,
}

/// One side of a comparison.
#[derive(Debug)]
pub(crate) struct Variant {
    /// In the directory's name, and in the comparison.
    pub(crate) name: String,
    /// Its target.
    pub(crate) targets: Vec<TargetUrl>,
    /// Command that configures the target before each run.
    pub(crate) command: Option<String>,
}

impl RepeatIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, Failure> {
        let run = RunIntent::resolve(layers)?;
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
                targets: resolve::targets(layers, second)?,
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
    pub(crate) fn is_plain(&self) -> bool {
        self.times == 1 && self.variants.len() == 1 && self.variants[0].command.is_none()
    }

    fn check(self) -> Result<Self, Failure> {
        let output = &self.run.output;
        if !self.is_plain() && (output.json || self.run.plan.share.of > 1) {
            let message = "--json and --share cannot be combined with several runs";
            return Err(Failure::usage(message)
                .with_hint("find the record.json of each run in the group's directory"));
        }
        Ok(self)
    }
}
