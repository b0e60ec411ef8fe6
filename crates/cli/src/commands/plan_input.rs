//! Translates the settings of a run into the planner's input. Must not decide anything.

use highwater_model::plan::{AuditPlan, Objective, RetryPlan, Share, StopRule};
use highwater_model::quantity::print_instant;
use highwater_model::units::Nanos;
use highwater_runner::planner::{PaceInput, PlanInput, StreamInput};

use crate::settings::{Objectives, PaceSetting, Quantile, RunSettings, StartAt, Streams};

/// Wait before a failed op is retried; doubled each time.
const BACKOFF: Nanos = Nanos::from_millis(10);
/// How long a session tries to reconnect.
const RECONNECT_LIMIT: Nanos = Nanos::from_secs(30);

/// The planner's input besides the workload.
pub(super) fn plan_input(settings: &RunSettings, default_sessions: u32) -> PlanInput {
    let length = settings.length;
    PlanInput {
        streams: streams(&settings.load.streams),
        literals: settings.literals,
        sessions: settings.load.sessions,
        default_sessions,
        arrivals: settings.load.arrivals,
        spawn_rate: settings.load.spawn_rate,
        warm_up: length.warm_up,
        step: length.at_most,
        stop: StopRule {
            rows: length.rows,
            fills: settings.fills,
            minimum: length.at_least,
            until: length.until,
        },
        objectives: objectives(&settings.objectives),
        retry: RetryPlan {
            attempts: settings.retries,
            backoff: BACKOFF,
            reconnect_limit: RECONNECT_LIMIT,
        },
        timeout: settings.timeout,
        audit: AuditPlan {
            level: settings.audit,
            limit: settings.audit_timeout,
        },
        share: Share {
            index: settings.share.index,
            of: settings.share.of,
            start_at: match settings.start_at {
                Some(StartAt::Instant(instant)) => Some(print_instant(instant)),
                Some(StartAt::Delay(_)) | None => None,
            },
        },
    }
}

fn streams(streams: &Streams) -> Vec<StreamInput> {
    match streams {
        Streams::First { rate } => vec![StreamInput {
            name: None,
            paces: vec![rate.map_or(PaceInput::Closed(None), PaceInput::Open)],
        }],
        Streams::Named(streams) => streams
            .iter()
            .map(|stream| StreamInput {
                name: (!stream.name.is_empty()).then(|| stream.name.clone()),
                paces: stream.paces.iter().copied().map(pace).collect(),
            })
            .collect(),
    }
}

fn pace(pace: PaceSetting) -> PaceInput {
    match pace {
        PaceSetting::Open(rate) => PaceInput::Open(rate),
        PaceSetting::Closed(sessions) => PaceInput::Closed(sessions),
    }
}

fn objectives(settings: &Objectives) -> Vec<Objective> {
    const P99: u32 = 990_000;
    let latency = settings.latency.iter();
    let latency = latency.map(|(Quantile(quantile_ppm), max)| Objective::Latency {
        quantile_ppm: *quantile_ppm,
        max: *max,
    });
    let row_latency = settings.row_p99.map(|max| Objective::RowLatency {
        quantile_ppm: P99,
        max,
    });
    let others = [
        row_latency,
        settings
            .errors
            .map(|ppm| Objective::Errors { max_ppm: ppm.0 }),
        settings
            .rejected
            .map(|ppm| Objective::Rejected { max_ppm: ppm.0 }),
        settings.min_rate.map(|min| Objective::Throughput { min }),
        settings
            .max_cpu
            .map(|ppm| Objective::Cpu { max_ppm: ppm.0 }),
    ];
    latency.chain(others.into_iter().flatten()).collect()
}
