//! The state of a run that its steps share. What must not be here: the steps.

use std::rc::Rc;

use highwater_driver::{DiskSpace, Timeline};
use highwater_model::event::{Event, Part};

use crate::binding::DeclaredTables;
use crate::control::Controls;
use crate::interrupts::Interrupts;
use crate::leases::KeptLeases;
use crate::observer::Observer;
use crate::pass::Executors;
use crate::reporting::kept_in;
use crate::request::RunRequest;
use crate::table_setup::ExistingTables;
use crate::target_polling::TelemetryPoller;

/// The state of a run.
pub(super) struct Run {
    pub(super) request: RunRequest,
    /// Dropped before the observer, which may wait until those who sent commands have their answers.
    pub(super) controls: Controls,
    pub(super) observer: Rc<dyn Observer>,
    pub(super) interrupts: Interrupts,
    /// Those since the run began, which end its preparation. One that was to stop before it began is prepared, so that
    /// its record can say so.
    pub(super) later_interrupts: Interrupts,
    pub(super) timeline: Rc<dyn Timeline>,
    pub(super) executors: Executors,
    /// Identity of the workload's rows in this target.
    pub(super) row_identity: String,
    /// The columns of the tables as they are declared.
    pub(super) declared: DeclaredTables,
    /// The tables as this run found them.
    pub(super) tables: ExistingTables,
    /// Free disk space of the target before the load, if it is watched.
    pub(super) space: Option<DiskSpace>,
    /// Why the run was stopped before the disk was full.
    pub(super) disk_full: Option<String>,
    /// Polls the target for telemetry during the load.
    pub(super) poller: TelemetryPoller,
    /// Where this is one of several runs: the hold on their tables between them.
    pub(super) kept: Option<KeptLeases>,
}

impl Run {
    pub(super) fn new(
        mut request: RunRequest,
        observer: Rc<dyn Observer>,
        interrupts: Interrupts,
        timeline: Rc<dyn Timeline>,
        executors: Executors,
    ) -> Self {
        // One of all shares is enough to poll the target.
        let polls = !request.telemetry.off && request.plan.share.index == 1;
        let mut poller = if polls {
            let nodes = &request.telemetry.limited_nodes;
            TelemetryPoller::of_target(&request.target, nodes, &timeline)
        } else {
            TelemetryPoller::new(Rc::clone(&timeline))
        };
        let endpoints = request.telemetry.node_endpoints.iter().chain(&request.telemetry.endpoints);
        for endpoint in endpoints.filter(|_| polls) {
            let opened = endpoint.clone();
            poller.add(endpoint.name(), Box::new(move |timeline| opened.open(timeline)));
        }
        Self {
            controls: std::mem::take(&mut request.controls),
            observer: kept_in(&request.directory, observer),
            request,
            later_interrupts: interrupts.later(),
            interrupts,
            timeline,
            executors,
            row_identity: String::new(),
            declared: DeclaredTables::default(),
            tables: ExistingTables::default(),
            space: None,
            disk_full: None,
            poller,
            kept: None,
        }
    }

    /// Reports a part that begins.
    pub(super) fn begin(&self, part: Part) {
        self.observer.event(&Event::Part(part));
    }
}

/// Executor threads for a pass with so many sessions, or with more of them later.
pub(super) fn executors_of(executors: Executors, sessions: u32, may_grow: bool) -> u32 {
    let sessions = if may_grow { u32::MAX } else { sessions };
    match executors {
        Executors::Inline => 1,
        Executors::Threads(_) => crate::telemetry::cores().min(sessions).max(1),
    }
}
