//! Performs the planned actions of `--fault`: on the nodes of a cluster file, and commands of the user. What an action
//! holds is released when it is over, or when the run ends. Must not decide when an action is due.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use highwater_cluster::{Cluster, NodeAction};
use highwater_driver::clock::RealClock;
use highwater_driver::system;
use highwater_driver::{ClusterActions, Response, Target, Timeline};
use highwater_model::display::span;
use highwater_model::fault::{FAULTS_MAX, FaultAction, PlannedFault, parse_faults};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use tokio::sync::oneshot;

use crate::cluster_file::{self, ClusterFlags};
use crate::intent::parsers;
use crate::layers::Layers;
use crate::{prepare, secrets};

/// The planned actions of `--fault`, in the order of their times.
pub(crate) fn planned(layers: &Layers) -> Result<Vec<PlannedFault>, UserError> {
    let mut all = Vec::new();
    for given in layers.list("fault") {
        all.extend(given.parse(parse_faults)?);
        if all.len() > FAULTS_MAX {
            return Err(given.failure(format!("more than {FAULTS_MAX} actions are planned")));
        }
    }
    all.sort_by_key(|planned| planned.at);
    Ok(all)
}

/// The cluster file of `--cluster`.
pub(crate) fn cluster(layers: &Layers) -> Result<Option<PathBuf>, UserError> {
    Ok(layers.parse("cluster", parsers::word)?.map(PathBuf::from))
}

/// What performs the actions of a plan: the target itself, or its cluster file and commands; absent if it has none.
///
/// # Errors
/// An action is not possible.
pub(crate) fn actions(
    plan: &[PlannedFault],
    cluster: Option<PathBuf>,
    target: &dyn Target,
) -> Result<Option<Arc<dyn ClusterActions>>, UserError> {
    if plan.is_empty() {
        return Ok(None);
    }
    let actions = target.actions().unwrap_or_else(|| {
        Arc::new(Performer { cluster, ended: Arc::default(), threads: Mutex::default() })
    });
    for planned in plan {
        actions.check(&planned.action).map_err(|error| {
            let message = format!("--fault: {}", error.message);
            UserError { message, ..error }
        })?;
    }
    Ok(Some(actions))
}

/// Performs actions, each in a thread.
#[derive(Debug)]
pub(crate) struct Performer {
    cluster: Option<PathBuf>,
    ended: Arc<Ended>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Whether the run is over.
#[derive(Debug, Default)]
struct Ended {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    /// Waits this long, or until the run is over; returns whether it is.
    fn wait(&self, length: Nanos) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let length = Duration::from_nanos(length.0);
        let waited = self.changed.wait_timeout_while(is_over, length, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl ClusterActions for Performer {
    fn check(&self, action: &FaultAction) -> Result<(), UserError> {
        if !action.is_of_nodes() || self.cluster.is_some() {
            return Ok(());
        }
        let message = format!("`{action}` needs the cluster file of the target");
        let hint = "add --cluster FILE, or act with a command of yours: run 'COMMAND' at 30s";
        Err(UserError::usage(message).with_hint(hint))
    }

    fn perform(&self, action: FaultAction, _timeline: Rc<dyn Timeline>) -> Response<'static, ()> {
        let (cluster, ended) = (self.cluster.clone(), Arc::clone(&self.ended));
        let (sender, receiver) = oneshot::channel();
        let thread = std::thread::Builder::new().name("fault".to_owned()).spawn(move || {
            // Nobody waits for it if the run has ended.
            drop(sender.send(act(&action, cluster.as_ref(), &ended)));
        });
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.extend(thread.ok());
        Box::pin(async {
            let lost = |_| Err(UserError::cluster("its thread ended without a result"));
            receiver.await.unwrap_or_else(lost)
        })
    }

    fn release(&self) {
        *self.ended.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.changed.notify_all();
    }
}

impl Drop for Performer {
    fn drop(&mut self) {
        self.release();
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            drop(thread.join());
        }
    }
}

fn act(action: &FaultAction, cluster: Option<&PathBuf>, ended: &Ended) -> Result<(), UserError> {
    let node = |node: u32, action| on_node(cluster, node, action);
    match action {
        FaultAction::Kill { node: number } => node(*number, NodeAction::Kill),
        FaultAction::Stop { node: number } => node(*number, NodeAction::Stop),
        FaultAction::Start { node: number } => node(*number, NodeAction::Start),
        FaultAction::Restart { node: number } => {
            node(*number, NodeAction::Stop)?;
            node(*number, NodeAction::Start)
        }
        FaultAction::Pause { node: number, for_ns } => {
            node(*number, NodeAction::Pause)?;
            ended.wait(Nanos(*for_ns));
            node(*number, NodeAction::Resume)
        }
        FaultAction::Throttle { node, cpu_ppm, for_ns } => {
            throttle(cluster, *node, *cpu_ppm, Nanos(*for_ns), ended)
        }
        FaultAction::RollingRestart => {
            let nodes = open(cluster)?.size();
            let mut each = (1..=nodes).take_while(|_| !ended.wait(Nanos::ZERO));
            each.try_for_each(|number| {
                node(number, NodeAction::Stop)?;
                node(number, NodeAction::Start)
            })
        }
        FaultAction::Run { command } => run(command, ended),
        FaultAction::Sql { .. } => Err(UserError::usage("a statement needs a session")),
    }
}

/// How often a throttled node is held and released.
const THROTTLE_PERIOD: Nanos = Nanos::from_millis(100);

/// Holds a node for a part of each period.
fn throttle(
    cluster: Option<&PathBuf>,
    node: u32,
    cpu_ppm: u32,
    length: Nanos,
    ended: &Ended,
) -> Result<(), UserError> {
    let mut hold = open(cluster)?.holder(node)?;
    on_node(cluster, node, NodeAction::Throttle)?;
    let runs = Nanos(THROTTLE_PERIOD.0 * u64::from(cpu_ppm) / 1_000_000);
    let clock = RealClock::start();
    let mut begin = Nanos::ZERO;
    while begin < length {
        let end = begin.saturating_add(THROTTLE_PERIOD);
        if ended.wait(end.saturating_sub(runs).saturating_sub(clock.now())) {
            break;
        }
        hold(false);
        ended.wait(end.saturating_sub(clock.now()));
        hold(true);
        begin = end;
    }
    on_node(cluster, node, NodeAction::Resume)
}

fn on_node(file: Option<&PathBuf>, node: u32, action: NodeAction) -> Result<(), UserError> {
    open(file)?.act(node, action)
}

fn open(file: Option<&PathBuf>) -> Result<Cluster, UserError> {
    let file = file.ok_or_else(|| UserError::usage("there is no cluster file"))?;
    let flags = ClusterFlags { takes_over: true, ..ClusterFlags::default() };
    let spec = cluster_file::read(file)?;
    cluster_file::open(file, spec, flags, prepare::signals()?)
}

/// Time that a command has after the load, which it no longer affects.
const COMMAND_AFTER: Nanos = Nanos::from_secs(60);
/// The pause between two looks at a command.
const LOOK: Nanos = Nanos::from_millis(20);

/// Runs a command of the user to its end, or until Ctrl-C, or some time after the load; ends what it started with it.
fn run(command: &str, ended: &Ended) -> Result<(), UserError> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for name in secrets::all() {
        shell.env_remove(name);
    }
    let cannot = |error| UserError::cluster(format!("cannot run a shell: {error}"));
    system::set_own_group(&mut shell).map_err(cannot)?;
    let signals = prepare::signals()?;
    let mut child = shell.spawn().map_err(cannot)?;
    let clock = RealClock::start();
    let mut over_at = None;
    loop {
        match child.try_wait().map_err(cannot)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(UserError::cluster(format!("the command ended with {status}")));
            }
            None => {}
        }
        let is_over = ended.wait(LOOK);
        if is_over {
            over_at.get_or_insert_with(|| clock.now());
            std::thread::sleep(Duration::from_nanos(LOOK.0));
        }
        let is_late = over_at.is_some_and(|at| clock.now().saturating_sub(at) > COMMAND_AFTER);
        let is_interrupted = signals.requested().is_some();
        if is_late || is_interrupted {
            system::kill_group(&mut child).and_then(|()| child.wait()).map_err(cannot)?;
            let why = if is_interrupted {
                "when the run was stopped".to_owned()
            } else {
                format!("{} after the load", span(COMMAND_AFTER.0))
            };
            let message = format!("the command had not ended {why}, and was killed");
            return Err(UserError::cluster(message));
        }
    }
}
