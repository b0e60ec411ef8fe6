//! Settings of `highwater scale`: the sizes, the cluster, the experiment at each size, and the end; among them those that
//! depend on the size of the cluster. Must not start or measure anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use highwater_driver::target_url::redacted;
use highwater_model::cluster::{ClusterSpec, NODES_MAX};
use highwater_model::group::VARIANT_LABEL;
use highwater_model::plan::StopRule;
use highwater_model::quantity::{parse_count, parse_duration, parse_rate};
use highwater_model::record::CommandRecord;
use highwater_model::scale::{
    ClusterStart, LeftOut, NODES_LABEL, NodesAlone, ScaleEach, ScaleRecord, ScaleSize,
};
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;

use crate::cluster_file::{self, ClusterFlags};
use crate::commands::find::FindIntent;
use crate::commands::scale;
use crate::commands::tune::TuneIntent;
use crate::intent::{RunIntent, RunOutput, parsers, resolve, streams};
use crate::layers::{Layers, Origin, SettingValue, Strength};
use crate::stored_files;
use crate::variants::NamedVariant;

/// Placeholder for the number of nodes in a target's URL, and in any other setting.
const NODES: &str = "{nodes}";
/// Flags whose values may depend on the size.
const SIZED: [&str; 7] = ["batch", "max", "rate", "replicas", "sessions", "shards", "start"];
/// Settings of the growth with another meaning for its searches and runs.
const OWN: [&str; 9] = [
    "budget",
    "cluster",
    "dry-run",
    "measure-nodes",
    "no-measure-nodes",
    "no-quota",
    "resume",
    "until",
    "variant",
];
/// Flags that are restricted to certain experiments at each size, and those experiments.
const ONLY: [(&str, &[ScaleEach]); 8] = [
    ("confirm", &[ScaleEach::Find]),
    ("duration", &[ScaleEach::Run]),
    ("each-budget", &[ScaleEach::Find, ScaleEach::Tune]),
    ("max", &[ScaleEach::Find]),
    ("probe", &[ScaleEach::Find, ScaleEach::Tune]),
    ("rate", &[ScaleEach::Run, ScaleEach::Tune]),
    ("start", &[ScaleEach::Find]),
    ("tolerance", &[ScaleEach::Find]),
];
/// Maximum sizes of a growth, and maximum nodes of a size.
const MOST_SIZES: usize = 64;
const MOST_NODES: u64 = 100_000;
const NODES_HINT: &str = "write `--nodes 1..5` or `--nodes 3,6,12,24`";

/// Settings of a growth.
#[derive(Debug, Clone)]
pub(crate) struct ScaleIntent {
    /// The given part of its record, without the plan: the sizes, the experiment at each, and the conditions for the
    /// end.
    pub(super) record: ScaleRecord,
    /// The variant, if there are several.
    pub(super) variant: Option<NamedVariant>,
    /// Settings in which the variants differ.
    pub(super) declared: BTreeSet<String>,
    /// Time for the search at a size.
    each_budget: Nanos,
    /// Idle time of the target before each size's run.
    pub(super) settle: Nanos,
    /// The growth to resume.
    pub(super) resume: Option<String>,
    /// Only print the preview.
    pub(super) dry_run: bool,
    /// The cluster that is started for each size; absent if the clusters at the URLs are running.
    pub(super) cluster: Option<ClusterChoice>,
    /// Directory of the run store.
    pub(super) out: PathBuf,
    /// The command that makes it.
    pub(super) command: CommandRecord,
    /// Output.
    pub(super) output: RunOutput,
    layers: Layers,
}

impl ScaleIntent {
    /// The growth, or one per variant; at least one.
    pub(crate) fn resolve_all(layers: &Layers) -> Result<Vec<Self>, UserError> {
        let variants = scale::variants(layers)?;
        let has_actions = !variants.is_empty() || layers.value("cluster").is_some();
        if has_actions && resolve::share(layers)?.of > 1 {
            let cause = "--share: each load generator would start the clusters, or configure the variants, itself";
            return Err(UserError::usage(cause).with_hint(
                "grow clusters that run already: name their URLs, with {nodes} for the size; or start the load \
                 generators once for each variant",
            ));
        }
        if variants.is_empty() {
            return Ok(vec![Self::resolve(layers)?]);
        }
        let budget = resolve::duration_above_zero(layers, "budget")?;
        let of_each = variants.len() as u64;
        let all = variants.into_iter().map(|of| {
            let mut growth = Self::resolve(&of.layers)?;
            growth.record.budget_ns = budget.map(|budget| budget.0 / of_each);
            growth.variant = Some(of.variant);
            growth.declared = of.declared;
            Ok(growth)
        });
        let all: Vec<Self> = all.collect::<Result<_, UserError>>()?;
        if all.iter().any(|own| own.out != all[0].out) {
            let cause = "--out: variants are stored beside each other";
            return Err(UserError::usage(cause).with_hint("leave {variant} out of it"));
        }
        Ok(all)
    }

    fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let numbers = layers
            .value("nodes")
            .ok_or_else(|| UserError::usage("--nodes is missing").with_hint(NODES_HINT))?
            .parse(sizes)?;
        let (fresh, grow) = (layers.switch("fresh")?, layers.switch("grow")?);
        if fresh && grow {
            let cause = "--fresh and --grow exclude each other";
            return Err(UserError::usage(cause).with_hint("leave one of them out"));
        }
        let each = layers.require("each", each)?;
        check_flags(layers, each)?;
        let cluster = ClusterChoice::resolve(layers)?;
        let largest = numbers.last().copied().unwrap_or_default();
        if cluster.is_some() && largest > NODES_MAX {
            let cause =
                format!("--nodes: {largest} nodes, but a cluster file has {NODES_MAX} at most");
            return Err(UserError::usage(cause).with_hint("name smaller sizes"));
        }
        let mut alone = nodes_alone(layers, cluster.as_ref(), largest)?;
        if alone.nodes > 0 {
            // Lists hold the values of the smallest size.
            let one = [&[1][..], &numbers[1..]].concat();
            let mut sizes = with_settings(layers, &one)?.into_iter();
            alone.settings = sizes.next().map(|size| size.settings).unwrap_or_default();
        }
        Ok(Self {
            record: ScaleRecord {
                sizes: with_settings(layers, &numbers)?,
                each,
                start: if grow { ClusterStart::Grow } else { ClusterStart::Fresh },
                alone,
                until_per_s: layers.parse("until", parse_rate)?.map(Rate::as_f64),
                over: layers.texts("over").collect(),
                price_per_node_hour: layers.parse("price", parsers::amount)?,
                budget_ns: resolve::duration_above_zero(layers, "budget")?.map(|budget| budget.0),
                targets: match &cluster {
                    Some(cluster) => vec![cluster.spec.name.clone()],
                    None => targets(layers)?,
                },
                ..ScaleRecord::default()
            },
            variant: None,
            declared: BTreeSet::new(),
            each_budget: layers.require("each-budget", parse_duration)?,
            settle: resolve::settle(layers)?,
            resume: stored_files::resumed(layers)?,
            dry_run: layers.switch("dry-run")?,
            cluster,
            out: layers.require("out", parsers::word)?.into(),
            command: resolve::command(layers),
            output: resolve::output(layers)?,
            layers: layers.clone(),
        })
    }

    /// The search at the size with this index.
    pub(super) fn find_at(&self, at: usize) -> Result<FindIntent, UserError> {
        let mut layers = self.layers_at(at)?;
        layers.add(Strength::Default, "axis", "rate", Origin::Default);
        layers.add(Strength::Default, "budget", "1h", Origin::Default);
        let mut intent = FindIntent::resolve(&layers)?;
        intent.budget = self.each_budget;
        self.label(at, &mut intent.run);
        Ok(intent)
    }

    /// The run at the size with this index.
    pub(super) fn run_at(&self, at: usize) -> Result<RunIntent, UserError> {
        let layers = self.layers_at(at)?;
        let length = resolve::duration_above_zero(&layers, "duration")?;
        let length = length.ok_or_else(|| UserError::usage("--duration is missing"))?;
        let streams = streams::without_ramp(&layers)?;
        let mut run = RunIntent::with_streams(&layers, streams, length, StopRule::default())?;
        self.label(at, &mut run);
        Ok(run)
    }

    /// The tuning at the size with this index. Each of its trials is resolved again, so everything must be a setting.
    pub(super) fn tune_at(&self, at: usize, drop: bool) -> Result<TuneIntent, UserError> {
        let mut layers = self.layers_at(at)?;
        layers.add(Strength::Default, "by", "throughput", Origin::Default);
        layers.add(Strength::Default, "budget", "1h", Origin::Default);
        let label = format!("{NODES_LABEL}={}", self.record.sizes[at].nodes);
        let variant = self.variant.as_ref();
        let variant = variant.map(|variant| format!("{VARIANT_LABEL}={}", variant.name));
        for label in [label].into_iter().chain(variant) {
            layers.add(Strength::Default, "label", label, Origin::Default);
        }
        if drop {
            layers.add(Strength::CommandLine, "drop", "true", Origin::Default);
        }
        let mut intent = TuneIntent::resolve(&layers)?;
        intent.budget = self.each_budget;
        intent.run.command = self.command.in_trial(intent.run.command);
        Ok(intent)
    }

    /// The common part of a size's search or run: its workload and its target.
    pub(super) fn common_at(&self, at: usize) -> Result<RunIntent, UserError> {
        match self.record.each {
            ScaleEach::Find => Ok(self.find_at(at)?.run),
            ScaleEach::Run => self.run_at(at),
            ScaleEach::Tune => Ok(self.tune_at(at, false)?.run),
        }
    }

    /// Labels each size's record with the number of nodes, whatever its target reports, and notes the size's settings
    /// in the command.
    fn label(&self, at: usize, run: &mut RunIntent) {
        run.command = self.command.in_trial(std::mem::take(&mut run.command));
        let nodes = self.record.sizes[at].nodes.to_string();
        let label = run.options.labels.entry(NODES_LABEL.to_owned());
        label.or_insert(nodes);
        if let Some(variant) = &self.variant {
            let label = run.options.labels.entry(VARIANT_LABEL.to_owned());
            label.or_insert_with(|| variant.name.clone());
        }
    }

    /// The settings of a size.
    fn layers_at(&self, at: usize) -> Result<Layers, UserError> {
        let numbers: Vec<u32> = self.record.sizes.iter().map(|size| size.nodes).collect();
        let mut layers = self.layers.without(&OWN);
        let planned = self.cluster.as_ref();
        let planned = planned.and_then(|cluster| cluster.spec.planned_urls(numbers[at]));
        for url in planned.unwrap_or_default() {
            layers.add(Strength::CommandLine, "target", url, Origin::CommandLine);
        }
        if self.cluster.is_some() {
            // A target that was just started is cold.
            layers.add(Strength::Default, "warm-up", "steady", Origin::Default);
        }
        layers.with_texts(|given| {
            let text = given.text.replace(NODES, &numbers[at].to_string());
            match setting(given.name, &text, &numbers) {
                None => Ok(text),
                Some((prefix, values)) => {
                    let own = given.parse(|_| value(values, &numbers, at))?;
                    Ok(format!("{prefix}{own}"))
                }
            }
        })
    }
}

/// The part of a setting's text that depends on the size, and the part before it.
fn setting<'a>(name: &str, text: &'a str, numbers: &[u32]) -> Option<(&'a str, &'a str)> {
    let (prefix, values) = match name {
        "set" => text.split_at(text.find('=')? + 1),
        _ => ("", text),
    };
    let sized = match name {
        "set" => depends(values) && are_numbers(values, numbers),
        _ => SIZED.contains(&name) && depends(values),
    };
    sized.then_some((prefix, values))
}

/// The sizes, with the settings that depend on them.
fn with_settings(layers: &Layers, numbers: &[u32]) -> Result<Vec<ScaleSize>, UserError> {
    let mut given: Vec<&SettingValue> = Vec::new();
    given.extend(SIZED.iter().filter_map(|name| layers.value(name)));
    given.extend(layers.every_layer("set").map(|(_, given)| given));
    let sizes = numbers.iter().enumerate().map(|(at, nodes)| {
        let mut settings = BTreeMap::new();
        for given in &given {
            let Some((prefix, values)) = setting(given.name, &given.text, numbers) else {
                continue;
            };
            let own = given.parse(|_| value(values, numbers, at))?;
            let name = prefix.strip_suffix('=').unwrap_or(given.name);
            settings.insert(name.to_owned(), own);
        }
        Ok(ScaleSize { nodes: *nodes, settings })
    });
    sizes.collect()
}

/// The targets as given; one of them contains the size.
fn targets(layers: &Layers) -> Result<Vec<String>, UserError> {
    let given = layers.list("target");
    if !given.iter().any(|given| given.text.contains(NODES)) {
        let cause = format!("TARGET: scale needs one cluster per size, and no URL has `{NODES}`");
        let hint = "put {nodes} where the clusters' addresses differ by it, such as \
                    `db-{nodes}.example.net`, or let --cluster FILE start the clusters";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    let shown = given
        .iter()
        .map(|given| &given.text)
        .map(|text| redacted(text).unwrap_or_else(|| text.clone()));
    Ok(shown.collect())
}

/// Rejects flags of other experiments.
fn check_flags(layers: &Layers, each: ScaleEach) -> Result<(), UserError> {
    let is_given = |name: &str| layers.strength(name) == Some(Strength::CommandLine);
    let mut wrong = ONLY.iter().filter(|(_, of)| !of.contains(&each));
    match wrong.find(|(name, _)| is_given(name)) {
        None => Ok(()),
        Some((name, of)) => {
            let of: Vec<&str> = of.iter().map(|each| each.name()).collect();
            let of = of.join(" or ");
            let cause = format!("--{name} is of --each {of}");
            Err(UserError::usage(cause).with_hint(format!("leave it out, or add `--each {of}`")))
        }
    }
}

fn each(text: &str) -> Result<ScaleEach, UserError> {
    let cause = "is nothing that can be made at each size";
    let hint = "there are `find`, `run` and `tune`";
    serde_json::from_value(text.into()).map_err(|_| parsers::wrong(text, cause, hint))
}

/// `1..5`, or `3,6,12,24`: at least two sizes, ascending.
fn sizes(text: &str) -> Result<Vec<u32>, UserError> {
    let wrong = |cause: String| UserError::usage(format!("`{text}` {cause}")).with_hint(NODES_HINT);
    // Ranges are written in other ways elsewhere.
    if let Some((first, last)) = text.split_once('-')
        && let (Ok(first), Ok(last)) = (parse_count(first.trim()), parse_count(last.trim()))
    {
        let cause = format!("`{text}` is not how a range is written");
        return Err(UserError::usage(cause).with_hint(format!("write `--nodes {first}..{last}`")));
    }
    let number = |text: &str| match parse_count(text.trim())? {
        nodes @ 1..=MOST_NODES => Ok(u32::try_from(nodes).unwrap_or(u32::MAX)),
        _ => Err(wrong("names a size out of 1 to 100,000".to_owned())),
    };
    let all: Vec<u32> = match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            (first..=last).take(MOST_SIZES + 1).collect()
        }
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    let ascending: BTreeSet<u32> = all.iter().copied().collect();
    if all.len() > MOST_SIZES {
        return Err(wrong(format!("has more than {MOST_SIZES} sizes")));
    }
    if all.len() < 2 {
        return Err(wrong("has fewer than two sizes, which show no growth".to_owned()));
    }
    if !ascending.iter().eq(&all) {
        return Err(wrong("is not ascending".to_owned()));
    }
    Ok(all)
}

/// The cluster of a file.
#[derive(Debug, Clone)]
pub(super) struct ClusterChoice {
    pub(super) path: PathBuf,
    pub(super) spec: ClusterSpec,
    pub(super) flags: ClusterFlags,
}

impl ClusterChoice {
    /// Definition that a growth must share with this one to resume it. It is hashed, never shown.
    pub(super) fn definition(&self) -> String {
        format!("{:?} {}", self.spec, self.flags.no_quota)
    }

    pub(super) fn resolve(layers: &Layers) -> Result<Option<Self>, UserError> {
        let no_quota = layers.switch("no-quota")?;
        let Some(path) = layers.parse("cluster", parsers::word)? else {
            return Ok(None);
        };
        let path = PathBuf::from(path);
        let spec = cluster_file::read(&path)?;
        let knows_urls = spec.planned_urls(1).is_some();
        let has_targets = layers.strength("target") == Some(Strength::CommandLine);
        if knows_urls == has_targets {
            let (cause, hint) = if knows_urls {
                ("a TARGET beside --cluster", "leave the TARGET out: the file has its URLs")
            } else {
                (
                    "TARGET is missing",
                    "the file's commands print the URLs of a cluster that is up: give one \
                  that they may be, so that what is measured can be planned",
                )
            };
            return Err(UserError::usage(format!("--cluster: {cause}")).with_hint(hint));
        }
        let flags = ClusterFlags { no_quota, remove_data: true, takes_over: false };
        Ok(Some(Self { path, spec, flags }))
    }
}

/// The nodes to measure alone: those of the largest size, if the file allows starting each one alone.
fn nodes_alone(
    layers: &Layers,
    cluster: Option<&ClusterChoice>,
    largest: u32,
) -> Result<NodesAlone, UserError> {
    let requested = layers.switch("measure-nodes")?;
    let declined = layers.switch("no-measure-nodes")?;
    if requested && declined {
        let cause = "--measure-nodes and --no-measure-nodes exclude each other";
        return Err(UserError::usage(cause).with_hint("leave one of them out"));
    }
    let Some(cluster) = cluster else {
        let cause = "--measure-nodes: without --cluster, no node is started";
        let hint = "leave it out, or give a cluster file";
        return if requested {
            Err(UserError::usage(cause).with_hint(hint))
        } else {
            Ok(NodesAlone::default())
        };
    };
    let left_out = cluster.spec.not_alone();
    if let Some(why) = left_out.filter(|_| requested) {
        let (cause, hint) = match why {
            LeftOut::OwnCommands => {
                ("the file's commands start clusters, and no single node", "leave it out")
            }
            _ => (
                "the file does not say that a node starts without the others",
                "add `alone = true` to [node] if each does, or leave the flag out",
            ),
        };
        return Err(UserError::usage(format!("--measure-nodes: {cause}")).with_hint(hint));
    }
    let too_many =
        (!requested && largest > NodesAlone::WITHOUT_REQUEST).then_some(LeftOut::TooMany);
    let declined = declined.then_some(LeftOut::Declined);
    let left_out = declined.or(left_out).or(too_many);
    Ok(NodesAlone {
        nodes: if left_out.is_some() { 0 } else { largest },
        left_out,
        ..NodesAlone::default()
    })
}

const HINT: &str = "write a value for each size (30,30,60), or an expression in n: `16n`, `8+8n`";

/// The value for the size at index `at` of `nodes`; a text that depends on no size is returned for every size.
pub(super) fn value(text: &str, nodes: &[u32], at: usize) -> Result<String, UserError> {
    let size = nodes.get(at).copied().unwrap_or(1);
    let values: Vec<&str> = text.split(',').collect();
    let own = match values.as_slice() {
        [one] => *one,
        _ if values.len() == nodes.len() => values.get(at).copied().unwrap_or_default(),
        _ => {
            let (given, sizes) = (values.len(), nodes.len());
            return Err(UserError::usage(format!("`{text}` has {given} values for {sizes} sizes"))
                .with_hint(HINT));
        }
    };
    expression(own, size).unwrap_or_else(|| Ok(own.to_owned()))
}

/// Whether the text has a different value for each size.
fn depends(text: &str) -> bool {
    text.contains(',') || expression(text, 1).is_some()
}

/// Whether the text is an expression, or a list with a number or an expression for each size.
fn are_numbers(text: &str, nodes: &[u32]) -> bool {
    let is_number = |text: &str| expression(text, 1).is_some() || parse_count(text).is_ok();
    let values: Vec<&str> = text.split(',').collect();
    [1, nodes.len()].contains(&values.len()) && values.into_iter().all(is_number)
}

/// A sum in which `n` is the size; absent if there is no `n` in it, or if it is not a sum.
fn expression(text: &str, size: u32) -> Option<Result<String, UserError>> {
    let mut with_size = false;
    let mut sum = Some(0_u64);
    for term in text.split('+').map(str::trim) {
        let (factor, times) = match term.strip_suffix('n') {
            Some(factor) => {
                with_size = true;
                (factor.trim_end_matches('*').trim(), u64::from(size))
            }
            None => (term, 1),
        };
        let factor = match factor {
            "" if times == 1 && !term.ends_with('n') => return None,
            "" => 1,
            number => parse_count(number).ok()?,
        };
        let product = factor.checked_mul(times);
        sum = sum.zip(product).and_then(|(sum, product)| sum.checked_add(product));
    }
    with_size.then(|| {
        sum.map(|sum| sum.to_string()).ok_or_else(|| {
            UserError::usage(format!("`{text}` is too large with {size} nodes")).with_hint(HINT)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_a_range_or_a_list_and_ascend() {
        assert_eq!(sizes("1..5"), Ok(vec![1, 2, 3, 4, 5]));
        assert_eq!(sizes("3,6,12,24"), Ok(vec![3, 6, 12, 24]));
        assert_eq!(sizes("1, 4"), Ok(vec![1, 4]));
        let range = sizes("1-5").unwrap_err();
        assert_eq!(range.hint.as_deref(), Some("write `--nodes 1..5`"));
        for wrong in ["", "3", "3..3", "5..1", "1,1", "6,3", "0..2", "a..b", "1..200", "1,200k"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }

    fn check(text: &str, expected: [&str; 3]) {
        let nodes = [1, 3, 6];
        let values = [0, 1, 2].map(|at| value(text, &nodes, at).unwrap());
        assert_eq!(values, expected, "{text}");
    }

    #[test]
    fn a_setting_is_a_list_an_expression_or_the_same_for_all() {
        check("16n", ["16", "48", "96"]);
        check("8+8n", ["16", "32", "56"]);
        check("8n + 8", ["16", "32", "56"]);
        check("n", ["1", "3", "6"]);
        check("2*n", ["2", "6", "12"]);
        check("10Mn", ["10000000", "30000000", "60000000"]);
        check("n+n", ["2", "6", "12"]);
        check("30,30,60", ["30", "30", "60"]);
        check("1k,n,2n", ["1k", "3", "12"]);
        for same in ["64", "0-1", "100ms", "json", "min", "", "an", "8+"] {
            check(same, [same; 3]);
            assert!(!depends(same), "{same}");
        }
        assert!(depends("16n") && depends("1,2"));
    }

    #[test]
    fn a_list_has_a_value_for_each_size_and_no_value_is_too_large() {
        let few = value("1,2", &[1, 2, 3], 0).unwrap_err();
        assert_eq!(few.message, "`1,2` has 2 values for 3 sizes");
        let large = value("18446744073709551615n", &[2], 0).unwrap_err();
        assert!(large.message.contains("too large"), "{large:?}");
    }
}
