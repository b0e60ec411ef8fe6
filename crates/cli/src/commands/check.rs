//! `highwater check`: checks that a target is usable, that a workload or cluster file is valid, or that figures are
//! plausible, and measures the ceiling of this machine's load generator by a normal run against a sink.
//!
//! Must not load a target, start a cluster, or judge plausibility itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::clock::RealClock;
use highwater_driver::{
    Capabilities, DiskSpace, Right, Target, TargetOptions, TargetUrl, interrupts,
};
use highwater_model::cluster::{
    ClusterSpec, CommandLine, CommandsFile, Condition, NodeFile, Provider, QuotaFile, QuotaStart,
    StartOrder, StopSignal, is_cluster_file,
};
use highwater_model::display::{bytes, foreign, plain, rate, span};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_report::warnings_text;
use highwater_runner::ceilings::{self, Ceiling};
use highwater_runner::request::Silent;
use highwater_runner::run as runner;
use highwater_runner::run::RunRequest;
use highwater_runner::telemetry;
use highwater_sizing::plausibility::{ModelRequest, Weight, audit};
use highwater_sizing::scaling::ScalingModel;
use highwater_sizing::series::{Role, SeriesSet};
use highwater_workload::Workload;

use crate::commands::run;
use crate::grammar::flags::{
    CONFIG, DATA, FIGURES, FILE, INSERT, MODEL, NO_COLOR, OUT, OUTPUT, SET, VERBOSE,
};
use crate::grammar::{CommandSpec, Flag, Positional};
use crate::intent::resolve::{as_values, files, pairs, targets};
use crate::intent::{RunIntent, WorkloadChoice, parsers};
use crate::layers::{Layers, Origin, has_scheme};
use crate::prepare::{
    self, OwnStatements, Rehearsal, StoredPlan, TargetInspection, Trials, inspect,
};
use crate::stored_files::keep;
use crate::{cluster_file, exit, figures, sources, terminal, workload_file};

/// The user's input to prepare.
const OWN: Flag = FILE.help(
    "Prepare the statements of your own workload file (.toml) or SQL files (.sql) on the target \
     without executing them, instead of trying the built-in workloads",
);

const ALL: Flag = VERBOSE.help("Also print every setting that a target reports");

/// `highwater check`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "check",
    summary: "Check that a target is usable, a workload or cluster file valid, or figures plausible",
    usage: "[TARGET... | FILE.toml | FILE.sql | FILE.csv | RUN]...",
    positionals: &[Positional {
        name: "TARGET|FILE",
        help: "Database URLs, one workload, SQL or cluster file, or figures: CSV files, record.json files, and \
               directories of runs [default: $HIGHWATER_TARGET, else a new embedded database]",
        setting: Some("target"),
        repeats: true,
    }],
    flags: &[
        (DATA, &[OWN, SET, INSERT]),
        (FIGURES, &[MODEL]),
        (OUTPUT, &[OUT, ALL, CONFIG, NO_COLOR]),
    ],
    main_flags: None,
    examples: "  highwater check $URL
      connect to each host; print what would stop a run or distort its figures, and a line
      for each area without problems
  highwater check $URL -f my-query.sql
      prepare your own statements on the target, without executing them
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
        /// `--verbose`.
        verbose: bool,
    },
    /// A workload or cluster file, or figures: CSV files, records, directories of runs. Never empty.
    Files {
        /// Their names.
        names: Vec<String>,
        /// The scaling model against which the figures are checked.
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
                verbose: layers.switch("verbose")?,
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
            [name] if !is_figures(name) => (describe_file(Path::new(name))?, None),
            names => return check_figures(names, *model, &settings.out),
        },
        CheckSubject::Target { urls, insert, own, verbose } => {
            let own = own.as_ref().map(|(choice, values)| OwnWorkload::read(choice, values));
            let own = own.transpose()?;
            check_target(urls.clone(), insert.as_ref(), own.as_ref(), *verbose)?
        }
    };
    terminal::data(&text)?;
    missing.map_or(Ok(exit::SUCCESS), Err)
}

fn describe_file(path: &Path) -> Result<String, UserError> {
    if path.extension().is_some_and(|ending| ending == "sql") {
        return describe_workload(&WorkloadChoice::Scripts(vec![(path.to_owned(), 1)]));
    }
    if is_cluster_file(&workload_file::text_of(path)?) {
        return Ok(described(&cluster_file::read(path)?));
    }
    describe_workload(&WorkloadChoice::File(path.to_owned()))
}

fn describe_workload(choice: &WorkloadChoice) -> Result<String, UserError> {
    let spec = workload_file::choose(choice, &BTreeMap::new())?;
    let workload = workload_file::instantiate(&spec, choice, &BTreeMap::new(), SEED)?;
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

    /// Why a run would be rejected, with the place in the file.
    fn refused(&self, inspection: &TargetInspection) -> Option<UserError> {
        let Some(OwnStatements::Refused(error)) = &inspection.own else {
            return None;
        };
        Some(workload_file::located(error.clone(), self.choice, &self.workload))
    }
}

/// The facts of a target, and the first missing privilege or rejected workload.
fn check_target(
    urls: Vec<TargetUrl>,
    insert: Option<&String>,
    own: Option<&OwnWorkload<'_>>,
    verbose: bool,
) -> Result<(String, Option<UserError>), UserError> {
    let probe = format!("highwater_check_{}", std::process::id());
    // For an embedded target with a URL without a file.
    let scratch = tempfile::Builder::new().prefix("highwater-check-").tempdir();
    let scratch =
        scratch.map_err(|error| UserError::usage(format!("cannot create a directory: {error}")))?;
    let options = TargetOptions {
        insert: insert.cloned(),
        ..prepare::options("highwater check", Some(scratch.path()), SEED)
    };
    let sink = highwater_drivers::driver_of(&urls)?.sink();
    let clock = RealClock::start();
    let before = telemetry::read(clock.now(), Nanos::ZERO);
    let inspected = prepare::opened(urls, &options, |target| {
        let trials = Trials { table: probe.clone(), own: own.map(|own| Arc::clone(&own.workload)) };
        Ok(inspect(target, Some(trials)).map(|inspection| {
            let lines = describe_target(target.as_ref(), &inspection, verbose);
            // A user who runs statements on existing tables may not need the privilege to create
            // tables.
            let needs_tables = own.is_none_or(|own| own.workload.tables() > 0);
            let failure = missing(&inspection, &probe).filter(|_| needs_tables);
            let refused = || own.and_then(|own| own.refused(&inspection));
            (lines, failure.or_else(refused).or_else(|| refused_workload(&inspection)))
        }))
    });
    let (mut lines, missing) = inspected?;
    // The error belongs to a built-in workload.
    if let Some(sink) = sink.filter(|_| own.is_none()) {
        let place =
            lines.iter().take_while(|(name, _)| name != SETTINGS && name != VERSION).count();
        let ceiling = ceiling_of(sink, insert, scratch.path())?;
        lines.insert(place, fact("ceiling", area(Area::Fine, &ceiling)));
    }
    let after = telemetry::read(clock.now(), Nanos::ZERO);
    // A model uses no other program's CPU.
    let others = sink.and_then(|_| prepare::others_words(&before, &after));
    if let Some(others) = others {
        let place =
            lines.iter().take_while(|(name, _)| name != SETTINGS && name != VERSION).count();
        lines.insert(place, fact("others", area(Area::Falsifies, &others)));
    }
    let of = |area: Area| lines.iter().filter(|(_, text)| text.starts_with(area.word())).count();
    let result = match (of(Area::Stops), of(Area::Falsifies)) {
        (0, 0) if missing.is_none() => "nothing found that would stop a run or falsify its figures",
        (0, _) if missing.is_none() => {
            "nothing found that would stop a run; BEWARE is what could falsify its figures"
        }
        _ => "a run would stop: see the error below",
    };
    lines.insert(0, fact("result", result));
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
    let Some(found) = measure(sink, insert, scratch)? else {
        return Ok(format!("not measurable against {sink}"));
    };
    Ok(format!(
        "about {} {}/s from this machine, by `highwater run {sink}` with insert={} and {} sessions",
        rate(found.units_per_s),
        found.unit,
        found.key.insert,
        found.key.sessions
    ))
}

/// What a line says about its area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Area {
    /// In order.
    Fine,
    /// A run would start, but its figures would mislead a reader.
    Falsifies,
    /// A run would not start.
    Stops,
}

impl Area {
    const fn word(self) -> &'static str {
        match self {
            Self::Fine => "OK",
            Self::Falsifies => "BEWARE",
            Self::Stops => "STOPS",
        }
    }
}

fn area(area: Area, text: &str) -> String {
    format!("{} · {text}", area.word())
}

fn stops_if(stops: bool, text: &str) -> String {
    area(if stops { Area::Stops } else { Area::Fine }, text)
}

/// Lines that are printed only with `--verbose`.
const VERSION: &str = "version";
const SETTINGS: &str = "settings";

fn describe_target(target: &dyn Target, inspection: &TargetInspection, verbose: bool) -> Vec<Fact> {
    let capabilities = target.capabilities();
    let facts = &inspection.facts;
    let name = report::short_target(&facts.version);
    let urls = target.urls().join(" ");
    let mut lines = vec![
        fact("target", area(Area::Fine, &format!("{name} · {urls}"))),
        fact("rights", rights(inspection.rights.as_deref())),
    ];
    lines.extend(workloads(inspection));
    lines.extend(inspection.own.as_ref().map(own_statements));
    lines.extend([
        fact("inserts", inserts(&capabilities, inspection)),
        fact("sessions", area(Area::Fine, &spread(target))),
        fact("disk", disk(inspection.disk.as_ref())),
    ]);
    lines.extend(durability(inspection));
    if target.is_local() && !capabilities.embedded {
        let shared = "this machine runs the target and the load generator: figures are of both";
        lines.push(fact("machine", area(Area::Falsifies, shared)));
    }
    // Insert modes and durability have their own lines.
    let is_said = |of: &&String| of.starts_with("insert=") || relaxed(inspection).contains(*of);
    let traits: Vec<&str> =
        facts.traits.iter().filter(|of| !is_said(of)).map(String::as_str).collect();
    if !traits.is_empty() {
        lines.push(fact("note", traits.join(" · ")));
    }
    if verbose {
        lines.push(fact(VERSION, &facts.version));
        lines.push(fact("dialects", facts.dialects.join(", ")));
        lines.extend(facts.settings.iter().map(|(name, value)| fact(name, value)));
    } else if !facts.settings.is_empty() {
        let number = facts.settings.len();
        lines.push(fact(SETTINGS, format!("{number} reported by the target; -v prints them")));
    }
    lines
}

/// Whether an acknowledged row survives a crash, as far as the target reports it.
fn durability(inspection: &TargetInspection) -> Option<Fact> {
    let text = match relaxed(inspection) {
        "" => area(Area::Fine, inspection.facts.settings.get("durability")?),
        relaxed => area(Area::Falsifies, &format!("{relaxed}: a crash loses acknowledged rows")),
    };
    Some(fact("durability", text))
}

/// The settings by which a target acknowledges rows that a crash can lose; may be empty.
fn relaxed(inspection: &TargetInspection) -> &str {
    inspection.facts.settings.get("durability.relaxed").map_or("", String::as_str)
}

/// The insert modes, and those that this server does not support.
fn inserts(capabilities: &Capabilities, inspection: &TargetInspection) -> String {
    let refused = &inspection.refused_inserts;
    let is_taken = |name: &&&str| !refused.iter().any(|(other, _)| other == *name);
    let taken: Vec<&str> = capabilities.insert_modes.iter().filter(is_taken).copied().collect();
    let refused = refused.iter().map(|(name, cause)| format!("; NOT {name}: {cause}"));
    stops_if(taken.is_empty(), &(taken.join(", ") + &refused.collect::<String>()))
}

/// Results of the rehearsals of built-in workloads.
fn workloads(inspection: &TargetInspection) -> Option<Fact> {
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
    let is_refused =
        inspection.workloads.iter().any(|(_, tried)| matches!(tried, Rehearsal::Refused(_)));
    let text = stops_if(is_refused, &parts.join("; "));
    (!parts.is_empty()).then(|| fact("workloads", text))
}

/// The result of preparing the user's own statements.
fn own_statements(own: &OwnStatements) -> Fact {
    let text = match own {
        OwnStatements::Prepared(1) => "prepared those of 1 op, executed none".to_owned(),
        OwnStatements::Prepared(ops) => format!("prepared those of {ops} ops, executed none"),
        OwnStatements::Absent(table) => {
            format!("not prepared: a run creates table `{table}` first")
        }
        OwnStatements::Refused(error) => format!("NOT taken: {}", error.message),
    };
    fact("statements", stops_if(matches!(own, OwnStatements::Refused(_)), &text))
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
        [_] => format!("{sessions} by default, all to one URL"),
        counts => {
            let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
            format!("{sessions} by default, round robin: {}", counts.join(" + "))
        }
    }
}

fn rights(rights: Option<&[Right]>) -> String {
    let Some(rights) = rights else {
        return area(Area::Fine, "not restricted");
    };
    let is_refused = rights.iter().any(|right| right.refusal.is_some());
    let names = rights.iter().map(|right| match right.refusal {
        None => right.name.to_owned(),
        Some(_) => format!("NOT {}", right.name),
    });
    let names = names.collect::<Vec<_>>().join(", ");
    stops_if(is_refused, &format!("{names} (tried on a separate table)"))
}

fn disk(disk: Option<&DiskSpace>) -> String {
    match disk {
        None => "not reported by the target".to_owned(),
        Some(disk) => {
            let [free, total] = [disk.free_bytes, disk.total_bytes].map(bytes);
            area(Area::Fine, &format!("{free} of {total} free at {}", disk.place))
        }
    }
}

/// Maximum characters of text from a file in a line.
const LONGEST_FIGURE: usize = 200;

/// Whether a name refers to figures: a CSV file, a record, or a directory of runs.
fn is_figures(name: &str) -> bool {
    let path = Path::new(name);
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("csv" | "tsv" | "json")) || path.is_dir()
}

/// Prints the parsed figures and the plausibility warnings. If any of them is a contradiction, the exit code is that of
/// invalid figures.
fn check_figures(
    names: &[String],
    model: Option<ScalingModel>,
    out: &Path,
) -> Result<u8, UserError> {
    let set = figures::read(names, out)?;
    let warnings = audit(&set, model.map(ModelRequest::new).as_ref());
    terminal::data(&format!("{}\n{}", table(&facts(&set)), warnings_text(&warnings)))?;
    let contradicts = warnings.iter().any(|o| o.weight == Weight::Contradiction);
    Ok(if contradicts { exit::NOT_VALID } else { exit::SUCCESS })
}

fn facts(set: &SeriesSet) -> Vec<Fact> {
    let mut facts = Vec::new();
    for series in set.series() {
        let points = set.points_of(series).count();
        let unit = set.points_of(series).next().map_or("", |point| &point.unit);
        let plural = if points == 1 { "" } else { "s" };
        let text = format!("{series} · {points} point{plural} · {unit}");
        facts.push(fact("series", foreign(&text, LONGEST_FIGURE)));
    }
    for (role, label) in [
        (Role::Throughput, "throughput"),
        (Role::Setting, "settings"),
        (Role::Figure, "figures"),
        (Role::Part, "parts"),
    ] {
        let named: Vec<String> = set
            .columns
            .iter()
            .filter(|column| column.role == role)
            .map(|column| {
                if column.header == column.name || role == Role::Throughput {
                    column.header.clone()
                } else {
                    format!("{} (= {})", column.header, column.name)
                }
            })
            .collect();
        if !named.is_empty() {
            facts.push(fact(label, foreign(&named.join(", "), LONGEST_FIGURE * 2)));
        }
    }
    facts.extend(set.notes.iter().map(|note| fact("note", foreign(note, LONGEST_FIGURE))));
    facts
}

/// Maximum characters of text from a file in a line.
const LONGEST_VALUE: usize = 100;

/// A cluster file in lines.
fn described(spec: &ClusterSpec) -> String {
    let nodes = match spec.nodes {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    };
    let mut facts = vec![fact("cluster", format!("{} · {nodes}", spec.name))];
    if !spec.summary.is_empty() {
        facts.push(text("about", &spec.summary));
    }
    match &spec.provider {
        Provider::Processes(node) => facts.extend(of_node(node)),
        Provider::Commands(commands) => facts.extend(of_commands(commands)),
    }
    facts.extend(spec.restore.iter().map(|restore| text("restore", restore)));
    table(&facts)
}

fn of_node(node: &NodeFile) -> Vec<Fact> {
    let command = match &node.command {
        CommandLine::Words(words) => words.join(" "),
        CommandLine::Shell(text) => text.clone(),
    };
    let order = match node.start {
        StartOrder::Together => "started together",
        StartOrder::OneByOne => "started one by one",
    };
    let mut facts = vec![
        fact("node", format!("a process of this machine, {order}")),
        text("command", &command),
    ];
    if node.alone {
        facts.push(fact("alone", "each also starts without the others".to_owned()));
    }
    facts.extend(node.prepare.iter().map(|prepare| text("prepare", prepare)));
    facts.extend(node.files.keys().map(|path| text("file", path)));
    facts.extend(node.user.iter().map(|user| text("user", user)));
    let ports: Vec<String> = node
        .ports
        .iter()
        .map(|(name, port)| match port {
            0 => format!("{name} free"),
            port => format!("{name} {port}"),
        })
        .collect();
    if !ports.is_empty() {
        facts.push(fact("ports", ports.join(", ")));
    }
    facts.push(text("url", &node.url));
    facts.extend(node.metrics.iter().map(|url| text("metrics", url)));
    let within = span(node.ready.within.0.0);
    let ready = match &node.ready.condition() {
        Condition::Sql { sql, answer } => {
            let answer = answer.as_ref().map_or(String::new(), |answer| format!(" = {answer}"));
            format!("{sql}{answer}")
        }
        Condition::Http(address) => address.clone(),
        Condition::Log(words) => format!("`{words}` in the log"),
    };
    facts.push(text("ready", &format!("{ready}, within {within}")));
    let stop = match (&node.stop.command, node.stop.signal) {
        (Some(command), _) => command.as_str(),
        (None, StopSignal::Term) => "SIGTERM",
        (None, StopSignal::Int) => "SIGINT",
        (None, StopSignal::Quit) => "SIGQUIT",
    };
    let within = span(node.stop.within.0.0);
    facts.push(text("stop", &format!("{stop}, SIGKILL after {within}")));
    facts.extend(node.quota.iter().map(|quota| fact("quota", quota_words(quota))));
    facts
}

fn quota_words(quota: &QuotaFile) -> String {
    let begin = match quota.begins {
        QuotaStart::Start => "",
        QuotaStart::WarmUp => " after the warm-up",
    };
    let cpu = quota.cpu.map(|cores| format!("{} cores{begin}", plain(cores)));
    let memory = quota.memory.map(|memory| format!("{} of memory", bytes(memory.0)));
    let parts: Vec<String> = cpu.into_iter().chain(memory).collect();
    parts.join(", ")
}

fn of_commands(commands: &CommandsFile) -> Vec<Fact> {
    let all = [
        ("up", Some(&commands.up)),
        ("resize", commands.resize.as_ref()),
        ("ready", commands.ready.as_ref()),
        ("urls", Some(&commands.urls)),
        ("metrics", commands.metrics.as_ref()),
        ("down", Some(&commands.down)),
    ];
    let within = format!("your own commands, each within {}", span(commands.within.0.0));
    let given = all.into_iter().filter_map(|(name, command)| Some(text(name, command?)));
    std::iter::once(fact("nodes", within)).chain(given).collect()
}

fn text(name: &str, value: &str) -> Fact {
    fact(name, foreign(value, LONGEST_VALUE))
}

/// Long enough for a steady figure. Nothing is stored, so there is nothing to audit, but checksums of the sent rows are
/// computed as in any other run.
const FLAGS: &str =
    "--warm-up 1s --duration 3s --timeout 10s --audit-timeout 1s --no-disk-guard --no-telemetry";

/// Measures the ceiling of the default load with this sink; its files go to `scratch`.
fn measure(
    sink: &str,
    insert: Option<&String>,
    scratch: &Path,
) -> Result<Option<Ceiling>, UserError> {
    let out = scratch.display().to_string();
    let mut words = vec!["run", sink, "--out", &out];
    words.extend(FLAGS.split(' '));
    if let Some(insert) = insert {
        words.extend(["--insert", insert]);
    }
    let intent = RunIntent::resolve(&sources::of_words(&run::COMMAND, &words)?)?;
    let workload = prepare::workload(&intent)?;
    let plan = prepare::plan(&intent, &workload, &intent.targets)?;
    let stored = StoredPlan {
        directory: prepare::directory(scratch, "ceiling", &plan)?,
        plan,
        data: scratch.to_owned(),
    };
    let request = RunRequest {
        ceilings: None,
        ..prepare::request(&intent, workload, stored, &intent.targets)?
    };
    let (_keep, interrupts) = interrupts::channel();
    let record = runner::run(request, Rc::new(Silent), interrupts)?.record;
    keep(&record);
    Ok(ceilings::of_record(&record))
}

/// A name and its text.
pub(crate) type Fact = (String, String);

pub(crate) fn fact(name: &str, value: impl Into<String>) -> Fact {
    (name.to_owned(), value.into())
}

/// Facts in two columns, one per line.
pub(crate) fn table(facts: &[Fact]) -> String {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line =
        |(name, value): &Fact| format!("{name:width$}  {value}").trim_end().to_owned() + "\n";
    facts.iter().map(line).collect()
}
