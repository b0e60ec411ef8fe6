//! Cases of plain runs and of imports.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::judgment::{Data, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{AuditLevel, Pace};
use highwater_model::record::{AuditStatus, RecordRef, RunRecord};

use super::{Case, Situation, check};
use crate::commands::{
    self, flag_rate, lasting, longer_ns, ops_of_percentiles, planned_ns, span, until_percentiles_ns,
};

/// Factor for the timeout of an audit that timed out.
const LONGER: u64 = 3;
/// Seconds of a probe in a search with several probes.
const PROBE_S: f64 = 60.0;
/// Minimum number of sessions at which fewer can be proposed.
const SEVERAL: u32 = 2;

/// In order: the data first, then the validity of the figures, then the figures.
pub(super) static CASES: &[Case] = &[
    Case::new(
        "another tool measured",
        |s| matches!(s.record, RecordRef::Imported(_)),
        |s| s.show(" --open"),
    ),
    Case::new(
        "a share of several has no result of its own",
        |s| s.run.plan.definition.share.of > 1,
        |s| {
            let shares = s.run.plan.definition.share.of;
            s.show(&format!("   # and the records of all {shares} shares"))
        },
    ),
    Case::new(
        "the audit ran out of time, and its database is still there",
        |s| is_timed_out(s.run) && can_be_audited(s.run),
        |s| {
            let longer = s.run.plan.definition.audit.limit.0.saturating_mul(LONGER);
            let audit = commands::audit(s.directory);
            format!("{audit} --audit-timeout {}", span(longer))
        },
    ),
    Case::new(
        "the audit ran out of time, and its database is gone",
        |s| is_timed_out(s.run) && !s.measured.is_empty(),
        |s| {
            let longer = s.run.plan.definition.audit.limit.0.saturating_mul(LONGER);
            s.line().with("audit-timeout", span(longer)).to_string()
        },
    ),
    Case::new(
        "the workload's own SQL is wrong about rows that are there",
        |s| is_unverified(s.run) && !s.run.audit.wrong_sql.is_empty(),
        |s| match s.line().values("file").collect::<Vec<_>>().as_slice() {
            [file] => format!("highwater check {}", commands::quoted(file)),
            _ => s.show(" -v"),
        },
    ),
    Case::new("the connection was lost", |s| has(s.run, ReasonCode::TargetLost), check),
    Case::new(
        "rows are wrong or unverified, and their database is still there",
        |s| (is_wrong(s.run) || is_unverified(s.run)) && can_be_audited(s.run),
        |s| commands::audit(s.directory),
    ),
    Case::new(
        "rows are wrong or unverified, and cannot be audited again",
        |s| is_wrong(s.run) || is_unverified(s.run),
        |s| s.show(" -v"),
    ),
    // The rows that a table has stay: filling it continues.
    Case::new(
        "the user stopped filling a table",
        |s| is_stopped(s) && s.run.plan.definition.stop.fills,
        |s| s.line().without(&["drop"]).to_string(),
    ),
    Case::new("the user stopped it", is_stopped, |s| s.line().to_string()),
    Case::new(
        "a table was filled",
        |s| s.run.plan.definition.stop.fills,
        // The rows that it has stay.
        |s| s.line().turned("run").without(&["drop"]).to_string(),
    ),
    Case::new("nothing was measured", |s| s.measured.is_empty(), check),
    Case::new(
        "too few ops for a percentile of the objective",
        |s| {
            has(s.run, ReasonCode::TooFewSamples)
                && until_percentiles_ns(s.run, s.measured).is_some()
        },
        |s| {
            let length = until_percentiles_ns(s.run, s.measured);
            of_length(s, length.unwrap_or_else(|| longer_ns(s.run)))
        },
    ),
    Case::new(
        "it was too short",
        |s| first_is(s, &[ReasonCode::TooShort, ReasonCode::TooFewSamples]),
        |s| of_length(s, longer_ns(s.run)),
    ),
    Case::new(
        "throughput drifted",
        |s| {
            first_is(
                s,
                &[
                    ReasonCode::NotSteady,
                    ReasonCode::SteadinessNotShown,
                    ReasonCode::SteadinessRequired,
                ],
            )
        },
        |s| {
            let again = lasting(s.line().without(&["until"]), s.measured, longer_ns(s.run));
            again.with("warm-up", span(planned_ns(s.run))).to_string()
        },
    ),
    Case::new(
        "fewer sessions worked than were planned",
        // With a think time longer than the run, fewer sessions would miss the same part.
        |s| first_is(s, &[ReasonCode::SessionsMissing]) && working(s) > 0 && !has_pauses(s.run),
        |s| {
            let line = s.line().without(&["abort-on-miss"]);
            commands::with_sessions(line, s.run, working(s)).to_string()
        },
    ),
    Case::new(
        "the load generator was the limit, and its ceiling is known",
        |s| {
            let ceilings = s.run.clients.iter().filter_map(|client| client.calibrated_ceiling);
            first_is(s, &[ReasonCode::ClientSaturated])
                && ceilings.count() > 0
                && !s.run.target.embedded
                && !s.run.target.simulated
        },
        |s| {
            let line = s.line();
            let is_range = line.values("duration").any(|length| length.contains(".."));
            let line = line.without(&["abort-on-miss", "until"]).with("share", "1/2");
            let length = || span(planned_ns(s.run));
            if is_range { line.with("duration", length()).to_string() } else { line.to_string() }
        },
    ),
    Case::new(
        "more was offered than could be answered at all",
        |s| first_is(s, &[ReasonCode::LatencyUnknown, ReasonCode::OutcomeUnknown]),
        |s| commands::one_session(s.line(), s.run).to_string(),
    ),
    // A pause is an event of its time: a check of the machine afterwards does not find it, and of several runs it
    // spoils one.
    Case::new(
        "the load generator stood still for a moment",
        |s| is_run(s) && first_is(s, &[ReasonCode::ClientStalled]),
        |s| s.line().with("repeat", "3".to_owned()).to_string(),
    ),
    Case::new(
        "something beside the target spoiled the figures",
        |s| s.run.judgments.measurement.value != Measurement::Valid,
        check,
    ),
    Case::new(
        "a step missed the objective",
        |s| is_stepped(s) && is_missed(s.run),
        |s| find(s, None),
    ),
    Case::new("several steps were measured", is_stepped, |s| s.show(" --open")),
    Case::new(
        "sessions that acknowledge too little may be too few or too many",
        |s| is_missed(s.run) && is_closed(s) && misses_throughput_alone(s.run) && is_alone(s),
        |s| commands::tune_sessions(s.line(), s.run, sessions(s)).to_string(),
    ),
    Case::new(
        "sessions missed the objective, and fewer may meet it",
        |s| is_missed(s.run) && is_closed(s) && sessions(s) >= SEVERAL && is_alone(s),
        |s| commands::find_sessions(&s.line(), s.run, s.measured).to_string(),
    ),
    Case::new(
        "one session missed the objective",
        |s| is_missed(s.run) && is_closed(s),
        |s| s.show(" --open"),
    ),
    Case::new("a rate missed the objective", |s| is_missed(s.run), |s| find(s, bound(s, "max"))),
    Case::new(
        "a rate met the objective",
        |s| s.run.judgments.objective.value == ObjectiveValue::Met && !is_closed(s),
        |s| find(s, bound(s, "start")),
    ),
    Case::new(
        "sessions met the objective",
        |s| s.run.judgments.objective.value == ObjectiveValue::Met,
        |s| find(s, None),
    ),
    Case::answered("a sink was measured, so this is the load generator's ceiling", |s| {
        s.run.target.sink
    }),
    Case::new(
        "a rate without an objective",
        |s| is_run(s) && !is_closed(s),
        |s| find(s, bound(s, "start")),
    ),
    Case::new("as fast as the sessions go, which no user feels", is_run, |s| {
        commands::open(s.line(), s.run, s.measured).to_string()
    }),
];

/// Whether sessions have a think time.
fn has_pauses(run: &RunRecord) -> bool {
    let mut streams = run.plan.definition.streams.iter();
    streams.any(|stream| stream.think.is_some())
}

/// Whether it is a plain run.
fn is_run(s: &Situation<'_>) -> bool {
    matches!(s.record, RecordRef::Run(_))
}

/// A run of the same load with this length.
fn of_length(s: &Situation<'_>, length_ns: u64) -> String {
    lasting(s.line().without(&["until"]), s.measured, length_ns).to_string()
}

/// A search within this bound.
fn find(s: &Situation<'_>, bound: Option<(&str, String)>) -> String {
    commands::find(&s.line(), s.run, s.measured, bound).to_string()
}

/// Whether the user ended it before its planned end.
fn is_stopped(s: &Situation<'_>) -> bool {
    has(s.run, ReasonCode::Interrupted)
}

fn has(run: &RunRecord, code: ReasonCode) -> bool {
    let reasons = &run.judgments.measurement.reasons;
    reasons.iter().any(|reason| reason.code == code)
}

/// Whether the first reason why the measurement is not valid is one of these.
fn first_is(s: &Situation<'_>, codes: &[ReasonCode]) -> bool {
    let measurement = &s.run.judgments.measurement;
    let first = measurement.reasons.first().map(|reason| reason.code);
    measurement.value != Measurement::Valid && first.is_some_and(|first| codes.contains(&first))
}

fn is_wrong(run: &RunRecord) -> bool {
    run.judgments.data.value.is_wrong()
}

fn is_unverified(run: &RunRecord) -> bool {
    run.judgments.data.value == Data::Unverified
}

fn is_timed_out(run: &RunRecord) -> bool {
    is_unverified(run) && run.audit.status == AuditStatus::Timeout
}

/// Whether `highwater audit` can check the run's rows, and has not done so yet.
fn can_be_audited(run: &RunRecord) -> bool {
    let target = &run.target;
    let is_there = !target.simulated && !target.sink;
    let keeps_a_ledger =
        run.audit.level != AuditLevel::Off && run.audit.status != AuditStatus::NoInvariant;
    is_there && keeps_a_ledger && run.audit.replaced.is_none() && !run.audit.later
}

fn is_missed(run: &RunRecord) -> bool {
    run.judgments.objective.value == ObjectiveValue::Missed
}

fn misses_throughput_alone(run: &RunRecord) -> bool {
    let mut reasons = run.judgments.objective.reasons.iter();
    reasons.all(|reason| reason.code == ReasonCode::RateNotSustained)
}

/// Whether there are several measured phases.
fn is_stepped(s: &Situation<'_>) -> bool {
    let first = s.measured.first().map(|m| &m.phase.name);
    is_run(s) && s.measured.iter().any(|m| Some(&m.phase.name) != first)
}

/// Whether no stream has a rate.
fn is_closed(s: &Situation<'_>) -> bool {
    s.measured.iter().all(|m| !m.is_open())
}

fn is_alone(s: &Situation<'_>) -> bool {
    s.run.plan.definition.streams.len() == 1
}

fn sessions(s: &Situation<'_>) -> u32 {
    s.measured.iter().map(|m| m.stream.sessions).max().unwrap_or(1)
}

/// Sessions that worked, if there is a single closed stream.
fn working(s: &Situation<'_>) -> u32 {
    let is_plain = is_alone(s) && is_closed(s);
    s.measured.iter().filter_map(|m| m.stream.working).min().filter(|_| is_plain).unwrap_or(0)
}

/// The rate of the single open stream as a bound of a search.
fn bound<'a>(s: &Situation<'_>, flag: &'a str) -> Option<(&'a str, String)> {
    let planned = s.run.plan.definition.streams.first();
    match planned.and_then(|stream| stream.paces.first()) {
        Some(Pace::Open { rate }) if is_alone(s) && shows_percentiles(s, rate.as_f64()) => {
            Some((flag, flag_rate(rate.as_f64())))
        }
        _ => None,
    }
}

/// Whether a normal probe at this rate has enough ops for all percentiles; otherwise a search rejects the bound.
fn shows_percentiles(s: &Situation<'_>, units_per_s: f64) -> bool {
    let per_op = s.measured.first().map_or(1, MeasuredStream::units_per_op);
    let ops = units_per_s * PROBE_S / to_f64(per_op.max(1));
    ops >= ops_of_percentiles(s.run)
}
