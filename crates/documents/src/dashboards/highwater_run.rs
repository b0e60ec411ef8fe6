//! A run of Highwater, by the metrics that `--metrics-listen` serves.

use super::dashboard::{Choice, Dashboard, panel};

pub(super) static DASHBOARD: Dashboard = Dashboard {
    name: "highwater-run",
    title: "Highwater run",
    about: "What `highwater run --metrics-listen` serves, as it goes on. The record has the result.",
    from: "now-15m",
    choices: &[Choice::of("instance", "label_values(highwater_run_info, instance)")],
    stands_for: &[],
    panels: &[
        panel!(Figure Count, "Run", "Workload and target",
            r#"{{workload}} on {{target}}: highwater_run_info{instance=~"$instance"}"#),
        panel!(Figure Count, "Phase", "The phase that goes on",
            r#"{{phase}}: highwater_phase{instance=~"$instance"}"#),
        panel!(Figure Seconds, "Elapsed", "Since the first phase began",
            r#"elapsed: highwater_elapsed{instance=~"$instance"}"#),
        panel!(Figure Count, "Rows found", "By the audits of the runs that are over",
            r#"rows: highwater_rows_found_total{instance=~"$instance"}"#),
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
        panel!(Lines Share, "Objectives", "The part of what each objective allows that is used up in the measured phase so far: above 100% it is \
             missed. Nothing outside measured phases",
            r#"{{objective}}: highwater_objective_used{instance=~"$instance"}"#),
        panel!(Lines Count, "Sessions", "Open sessions of all streams",
            r#"sessions: highwater_sessions{instance=~"$instance"}"#),
        panel!(Lines PerSecond, "Errors and rejections", "Failed: the target refused or rejected the op, or its connection broke. Rejected: those of them that the \
             target had no capacity for. Never sent: due, and no session was free in time", r#"
            {{stream}}, failed: sum by (instance, stream) (rate(highwater_ops_failed_total{instance=~"$instance"}[$__rate_interval]))
            {{stream}}, rejected: rate(highwater_ops_failed_total{instance=~"$instance",class="rejected"}[$__rate_interval])
            {{stream}}, never sent: rate(highwater_ops_dropped_total{instance=~"$instance"}[$__rate_interval])
            "#),
        panel!(Lines PerSecond, "Failed ops", "By the class of their error",
            r#"{{stream}}, {{class}}: rate(highwater_ops_failed_total{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines PerSecond, "Rows refused", "Rows that the target said it did not store",
            r#"{{stream}}: rate(highwater_rows_refused_total{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines PerSecond, "Offered rate", "What the plan offers, in units per second; nothing in closed load",
            r#"{{stream}}: highwater_offered_rate{instance=~"$instance"}"#),
        panel!(Lines Share, "Target and host, parts of the whole", "What they say of themselves: CPU, memory, time of disks",
            r#"{{source}} {{node}}, {{name}}: highwater_telemetry{instance=~"$instance",unit="share"}"#),
        panel!(Lines BytesPerSecond, "Target and host, bytes per second", "What they say of themselves: disks, networks, logs",
            r#"{{source}} {{node}}, {{name}}: highwater_telemetry{instance=~"$instance",unit="bytes/s"}"#),
        panel!(Lines Bytes, "Target and host, bytes", "What they say of themselves: free space, sizes of logs and caches",
            r#"{{source}} {{node}}, {{name}}: highwater_telemetry{instance=~"$instance",unit="bytes"}"#),
        panel!(Lines Count, "Target and host, other figures", "What they say of themselves: load, threads, queues, waits; what is counted, per second",
            r#"{{source}} {{node}}, {{name}}: highwater_telemetry{instance=~"$instance",unit!~"share|bytes|bytes/s"}"#),
    ],
    samples: &[r#"
        highwater_run_info{instance="a",workload="cpu",target="t",version="1"} 1x10
        highwater_phase{instance="a",phase="measure"} 1x10
        highwater_elapsed{instance="a"} 0+15x10
        highwater_sessions{instance="a"} 8x10
        highwater_rows_found_total{instance="a"} 0+1000x10
        highwater_objective_used{instance="a",objective="p99 ≤ 50 ms",kind="latency"} 0.4x10
        highwater_telemetry{instance="a",source="host",name="cpu_busy",unit="share",node=""} 0.5x10
        highwater_telemetry{instance="a",source="host",name="disk_written",unit="bytes/s",node="sda"} 1000x10
        highwater_telemetry{instance="a",source="host",name="disk_free",unit="bytes",node="/"} 1000x10
        highwater_telemetry{instance="a",source="host",name="load",unit="1",node=""} 1x10
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
