//! From settings to records: one growth, or one per variant in turns, and their output. Must not choose sizes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use highwater_analysis::growth::{Candidate, Grown, chosen};
use highwater_driver::TargetUrl;
use highwater_driver::interrupts::Interrupts;
use highwater_experiment::scale::cluster::{Cluster, ReadyClusters, StartedCluster};
use highwater_experiment::{self as experiment, ExperimentRun, SizedTrial};
use highwater_model::display::duration;
use highwater_model::plan::Plan;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{GrowthVariant, ScaleRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_report::NamedGrowth;
use highwater_runner::store::RunDirectory;

use super::intent::{ClusterChoice, ScaleIntent};
use super::planned_sizes::{
    UnfinishedSearch, estimate, own_record, planned_growth, preview, resume,
};
use super::sized_runs::{SharedCluster, SizedRuns};
use crate::commands::compare;
use crate::intent::RunIntent;
use crate::prepare::trials::{self, Pauses, Prepared};
use crate::prepare::{self, stops};
use crate::{cluster_file, event_log, exit, terminal};

/// A growth to measure; its maker needs a cluster.
struct Growth<'a> {
    settings: &'a ScaleIntent,
    prepared: Prepared<ScaleRecord, ()>,
    /// The growth to resume: the given name, or its path.
    resumed: Option<String>,
    /// The search to resume.
    unfinished: Option<UnfinishedSearch>,
}

impl<'a> Growth<'a> {
    fn new(settings: &'a ScaleIntent) -> Result<Self, UserError> {
        let (mut scale, first) = planned_growth(settings)?;
        let resumed = settings.resume.as_ref();
        let resumed = resumed.map(|name| own_record(settings, name)).transpose()?;
        let resumed = resumed.flatten();
        let (pauses, unfinished) = match &resumed {
            Some(name) => resume(settings, name, &mut scale)?,
            None => (Pauses::new(), None),
        };
        experiment::check(&scale)?;
        let prepared = Prepared {
            preview: preview(&scale),
            cost: Nanos(estimate(&scale)),
            experiment: scale,
            maker: (),
            first,
            workload: prepare::workload(&settings.common_at(0)?)?,
            pauses,
            settle: settings.settle,
        };
        Ok(Self { settings, prepared, resumed, unfinished })
    }

    /// The variant that it is of.
    fn variant(&self) -> Option<&GrowthVariant> {
        self.prepared.experiment.variant.as_ref()
    }

    /// Its directory; the ID contains the variant's name.
    fn directory(&self) -> Result<RunDirectory, UserError> {
        let Prepared { experiment, first, .. } = &self.prepared;
        let mut id = prepare::id("scale", &first.workload.name, &experiment.definition_hash);
        if let Some(variant) = &self.settings.variant {
            id = format!("{id}-{}", variant.name);
        }
        prepare::directory(&self.settings.out, &id, first)
    }
}

/// Measures at least one growth, and prints the records; returns the exit code.
pub(super) fn measure(all: &[ScaleIntent]) -> Result<u8, UserError> {
    let mut growths = all.iter().map(Growth::new).collect::<Result<Vec<_>, _>>()?;
    expect_own_rows(&growths)?;
    let settings = growths[0].settings;
    let preview = previews(&growths);
    if settings.dry_run {
        return terminal::data(&preview).map(|()| exit::SUCCESS);
    }
    let Prepared { first, workload, .. } = &growths[0].prepared;
    prepare::warn_about_audit(workload, first);
    let seed = first.seed.0;
    let stops = stops()?;
    let interrupts = &stops.interrupts;
    let clusters = clusters(all, interrupts)?;
    let observer = trials::observer(&settings.output, &preview, &stops)?;
    let directories = growths.iter().map(Growth::directory).collect::<Result<Vec<_>, _>>()?;
    name_all(&mut growths, &directories);
    let mut runs = Vec::new();
    for (growth, cluster) in growths.iter_mut().zip(&clusters) {
        let others = clusters.iter().filter(|other| !Rc::ptr_eq(other, cluster));
        runs.push(SizedRuns {
            settings: growth.settings,
            cluster: Rc::clone(cluster),
            others: others.cloned().collect(),
            unfinished: growth.unfinished.take(),
        });
    }
    let makers = runs.iter().zip(&directories);
    let sides = growths.into_iter().zip(makers).map(|(growth, (maker, directory))| {
        let Prepared { experiment, pauses, .. } = growth.prepared;
        ExperimentRun { experiment, directory: directory.clone(), maker, pauses }
    });
    let next = |trials: &[Option<&SizedTrial>]| chosen(&candidates(trials), seed);
    let settle = settings.settle;
    let records =
        experiment::run_side_by_side(sides.collect(), settle, &observer, interrupts, next);
    let ended = end(&clusters);
    let records = records.map_err(|failure| stopped(runs[0].located(failure), interrupts));
    // Ends the drawing.
    drop((runs, observer));
    let code = records.and_then(|records| printed(settings, &records, &directories));
    match (code, ended) {
        // A failure to end a cluster must be reported, whatever was measured.
        (Ok(exit::SUCCESS), Err(failure)) => Err(failure),
        (code, Err(failure)) => {
            terminal::warn(&failure.message);
            code
        }
        (code, Ok(())) => code,
    }
}

/// Rejects variants whose second would append to the first one's rows, because both write into the same tables of a
/// target.
fn expect_own_rows(growths: &[Growth<'_>]) -> Result<(), UserError> {
    let mut known: Vec<(&str, TargetUrl)> = Vec::new();
    // A target that is started for a size has no rows.
    for growth in growths.iter().filter(|of| of.settings.cluster.is_none()) {
        let Some(variant) = &growth.settings.variant else {
            continue;
        };
        let mut own = Vec::new();
        for at in 0..growth.settings.record.sizes.len() {
            let run = growth.settings.common_at(at)?;
            if at == 0 && !continues(&run, &growth.prepared.first)? {
                break;
            }
            own.extend(run.targets.iter().map(place));
        }
        let mut earlier = known.iter();
        if let Some((other, _)) = earlier.find(|(_, url)| own.contains(url)) {
            let cause = format!(
                "variants `{other}` and `{}` have one target, and one would go on with the other's rows",
                variant.name
            );
            let hint = "add --drop, or give each a target of its own, with {variant} in it";
            return Err(UserError::usage(cause).with_hint(hint));
        }
        known.extend(own.into_iter().map(|url| (variant.name.as_str(), url)));
    }
    Ok(())
}

/// Whether a run appends to existing rows.
fn continues(run: &RunIntent, plan: &Plan) -> Result<bool, UserError> {
    let workload = prepare::workload(run)?;
    let target = prepare::target::open(run, &run.targets, &run.out)?;
    let stores = target.capabilities().stores_values;
    Ok(stores && !run.options.drop && workload.tables() > 0 && trials::writes(&workload, plan))
}

/// The place where a target stores its tables, without other settings in its URL.
fn place(url: &TargetUrl) -> TargetUrl {
    const PLACES: [&str; 4] = ["dbname", "host", "port", "socket"];
    let mut place = url.clone();
    place.parameters.retain(|name, _| PLACES.contains(&name.as_str()));
    (place.user, place.password) = (None, None);
    place
}

/// If the user stops while nodes are starting, that is not a failure of the nodes.
fn stopped(mut failure: UserError, interrupts: &Interrupts) -> UserError {
    if failure.exit_code() == exit::TARGET && interrupts.requested().is_some() {
        failure.kind = UserErrorKind::Interrupted;
    }
    failure
}

fn candidates(trials: &[Option<&SizedTrial>]) -> Vec<Option<Candidate>> {
    trials
        .iter()
        .map(|trial| {
            trial.map(|trial| Candidate {
                purpose: trial.purpose,
                nodes: trial.node.unwrap_or(trial.size.nodes),
            })
        })
        .collect()
}

/// The previews of the first variant, which the others share.
fn previews(growths: &[Growth<'_>]) -> String {
    let first = growths[0].prepared.preview.clone();
    let names: Vec<&str> =
        growths.iter().filter_map(|of| Some(of.variant()?.name.as_str())).collect();
    if names.is_empty() {
        return first;
    }
    let all = growths.iter().map(|growth| growth.prepared.cost.0).fold(0, u64::saturating_add);
    format!(
        "{first}the same of each of {} variants, every size in random order: {}; {} in all\n",
        names.len(),
        names.join(", "),
        duration(all)
    )
}

/// Each record of a variant names the other variants, and the growth that it resumes.
fn name_all(growths: &mut [Growth<'_>], directories: &[RunDirectory]) {
    let names = growths
        .iter()
        .zip(directories)
        .filter_map(|(growth, of)| Some((growth.variant()?.name.clone(), of.id())));
    let all: BTreeMap<String, String> = names.collect();
    let resumed = growths.iter().filter_map(|growth| {
        let variant = growth.variant()?;
        let id = Path::new(growth.resumed.as_ref()?).file_name()?;
        Some((variant.name.clone(), id.to_string_lossy().into_owned()))
    });
    let before: BTreeMap<String, String> = resumed.collect();
    let variants = growths.iter_mut();
    for variant in variants.filter_map(|of| of.prepared.experiment.variant.as_mut()) {
        variant.all.clone_from(&all);
        variant.before.clone_from(&before);
    }
}

/// The clusters of each growth; growths of one cluster file share one.
fn clusters(all: &[ScaleIntent], interrupts: &Interrupts) -> Result<Vec<SharedCluster>, UserError> {
    let mut by_path: BTreeMap<&Path, SharedCluster> = BTreeMap::new();
    let mut clusters = Vec::new();
    for settings in all {
        let choice = settings.cluster.as_ref();
        let path = choice.map(|choice| choice.path.as_path());
        let known = path.and_then(|path| by_path.get(path)).cloned();
        let cluster = match known {
            Some(cluster) => cluster,
            None => Rc::new(RefCell::new(cluster(settings, interrupts)?)),
        };
        by_path.extend(path.map(|path| (path, Rc::clone(&cluster))));
        clusters.push(cluster);
    }
    Ok(clusters)
}

fn cluster(settings: &ScaleIntent, interrupts: &Interrupts) -> Result<Box<dyn Cluster>, UserError> {
    if let Some(ClusterChoice { path, spec, flags }) = &settings.cluster {
        let started = cluster_file::open(path, spec.clone(), *flags, interrupts.clone())?;
        return Ok(Box::new(StartedCluster::new(started)));
    }
    let mut by_nodes = BTreeMap::new();
    for (at, size) in settings.record.sizes.iter().enumerate() {
        by_nodes.insert(size.nodes, settings.common_at(at)?.targets);
    }
    Ok(Box::new(ReadyClusters { by_nodes }))
}

/// Ends all clusters, even if one fails; returns the first failure.
fn end(clusters: &[SharedCluster]) -> Result<(), UserError> {
    let ends: Vec<_> = clusters.iter().map(|cluster| cluster.borrow_mut().end()).collect();
    let failed = ends.into_iter().find_map(Result::err);
    failed.map_or(Ok(()), Err)
}

/// Prints the records and, if there are several, their comparison; returns the most severe exit code.
fn printed(
    settings: &ScaleIntent,
    records: &[Option<ExperimentRecord>],
    directories: &[RunDirectory],
) -> Result<u8, UserError> {
    let output = &settings.output;
    let mut code = exit::SUCCESS;
    let mut compared = Vec::new();
    for (record, directory) in records.iter().zip(directories) {
        let Some(record) = record else {
            // Stopped before its first size.
            code = exit::of_both(code, exit::INTERRUPTED);
            continue;
        };
        let shown = directory.path().display().to_string();
        code = exit::of_both(code, event_log::record(output, record.into(), &shown)?);
        let variant = record.scale().and_then(|scale| scale.variant.as_ref());
        let named = variant.zip(Grown::of(record.into()));
        compared.extend(
            named.map(|(variant, growth)| NamedGrowth { name: variant.name.clone(), growth }),
        );
    }
    if compared.len() > 1 {
        compare::variants_of_growths(output, compared, directories[0].path())?;
    }
    Ok(code)
}
