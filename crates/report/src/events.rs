//! Events and responses to commands in words, one line each, and the schemas of events and commands.

use highwater_model::control::{Change, Command, CommandSender, Refusal};
use highwater_model::display::pace;
use highwater_model::display::{about, bytes, count, duration, foreign, plain, rate, span};
use highwater_model::event::{AuditProgress, Event, Part, TimedEvent, Trial, WarningKind};
use highwater_model::json::{self, pretty};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{EstimateRecord, InterventionRecord};
use highwater_model::scale::{PredictedRate, ScalePurpose};
use highwater_model::search::SearchAxis;
use highwater_model::units::Nanos;

use super::answer::nodes;
use super::layout::{joined, list};

/// Maximum characters of a file name.
const FILE_WORDS: usize = 80;
/// Maximum characters of a reason.
const REASON: usize = 200;

/// JSON Schema (draft 2020-12) of a line of `--events`, pretty-printed, with a newline at the end.
pub fn event_schema() -> String {
    pretty(&schemars::schema_for!(TimedEvent))
}

/// An event as a line of `--events`, with a newline at the end.
pub fn event_line(time: String, event: &Event) -> String {
    json::line(&TimedEvent { time, event: event.clone() })
}

/// JSON Schema (draft 2020-12) of a line that `--control` reads, pretty-printed, with a newline at the end.
pub fn control_schema() -> String {
    pretty(&schemars::schema_for!(Command))
}

/// How a warm-up until throughput is steady ended: `warm-up: steady after 24.4 s`.
pub fn warmed_up(took: Nanos, steady: bool) -> String {
    let took = duration(took.0);
    if steady {
        format!("warm-up: steady after {took}")
    } else {
        format!("warm-up: NOT STEADY after {took}, its limit")
    }
}

/// A session could not connect, for this reason.
pub fn unconnected(why: &str) -> String {
    format!("a session cannot connect: {}", foreign(why, REASON))
}

/// The change that a command made, and its time.
pub fn intervention(done: &InterventionRecord) -> String {
    let at = duration(done.time_ns);
    let by = match done.by {
        None => "",
        Some(CommandSender::Page) => ", from the page",
        Some(CommandSender::Control) => ", from --control",
    };
    let what = match &done.change {
        Change::Stop => format!("at {at}: stopped by a command"),
        Change::Note { text } => format!("at {at}: {text}"),
        Change::Pace { stream, unit, from, to, ramp_per_s } => {
            let (from, to) = (pace(*from, *unit), pace(*to, *unit));
            let ramp = ramp_per_s.map_or_else(String::new, |per_s| {
                format!(", {} per second until then", plain(per_s))
            });
            format!("at {at}: {stream} from {from} to {to}, as phase {}{ramp}", done.phase)
        }
        Change::Fault { action, took_ns, failed, .. } => {
            let took = duration(*took_ns);
            match failed {
                None => format!("at {at}: {}, which took {took}", action.done()),
                Some(why) => format!("at {at}: {action} failed after {took}: {why}"),
            }
        }
        Change::Pause { lasted_ns } => {
            let lasted = duration(*lasted_ns);
            format!("at {at}: paused for {lasted} before {}", done.phase)
        }
    };
    what + by
}

/// The change in a few words and who made it, at its time in a chart: `insert: 25,000 rows/s (page)`.
pub(crate) fn intervention_label(done: &InterventionRecord) -> String {
    let by = match done.by {
        None => "",
        Some(CommandSender::Page) => " (page)",
        Some(CommandSender::Control) => " (--control)",
    };
    let what = match &done.change {
        Change::Stop => "stopped".to_owned(),
        Change::Note { text } => text.clone(),
        Change::Pace { stream, unit, to, .. } => format!("{stream}: {}", pace(*to, *unit)),
        Change::Pause { .. } => "paused".to_owned(),
        Change::Fault { action, failed: None, .. } => action.done(),
        Change::Fault { action, .. } => format!("{action} failed"),
    };
    what + by
}

/// Why a run rejected a command.
pub fn refusal(why: &Refusal) -> String {
    match why {
        Refusal::QueueFull => "too many commands wait to be obeyed; send it again".to_owned(),
        Refusal::RunOver => "the run is over".to_owned(),
        Refusal::BeforePaces => {
            "the tables are being filled; send it when the warm-up or the measurement runs".to_owned()
        }
        Refusal::PacesOver => "the load is over, or ends within 100 ms".to_owned(),
        Refusal::EndsByRows => {
            "the run ends by a number of rows (--rows), which are counted by phase; limit it by time (-d)"
                .to_owned()
        }
        Refusal::TooManyChanges { most } => format!("paces changed {most} times; start another run"),
        Refusal::UnknownStream { streams } => {
            format!("the run has no such stream; its streams are {}", streams.join(", "))
        }
        Refusal::Unchanged => "that is the pace of the stream already".to_owned(),
        Refusal::NotARamp => {
            "a ramp leads from sessions to sessions, at a rate above 0 per second".to_owned()
        }
        Refusal::RampTooLong { takes_s, left_s } => format!(
            "the ramp takes {} s, and the phase ends in {} s; use more sessions per second",
            plain(takes_s.ceil()),
            plain(left_s.floor())
        ),
        Refusal::RampGoesOn { left_s } => format!(
            "a ramp of sessions is still running; send it again in {} s",
            plain(left_s.ceil())
        ),
        Refusal::NoTrials => "a single run has no trials between which it could wait".to_owned(),
        Refusal::StaysClosed => {
            "a stream that starts with closed sessions gets no rate; start the run with --rate".to_owned()
        }
        Refusal::NotARate => "a rate must be above 0".to_owned(),
        Refusal::RateTooHigh { most_per_s } => {
            format!("the load generators can pace {}/s at most", plain(*most_per_s))
        }
        Refusal::TooFewSessions { least } => {
            format!("each load generator needs a session; use {least} or more")
        }
        Refusal::TooManySessions { most } => format!("use {} sessions at most", count((*most).into())),
        Refusal::EmptyNote => "a note needs a text".to_owned(),
        Refusal::NoteTooLong { most } => {
            format!("a note has {} characters at most", count((*most).into()))
        }
        Refusal::TooManyNotes { most } => format!("a run keeps {} notes at most", count((*most).into())),
    }
}

/// The workload and its target.
pub fn begun(workload: &str, urls: &[String], target: &str) -> String {
    format!("{workload} → {}   {target}", urls.join(" "))
}

/// The settings file of the working directory that is in effect.
pub fn settings_line(file: &str) -> String {
    format!("settings from {}", foreign(file, FILE_WORDS))
}

/// The expected cost of a run, in one line.
pub fn estimate(estimate: &EstimateRecord, simulated: bool) -> String {
    let length = match estimate.duration_ns {
        Some(length) if simulated => format!("about {} of simulated time", span(length)),
        Some(length) => format!("about {}", span(length)),
        None => "until its rows are there".to_owned(),
    };
    let rows = match estimate.rows {
        Some(rows) => format!("{} rows", count(rows)),
        None => "no rate limit".to_owned(),
    };
    let source = if estimate.bytes_per_row_measured { " in the tables now" } else { "" };
    let each = estimate.bytes_per_row;
    let all = estimate.bytes.filter(|_| each.is_some()).map(bytes);
    let each = each.map(|each| format!("{} per row{source}", bytes(each)));
    let disk = estimate.disk.as_ref().map(|disk| {
        let [free, reserve] = [disk.free_bytes, disk.reserve_bytes].map(bytes);
        format!("{free} free at {}, {reserve} kept free", disk.place)
    });
    let size = list(all.into_iter().chain(each), ", ");
    joined([length, rows, size, disk.unwrap_or_default()])
}

/// The part of a run that begins: its name, and its action.
pub fn part_line(part: &Part) -> String {
    match part {
        Part::TableHeld { table, owner, silent, wait } => format!(
            "tables: table `{table}` is held by {owner}, silent for {}: waiting {} for a sign of life",
            duration(silent.0),
            duration(wait.0)
        ),
        Part::Load { rows } => format!("load: {rows} rows"),
        Part::Start { wait } => format!("start: in {}", duration(wait.0)),
        Part::Shares { awaited, of } => shares_line(awaited, *of),
        Part::Paused => "paused between two trials, until it is resumed".to_owned(),
        Part::LedgerReading => {
            "audit: reading the run's ledger, and making its rows again".to_owned()
        }
        Part::Audit { level, estimate } => format!("audit: {}", audit(*level, *estimate)),
        Part::AuditWaiting { error } => {
            format!("audit: waiting for the target, until --audit-timeout or Ctrl-C twice: {error}")
        }
    }
}

fn shares_line(awaited: &[u32], of: u32) -> String {
    match awaited {
        [] => format!("shares: all {of} are there"),
        [one] => format!("shares: waiting for share {one} of {of}"),
        [first, .., last] => {
            format!(
                "shares: waiting for {} of {of}, from share {first} to share {last}",
                awaited.len()
            )
        }
    }
}

/// The scope of an audit, and about how long it takes.
fn audit(level: AuditLevel, estimate: Nanos) -> String {
    let what = match level {
        AuditLevel::Off => "nothing",
        AuditLevel::Count => "rows by key bucket",
        AuditLevel::Sums => "rows and checksums by key bucket, a sample read back",
        AuditLevel::Full => "every row read back",
    };
    if estimate < Nanos::SECOND {
        return what.to_owned();
    }
    format!("{what}, about {}", duration(estimate.0))
}

/// Progress of an audit, for output without a terminal.
pub fn audit_line(progress: &AuditProgress) -> String {
    format!(
        "audit: {}, {} of {} rows: {}",
        duration(progress.elapsed.0),
        count(progress.rows.min(progress.of)),
        count(progress.of),
        progress.doing
    )
}

/// The trial that begins: its number, and its settings.
pub fn trial_begun(number: u32, trial: &Trial) -> String {
    match trial {
        Trial::Probe { purpose, axis, at, unit } => {
            let what = match (at, axis) {
                (None, _) => "closed load".to_owned(),
                (Some(at), SearchAxis::Rate) => format!("{} {}/s", rate(*at), unit.name()),
                (Some(at), SearchAxis::Sessions) => format!("{} sessions", rate(*at)),
            };
            format!("probe {number}: {}, {what}", purpose.name())
        }
        Trial::Configuration { purpose, values } => {
            let values = list(values.iter().map(|pair| pair.join(" ")), " · ");
            format!("probe {number}: {}, {values}", purpose.name())
        }
        Trial::Variant { name, round, times } => {
            format!("run {number}: {name}, {round} of {times}")
        }
        Trial::Size { node: Some(node), variant, .. } => {
            format!("node {node} alone{}", of_variant(variant.as_deref()))
        }
        Trial::Size { purpose, nodes: number_of, variant, node: None, predicted, unit } => format!(
            "{}{}{}",
            nodes(*number_of),
            of_variant(variant.as_deref()),
            size_remark(*purpose, predicted.as_ref(), unit.name())
        ),
    }
}

fn of_variant(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" of {name}"))
}

/// The prediction for a size, or that it is measured again.
fn size_remark(purpose: ScalePurpose, predicted: Option<&PredictedRate>, unit: &str) -> String {
    match (purpose, predicted) {
        (ScalePurpose::Again, _) => ", again".to_owned(),
        (_, Some(predicted)) => format!(", predicted {} {unit}/s", about(predicted.expected)),
        (_, None) => String::new(),
    }
}

/// A warning.
pub fn warning(kind: WarningKind, message: &str) -> String {
    match kind {
        WarningKind::FileNotWritten => format!("{message}; the run continues without it"),
        WarningKind::RecordNotWritten
        | WarningKind::DatabaseNotRemoved
        | WarningKind::TargetUnreachable
        | WarningKind::ColumnsLeftOut => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::plan::{Pace, Unit};
    use highwater_model::record::DiskRecord;
    use highwater_model::units::Rate;

    #[test]
    fn an_intervention_reads_as_one_line() {
        let line = |change| {
            intervention(&InterventionRecord {
                by: None,
                time_ns: 12_400_000_000,
                phase: "measure-2".to_owned(),
                change,
            })
        };
        let open = |units| Pace::Open { rate: Rate::per_second(units) };
        let closed = |sessions| Pace::Closed { sessions };
        let change = |from, to, ramp_per_s| Change::Pace {
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            from,
            to,
            ramp_per_s,
        };
        let text = "the replica is off".to_owned();
        let lasted_ns = 90_000_000_000;
        let lines = [
            Change::Stop,
            Change::Note { text },
            change(open(1_000), open(25_000), None),
            change(closed(1), closed(64), None),
            change(closed(1), closed(64), Some(2.5)),
            Change::Pause { lasted_ns },
        ]
        .map(line);
        insta::assert_snapshot!(lines.join("\n"), @"
        at 12.4 s: stopped by a command
        at 12.4 s: the replica is off
        at 12.4 s: insert from 1,000 rows/s to 25,000 rows/s, as phase measure-2
        at 12.4 s: insert from 1 session to 64 sessions, as phase measure-2
        at 12.4 s: insert from 1 session to 64 sessions, as phase measure-2, 2.5 per second until then
        at 12.4 s: paused for 90.0 s before measure-2
        ");
    }

    #[test]
    fn an_estimate_reads_as_one_line() {
        let expected = EstimateRecord {
            duration_ns: Some(11_000_000_000),
            rows: Some(1_100_000),
            bytes_per_row: Some(100),
            bytes_per_row_measured: true,
            bytes: Some(110_000_000),
            disk: Some(DiskRecord {
                place: "here".to_owned(),
                free_bytes: 1_500_000_000,
                total_bytes: 20_000_000_000,
                reserve_bytes: 1_000_000_000,
            }),
        };
        assert_eq!(
            estimate(&expected, false),
            "about 11 s · 1,100,000 rows · 110 MB, 100 B per row in the tables now · 1.5 GB free at here, \
             1.0 GB kept free"
        );
        let unbounded = EstimateRecord {
            duration_ns: None,
            rows: None,
            bytes: None,
            bytes_per_row_measured: false,
            disk: None,
            ..expected
        };
        assert_eq!(
            estimate(&unbounded, true),
            "until its rows are there · no rate limit · 100 B per row"
        );
    }
}
