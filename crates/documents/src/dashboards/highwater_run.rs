//! A run of Highwater, by the metrics that `--metrics-listen` serves.

use super::dashboard::{Dashboard, panel};

pub(super) static DASHBOARD: Dashboard = Dashboard {
    name: "highwater-run",
    title: "Highwater run",
    about: "What `highwater run --metrics-listen` serves, as it goes on. The record has the result.",
    from: "now-15m",
    choices: &[("instance", "label_values(highwater_run_info, instance)")],
    panels: &[
        panel!(Figure Count, "Run", "Workload and target",
            r#"{{workload}} on {{target}}: highwater_run_info{instance=~"$instance"}"#),
        panel!(Figure Count, "Phase", "The phase that goes on",
            r#"{{phase}}: highwater_phase{instance=~"$instance"}"#),
        panel!(Figure Seconds, "Elapsed", "Since the first phase began",
            r#"elapsed: highwater_elapsed{instance=~"$instance"}"#),
        panel!(Figure Count, "Sessions", "Open now",
            r#"sessions: highwater_sessions{instance=~"$instance"}"#),
        panel!(Lines PerSecond, "Rows acknowledged", "Rows per second that the target acknowledged",
            r#"{{stream}}: rate(highwater_rows_acknowledged_total{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines PerSecond, "Ops offered and acknowledged", "The gap between both is what the target does not keep up with", r#"
            {{stream}}, offered: rate(highwater_ops_offered_total{instance=~"$instance"}[$__rate_interval])
            {{stream}}, acknowledged: rate(highwater_ops_acknowledged_total{instance=~"$instance"}[$__rate_interval])
            "#),
        panel!(Lines Seconds, "Latency", "From the time at which an op was due. Between the bounds of the histogram it is estimated: the record \
             has the percentiles", r#"
            {{stream}}, p99: histogram_quantile(0.99, sum by (stream, le) (rate(highwater_latency_seconds_bucket{instance=~"$instance"}[$__rate_interval])))
            {{stream}}, p50: histogram_quantile(0.5, sum by (stream, le) (rate(highwater_latency_seconds_bucket{instance=~"$instance"}[$__rate_interval])))
            allowed, {{percentile}}: highwater_objective_latency_seconds{instance=~"$instance"}
            "#),
        panel!(Lines Seconds, "Service time", "From the time at which an op was sent, of acknowledged ops. What the latency is above it, ops waited for a \
             session. Between the bounds of the histogram it is estimated", r#"
            {{stream}}, p99: histogram_quantile(0.99, sum by (stream, le) (rate(highwater_service_time_seconds_bucket{instance=~"$instance"}[$__rate_interval])))
            {{stream}}, p50: histogram_quantile(0.5, sum by (stream, le) (rate(highwater_service_time_seconds_bucket{instance=~"$instance"}[$__rate_interval])))
            "#),
        panel!(Lines Seconds, "Client lag", "How late the load generator sent ops that a session was free for, on average: what is high here \
             is not the target's",
            r#"{{stream}}: rate(highwater_client_lag_seconds_sum{instance=~"$instance"}[$__rate_interval]) / rate(highwater_client_lag_seconds_count{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines PerSecond, "Failed ops", "By the class of their error",
            r#"{{stream}}, {{class}}: rate(highwater_ops_failed_total{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines PerSecond, "Ops never sent", "Due, and never sent, because no session was free in time",
            r#"{{stream}}: rate(highwater_ops_dropped_total{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines PerSecond, "Rows refused", "Rows that the target said it did not store",
            r#"{{stream}}: rate(highwater_rows_refused_total{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines PerSecond, "Offered rate", "What the plan offers, in units per second; nothing in closed load",
            r#"{{stream}}: highwater_offered_rate{instance=~"$instance"}"#),
    ],
    samples: &[r#"
        highwater_run_info{instance="a",workload="cpu",target="t",version="1"} 1x10
        highwater_phase{instance="a",phase="measure"} 1x10
        highwater_elapsed{instance="a"} 0+15x10
        highwater_sessions{instance="a"} 8x10
        highwater_rows_acknowledged_total{instance="a",stream="insert"} 0+1500x10
        highwater_ops_offered_total{instance="a",stream="insert"} 0+20x10
        highwater_ops_acknowledged_total{instance="a",stream="insert"} 0+15x10
        highwater_latency_seconds_bucket{instance="a",stream="insert",le="0.01"} 0+10x10
        highwater_latency_seconds_bucket{instance="a",stream="insert",le="+Inf"} 0+15x10
        highwater_service_time_seconds_bucket{instance="a",stream="insert",le="0.01"} 0+10x10
        highwater_service_time_seconds_bucket{instance="a",stream="insert",le="+Inf"} 0+15x10
        highwater_client_lag_seconds_sum{instance="a",stream="insert"} 0+1x10
        highwater_client_lag_seconds_count{instance="a",stream="insert"} 0+15x10
        highwater_objective_latency_seconds{instance="a",percentile="0.99"} 0.1x10
        highwater_ops_failed_total{instance="a",stream="insert",class="rejected"} 0+5x10
        highwater_ops_dropped_total{instance="a",stream="insert"} 0+5x10
        highwater_rows_refused_total{instance="a",stream="insert"} 0+5x10
        highwater_offered_rate{instance="a",stream="insert"} 20x10
        "#],
};
