//! A CockroachDB cluster under load, by the metrics that each node serves at `/_status/vars`; names are from its
//! documentation, no sample was recorded from a real node.

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
            r#"
            insert: sum(rate(sql_insert_count{instance=~"$instance"}[$__rate_interval]))
            update: sum(rate(sql_update_count{instance=~"$instance"}[$__rate_interval]))
            select: sum(rate(sql_select_count{instance=~"$instance"}[$__rate_interval]))
            "#,
        ),
        lines(
            "Service latency",
            "Of statements, p99 of each node",
            Unit::Milliseconds,
            r#"{{instance}}: histogram_quantile(0.99, sum by (instance, le) (rate(sql_service_latency_bucket{instance=~"$instance"}[$__rate_interval]))) / 1e6"#,
        ),
        lines(
            "CPU",
            "Busy share of each node",
            Unit::Share,
            r#"{{instance}}: sys_cpu_combined_percent_normalized{instance=~"$instance"}"#,
        ),
        lines(
            "Sublevels of L0",
            "Above 20 the node holds writes back",
            Unit::Count,
            r#"{{instance}}: storage_l0_sublevels{instance=~"$instance"}"#,
        ),
        lines(
            "Write stalls",
            "Times that the storage engine stopped writes",
            Unit::PerSecond,
            r#"{{instance}}: rate(storage_write_stalls{instance=~"$instance"}[$__rate_interval])"#,
        ),
        lines(
            "Admission waits",
            "Seconds waited per second, of requests to the key-value layer",
            Unit::Seconds,
            r#"{{instance}}: rate(admission_wait_durations_kv_sum{instance=~"$instance"}[$__rate_interval]) / 1e9"#,
        ),
        lines(
            "Disk",
            "Bytes read and written of each node",
            Unit::BytesPerSecond,
            r#"
            {{instance}}, read: rate(sys_host_disk_read_bytes{instance=~"$instance"}[$__rate_interval])
            {{instance}}, written: rate(sys_host_disk_write_bytes{instance=~"$instance"}[$__rate_interval])
            "#,
        ),
        lines(
            "Ranges",
            "Of each node, and those without enough replicas",
            Unit::Count,
            r#"
            {{instance}}: ranges{instance=~"$instance"}
            without enough replicas: sum(ranges_underreplicated{instance=~"$instance"})
            "#,
        ),
    ],
    samples: &[r#"
        sql_insert_count{instance="a"} 0+100x10
        sql_update_count{instance="a"} 0+100x10
        sql_select_count{instance="a"} 0+100x10
        sql_service_latency_bucket{instance="a",le="1000000"} 0+90x10
        sql_service_latency_bucket{instance="a",le="+Inf"} 0+100x10
        sys_cpu_combined_percent_normalized{instance="a"} 0.5x10
        storage_l0_sublevels{instance="a"} 3x10
        storage_write_stalls{instance="a"} 0+1x10
        admission_wait_durations_kv_sum{instance="a"} 0+1000x10
        sys_host_disk_read_bytes{instance="a"} 0+1000x10
        sys_host_disk_write_bytes{instance="a"} 0+1000x10
        ranges{instance="a"} 40x10
        ranges_underreplicated{instance="a"} 0x10
        "#],
};
