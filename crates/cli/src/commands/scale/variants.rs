//! The variants of a growth: named ones, or the configurations of axes. Must not measure.

use std::collections::BTreeSet;

use highwater_model::scale::ScaleEach;
use highwater_model::tune::TuneAxis;
use highwater_model::user_error::UserError;

use crate::commands::tune::axes;
use crate::layers::{Layers, Strength};
use crate::tuned::set_axis;
use crate::variants::{self, NamedVariant, VARIANTS_MAX};

/// Placeholder for the variant's name in any setting.
const VARIANT: &str = "{variant}";

/// A variant and the settings of its growth.
pub(super) struct VariantSettings {
    pub(super) variant: NamedVariant,
    pub(super) layers: Layers,
}

impl VariantSettings {
    fn new(variant: NamedVariant, layers: &Layers) -> Result<Self, UserError> {
        let own = |text: &str| text.replace(VARIANT, &variant.name);
        Ok(Self {
            layers: layers.with_texts(|given| Ok(own(&given.text)))?,
            variant: NamedVariant { command: variant.command.as_deref().map(own), ..variant },
        })
    }
}

/// The variants of `--variant`, or of `--over` if no tuning uses it; empty for a single growth.
pub(super) fn variants(layers: &Layers) -> Result<Vec<VariantSettings>, UserError> {
    let named = variants::given(layers, false)?;
    let each = layers.value("each").map(|each| each.text.as_str());
    let is_tuned = each == Some(ScaleEach::Tune.name());
    // Axes in a settings file belong to tunings.
    let is_over = !is_tuned && layers.strength("over") == Some(Strength::CommandLine);
    let flag = match (is_over, named.len()) {
        (false, 0) => return Ok(Vec::new()),
        (true, 0) => "over",
        (true, _) => {
            let cause = "--variant and --over exclude each other, but with --each tune";
            let hint = "give each configuration as a variant, with {variant} in its settings";
            return Err(UserError::usage(cause).with_hint(hint));
        }
        (false, 1) => {
            let cause = "--variant: one variant has nothing beside it";
            return Err(UserError::usage(cause).with_hint("give two, or leave it out"));
        }
        (false, _) => "variant",
    };
    if layers.switch("grow")? {
        let cause = format!("--{flag} cannot be combined with --grow");
        let hint = "leave --grow out: each size of each variant has a new cluster";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    if is_over {
        return configurations(layers);
    }
    named.into_iter().map(|variant| VariantSettings::new(variant, layers)).collect()
}

/// Each combination of the axes' values is a variant.
fn configurations(layers: &Layers) -> Result<Vec<VariantSettings>, UserError> {
    let axes = axes(layers)?;
    let plain = layers.without(&["over"]);
    let mut all = vec![(Vec::new(), plain)];
    for axis in &axes {
        let more = all.iter().flat_map(|(names, layers)| {
            let of_value = |value: &String| {
                let mut layers = layers.clone();
                set_axis(&mut layers, Strength::CommandLine, &axis.name, value);
                ([&names[..], &[name(axis, value)]].concat(), layers)
            };
            axis.values.iter().map(of_value)
        });
        all = more.collect();
    }
    if all.len() > VARIANTS_MAX {
        let cause = format!("--over: {} configurations, {VARIANTS_MAX} at most", all.len());
        let hint = "name fewer values, or tune each size with `--each tune`";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    let names: BTreeSet<&Vec<String>> = all.iter().map(|(names, _)| names).collect();
    if names.len() < all.len() {
        let cause = "--over: two configurations would have one name, as their values differ only in what no directory's \
                     name may have";
        let hint = "give them as variants, with {variant} in their settings";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    all.into_iter()
        .map(|(names, layers)| {
            let variant = NamedVariant { name: names.join("_"), command: None };
            VariantSettings::new(variant, &layers)
        })
        .collect()
}

/// A value as part of a directory's name.
fn name(axis: &TuneAxis, value: &str) -> String {
    let fit = |c: char| if variants::is_fit(c) { c } else { '-' };
    format!("{}-{value}", axis.name).chars().map(fit).collect()
}
