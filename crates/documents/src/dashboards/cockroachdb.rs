//! A CockroachDB cluster under load, by the metrics that each node serves at `/_status/vars`; names are from its
//! documentation.

use super::dashboard::{Dashboard, Unit, lines};

pub(super) static DASHBOARD: Dashboard = Dashboard {
    name: "cockroachdb",
    title: "CockroachDB cluster",
    about: "Each node's own metrics. Sublevels of L0 that grow and writes that stall show compaction that is behind; \
            waits of admission control show a node that protects itself.",
    from: "now-15m",
    choices: &[("instance", "label_values(sys_uptime, instance)")],
    panels: &[
        lines(
            "Statements",
            "By kind",
            Unit::PerSecond,
            &[
                (
                    r#"sum(rate(sql_insert_count{instance=~"$instance"}[$__rate_interval]))"#,
                    "insert",
                ),
                (
                    r#"sum(rate(sql_update_count{instance=~"$instance"}[$__rate_interval]))"#,
                    "update",
                ),
                (
                    r#"sum(rate(sql_select_count{instance=~"$instance"}[$__rate_interval]))"#,
                    "select",
                ),
            ],
        ),
        lines(
            "Service latency",
            "Of statements, p99 of each node",
            Unit::Milliseconds,
            &[(
                r#"histogram_quantile(0.99, sum by (instance, le) (rate(sql_service_latency_bucket{instance=~"$instance"}[$__rate_interval]))) / 1e6"#,
                "{{instance}}",
            )],
        ),
        lines(
            "CPU",
            "Busy share of each node",
            Unit::Share,
            &[(
                r#"sys_cpu_combined_percent_normalized{instance=~"$instance"}"#,
                "{{instance}}",
            )],
        ),
        lines(
            "Sublevels of L0",
            "Above 20 the node holds writes back",
            Unit::Count,
            &[(
                r#"storage_l0_sublevels{instance=~"$instance"}"#,
                "{{instance}}",
            )],
        ),
        lines(
            "Write stalls",
            "Times that the storage engine stopped writes",
            Unit::PerSecond,
            &[(
                r#"rate(storage_write_stalls{instance=~"$instance"}[$__rate_interval])"#,
                "{{instance}}",
            )],
        ),
        lines(
            "Admission waits",
            "Seconds waited per second, of requests to the key-value layer",
            Unit::Seconds,
            &[(
                r#"rate(admission_wait_durations_kv_sum{instance=~"$instance"}[$__rate_interval]) / 1e9"#,
                "{{instance}}",
            )],
        ),
        lines(
            "Disk",
            "Bytes read and written of each node",
            Unit::BytesPerSecond,
            &[
                (
                    r#"rate(sys_host_disk_read_bytes{instance=~"$instance"}[$__rate_interval])"#,
                    "{{instance}}, read",
                ),
                (
                    r#"rate(sys_host_disk_write_bytes{instance=~"$instance"}[$__rate_interval])"#,
                    "{{instance}}, written",
                ),
            ],
        ),
        lines(
            "Ranges",
            "Of each node, and those without enough replicas",
            Unit::Count,
            &[
                (r#"ranges{instance=~"$instance"}"#, "{{instance}}"),
                (
                    r#"sum(ranges_underreplicated{instance=~"$instance"})"#,
                    "without enough replicas",
                ),
            ],
        ),
    ],
    samples: &[&[
        (r#"sql_insert_count{instance="a"}"#, "0+100x10"),
        (r#"sql_update_count{instance="a"}"#, "0+100x10"),
        (r#"sql_select_count{instance="a"}"#, "0+100x10"),
        (
            r#"sql_service_latency_bucket{instance="a",le="1000000"}"#,
            "0+90x10",
        ),
        (
            r#"sql_service_latency_bucket{instance="a",le="+Inf"}"#,
            "0+100x10",
        ),
        (
            r#"sys_cpu_combined_percent_normalized{instance="a"}"#,
            "0.5x10",
        ),
        (r#"storage_l0_sublevels{instance="a"}"#, "3x10"),
        (r#"storage_write_stalls{instance="a"}"#, "0+1x10"),
        (
            r#"admission_wait_durations_kv_sum{instance="a"}"#,
            "0+1000x10",
        ),
        (r#"sys_host_disk_read_bytes{instance="a"}"#, "0+1000x10"),
        (r#"sys_host_disk_write_bytes{instance="a"}"#, "0+1000x10"),
        (r#"ranges{instance="a"}"#, "40x10"),
        (r#"ranges_underreplicated{instance="a"}"#, "0x10"),
    ]],
};
