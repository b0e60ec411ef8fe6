//! What a run that goes on reports, made again from its files for somebody who is not its observer: its events, in
//! order, the last seconds later than the run itself reports them.
//!
//! Files do not show the classes of errors, open sessions, target telemetry, and how far the audit is. Nothing is kept
//! but the seconds that are not over. Must not judge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use highwater_model::event::{Event, LoadBounds, Part, SecondProgress, StreamProgress};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{Plan, Unit};
use highwater_model::record::{InterventionRecord, Record, RecordRef, RunRecord};
use highwater_model::units::Nanos;

use super::interval_lines::{counts, delta_of};
use super::results::{LOAD, of_share};
use super::so_far::pace_in;
use crate::recorder::IntervalDelta;
use crate::store::{self, JournalLine, JournalTail, Written};

/// A second is over when this one after it has begun: executors report one after the other.
const SETTLED_S: u64 = 2;
/// Seconds without any op that are reported one by one; a longer silence is left out.
const SILENT_MAX: u64 = 3_600;

/// A run that goes on.
#[derive(Debug)]
pub struct EventsSoFar {
    directory: PathBuf,
    /// Known when the target has answered.
    plan: Option<Plan>,
    tail: JournalTail,
    load: Option<Load>,
    interventions: Vec<InterventionRecord>,
    /// The end of the load was reported.
    is_loaded: bool,
    /// The end of the run was reported.
    is_ended: bool,
}

/// A load whose seconds are reported.
#[derive(Debug)]
struct Load {
    /// Tables are filled: its only stream is no stream of the plan.
    filling: Option<String>,
    /// Of the last second that had an op.
    phase: String,
    /// Seconds that were reported.
    reported: u64,
    /// Those that are not over.
    open: BTreeMap<u64, OpenSecond>,
}

/// What came in of a second.
#[derive(Debug, Default)]
struct OpenSecond {
    /// Ops that were due, by phase.
    offered: BTreeMap<String, u64>,
    /// Counts by stream.
    streams: BTreeMap<String, IntervalDelta>,
}

impl EventsSoFar {
    /// The run in this directory; nothing is read yet.
    pub fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            plan: None,
            tail: store::journal_tail(directory),
            load: None,
            interventions: Vec::new(),
            is_loaded: false,
            is_ended: false,
        }
    }

    /// Whether more was written than the last call of [`Self::read`] took in.
    pub const fn is_behind(&self) -> bool {
        self.tail.is_behind()
    }

    /// What was written since, at most some megabytes of it.
    pub fn read(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.plan.is_none() {
            let draft = store::read_draft(&self.directory);
            let Some(draft) = draft.and_then(Record::into_run) else {
                return events;
            };
            events.push(begun(&self.directory, &draft));
            self.plan = Some(draft.plan.definition);
        }
        // What is asked first was written last, so that nothing can come between.
        let is_ended = store::has_record(&self.directory);
        let is_loaded = is_ended || store::is_load_over(&self.directory);
        let Some(plan) = &self.plan else {
            return events;
        };
        for written in self.tail.read() {
            match written {
                Written::Intervention(done) => {
                    self.interventions.push(done.clone());
                    events.push(Event::Intervention(done));
                }
                Written::Line(line) => {
                    add(&mut self.load, &line, plan, &mut events);
                    if let Some(load) = &mut self.load {
                        let settled = load.latest().saturating_sub(SETTLED_S - 1);
                        load.close_before(settled, plan, &self.interventions, &mut events);
                    }
                }
            }
        }
        if self.tail.is_behind() {
            return events;
        }
        if is_loaded && !self.is_loaded {
            self.is_loaded = true;
            if let Some(load) = &mut self.load {
                let end = load.latest().saturating_add(1);
                load.close_before(end, plan, &self.interventions, &mut events);
            }
            events.push(Event::Part(Part::Audit {
                level: plan.audit.level,
                estimate: Nanos::ZERO,
            }));
        }
        if is_ended && !self.is_ended {
            self.is_ended = true;
            events.extend(ended(&self.directory));
        }
        events
    }
}

fn begun(directory: &Path, draft: &RunRecord) -> Event {
    let plan = &draft.plan.definition;
    Event::Begun {
        directory: directory.display().to_string(),
        workload: plan.workload.name.clone(),
        urls: draft.target.urls.clone(),
        target: draft.target.version.clone(),
        phases: plan.phases.clone(),
        objectives: plan.objectives.clone(),
    }
}

/// The end of a run whose record is there.
fn ended(directory: &Path) -> Option<Event> {
    let record = super::read(directory).ok()?;
    let of = RecordRef::from(&record);
    let rows_found = match of {
        RecordRef::Run(run) => run.audit.rows_found(),
        RecordRef::Experiment(_) | RecordRef::Imported(_) => None,
    };
    Some(Event::Ended {
        directory: directory.display().to_string(),
        judgments: of.judgments().clone(),
        rows_found,
    })
}

/// Adds a line to its second; the first one of a load begins it.
fn add(load: &mut Option<Load>, line: &JournalLine, plan: &Plan, events: &mut Vec<Event>) {
    let filling = (line.phase == LOAD).then(|| line.stream.clone());
    let is_same = |load: &Load| load.filling.is_some() == filling.is_some();
    if !load.as_ref().is_some_and(is_same) {
        events.push(Event::Load(bounds(plan, filling.is_some())));
    } else if let Some(load) = load {
        load.add(line);
        return;
    }
    let mut begun = Load {
        filling,
        phase: line.phase.clone(),
        reported: 0,
        open: BTreeMap::new(),
    };
    begun.add(line);
    *load = Some(begun);
}

fn bounds(plan: &Plan, is_filling: bool) -> LoadBounds {
    if is_filling {
        return LoadBounds {
            rows: Some(plan.workload.rows_to_load),
            ..LoadBounds::default()
        };
    }
    let lengths = plan.phases.iter().map(|phase| phase.duration);
    LoadBounds {
        there: 0,
        rows: plan.stop.rows,
        length: Some(lengths.fold(Nanos::ZERO, Nanos::saturating_add)),
    }
}

impl Load {
    fn add(&mut self, line: &JournalLine) {
        let delta = delta_of(line);
        // What comes late counts with what is not reported yet, so that nothing is left out.
        let second = self.open.entry(line.second.max(self.reported)).or_default();
        *second.offered.entry(line.phase.clone()).or_default() += delta.offered;
        let streams = &mut second.streams;
        let of_stream = streams.entry(line.stream.clone());
        of_stream
            .or_insert_with(|| IntervalDelta::new(line.second, 0))
            .merge(&delta);
    }

    /// The last second that has an op.
    fn latest(&self) -> u64 {
        let latest = self.open.last_key_value();
        latest.map_or(self.reported, |(second, _)| *second)
    }

    /// Reports what is known of the seconds before this one.
    fn close_before(
        &mut self,
        end: u64,
        plan: &Plan,
        interventions: &[InterventionRecord],
        events: &mut Vec<Event>,
    ) {
        while self.reported < end {
            let next = self.open.first_key_value();
            let next = next.map_or(end, |(second, _)| *second).min(end);
            if next - self.reported > SILENT_MAX {
                self.reported = next;
                continue;
            }
            let second = self.open.remove(&self.reported).unwrap_or_default();
            if let Some(phase) = second.phase() {
                self.phase = phase;
            }
            self.reported += 1;
            events.push(Event::Second(self.progress(&second, plan, interventions)));
        }
    }

    /// The second that was reported last.
    fn progress(
        &self,
        of: &OpenSecond,
        plan: &Plan,
        interventions: &[InterventionRecord],
    ) -> SecondProgress {
        let offered = |position: usize| {
            let pace = pace_in(plan, position, &self.phase, interventions)?;
            of_share(plan, position, pace).0
        };
        let streams: Vec<StreamProgress> = if let Some(name) = &self.filling {
            vec![of.stream(name, Unit::Rows, None)]
        } else {
            let planned = plan.streams.iter().enumerate();
            let streams = planned
                .map(|(position, stream)| of.stream(&stream.name, stream.unit, offered(position)));
            streams.collect()
        };
        SecondProgress {
            second: self.reported,
            phase: self.phase.clone(),
            errors: streams.iter().map(|stream| stream.errors).sum(),
            dropped: streams.iter().map(|stream| stream.counts.dropped).sum(),
            streams,
            sessions: 0,
            objectives: Vec::new(),
        }
    }
}

impl OpenSecond {
    /// The phase in which most of its ops were due; absent where none was.
    fn phase(&self) -> Option<String> {
        let due = self.offered.iter().filter(|(_, offered)| **offered > 0);
        let most = due.max_by_key(|(_, offered)| **offered);
        most.map(|(phase, _)| phase.clone())
    }

    fn stream(&self, name: &str, unit: Unit, offered_per_s: Option<f64>) -> StreamProgress {
        let nothing = || IntervalDelta::new(0, 0);
        let sum = self.streams.get(name).cloned().unwrap_or_else(nothing);
        let p99 = sum.latency.percentile(0.99);
        StreamProgress {
            stream: name.to_owned(),
            unit,
            offered_per_s,
            units_per_s: to_f64(match unit {
                Unit::Rows => sum.rows_acknowledged,
                Unit::Queries => sum.acknowledged,
            }),
            p50_ns: sum.latency.percentile(0.5).map(|p50| p50.ns),
            p99_ns: p99.map(|p99| p99.ns),
            p99_at_least: p99.is_some_and(|p99| p99.at_least),
            recent: None,
            errors: sum.errors,
            rejected: sum.rejected,
            counts: counts(&sum),
        }
    }
}
