//! `highwater check`: checks that a target is usable, that a workload or cluster file is valid, or that figures are
//! plausible. Must not load a target.

mod ceiling;
mod cluster;
pub(crate) mod facts;
mod figures;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater_driver::{Capabilities, DiskSpace, Right, Target, TargetOptions, TargetUrl};
use highwater_model::cluster::is_cluster_file;
use highwater_model::display::{bytes, duration, rate};
use highwater_model::numbers::round_to_u64;
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;
use highwater_sizing::scaling::ScalingModel;
use highwater_workload::Workload;

use self::facts::{Fact, fact, table};
use crate::grammar::flags::{
    CONFIG, DATA, FIGURES, FILE, INSERT, MODEL, NO_COLOR, OUT, OUTPUT, SET,
};
use crate::grammar::{CommandSpec, Flag, Positional};
use crate::intent::resolve::{as_values, files, pairs, targets};
use crate::intent::{WorkloadChoice, parsers};
use crate::layers::{Layers, Origin, has_scheme};
use crate::prepare::target::{self, TargetInspection, Trials, inspect};
use crate::prepare::{OwnStatements, Rehearsal};
use crate::{cluster_file, exit, terminal, workload_file};

/// What of the user's is prepared.
const OWN: Flag = FILE.help(
    "Let the target prepare the statements of your own workload file (.toml) or SQL files (.sql), and execute none, in \
     place of trying the built-in workloads",
);

/// `highwater check`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "check",
    summary: "Check that a target is usable, a workload or cluster file valid, or figures plausible",
    usage: "[TARGET... | FILE.toml | FILE.csv | RUN]...",
    positionals: &[Positional {
        name: "TARGET|FILE",
        help: "Database URLs, one workload or cluster file, or figures: CSV files, record.json files, and \
               directories of runs [default: $HIGHWATER_TARGET, else a new embedded database]",
        setting: Some("target"),
        repeats: true,
    }],
    flags: &[(DATA, &[OWN, SET, INSERT]), (FIGURES, &[MODEL]), (OUTPUT, &[OUT, CONFIG, NO_COLOR])],
    main_flags: None,
    examples: "  highwater check $URL
      connect to each host; print version, privileges, session spread, disk space, and the load
      generator's ceiling
  highwater check $URL -f my-query.sql
      let the target prepare your own statements, without executing them
  highwater check my-workload.toml
      read a workload file and describe it
  highwater check my-cluster.toml
      read a cluster file and describe it
  highwater check sweep.csv
      read figures, and report any that are implausible",
    run: |layers| check(&CheckIntent::resolve(layers)?),
};

/// Settings of `highwater check`.
pub(crate) struct CheckIntent {
    pub(crate) subject: CheckSubject,
    /// Directory of the run store, for looking up IDs.
    out: PathBuf,
}

/// The subject of `highwater check`.
#[derive(Debug, PartialEq)]
pub(crate) enum CheckSubject {
    /// A target.
    Target {
        /// At least one.
        urls: Vec<TargetUrl>,
        /// `--insert`.
        insert: Option<String>,
        /// `--file`, and the values of its parameters.
        own: Option<(WorkloadChoice, BTreeMap<String, String>)>,
    },
    /// A workload or cluster file, or figures: CSV files, records, directories of runs. Never empty.
    Files {
        /// Their names.
        names: Vec<String>,
        /// The scaling model that the figures are checked against.
        model: Option<ScalingModel>,
    },
}

impl CheckIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let words: Vec<&str> = layers.positionals.iter().map(String::as_str).collect();
        let given = as_values("target", &words);
        let own = layers.value("file");
        let subject = match &given[..] {
            [_, ..] if given.iter().all(|given| !has_scheme(&given.text)) => {
                if let Some(file) = own.filter(|file| file.origin == Origin::CommandLine) {
                    let cause = "is for a target, which prepares its statements";
                    return Err(file.failure(cause).with_hint("name the target by its URL"));
                }
                CheckSubject::Files {
                    names: layers.positionals.clone(),
                    model: layers.parse("model", parsers::model)?,
                }
            }
            words => CheckSubject::Target {
                urls: match words {
                    [] => targets(layers, layers.list("target"))?,
                    urls => targets(layers, urls)?,
                },
                insert: layers.parse("insert", parsers::word)?,
                own: own
                    .map(|_| {
                        Ok::<_, UserError>((files(layers.list("file"))?, pairs(layers, "set")?))
                    })
                    .transpose()?,
            },
        };
        Ok(Self { subject, out: layers.require("out", parsers::word)?.into() })
    }
}

/// Seed for the printed fingerprints, the default of `run`.
const SEED: Seed = Seed(42);

/// Checks the subject and prints the results.
fn check(settings: &CheckIntent) -> Result<u8, UserError> {
    let (text, missing) = match &settings.subject {
        CheckSubject::Files { names, model } => match &names[..] {
            [name] if !figures::is_figures(name) => (describe_file(Path::new(name))?, None),
            names => return figures::check(names, *model, &settings.out),
        },
        CheckSubject::Target { urls, insert, own } => {
            let own = own.as_ref().map(|(choice, values)| OwnWorkload::read(choice, values));
            let own = own.transpose()?;
            check_target(urls.clone(), insert.as_ref(), own.as_ref())?
        }
    };
    terminal::data(&text)?;
    missing.map_or(Ok(exit::SUCCESS), Err)
}

fn describe_file(path: &Path) -> Result<String, UserError> {
    if is_cluster_file(&workload_file::text_of(path)?) {
        return Ok(cluster::described(&cluster_file::read(path)?));
    }
    describe_workload(path)
}

fn describe_workload(path: &Path) -> Result<String, UserError> {
    let spec = workload_file::read(path)?;
    let choice = WorkloadChoice::File(path.to_owned());
    let workload = workload_file::instantiate(&spec, &choice, &BTreeMap::new(), SEED)?;
    let streams = spec.streams().iter().map(|stream| stream.name.as_str());
    let mut facts = vec![
        fact("workload", format!("{} version {}", spec.name(), spec.version())),
        fact("about", spec.summary()),
        fact("fingerprint", format!("{} (seed {SEED})", workload.fingerprint())),
        fact("dialects", spec.dialects().join(", ")),
        fact("streams", streams.collect::<Vec<_>>().join(", ")),
    ];
    facts.extend(spec.ops().map(|(op, about)| fact(&format!("op {op}"), about)));
    facts.extend(spec.parameters().iter().map(|parameter| {
        let value = format!("{}  {}", parameter.default, parameter.summary);
        fact(&format!("--set {}=", parameter.name), value)
    }));
    Ok(table(&facts))
}

/// The user's own workload.
struct OwnWorkload<'a> {
    choice: &'a WorkloadChoice,
    workload: Arc<Workload>,
}

impl<'a> OwnWorkload<'a> {
    fn read(
        choice: &'a WorkloadChoice,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Self, UserError> {
        let spec = workload_file::choose(choice, parameters)?;
        Ok(Self { choice, workload: workload_file::instantiate(&spec, choice, parameters, SEED)? })
    }

    /// Why a run would be refused, at its place in the file.
    fn refused(&self, inspection: &TargetInspection) -> Option<UserError> {
        let Some(OwnStatements::Refused(error)) = &inspection.own else {
            return None;
        };
        Some(workload_file::located(error.clone(), self.choice, &self.workload))
    }
}

/// The facts of a target, and the first missing privilege or refused workload.
fn check_target(
    urls: Vec<TargetUrl>,
    insert: Option<&String>,
    own: Option<&OwnWorkload<'_>>,
) -> Result<(String, Option<UserError>), UserError> {
    let probe = format!("highwater_check_{}", std::process::id());
    // For an embedded target with a URL without a file.
    let scratch = tempfile::Builder::new().prefix("highwater-check-").tempdir();
    let scratch =
        scratch.map_err(|error| UserError::usage(format!("cannot create a directory: {error}")))?;
    let options = TargetOptions {
        insert: insert.cloned(),
        ..target::options("highwater check", Some(scratch.path()), SEED)
    };
    let sink = highwater_drivers::driver_of(&urls)?.sink();
    let inspected = target::opened(urls, &options, |target| {
        let trials = Trials { table: probe.clone(), own: own.map(|own| Arc::clone(&own.workload)) };
        Ok(inspect(target, Some(trials)).map(|inspection| {
            let lines = describe_target(target.as_ref(), &inspection);
            // Who runs statements on his own tables may need no right to make others.
            let needs_tables = own.is_none_or(|own| own.workload.tables() > 0);
            let failure = missing(&inspection, &probe).filter(|_| needs_tables);
            let refused = || own.and_then(|own| own.refused(&inspection));
            (lines, failure.or_else(refused).or_else(|| refused_workload(&inspection)))
        }))
    });
    let (mut lines, missing) = inspected?;
    // It is that of a built-in workload.
    if let Some(sink) = sink.filter(|_| own.is_none()) {
        lines.push(fact("ceiling", ceiling_of(sink, insert, scratch.path())?));
    }
    Ok((table(&lines), missing))
}

/// The first privilege that a run needs and this user does not have.
fn missing(inspection: &TargetInspection, table: &str) -> Option<UserError> {
    let rights = inspection.rights.as_ref()?;
    let refused = rights.iter().find(|right| right.refusal.is_some())?;
    let refusal = refused.refusal.clone()?;
    let hint = refusal.hint.as_deref().unwrap_or("grant the user the right to");
    let dropped = rights.last().is_some_and(|right| right.refusal.is_none());
    let left = if rights.len() > 1 && !dropped {
        format!("; table `{table}` is still there")
    } else {
        String::new()
    };
    let cause = format!("may not {}: {}", refused.name, refusal.message);
    Some(UserError::refused(cause).with_hint(format!("{hint}{left}")))
}

/// The rate that this machine can send to such a target, measured now.
fn ceiling_of(sink: &str, insert: Option<&String>, scratch: &Path) -> Result<String, UserError> {
    terminal::note("measuring the load generator's ceiling, a few seconds\n");
    let Some(found) = ceiling::measure(sink, insert, scratch)? else {
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
    let mut lines: Vec<Fact> =
        target.urls().into_iter().map(|url| fact("connected", url)).collect();
    let sessions = format!("{} by default", capabilities.default_sessions);
    lines.extend([
        fact("version", &facts.version),
        fact("dialects", facts.dialects.join(", ")),
        fact("--insert", inserts(&capabilities, inspection)),
        fact("--sessions", sessions),
        fact("spread", spread(target)),
        fact("rights", rights(inspection.rights.as_deref())),
        fact("disk", disk(inspection.disk.as_ref())),
    ]);
    lines.extend(workloads(inspection));
    lines.extend(inspection.own.as_ref().map(own_statements));
    if !facts.traits.is_empty() {
        lines.push(fact("note", facts.traits.join(" · ")));
    }
    lines.extend(facts.settings.iter().map(|(name, value)| fact(name, value)));
    lines
}

/// The insert modes, and those that this server does not support.
fn inserts(capabilities: &Capabilities, inspection: &TargetInspection) -> String {
    let refused = &inspection.refused_inserts;
    let is_taken = |name: &&&str| !refused.iter().any(|(other, _)| other == *name);
    let taken: Vec<&str> = capabilities.insert_modes.iter().filter(is_taken).copied().collect();
    let refused = refused.iter().map(|(name, cause)| format!("; NOT {name}: {cause}"));
    taken.join(", ") + &refused.collect::<String>()
}

/// Results of the rehearsals of built-in workloads.
fn workloads(inspection: &TargetInspection) -> Vec<Fact> {
    let of = |is: fn(&Rehearsal) -> bool| {
        inspection
            .workloads
            .iter()
            .filter(move |(_, tried)| is(tried))
            .map(|(name, _)| *name)
            .collect::<Vec<&str>>()
            .join(", ")
    };
    let taken = of(|tried| matches!(tried, Rehearsal::Taken));
    let not_written = of(|tried| matches!(tried, Rehearsal::NotWritten));
    let mut parts = Vec::new();
    if !taken.is_empty() {
        parts.push(format!("{taken} (tried on separate tables)"));
    }
    if !not_written.is_empty() {
        parts.push(format!("no statements for this target: {not_written}"));
    }
    for (name, tried) in &inspection.workloads {
        if let Rehearsal::Refused(error) = tried {
            parts.push(format!("NOT {name}: {}", error.message));
        }
    }
    let line = (!parts.is_empty()).then(|| fact("workloads", parts.join("; ")));
    line.into_iter().collect()
}

/// What became of the user's own statements.
fn own_statements(own: &OwnStatements) -> Fact {
    let text = match own {
        OwnStatements::Prepared(1) => "prepared those of 1 op, executed none".to_owned(),
        OwnStatements::Prepared(ops) => format!("prepared those of {ops} ops, executed none"),
        OwnStatements::Absent(table) => {
            format!("not prepared: a run creates table `{table}` first")
        }
        OwnStatements::Refused(error) => format!("NOT taken: {}", error.message),
    };
    fact("statements", text)
}

/// The first built-in workload that the target refuses.
fn refused_workload(inspection: &TargetInspection) -> Option<UserError> {
    let mut tried = inspection.workloads.iter();
    tried.find_map(|(name, tried)| match tried {
        Rehearsal::Refused(error) => {
            let cause = format!("workload {name}: {}", error.message);
            let hint = error.hint.as_deref();
            let hint = hint.unwrap_or(
                "the workloads of the line `workloads` can be run, and your own by --file",
            );
            Some(UserError::statement(cause).with_hint(hint))
        }
        _ => None,
    })
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
    format!("{} (tried on a separate table)", names.collect::<Vec<_>>().join(", "))
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
