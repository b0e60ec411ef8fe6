//! `highwater check`: whether a target can be used, a workload file is right, or figures can be.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use highwater_core::model::display::{duration, rate, whole};
use highwater_core::model::op::BoundWorkload;
use highwater_core::model::units::{Nanos, Seed};
use highwater_driver::{
    Connect, Target, TargetError, TargetFacts, TargetOptions, TargetUrl, Timeline, registry,
};
use highwater_runner::clock::{RealClock, RealTimeline, SimulatedTimeline};

use super::check_figures;
use crate::failure::Failure;
use crate::settings::{CheckSettings, CheckSubject};
use crate::{ceiling, exit, prompt, terminal, workload_file};

/// How long a host has to answer.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Fingerprints are shown for this seed, the default of `run`.
const SEED: Seed = Seed(42);

/// Checks what the settings name and prints what was found.
pub fn check(settings: &CheckSettings) -> Result<u8, Failure> {
    let text = match &settings.subject {
        CheckSubject::Files { names, law } => match &names[..] {
            [name] if !check_figures::is_figures(name) => describe_workload(Path::new(name))?,
            names => return check_figures::check(names, *law, &settings.out),
        },
        CheckSubject::Target { urls, insert } => check_target(urls.clone(), insert.as_ref())?,
    };
    terminal::data(&text)?;
    Ok(exit::WELL)
}

fn describe_workload(path: &Path) -> Result<String, Failure> {
    let spec = workload_file::read(path)?;
    let workload = spec
        .instantiate(&BTreeMap::new(), SEED)
        .map_err(|mistake| Failure::usage(mistake.message))?;
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
        // What cannot be removed stays for the system's own cleaning of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn check_target(mut urls: Vec<TargetUrl>, insert: Option<&String>) -> Result<String, Failure> {
    let scratch = Scratch::new()?;
    let options = TargetOptions {
        insert: insert.cloned(),
        data_directory: Some(scratch.0.clone()),
        application_name: "highwater check".to_owned(),
        seed: SEED,
        connect_timeout: CONNECT_TIMEOUT,
    };
    let mut asked = false;
    loop {
        let target = registry::open_urls(&urls, &options)?;
        match ask(&target) {
            Ok(facts) => {
                let mut lines = describe_target(target.as_ref(), &facts);
                if let Some(sink) = registry::driver_of(&urls)?.sink() {
                    lines.push(fact("ceiling", ceiling_of(sink, insert, &scratch.0)?));
                }
                return Ok(table(&lines));
            }
            Err(error) if !asked && prompt::for_password(&error, &mut urls) => asked = true,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Connects to every host, and asks the target what it is.
pub(super) fn ask(target: &Arc<dyn Target>) -> Result<TargetFacts, TargetError> {
    let target = Arc::clone(target);
    if target.capabilities().simulated_clock {
        let timeline = SimulatedTimeline::new();
        let facts = timeline.block_on(facts_of(target, Rc::new(timeline.clone())));
        return facts
            .unwrap_or_else(|| Err(TargetError::unreachable("the target answered nothing")));
    }
    let facts = RealTimeline::block_on(RealClock::start(), |timeline| facts_of(target, timeline));
    facts.unwrap_or_else(|error| {
        let cause = format!("cannot wait for the target: {error}");
        Err(TargetError::unreachable(cause))
    })
}

async fn facts_of(
    target: Arc<dyn Target>,
    timeline: Rc<dyn Timeline>,
) -> Result<TargetFacts, TargetError> {
    let nothing = Arc::new(BoundWorkload {
        tables: Vec::new(),
        ops: Vec::new(),
        rows: None,
    });
    for number in (0..).take(target.urls().len()) {
        let connect = Connect {
            workload: Arc::clone(&nothing),
            number,
            attempt: 0,
            timeline: Rc::clone(&timeline),
        };
        drop(target.connect(connect).await?);
    }
    target.administer(timeline).await?.facts().await
}

/// What this machine could send to such a target, measured now.
fn ceiling_of(sink: &str, insert: Option<&String>, scratch: &Path) -> Result<String, Failure> {
    terminal::note("measuring what this machine can send, a few seconds\n");
    let Some(found) = ceiling::measure(sink, insert, SEED, scratch)? else {
        return Ok(format!("none was reached against {sink}"));
    };
    Ok(format!(
        "{} {}/s, {} of client CPU an op: `highwater run` against {sink}, insert={}, {} sessions; \
         for other flags run them against {sink}",
        rate(found.units_per_s),
        found.unit,
        duration(whole(found.cpu_ns_per_op)),
        found.key.insert,
        found.key.sessions
    ))
}

fn describe_target(target: &dyn Target, facts: &TargetFacts) -> Vec<Fact> {
    let capabilities = target.capabilities();
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
    if !facts.traits.is_empty() {
        lines.push(fact("note", facts.traits.join(" · ")));
    }
    lines.extend(facts.settings.iter().map(|(name, value)| fact(name, value)));
    lines
}

/// A name and what there is to say.
pub(super) type Fact = (String, String);

pub(super) fn fact(name: &str, value: impl Into<String>) -> Fact {
    (name.to_owned(), value.into())
}

/// Facts in two columns, one a line.
pub(super) fn table(facts: &[Fact]) -> String {
    let width = facts
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let line =
        |(name, value): &Fact| format!("{name:width$}  {value}").trim_end().to_owned() + "\n";
    facts.iter().map(line).collect()
}
