//! From layers of texts to the settings of a run: all rules about more than one setting, the lengths that `find` and `tune`
//! share, and the command as its record keeps it.
//!
//! Must not read files, connect to targets, poll telemetry, or listen.

use std::collections::BTreeMap;
use std::path::Path;

use highwater_driver::TargetUrl;
use highwater_driver::metrics::{Endpoint, Mapping};
use highwater_driver::target_url::redacted;
use highwater_model::plan::{AuditPlan, RetryPlan, Share, SteadinessRule, StopRule};
use highwater_model::quantity::{
    parse_duration, parse_duration_range, parse_percent, parse_rate, print_instant,
};
use highwater_model::record::{CommandRecord, SettingOrigin, SettingRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::planner::{PlanInput, StreamInput};
use highwater_runner::request::{RunOptions, TableRequest, TelemetryRequest};

use super::streams::{Streams, objectives, ramp_step, streams, with_think};
use super::{LineStream, LiveRequest, RunIntent, RunOutput, StartAt, WorkloadChoice, parsers};
use crate::faults;
use crate::launchers::{self, LaunchedShare};
use crate::layers::{Layers, Next, Origin, SettingValue, Strength, TargetSchemes, has_scheme};
use crate::variants::{SIM_PARAMETERS, shown};

/// How long a share waits for others, in commands without that flag.
const WAIT_FOR_SHARES: Nanos = Nanos::from_secs(60);
/// `--share auto`.
const AUTO: &str = "auto";
/// The default workload.
const DEFAULT_WORKLOAD: &str = "cpu";
/// Maximum labels of a run, and maximum parameters of a workload.
const MOST_PAIRS: usize = 256;
/// Maximum SQL files of a mix.
const MOST_SCRIPTS: usize = 100;
/// Maximum URLs of one target.
const MOST_TARGETS: usize = 1_000;
/// Delay before a failed op is retried; doubled each time.
const BACKOFF: Nanos = Nanos::from_millis(10);
/// Maximum time for which a session tries to reconnect.
const RECONNECT_LIMIT: Nanos = Nanos::from_secs(30);

impl RunIntent {
    /// The settings of `highwater run`.
    pub fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let Streams { inputs, ramp } = streams(layers)?;
        let share = share(layers)?;
        let (duration, stop) = length(layers, &share)?;
        let step = match ramp_step(layers, ramp)? {
            None => step(layers, &inputs)?,
            of_ramp => of_ramp,
        };
        let length_is_open = step.is_none()
            && stop.rows.is_none()
            && share.of == 1
            && layers.strength("duration").is_none_or(|of| of == Strength::Default);
        let run = Self::with_streams(layers, inputs, step.unwrap_or(duration), stop)?;
        Ok(Self { length_is_open, ..run })
    }

    /// The settings of any command that runs a workload, with these streams, this length of a measured step, and this
    /// end.
    pub(crate) fn with_streams(
        layers: &Layers,
        streams: Vec<StreamInput>,
        step: Nanos,
        stop: StopRule,
    ) -> Result<Self, UserError> {
        let streams = with_think(layers, streams)?;
        Ok(Self {
            command: command(layers),
            workload: workload(layers)?,
            parameters: parameters(layers)?,
            targets: with_parameters(layers, targets(layers, layers.list("target"))?)?,
            insert: layers.parse("insert", parsers::word)?,
            options: RunOptions {
                tables: TableRequest {
                    shard_flags: shard_flags(layers),
                    settings: pairs(layers, "with")?.into_iter().collect(),
                },
                drop: layers.switch("drop")?,
                drop_foreign: drop_foreign(layers)?,
                no_disk_guard: layers.switch("no-disk-guard")?,
                telemetry: telemetry(layers)?,
                labels: pairs(layers, "label")?,
                settings_file: layers.directory_file().map(str::to_owned),
                removes_database: false,
            },
            seed: layers.require("seed", parsers::seed)?,
            faults: (faults::planned(layers)?, faults::cluster(layers)?),
            plan: plan(layers, streams, step, stop)?,
            length_is_open: false,
            start_at: layers.parse("start-at", parsers::start_at)?,
            wait_for_shares: duration_above_zero(layers, "wait-for-shares")?
                .unwrap_or(WAIT_FOR_SHARES),
            out: layers.require("out", parsers::word)?.into(),
            control: layers.value("control").map(lines).transpose()?,
            output: output(layers)?,
        })
    }
}

fn plan(
    layers: &Layers,
    streams: Vec<StreamInput>,
    step: Nanos,
    stop: StopRule,
) -> Result<PlanInput, UserError> {
    let share = share(layers)?;
    let (warm_up, until_steady) = warm_up(layers, &share)?;
    Ok(PlanInput {
        streams,
        literals: layers.switch("literals")?,
        sessions: layers.parse("sessions", parsers::positive)?,
        arrivals: layers.parse("arrivals", parsers::arrivals)?,
        spawn_rate: layers.parse("spawn-rate", parse_rate)?,
        warm_up,
        until_steady,
        step,
        stop,
        objectives: objectives(layers)?,
        steadiness: steadiness(layers)?,
        retry: RetryPlan {
            attempts: layers.require("retries", parsers::retries)?,
            backoff: BACKOFF,
            reconnect_limit: RECONNECT_LIMIT,
        },
        timeout: duration_above_zero(layers, "timeout")?.unwrap_or(Nanos::MAX),
        audit: AuditPlan {
            level: layers.require("audit", parsers::audit)?,
            limit: duration_above_zero(layers, "audit-timeout")?.unwrap_or(Nanos::MAX),
        },
        share,
    })
}

/// Maximum length of the warm-up, and whether it ends once throughput is steady.
fn warm_up(layers: &Layers, share: &Share) -> Result<(Nanos, bool), UserError> {
    let warm_up = layers.parse("warm-up", parsers::warm_up)?;
    let (length, until_steady) = warm_up.unwrap_or_default();
    match layers.value("warm-up") {
        Some(given) if until_steady && share.of > 1 => Err(given
            .failure(
                "`steady` cannot be combined with --share: each share sees only its own results",
            )
            .with_hint(
                "give the warm-up a length, such as --warm-up 60s, or use one load generator",
            )),
        _ => Ok((length, until_steady)),
    }
}

/// The default for a command that does not judge throughput.
fn steadiness(layers: &Layers) -> Result<SteadinessRule, UserError> {
    let within = layers.parse("steady-within", parse_percent)?;
    let default = SteadinessRule::default();
    Ok(SteadinessRule {
        within_ppm: within.map_or(default.within_ppm, |ppm| ppm.0),
        required: layers.switch("require-steady")?,
    })
}

/// The part of the plan that this process runs.
pub(crate) fn share(layers: &Layers) -> Result<Share, UserError> {
    let start_at = match layers.parse("start-at", parsers::start_at)? {
        Some(StartAt::Instant(instant)) => Some(print_instant(instant)),
        Some(StartAt::Delay(_)) | None => None,
    };
    let share = match launched_share(layers)? {
        Some(launched) => Some(launched.share),
        None => layers.parse("share", parsers::share)?,
    };
    Ok(Share { start_at, ..share.unwrap_or(Share::WHOLE) })
}

/// The share of `--share auto`.
pub(crate) fn launched_share(layers: &Layers) -> Result<Option<LaunchedShare>, UserError> {
    let is_auto = layers.value("share").is_some_and(|given| given.text == AUTO);
    is_auto.then(|| launchers::share(&layers.launched)).transpose()
}

/// Output of a run.
pub(crate) fn output(layers: &Layers) -> Result<RunOutput, UserError> {
    Ok(RunOutput {
        verbose: layers.switch("verbose")?,
        quiet: layers.switch("quiet")?,
        progress: duration_above_zero(layers, "progress")?,
        json: layers.switch("json")?,
        events: events(layers)?,
        live: live(layers)?,
        plan_only: layers.switch("plan")?,
    })
}

/// The targets, with the URL parameters that a tuning set.
fn with_parameters(layers: &Layers, mut urls: Vec<TargetUrl>) -> Result<Vec<TargetUrl>, UserError> {
    let parameters = pairs(layers, SIM_PARAMETERS)?;
    for url in &mut urls {
        url.parameters.extend(parameters.clone());
    }
    Ok(urls)
}

/// Destination of events, which must not be that of the record.
fn events(layers: &Layers) -> Result<Option<LineStream>, UserError> {
    match layers.value("events") {
        Some(given) if given.text == "-" && layers.switch("json")? => Err(given
            .failure("standard output has the record already")
            .with_hint("write events to a file, or leave --json out")),
        given => given.map(lines).transpose(),
    }
}

/// Source or destination of lines.
fn lines(given: &SettingValue) -> Result<LineStream, UserError> {
    match given.text.as_str() {
        "-" => Ok(LineStream::Standard),
        "" => Err(given.failure("no file is named")),
        file => Ok(LineStream::File(file.into())),
    }
}

/// Tables to drop, from the command line only: a table named in a file would be dropped by every run.
pub(crate) fn drop_foreign(layers: &Layers) -> Result<Vec<String>, UserError> {
    let named = layers.every_layer("drop-foreign");
    named
        .map(|(strength, given)| match strength {
            Strength::CommandLine => given.parse(parsers::word),
            _ => Err(given
                .failure("can be given on the command line only")
                .with_hint("add the flag --drop-foreign TABLE")),
        })
        .collect()
}

/// Words as values of a setting on the command line.
pub(crate) fn as_values(name: &'static str, words: &[&str]) -> Vec<SettingValue> {
    words
        .iter()
        .map(|text| SettingValue { name, text: (*text).to_owned(), origin: Origin::CommandLine })
        .collect()
}

pub(crate) fn workload(layers: &Layers) -> Result<WorkloadChoice, UserError> {
    let file = layers.value("file");
    let named = layers.value("workload");
    match (named, file) {
        (None, None) => Ok(WorkloadChoice::Named(DEFAULT_WORKLOAD.to_owned())),
        (Some(_), Some(_)) if layers.second_wins("workload", "file")? => files(layers.list("file")),
        (None, Some(_)) => files(layers.list("file")),
        (Some(named), _) => {
            let name = named.parse(parsers::word)?;
            if Path::new(&name).extension().is_some() || name.contains('/') {
                return Err(named
                    .failure(format!("`{name}` is a file, not a workload's name"))
                    .with_hint(format!("give it as `--file {name}`")));
            }
            Ok(WorkloadChoice::Named(name))
        }
    }
}

/// One workload file, or SQL files with their weights.
pub(crate) fn files(given: &[SettingValue]) -> Result<WorkloadChoice, UserError> {
    let mut scripts = Vec::new();
    for one in given {
        let (path, weight) = one.parse(parsers::weighted_file)?;
        let sql = path.extension().is_some_and(|ending| ending == "sql");
        match (sql, weight) {
            (true, weight) => scripts.push((path, weight.unwrap_or(1))),
            (false, None) if given.len() == 1 => return Ok(WorkloadChoice::File(path)),
            (false, _) => {
                return Err(one
                    .failure("only SQL files can be combined or have a weight")
                    .with_hint("give one workload file alone; its streams have weights"));
            }
        }
    }
    if scripts.len() > MOST_SCRIPTS {
        return Err(UserError::usage(format!("--file: more than {MOST_SCRIPTS} files")));
    }
    Ok(WorkloadChoice::Scripts(scripts))
}

pub(crate) fn parameters(layers: &Layers) -> Result<BTreeMap<String, String>, UserError> {
    let mut parameters = pairs(layers, "set")?;
    for name in ["batch", "shards", "replicas"] {
        let Some(given) = layers.value(name) else {
            continue;
        };
        let value = match name {
            // A range such as 0-1 is validated by the target.
            "replicas" => given.parse(parsers::word)?,
            _ => given.parse(parsers::positive_long)?.to_string(),
        };
        let set_strength = layers
            .every_layer("set")
            .filter(|(_, set)| set.text.split('=').next() == Some(name))
            .map(|(strength, _)| strength)
            .last();
        let strength = layers.strength(name);
        if set_strength.is_some() && set_strength == strength {
            let cause = format!("cannot be given together with --set {name}=…");
            return Err(given.failure(cause));
        }
        if set_strength < strength {
            parameters.insert(name.to_owned(), value);
        }
    }
    Ok(parameters)
}

/// The given flags that need a target with shards.
fn shard_flags(layers: &Layers) -> Vec<&'static str> {
    let is_given = |flag: &&str| layers.value(flag.trim_start_matches('-')).is_some();
    ["--shards", "--replicas"].into_iter().filter(is_given).collect()
}

pub(crate) fn pairs(layers: &Layers, name: &str) -> Result<BTreeMap<String, String>, UserError> {
    let mut pairs = BTreeMap::new();
    for (_, given) in layers.every_layer(name) {
        let (key, value) = given.parse(parsers::pair)?;
        pairs.insert(key, value);
        if pairs.len() > MOST_PAIRS {
            return Err(given.failure(format!("more than {MOST_PAIRS} of them")));
        }
    }
    Ok(pairs)
}

/// The targets of these values, or the default one.
pub(crate) fn targets(
    layers: &Layers,
    given: &[SettingValue],
) -> Result<Vec<TargetUrl>, UserError> {
    let supported = &layers.supported;
    let fallback = supported.default_url.filter(|_| given.is_empty()).map(|url| SettingValue {
        name: "target",
        text: url.to_owned(),
        origin: Origin::Default,
    });
    let mut urls = Vec::new();
    for given in given.iter().chain(&fallback) {
        for text in texts_of_targets(given, supported) {
            urls.push(target(given, text, supported)?);
        }
    }
    match urls.len() {
        0 => Err(UserError::usage("no target given").with_hint(schemes_hint(supported))),
        1..=MOST_TARGETS => Ok(urls),
        _ => Err(UserError::usage(format!("more than {MOST_TARGETS} targets"))),
    }
}

/// The URLs in a value; only those of the environment and of files hold several.
fn texts_of_targets<'a>(given: &'a SettingValue, supported: &TargetSchemes) -> Vec<&'a str> {
    match given.origin {
        Origin::CommandLine | Origin::Default => vec![given.text.as_str()],
        Origin::Environment(_) | Origin::File(_) => split_targets(&given.text, supported),
    }
}

fn target(
    given: &SettingValue,
    text: &str,
    supported: &TargetSchemes,
) -> Result<TargetUrl, UserError> {
    if !has_scheme(text) {
        return Err(given
            .failure(format!("`{text}` is not a URL"))
            .with_hint(schemes_hint(supported)));
    }
    let url =
        TargetUrl::parse(text).map_err(|error| given.failure(&error.message).hinted(error.hint))?;
    if supported.schemes.contains(&url.scheme.as_str()) {
        return Ok(url);
    }
    let cause = format!("unknown scheme `{}:`", url.scheme);
    Err(given.failure(cause).with_hint(schemes_hint(supported)))
}

fn schemes_hint(supported: &TargetSchemes) -> String {
    let schemes: Vec<String> = supported.schemes.iter().map(|s| format!("`{s}:`")).collect();
    format!("a target's URL begins with one of {}", schemes.join(", "))
}

/// Splits at spaces, and at commas before a known scheme or `name://`, because commas also separate the hosts of one
/// URL.
fn split_targets<'a>(text: &'a str, supported: &TargetSchemes) -> Vec<&'a str> {
    let begins_url = |rest: &str| {
        let scheme = rest.split(':').next().unwrap_or_default();
        has_scheme(rest)
            && (supported.schemes.contains(&scheme) || rest[scheme.len()..].starts_with("://"))
    };
    let mut urls = Vec::new();
    for word in text.split_whitespace() {
        let mut start = 0;
        for (comma, _) in word.match_indices(',') {
            if begins_url(&word[comma + 1..]) {
                urls.push(&word[start..comma]);
                start = comma + 1;
            }
        }
        urls.push(word[start..].trim_end_matches(','));
    }
    urls.retain(|url| !url.is_empty());
    urls
}

/// The duration, and the condition for an earlier end.
fn length(layers: &Layers, share: &Share) -> Result<(Nanos, StopRule), UserError> {
    let (minimum, duration) = layers.require("duration", parse_duration_range)?;
    let until = layers.parse("until", parsers::predicate)?;
    if let Some(given) = layers.value("until").filter(|_| share.of > 1) {
        return Err(given
            .failure("cannot be combined with --share: each share sees only its own results")
            .with_hint("remove --until, or use one load generator"));
    }
    if let Some(given) = layers.value("duration") {
        if duration == Nanos::ZERO {
            return Err(given.failure("must be above zero"));
        }
        if minimum > Nanos::ZERO && until.is_none() {
            return Err(given
                .failure(format!("`{}` needs a rule for when to stop", given.text))
                .with_hint("add --until, such as --until 'ci95<1%'"));
        }
    }
    let stop = StopRule {
        rows: layers.parse("rows", parsers::positive_long)?,
        fills: false,
        minimum,
        until,
        on_miss: on_miss(layers, share)?,
    };
    Ok((duration, stop))
}

/// Whether a run ends when an objective can no longer be met.
fn on_miss(layers: &Layers, share: &Share) -> Result<bool, UserError> {
    let on_miss = layers.switch("abort-on-miss")?;
    if on_miss && share.of > 1 {
        let message = "--abort-on-miss: each share sees only its own results";
        return Err(UserError::usage(message)
            .with_hint("remove --abort-on-miss, or use one load generator"));
    }
    Ok(on_miss)
}

/// The length of each step, if there are steps and it is given separately from the duration.
fn step(layers: &Layers, streams: &[StreamInput]) -> Result<Option<Nanos>, UserError> {
    let Some(step) = duration_above_zero(layers, "step")? else {
        return Ok(None);
    };
    if streams.iter().any(|stream| stream.paces.len() > 1) {
        layers.second_wins("duration", "step").map(|counts| counts.then_some(step))
    } else if layers.strength("step") == Some(Strength::CommandLine) {
        Err(UserError::usage("--step: no stream has steps")
            .with_hint("give a stream several paces, such as --stream NAME@50,100,150"))
    } else {
        Ok(None)
    }
}

pub(crate) fn duration_above_zero(layers: &Layers, name: &str) -> Result<Option<Nanos>, UserError> {
    match (layers.parse(name, parse_duration)?, layers.value(name)) {
        (Some(Nanos::ZERO), Some(given)) => Err(given.failure("must be above zero")),
        (duration, _) => Ok(duration),
    }
}

/// A default length, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seconds {
    pub(crate) usual: u64,
    pub(crate) with_quick: u64,
}

const SETTLE: Seconds = Seconds { usual: 5, with_quick: 1 };

/// The measured length of a probe.
pub(crate) fn probe_length(
    layers: &Layers,
    name: &str,
    default: Seconds,
) -> Result<Nanos, UserError> {
    or(layers, duration_above_zero(layers, name)?, default)
}

/// Idle time of the target before a probe.
pub(crate) fn settle(layers: &Layers) -> Result<Nanos, UserError> {
    or(layers, layers.parse("settle", parse_duration)?, SETTLE)
}

fn or(layers: &Layers, given: Option<Nanos>, default: Seconds) -> Result<Nanos, UserError> {
    let quick = layers.switch("quick")?;
    let seconds = if quick { default.with_quick } else { default.usual };
    Ok(given.unwrap_or(Nanos::from_secs(seconds)))
}

/// Maximum number of endpoints, and of mappings.
const MOST_ENDPOINTS: usize = 8;
const MOST_MAPPINGS: usize = 64;

pub(super) fn telemetry(layers: &Layers) -> Result<TelemetryRequest, UserError> {
    let mut mappings = Vec::new();
    for given in layers.list("metric") {
        mappings.push(given.parse(Mapping::parse)?);
        if mappings.len() > MOST_MAPPINGS {
            return Err(given.failure(format!("more than {MOST_MAPPINGS} of them")));
        }
    }
    let urls = layers.list("metrics");
    if urls.len() > MOST_ENDPOINTS {
        let cause = format!("--metrics: more than {MOST_ENDPOINTS} of them");
        return Err(UserError::usage(cause));
    }
    if urls.is_empty() && !mappings.is_empty() {
        return Err(UserError::usage("--metric: no endpoint is given")
            .with_hint("add --metrics URL, such as --metrics http://host:9100/metrics"));
    }
    let off = layers.switch("no-telemetry")?;
    // Without mappings, those of well-known exporters are used.
    let mut telemetry = layers.of_cluster.clone();
    telemetry.off = off;
    for given in urls {
        let endpoint = Endpoint::new(&given.text, &mappings)?;
        telemetry.endpoints.push(endpoint);
    }
    Ok(telemetry)
}

/// The page and metrics to serve.
pub(super) fn live(layers: &Layers) -> Result<LiveRequest, UserError> {
    let page = layers.parse("ui", parsers::page_address)?;
    let control = layers.switch("ui-control")?;
    if control && page.is_none() {
        let cause = "--ui-control: there is no page to control from";
        return Err(UserError::usage(cause).with_hint("add --ui"));
    }
    Ok(LiveRequest {
        page,
        control,
        metrics: layers.parse("metrics-listen", parsers::address)?,
        otlp: layers.parse("otlp", parsers::otlp_url)?,
    })
}

/// The command as records keep it, without passwords.
pub(crate) fn command(layers: &Layers) -> CommandRecord {
    let mut settings = BTreeMap::new();
    for name in layers.flags.keys().copied().chain(["workload", "target"]) {
        let own: Vec<SettingRecord> = in_force(layers, name)
            .into_iter()
            .flat_map(|(strength, given)| recorded(layers, strength, given))
            .collect();
        if !own.is_empty() {
            settings.insert(name.to_owned(), own);
        }
    }
    CommandRecord { name: layers.command.to_owned(), settings }
}

/// Flags whose pairs are added to those of weaker layers.
const PAIRS: [&str; 3] = ["label", "set", "with"];

/// The values that decide a setting, each with its layer.
fn in_force<'a>(layers: &'a Layers, name: &str) -> Vec<(Strength, &'a SettingValue)> {
    let mut all: Vec<(Strength, &SettingValue)> = layers.every_layer(name).collect();
    if PAIRS.contains(&name) {
        let key = |text: &'a str| text.split('=').next();
        let keys: Vec<_> = all.iter().map(|(_, given)| key(&given.text)).collect();
        let mut at = 0..;
        all.retain(|_| at.next().is_some_and(|at| !keys[at + 1..].contains(&keys[at])));
    } else {
        let strongest = layers.strength(name);
        all.retain(|(strength, _)| Some(*strength) == strongest);
    }
    all
}

/// A value for the record; none of a switch that is off, and of a setting that is not repeated.
fn recorded(layers: &Layers, strength: Strength, given: &SettingValue) -> Vec<SettingRecord> {
    let origin = match (&given.origin, strength) {
        (_, Strength::Tuned) => SettingOrigin::Tuned,
        (Origin::CommandLine, _) => SettingOrigin::CommandLine,
        (Origin::Environment(_), _) => SettingOrigin::Environment,
        (Origin::File(_), _) => SettingOrigin::File,
        (Origin::Default, Strength::Default) => SettingOrigin::Default,
        (Origin::Default, _) => SettingOrigin::Derived,
    };
    let url = |text: &str| redacted(text).unwrap_or_else(|| text.to_owned());
    let text = given.text.as_str();
    let of = |value| vec![SettingRecord { value, origin }];
    match layers.flags.get(given.name).map(|flag| (flag.next, flag.value)) {
        Some((Next::LeftOut, _)) => Vec::new(),
        Some((_, None)) if layers.switch(given.name).unwrap_or(false) => of(None),
        Some((_, None)) => Vec::new(),
        Some((Next::RepeatedUrl, _)) => of(Some(url(text))),
        Some((Next::RepeatedCommand, _)) => {
            let (name, shell) = text.split_once('=').unwrap_or((text, ""));
            let equals = &text[name.len()..text.len() - shell.len()];
            of(Some(format!("{name}{equals}{}", shown(shell))))
        }
        None if given.name == "target" => {
            let urls = texts_of_targets(given, &layers.supported).into_iter();
            urls.flat_map(|text| of(Some(url(text)))).collect()
        }
        Some((Next::Repeated, _)) | None => of(Some(text.to_owned())),
    }
}
