//! `highwater check`: checks that a target is usable, a workload file valid, or figures plausible.
//! Must not load a target.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{
    Connect, DiskSpace, Right, Target, TargetError, TargetFacts, TargetOptions, TargetUrl, Timeline,
};
use highwater_model::display::{bytes, duration, rate};
use highwater_model::numbers::round_to_u64;
use highwater_model::op::BoundWorkload;
use highwater_model::units::{Nanos, Seed};
use highwater_runner::clock::{RealClock, RealTimeline, SimulatedTimeline};

use super::check_figures;
use super::facts::{Fact, fact, table};
use crate::failure::Failure;
use crate::settings::{CheckSettings, CheckSubject};
use crate::{ceiling, exit, prompt, terminal, workload_file};

/// Time limit of a connection.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Fingerprints are shown for this seed, the default of `run`.
const SEED: Seed = Seed(42);

/// Checks what the settings name and prints what was found.
pub fn check(settings: &CheckSettings) -> Result<u8, Failure> {
    let text = match &settings.subject {
        CheckSubject::Files { names, model } => match &names[..] {
            [name] if !check_figures::is_figures(name) => describe_workload(Path::new(name))?,
            names => return check_figures::check(names, *model, &settings.out),
        },
        CheckSubject::Target { urls, insert } => {
            let (text, missing) = check_target(urls.clone(), insert.as_ref())?;
            terminal::data(&text)?;
            return missing.map_or(Ok(exit::SUCCESS), Err);
        }
    };
    terminal::data(&text)?;
    Ok(exit::SUCCESS)
}

fn describe_workload(path: &Path) -> Result<String, Failure> {
    let spec = workload_file::read(path)?;
    let workload = spec
        .instantiate(&BTreeMap::new(), SEED)
        .map_err(|error| Failure::usage(error.message))?;
    let streams = spec.streams().iter().map(|stream| stream.name.as_str());
    let mut facts = vec![
        fact(
            "workload",
            format!("{} version {}", spec.name(), spec.version()),
        ),
        fact("about", spec.summary()),
        fact(
            "fingerprint",
            format!("{} (seed {SEED})", workload.fingerprint()),
        ),
        fact("dialects", spec.dialects().join(", ")),
        fact("streams", streams.collect::<Vec<_>>().join(", ")),
    ];
    facts.extend(
        spec.ops()
            .map(|(op, about)| fact(&format!("op {op}"), about)),
    );
    facts.extend(spec.parameters().iter().map(|parameter| {
        let value = format!("{}  {}", parameter.default, parameter.summary);
        fact(&format!("--set {}=", parameter.name), value)
    }));
    Ok(table(&facts))
}

/// A directory for an embedded target whose URL names no file; gone when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let directory =
            std::env::temp_dir().join(format!("highwater-check-{}", std::process::id()));
        fs::create_dir(&directory).map_err(|error| {
            Failure::usage(format!("cannot create {}: {error}", directory.display()))
        })?;
        Ok(Self(directory))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it cannot be removed, the system cleans up its temporary files later.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The facts of a target, and the privileges of this user.
struct TargetInspection {
    facts: TargetFacts,
    /// Absent if the target has no privileges, or they were not inspected.
    rights: Option<Vec<Right>>,
    disk: Option<DiskSpace>,
}

/// The facts of a target, and the first missing privilege.
fn check_target(
    mut urls: Vec<TargetUrl>,
    insert: Option<&String>,
) -> Result<(String, Option<Failure>), Failure> {
    let probe = format!("highwater_check_{}", std::process::id());
    let scratch = Scratch::new()?;
    let options = TargetOptions {
        insert: insert.cloned(),
        data_directory: Some(scratch.0.clone()),
        application_name: "highwater check".to_owned(),
        seed: SEED,
        connect_timeout: CONNECT_TIMEOUT,
    };
    let mut prompted = false;
    loop {
        let target = highwater_drivers::open_urls(&urls, &options)?;
        match inspect_table(&target, Some(probe.clone())) {
            Ok(inspection) => {
                let mut lines = describe_target(target.as_ref(), &inspection);
                let missing = missing(&inspection, &probe);
                if let Some(sink) = highwater_drivers::driver_of(&urls)?.sink() {
                    lines.push(fact("ceiling", ceiling_of(sink, insert, &scratch.0)?));
                }
                return Ok((table(&lines), missing));
            }
            Err(error) if !prompted && prompt::for_password(&error, &mut urls) => prompted = true,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Connects to every host, and queries the facts of the target.
pub(super) fn inspect(target: &Arc<dyn Target>) -> Result<TargetFacts, TargetError> {
    inspect_table(target, None).map(|inspection| inspection.facts)
}

/// The same, and the privileges of the user on a table of that name.
fn inspect_table(
    target: &Arc<dyn Target>,
    table: Option<String>,
) -> Result<TargetInspection, TargetError> {
    let target = Arc::clone(target);
    if target.capabilities().simulated_clock {
        let timeline = SimulatedTimeline::new();
        let inspection = timeline.block_on(inspect_on(target, Rc::new(timeline.clone()), table));
        return inspection
            .unwrap_or_else(|| Err(TargetError::unreachable("the target did not respond")));
    }
    let inspection = RealTimeline::block_on(RealClock::start(), |timeline| {
        inspect_on(target, timeline, table)
    });
    inspection.unwrap_or_else(|error| {
        let cause = format!("cannot wait for the target: {error}");
        Err(TargetError::unreachable(cause))
    })
}

async fn inspect_on(
    target: Arc<dyn Target>,
    timeline: Rc<dyn Timeline>,
    table: Option<String>,
) -> Result<TargetInspection, TargetError> {
    let nothing = Arc::new(BoundWorkload {
        tables: Vec::new(),
        ops: Vec::new(),
        rows: None,
    });
    // First, because it says what answers there if it is not such a target.
    let mut admin = target.administer(Rc::clone(&timeline)).await?;
    for number in (0..).take(target.urls().len()) {
        let connect = Connect {
            workload: Arc::clone(&nothing),
            number,
            attempt: 0,
            timeline: Rc::clone(&timeline),
        };
        drop(target.connect(connect).await?);
    }
    let facts = admin.facts().await?;
    let (mut rights, mut disk) = (None, None);
    if let Some(table) = table {
        disk = admin.disk().await?;
        rights = admin.try_rights(&table).await?;
    }
    Ok(TargetInspection {
        facts,
        rights,
        disk,
    })
}

/// The first privilege that a run needs and this user lacks.
fn missing(inspection: &TargetInspection, table: &str) -> Option<Failure> {
    let rights = inspection.rights.as_ref()?;
    let refused = rights.iter().find(|right| right.refusal.is_some())?;
    let refusal = refused.refusal.clone()?;
    let hint = refusal
        .hint
        .as_deref()
        .unwrap_or("grant the user the right to");
    let dropped = rights.last().is_some_and(|right| right.refusal.is_none());
    let left = if rights.len() > 1 && !dropped {
        format!("; table `{table}` is still there")
    } else {
        String::new()
    };
    Some(Failure {
        exit: exit::TARGET,
        message: format!("may not {}: {}", refused.name, refusal.message),
        place: None,
        hint: Some(format!("{hint}{left}")),
    })
}

/// The rate that this machine can send to such a target, measured now.
fn ceiling_of(sink: &str, insert: Option<&String>, scratch: &Path) -> Result<String, Failure> {
    terminal::note("measuring the load generator's ceiling, a few seconds\n");
    let Some(found) = ceiling::measure(sink, insert, SEED, scratch)? else {
        return Ok(format!("not measurable against {sink}"));
    };
    Ok(format!(
        "{} {}/s, {} of client CPU an op: `highwater run` against {sink}, insert={}, {} sessions; \
         for other flags run them against {sink}",
        rate(found.units_per_s),
        found.unit,
        duration(round_to_u64(found.cpu_ns_per_op)),
        found.key.insert,
        found.key.sessions
    ))
}

fn describe_target(target: &dyn Target, inspection: &TargetInspection) -> Vec<Fact> {
    let capabilities = target.capabilities();
    let facts = &inspection.facts;
    let mut lines: Vec<Fact> = target
        .urls()
        .into_iter()
        .map(|url| fact("connected", url))
        .collect();
    lines.push(fact("version", &facts.version));
    lines.push(fact("dialects", facts.dialects.join(", ")));
    lines.push(fact("--insert", capabilities.insert_modes.join(", ")));
    lines.push(fact(
        "--sessions",
        format!("{} by default", capabilities.default_sessions),
    ));
    lines.push(fact("spread", spread(target)));
    lines.push(fact("rights", rights(inspection.rights.as_deref())));
    lines.push(fact("disk", disk(inspection.disk.as_ref())));
    if !facts.traits.is_empty() {
        lines.push(fact("note", facts.traits.join(" · ")));
    }
    lines.extend(facts.settings.iter().map(|(name, value)| fact(name, value)));
    lines
}

/// Distribution of the default sessions over the hosts.
fn spread(target: &dyn Target) -> String {
    let sessions = target.capabilities().default_sessions;
    let mut of_host = vec![0_u32; target.urls().len()];
    for number in 0..sessions {
        if let Some(count) = of_host.get_mut(target.host_of(number, 0)) {
            *count += 1;
        }
    }
    match &of_host[..] {
        [_] => format!("all {sessions} sessions to one URL"),
        counts => {
            let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
            format!("{sessions} sessions round robin: {}", counts.join(" + "))
        }
    }
}

fn rights(rights: Option<&[Right]>) -> String {
    let Some(rights) = rights else {
        return "not restricted".to_owned();
    };
    let names = rights.iter().map(|right| match right.refusal {
        None => right.name.to_owned(),
        Some(_) => format!("NOT {}", right.name),
    });
    format!(
        "{} (tried on a separate table)",
        names.collect::<Vec<_>>().join(", ")
    )
}

fn disk(disk: Option<&DiskSpace>) -> String {
    match disk {
        None => "not reported by the target".to_owned(),
        Some(disk) => format!(
            "{} of {} free at {}",
            bytes(disk.free_bytes),
            bytes(disk.total_bytes),
            disk.place
        ),
    }
}
