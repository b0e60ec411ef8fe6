//! `highwater run`: one run, or with `--repeat`, `--interleave`, and `--variant` a group of them: settings → runs of
//! each variant → comparison → exit code. Must not compare runs itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_analysis::group::run_at;
use highwater_driver::TargetUrl;
use highwater_experiment::trial_maker::{PreparedTrial, Requested, TrialMaker, TrialPlace};
use highwater_experiment::{self as experiment, GroupRun};
use highwater_model::display::duration;
use highwater_model::group::{GroupRecord, GroupTrial, REPEAT_LABEL, VARIANT_LABEL, VariantRecord};
use highwater_model::judgment::Ended;
use highwater_model::plan::Plan;
use highwater_model::record::Question;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::Workload;

use super::intent::{RepeatIntent, Variant};
use super::single;
use crate::intent::RunIntent;
use crate::prepare::trials::{self, Pauses, Prepared, ResumeRequest, TrialOverhead};
use crate::prepare::{self, StoredPlan, stops, target};
use crate::{ceiling, event_log, variants};

/// Maximum runs that a preview lists.
const LISTED_MAX: usize = 40;

/// Executes one run, or a group of runs and their comparison.
pub(super) fn repeat(settings: &RepeatIntent) -> Result<u8, UserError> {
    if settings.is_plain() || settings.run.output.plan_only {
        return single::run(&settings.run);
    }
    let prepared = prepared(settings)?;
    if settings.dry_run {
        return prepared.show();
    }
    let (stops, hash) = (stops()?, prepared.experiment.definition_hash.clone());
    let (record, place) = prepared.measure(&settings.run, "group", &hash, &stops)?;
    ceiling::keep(&record.last_run);
    event_log::record(&settings.run.output, (&record).into(), &place)
}

/// Prepares the group.
fn prepared(settings: &RepeatIntent) -> Result<Prepared<GroupRecord, VariantRuns<'_>>, UserError> {
    let workload = prepare::workload(&settings.run)?;
    let first = prepare::plan(&settings.run, &workload, &settings.variants[0].targets)?;
    let mut group = group(settings, &workload, &first)?;
    let pauses = resume(settings, &mut group)?;
    experiment::check(&group)?;
    let maker = VariantRuns { settings, workload: Arc::clone(&workload), urls: RefCell::default() };
    Ok(Prepared {
        preview: preview(&group),
        cost: Nanos(all_ns(&group)),
        experiment: group,
        maker,
        first,
        workload,
        pauses,
        settle: settings.settle,
    })
}

/// The group before its first run.
fn group(
    settings: &RepeatIntent,
    workload: &Workload,
    first: &Plan,
) -> Result<GroupRecord, UserError> {
    let records = settings.variants.iter().map(|variant| VariantRecord {
        name: variant.name.clone(),
        urls: variant.targets.iter().map(ToString::to_string).collect(),
        command: variant.command.as_deref().map(variants::shown),
    });
    let mut run = settings.run.clone();
    run.targets.clone_from(&settings.variants[0].targets);
    let overhead = TrialOverhead::new(&run, settings.settle, workload, first)?;
    let stream = &first.streams[0];
    let mut group = GroupRecord {
        variants: records.collect(),
        times: settings.times,
        stream: stream.name.clone(),
        unit: stream.unit,
        settle_ns: settings.settle.0,
        budget_ns: settings.budget.map(|budget| budget.0),
        trial_cost_ns: overhead.of_run(first).0,
        definition_hash: String::new(),
        trials: Vec::new(),
        outcome: None,
    };
    group.definition_hash = group.hash(&first.hash());
    Ok(group)
}

/// Takes over the runs of the group to resume; returns its pauses.
fn resume(settings: &RepeatIntent, group: &mut GroupRecord) -> Result<Pauses, UserError> {
    let request = ResumeRequest {
        out: &settings.run.out,
        name: settings.resume.as_deref(),
        what: "a group of runs",
        command: "run --repeat`",
        definition: "its targets, commands, workload, lengths, or seed",
        free: "--repeat, --settle and --budget",
        from: None,
    };
    let of = |question| match question {
        Question::Group(group) => Some((group.definition_hash, group.trials)),
        Question::Search(_) | Question::Tune(_) | Question::Scale(_) => None,
    };
    let ended_early = |trial: &GroupTrial| trial.ended != Ended::Complete;
    let GroupRecord { definition_hash, trials, .. } = group;
    request.take_over(definition_hash, trials, of, ended_early, |trial| &mut trial.run)
}

/// Time of the remaining runs.
fn all_ns(group: &GroupRecord) -> u64 {
    (order(group).len() as u64).saturating_mul(group.trial_cost_ns)
}

/// The planned runs and their duration, without the time for filling tables, which is unknown before the first run.
fn preview(group: &GroupRecord) -> String {
    let order = order(group);
    let all = order.len() as u64;
    let most = trials::within_budget(all_ns(group), group.budget_ns);
    let mut listed: Vec<&str> = order.iter().take(LISTED_MAX).copied().collect();
    if order.len() > LISTED_MAX {
        listed.push("…");
    }
    let resumed = trials::resumed(group.trials.len(), "runs");
    let each = duration(group.trial_cost_ns);
    if let ([_], 1) = (group.variants.as_slice(), group.times) {
        return format!(
            "1 run of {}: about {each}, without the time for filling tables\n{resumed}",
            group.stream
        );
    }
    format!(
        "{all} runs of {}, {} of each variant: about {each} each, in all {most}, without the time for \
         filling tables\norder: {}\n{resumed}",
        group.stream,
        group.times,
        listed.join(" "),
    )
}

/// The variants of the remaining runs, if each ends as planned and time allows.
fn order(group: &GroupRecord) -> Vec<&str> {
    let made = group.trials.iter().filter(|t| t.ended == Ended::Complete).count();
    let all = group.variants.len() * group.times as usize;
    let variants = (made..all).map(|complete| run_at(group.variants.len(), complete).0);
    variants.map(|at| group.variants[at].name.as_str()).collect()
}

/// Makes the variants' runs from the settings.
struct VariantRuns<'a> {
    settings: &'a RepeatIntent,
    /// The same workload for all runs, regardless of their time.
    workload: Arc<Workload>,
    /// The targets of variants that have run, with their passwords.
    urls: RefCell<BTreeMap<usize, Vec<TargetUrl>>>,
}

impl VariantRuns<'_> {
    /// The targets of a variant's run. Before the variant's first command, there may be no target that could request a
    /// password.
    fn urls(&self, variant: usize, run: &RunIntent) -> Result<Vec<TargetUrl>, UserError> {
        if let Some(urls) = self.urls.borrow().get(&variant) {
            return Ok(urls.clone());
        }
        let urls = target::with_password(run)?;
        self.urls.borrow_mut().insert(variant, urls.clone());
        Ok(urls)
    }

    fn variant(&self, requested: &Requested<GroupRun>) -> &Variant {
        &self.settings.variants[requested.trial.variant]
    }
}

impl TrialMaker<GroupRun> for VariantRuns<'_> {
    fn prepare<'a>(
        &'a self,
        requested: &'a Requested<GroupRun>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        let variant = self.variant(requested);
        let plan = prepare::plan(&self.settings.run, &self.workload, &variant.targets)?;
        Ok(PreparedTrial::new(plan, move |plan, directory| {
            variants::configure(&variant.name, variant.command.as_deref(), &place.interrupts)?;
            let mut run = self.settings.run.clone();
            run.targets.clone_from(&variant.targets);
            if run.targets != self.settings.run.targets {
                run.options.telemetry.of_another_target();
            }
            let labels = [
                (VARIANT_LABEL, variant.name.clone()),
                (REPEAT_LABEL, requested.trial.round.to_string()),
            ];
            // It belongs to the group.
            run.repeated_flags.remove("settle");
            run.options.labels.extend(labels.map(|(name, value)| (name.to_owned(), value)));
            let urls = self.urls(requested.trial.variant, &run)?;
            // A simulated target gets another seed in each round; rows and ops stay the same.
            let round = u64::from(requested.trial.round - 1);
            run.seed.0 = run.seed.0.wrapping_add(round);
            let stored = StoredPlan::new(plan, directory, None);
            prepare::request(&run, Arc::clone(&self.workload), stored, &urls)
        }))
    }
}
