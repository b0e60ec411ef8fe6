//! Settings of `highwater run`: one run, or several for a comparison. Must not run or compare.

use highwater_driver::TargetUrl;
use highwater_model::quantity::parse_duration;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::intent::{RunIntent, parsers, resolve};
use crate::layers::Layers;
use crate::{trust, variants};

/// A run, or repetitions of it on one target or alternating between several targets.
#[derive(Debug)]
pub(crate) struct RepeatIntent {
    /// Common settings.
    pub(crate) run: RunIntent,
    /// Number of runs per variant.
    pub(crate) times: u32,
    /// At least one; the first is the baseline.
    pub(crate) variants: Vec<Variant>,
    /// Idle time of the target before each run except the first.
    pub(crate) settle: Nanos,
    /// Time for the whole group; absent: no limit.
    pub(crate) budget: Option<Nanos>,
    /// The group to resume.
    pub(crate) resume: Option<String>,
    /// Only print the preview.
    pub(crate) dry_run: bool,
}

/// One side of a comparison.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Name in the directory, and in the comparison.
    pub(crate) name: String,
    /// Its target.
    pub(crate) targets: Vec<TargetUrl>,
    /// Command that configures the target before each run.
    pub(crate) command: Option<String>,
}

impl RepeatIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let run = RunIntent::resolve(layers)?;
        let times = layers.require("repeat", parsers::positive)?;
        let variant = |name: &str, targets: &[TargetUrl]| Variant {
            name: name.to_owned(),
            targets: targets.to_vec(),
            command: None,
        };
        let given = variants::given(layers, true)?.into_iter();
        let mut variants: Vec<Variant> = given
            .map(|given| Variant { command: given.command, ..variant(&given.name, &run.targets) })
            .collect();
        let second = layers.list("interleave");
        if !second.is_empty() && !variants.is_empty() {
            let message = "--interleave cannot be combined with --variant";
            return Err(UserError::usage(message).with_hint(
                "use --variant to restart one target, or --interleave to alternate with a second one",
            ));
        }
        if variants.is_empty() {
            variants.push(variant("a", &run.targets));
        }
        if !second.is_empty() {
            variants.push(variant("b", &resolve::targets(layers, second)?));
        }
        let settings = Self {
            run,
            times,
            variants,
            settle: layers.require("settle", parse_duration)?,
            budget: resolve::duration_above_zero(layers, "budget")?,
            resume: trust::resumed(layers)?,
            dry_run: layers.switch("dry-run")?,
        };
        settings.check()
    }

    /// Whether it is a single run.
    pub(crate) fn is_plain(&self) -> bool {
        let once = self.times == 1 && self.variants.len() == 1;
        once && self.variants[0].command.is_none() && self.resume.is_none() && !self.dry_run
    }

    fn check(self) -> Result<Self, UserError> {
        let is_plain = self.is_plain();
        let (message, hint) = if !is_plain && self.run.plan.share.of > 1 {
            let message = "--share cannot be combined with several runs";
            (message, "start each load generator once for each run")
        } else if !is_plain && self.run.control.is_some() {
            let message = "--control: commands are for one run, and several are to be made";
            (message, "leave out --repeat, --interleave, and --variant")
        } else if is_plain && (self.budget.is_some() || self.settle != Nanos::ZERO) {
            let message = "--budget and --settle are of several runs";
            (message, "add --repeat, such as --repeat 5")
        } else {
            return Ok(self);
        };
        Err(UserError::usage(message).with_hint(hint))
    }
}
