//! Growths of simulated clusters whose capacity at each size is known: the mark of every size, the prediction of every
//! next one before it is measured, a machine that drifts, and how growths end and go on.
//!
//! A seed names a cluster: how its capacity grows, where it begins, and its sizes. A few run every day, all of them
//! with the long tests. Every size is a search of its own, as exact as searches are: see `marks.rs`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use highwater_analysis::growth::{drift, reached};
use highwater_analysis::{Ended, exit_code};
use highwater_driver::sim::{SimParameters, capacity};
use highwater_driver::{TargetError, TargetUrl};
use highwater_experiment::trial_maker::{NestedPlace, Requested, TrialMaker};
use highwater_experiment::{SizedTrial, check, run};
use highwater_model::event::Event;
use highwater_model::plan::{Plan, Unit};
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{
    ClusterStart, ScaleEach, ScaleOutcome, ScalePurpose, ScaleRecord, ScaleSize, SizeVerdict,
};
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_runner::interrupts::{self, Interrupter, Interrupts};
use highwater_runner::observer::{Observer, Silent};
use highwater_runner::record;
use highwater_runner::run::{RunError, RunRequest};
use highwater_runner::store::RunDirectory;

use crate::hunting::{Hunt, nanos, whole};
use crate::marks::Dice;
use crate::support::{Job, closed};

/// Rows of a batch: they are dealt evenly to each number of nodes here.
const BATCH: u32 = 24;

/// How capacity grows with nodes, as a multiple of one node's.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Linear,
    /// Each further node adds 0.8 of what each node before had.
    Rule,
    /// Amdahl's law with this contention.
    Contention(f64),
    /// The universal scalability law with this contention and this peak.
    Crosstalk {
        contention: f64,
        peak: f64,
    },
    /// Linear up to so many nodes, and no further.
    Limit(f64),
}

impl Shape {
    fn of(self, nodes: u32) -> f64 {
        let n = f64::from(nodes);
        match self {
            Self::Linear => n,
            Self::Rule => (1..nodes)
                .map(|before| 1.0 + 0.8 / f64::from(before))
                .product(),
            Self::Contention(contention) => n / (1.0 + contention * (n - 1.0)),
            Self::Crosstalk { contention, peak } => {
                let crosstalk = (1.0 - contention) / (peak * peak);
                n / (1.0 + contention * (n - 1.0) + crosstalk * n * (n - 1.0))
            }
            Self::Limit(most) => n.min(most),
        }
    }
}

/// A cluster that grows.
struct Growing {
    shape: Shape,
    /// Rows per second of one node.
    one: f64,
    nodes: Vec<u32>,
    each: ScaleEach,
    /// How service times scatter, and so how many ops a probe needs.
    service: (&'static str, f64),
    seed: u64,
    /// By how much slower the machine is at the end than at the beginning.
    drift: f64,
    /// Sizes that were made so far.
    made: Cell<u32>,
    /// Nothing answers with so many nodes.
    gone: Option<u32>,
    /// A run that was planned.
    job: RefCell<Option<Job>>,
}

impl Growing {
    fn new(shape: Shape, nodes: &[u32]) -> Self {
        Self {
            shape,
            one: 1_000.0,
            nodes: nodes.to_vec(),
            each: ScaleEach::Find,
            service: ("constant", 1_500.0),
            seed: 1,
            drift: 0.0,
            made: Cell::new(0),
            gone: None,
            job: RefCell::default(),
        }
    }

    /// That of a seed.
    fn seeded(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_add(7 << 32));
        let peak = dice.between(4.0, 12.0);
        let shape = match seed % 6 {
            0 => Shape::Linear,
            1 => Shape::Rule,
            2 | 3 => Shape::Contention(dice.between(0.02, 0.25)),
            4 => Shape::Crosstalk {
                contention: dice.between(0.01, 0.1),
                peak,
            },
            _ => Shape::Limit(peak),
        };
        let nodes: [&[u32]; 5] = [
            &[1, 2, 3, 4],
            &[1, 2, 4, 8],
            &[3, 6, 12],
            &[2, 3, 4, 6],
            &[1, 2, 3, 4, 6],
        ];
        Self {
            one: dice.between(500.0, 2_000.0),
            seed: 1_000 * seed,
            ..Self::new(shape, dice.of(&nodes))
        }
    }

    fn target(&self, nodes: u32, slower: f64) -> String {
        let row_ns = whole(slower * f64::from(nodes) / (self.one * self.shape.of(nodes)) * 1e9);
        let die = if self.gone == Some(nodes) {
            "&die=0s"
        } else {
            ""
        };
        let service = self.service.0;
        format!(
            "sim:?nodes={nodes}&cores=1&shards={nodes}&replicas=0&request=0&row={row_ns}ns&queue=inf\
             &service={service}{die}"
        )
    }

    /// Rows per second that so many nodes can do, on a machine that did not drift.
    fn truth(&self, nodes: u32) -> f64 {
        let url = TargetUrl::parse(&self.target(nodes, 1.0)).unwrap();
        let parameters = SimParameters::parse(&url.parameters).unwrap();
        capacity(&parameters, BATCH.into(), true) * f64::from(BATCH)
    }

    /// The target of the next trial, with the drift so far.
    fn next_target(&self, nodes: u32) -> String {
        let made = self.made.replace(self.made.get() + 1);
        let all = f64::from(u32::try_from(self.nodes.len()).unwrap());
        self.target(nodes, 1.0 + self.drift * f64::from(made) / all)
    }

    fn scale(&self) -> ScaleRecord {
        let sizes = self.nodes.iter().map(|nodes| ScaleSize {
            nodes: *nodes,
            settings: BTreeMap::new(),
        });
        ScaleRecord {
            each: self.each,
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            targets: vec!["sim:?nodes={nodes}".to_owned()],
            cluster_file: None,
            without_quotas: false,
            sizes: sizes.collect(),
            start: ClusterStart::Fresh,
            until_per_s: None,
            over: Vec::new(),
            price_per_node_hour: None,
            budget_ns: None,
            trial_cost_ns: 1,
            definition_hash: String::new(),
            trials: Vec::new(),
            outcome: None,
        }
    }

    fn grow(&self, root: &Path, scale: ScaleRecord) -> Result<ExperimentRecord, RunError> {
        let (_keep, interrupts) = interrupts::channel();
        let observer = Rc::new(Silent) as Rc<dyn Observer>;
        self.grow_watched(root, scale, &observer, &interrupts)
    }

    fn grow_watched(
        &self,
        root: &Path,
        scale: ScaleRecord,
        observer: &Rc<dyn Observer>,
        interrupts: &Interrupts,
    ) -> Result<ExperimentRecord, RunError> {
        let first = self.job(self.nodes[0], &self.target(self.nodes[0], 1.0));
        let first = first.plan(&first.workload(), 16);
        let directory = RunDirectory::create(root, "growth", &first)?;
        run(scale, directory, Nanos::ZERO, self, observer, interrupts)
    }

    fn whole(&self) -> ExperimentRecord {
        let root = tempfile::tempdir().unwrap();
        self.grow(root.path(), self.scale()).unwrap()
    }

    fn job(&self, nodes: u32, target: &str) -> Job {
        let mut job = Job::new(target, &[("insert", closed(4 * nodes))]);
        job.settings = vec![("batch", BATCH.to_string())];
        job.sessions = 4 * nodes;
        job.warm_up = Nanos::from_secs(3);
        job.step = self.length(nodes, 2.0);
        job.seed = self.seed;
        job
    }

    /// As long as so many times the ops take that a probe needs.
    fn length(&self, nodes: u32, times: f64) -> Nanos {
        let ops_per_s = self.truth(nodes) / f64::from(BATCH);
        nanos((times * self.service.1 / ops_per_s).clamp(10.0, 900.0))
    }
}

impl TrialMaker<SizedTrial> for Growing {
    type Error = RunError;

    fn plan(&self, requested: &Requested<SizedTrial>) -> Result<Plan, RunError> {
        let nodes = requested.trial.size.nodes;
        let mut job = self.job(nodes, &self.next_target(nodes));
        job.seed += u64::from(requested.number);
        let plan = job.plan(&job.workload(), 16);
        *self.job.borrow_mut() = Some(job);
        Ok(plan)
    }

    fn request(
        &self,
        _: &Requested<SizedTrial>,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, RunError> {
        let job = self.job.take().unwrap();
        let target = job.open_target(directory.path());
        Ok(job.request_in(target, plan, directory))
    }

    fn nested(
        &self,
        requested: &Requested<SizedTrial>,
        place: NestedPlace,
    ) -> Result<ExperimentRecord, RunError> {
        let nodes = requested.trial.size.nodes;
        let mut hunt = Hunt::new(&self.next_target(nodes), "insert");
        hunt.job.settings = vec![("batch", BATCH.to_string())];
        hunt.job.seed = self.seed + 100 * u64::from(requested.number);
        hunt.probe = self.length(nodes, 1.0);
        hunt.confirm = self.length(nodes, 2.0);
        hunt.nested(&place)
    }
}

/// What the growths of some seeds showed.
#[derive(Default)]
struct Shown {
    /// Of the mark of each size, as a part of the truth.
    errors: Vec<f64>,
    /// Whether the interval that was predicted for a size held the mark that was measured there.
    held: Vec<bool>,
    said: String,
}

fn shown(seeds: impl Iterator<Item = u64>, service: (&'static str, f64)) -> Shown {
    let mut shown = Shown::default();
    for seed in seeds {
        let growing = Growing {
            service,
            ..Growing::seeded(seed)
        };
        let record = growing.whole();
        let scale = record.scale().unwrap();
        assert_eq!(
            scale.outcome,
            Some(ScaleOutcome::Complete),
            "{}",
            report::text(&record)
        );
        assert!(
            !drift(scale).unwrap().is_drifted(),
            "{}",
            report::text(&record)
        );
        shown.said += &format!("\nseed {seed}: {:?} of {:.0}", growing.shape, growing.one);
        for trial in &scale.trials {
            let error = trial.figures.per_s / growing.truth(trial.size.nodes) - 1.0;
            let held = trial
                .predicted
                .map(|predicted| predicted.holds(trial.figures.per_s));
            let nodes = trial.size.nodes;
            shown.said += &format!("\n  {nodes} nodes {error:+.4}, predicted {held:?}");
            shown.errors.push(error);
            shown.held.extend(held);
        }
    }
    shown
}

impl Shown {
    fn within(&self, part: f64) -> usize {
        self.errors
            .iter()
            .filter(|error| error.abs() <= part)
            .count()
    }

    fn held(&self) -> usize {
        self.held.iter().filter(|held| **held).count()
    }
}

#[test]
fn a_few_clusters_have_the_marks_that_they_have_and_grow_as_predicted() {
    let shown = shown(0..6, ("constant", 1_500.0));
    assert_eq!(shown.within(0.03), shown.errors.len(), "{}", shown.said);
    assert!(
        shown.held() * 100 >= 85 * shown.held.len(),
        "{}",
        shown.said
    );
}

#[test]
#[ignore = "sixty clusters, each of three to five sizes"]
fn long_growths_of_sixty_clusters_are_near_the_truth_and_as_predicted() {
    let shown = shown(0..60, ("constant", 1_500.0));
    let (marks, held) = (shown.errors.len(), shown.held());
    let sum = format!(
        "{} of {marks} marks within 3 %; {held} of {} predictions held",
        shown.within(0.03),
        shown.held.len()
    );
    println!("{sum}{}", shown.said);
    assert!(
        shown.within(0.03) * 100 >= 97 * marks,
        "{sum}{}",
        shown.said
    );
    let share = 100 * held / shown.held.len();
    assert!((85..=97).contains(&share), "{sum}{}", shown.said);
}

#[test]
fn a_machine_that_drifts_is_caught_by_the_first_size_again() {
    for each in [ScaleEach::Find, ScaleEach::Run] {
        let growing = Growing {
            drift: 0.15,
            each,
            ..Growing::new(Shape::Linear, &[1, 2, 3])
        };
        let record = growing.whole();
        let found = drift(record.scale().unwrap()).unwrap();
        assert!(found.is_drifted(), "{found:?}\n{}", report::text(&record));
        assert!((found.change + 0.13).abs() < 0.03, "{found:?}");
        assert_eq!(code(&record), 3, "{}", report::text(&record));
        assert!(report::text(&record).contains("DRIFTED"));
    }
}

#[test]
fn the_growth_stops_at_the_size_that_the_rate_needs() {
    let growing = Growing::new(Shape::Contention(0.1), &[1, 2, 3, 4, 6, 8]);
    for needed in [2, 4] {
        // Between the sizes, and out of reach of what a mark errs by.
        let until = growing.truth(needed) * 0.95;
        growing.made.set(0);
        let root = tempfile::tempdir().unwrap();
        let scale = ScaleRecord {
            until_per_s: Some(until),
            ..growing.scale()
        };
        let record = growing.grow(root.path(), scale).unwrap();
        let scale = record.scale().unwrap();
        assert_eq!(scale.outcome, Some(ScaleOutcome::Reached));
        assert_eq!(
            reached(scale).unwrap().size.nodes,
            needed,
            "{}",
            report::text(&record)
        );
        let last = scale.trials.last().unwrap();
        assert_eq!((last.purpose, last.size.nodes), (ScalePurpose::Again, 1));
        assert_eq!(code(&record), 0, "{}", report::text(&record));
    }
}

fn code(record: &ExperimentRecord) -> u8 {
    exit_code(&record.judgments, Ended::of(&record.incidents))
}

/// The nodes of each measured size.
fn order(record: &ExperimentRecord) -> Vec<u32> {
    let trials = record.scale().unwrap().trials.iter();
    trials.map(|trial| trial.size.nodes).collect()
}

#[test]
fn the_record_of_a_growth_is_stored_with_that_of_each_size_below_it() {
    for each in [ScaleEach::Find, ScaleEach::Run] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing {
            each,
            ..Growing::new(Shape::Linear, &[1, 2])
        };
        let record = growing.grow(root.path(), growing.scale()).unwrap();
        let directory = root.path().join("growth");
        let stored = record::read(&directory).unwrap().into_experiment();
        assert_eq!(stored.as_ref(), Some(&record));
        assert_eq!(order(&record), [1, 2, 1]);
        for trial in &record.scale().unwrap().trials {
            let own = record::read(&directory.join(&trial.run)).unwrap();
            match each {
                ScaleEach::Find => assert!(own.into_experiment().unwrap().search().is_some()),
                ScaleEach::Run | ScaleEach::Tune => assert!(own.into_run().is_some()),
            }
            assert!(directory.join(&trial.run).join("report.html").exists());
        }
        assert_eq!(code(&record), 0, "{}", report::text(&record));
    }
}

/// A user who stops when so many sizes were measured, or in the middle of the next one.
struct Impatient {
    sizes: u32,
    in_the_next: bool,
    interrupter: Interrupter,
    seen: Cell<u32>,
}

impl Observer for Impatient {
    fn event(&self, event: &Event) {
        match event {
            Event::Sized { .. } => self.seen.set(self.seen.get() + 1),
            Event::Probed(_) if self.in_the_next => {}
            _ => return,
        }
        let is_probe = matches!(event, Event::Probed(_));
        if self.seen.get() == self.sizes && is_probe == self.in_the_next {
            self.interrupter.interrupt();
        }
    }
}

#[test]
fn a_growth_that_is_stopped_keeps_what_it_has_and_goes_on_where_it_was() {
    for in_the_next in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing::new(Shape::Linear, &[1, 2, 3]);
        let (interrupter, interrupts) = interrupts::channel();
        let user = Rc::new(Impatient {
            sizes: 2,
            in_the_next,
            interrupter,
            seen: Cell::new(0),
        }) as Rc<dyn Observer>;
        let scale = growing.scale();
        let stopped = growing.grow_watched(root.path(), scale, &user, &interrupts);
        let stopped = stopped.unwrap();
        let known = stopped.scale().unwrap();
        assert_eq!(known.outcome, Some(ScaleOutcome::Interrupted));
        assert_eq!(code(&stopped), 130);
        let counting = known
            .trials
            .iter()
            .filter(|trial| trial.figures.verdict.counts());
        assert_eq!(counting.count(), 2);
        let mut kept = known.trials.clone();
        kept.retain(|trial| trial.figures.verdict != SizeVerdict::Interrupted);
        assert_eq!(kept.len() + usize::from(in_the_next), known.trials.len());

        let resumed = ScaleRecord {
            trials: kept,
            ..growing.scale()
        };
        let whole = growing.grow(root.path(), resumed).unwrap();
        assert_eq!(order(&whole), [1, 2, 3, 1]);
        assert_eq!(code(&whole), 0, "{}", report::text(&whole));
    }
}

#[test]
fn a_size_that_does_not_answer_ends_a_growth_and_those_before_it_stay() {
    let growing = Growing {
        gone: Some(2),
        ..Growing::new(Shape::Linear, &[1, 2, 3])
    };
    let record = growing.whole();
    let scale = record.scale().unwrap();
    assert_eq!(scale.outcome, Some(ScaleOutcome::TargetLost));
    assert_eq!(order(&record), [1, 2, 2]);
    assert_eq!(code(&record), 5);
    // Where nothing answers from the beginning, nothing is left.
    let none = tempfile::tempdir().unwrap();
    let growing = Growing {
        gone: Some(1),
        ..Growing::new(Shape::Linear, &[1, 2])
    };
    let refused = growing.grow(none.path(), growing.scale());
    assert!(matches!(refused, Err(RunError::Target(TargetError { .. }))));
    assert_eq!(std::fs::read_dir(none.path()).unwrap().count(), 0);
}

#[test]
fn a_budget_without_room_for_one_size_is_refused() {
    let growing = Growing::new(Shape::Linear, &[1, 2]);
    let scale = ScaleRecord {
        budget_ns: Some(1),
        trial_cost_ns: 2,
        ..growing.scale()
    };
    assert!(matches!(check(&scale), Err(RunError::Budget { .. })));
}
