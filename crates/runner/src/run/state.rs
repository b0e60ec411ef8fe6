//! The state shared by the steps of a run. Must not contain the steps.

use std::rc::Rc;

use highwater_driver::{DiskSpace, Timeline};
use highwater_model::event::{Event, Part};

use crate::binding::DeclaredTables;
use crate::control::Controls;
use crate::leases::KeptLeases;
use crate::pass::Executors;
use crate::request::Observer;
use crate::request::RunRequest;
use crate::request::kept_in;
use crate::table_setup::ExistingTables;
use crate::target_polling::TelemetryPoller;
use highwater_driver::interrupts::Interrupts;

/// The state of a run.
pub(super) struct Run {
    pub(super) request: RunRequest,
    /// Dropped before the observer, which may wait until senders of commands have their responses.
    pub(super) controls: Controls,
    pub(super) observer: Rc<dyn Observer>,
    pub(super) interrupts: Interrupts,
    /// Stop requests since the run began; they end its preparation. A run that was stopped earlier is still prepared,
    /// so that its record can report it.
    pub(super) later_interrupts: Interrupts,
    pub(super) timeline: Rc<dyn Timeline>,
    pub(super) executors: Executors,
    /// Identity of the workload's rows in this target.
    pub(super) row_identity: String,
    /// The declared columns of the tables.
    pub(super) declared: DeclaredTables,
    /// The tables before this run.
    pub(super) tables: ExistingTables,
    /// The target's free disk space before the load, if it is watched.
    pub(super) space: Option<DiskSpace>,
    /// Why the run was stopped before the disk was full.
    pub(super) disk_full: Option<String>,
    /// Polls the target for telemetry during the load.
    pub(super) poller: TelemetryPoller,
    /// The leases shared with the other runs, if this is one of several.
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
        // Of all shares, one is enough to poll the target.
        let polls = !request.options.telemetry.off && request.plan.share.index == 1;
        let mut poller = if polls {
            let nodes = &request.options.telemetry.limited_nodes;
            TelemetryPoller::of_target(&request.target, nodes, &timeline)
        } else {
            TelemetryPoller::new(Rc::clone(&timeline))
        };
        let endpoints = request
            .options
            .telemetry
            .node_endpoints
            .iter()
            .chain(&request.options.telemetry.endpoints);
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

    /// Reports the start of a part.
    pub(super) fn begin(&self, part: Part) {
        self.observer.event(&Event::Part(part));
    }
}

/// Executor threads for a pass with this many sessions, or more later.
pub(super) fn executors_of(executors: Executors, sessions: u32, may_grow: bool) -> u32 {
    let sessions = if may_grow { u32::MAX } else { sessions };
    match executors {
        Executors::Inline => 1,
        Executors::Threads(_) => crate::telemetry::cores().min(sessions).max(1),
    }
}
