//! A CockroachDB cluster under load, by the metrics that each node serves at `/_status/vars`; names are from its
//! documentation, no sample was recorded from a real node.

use super::dashboard::{Choice, Dashboard, panel};

pub(super) static DASHBOARD: Dashboard = Dashboard {
    name: "cockroachdb",
    title: "CockroachDB cluster",
    about: "Each node's own metrics. Sublevels of L0 that grow and writes that stall show compaction that is behind; \
            waits of admission control show a node that protects itself.",
    from: "now-15m",
    choices: &[Choice::of("instance", "label_values(sys_uptime, instance)")],
    stands_for: &[],
    panels: &[
        panel!(Lines PerSecond, "Statements", "By kind", r#"
            insert: sum(rate(sql_insert_count{instance=~"$instance"}[$__rate_interval]))
            update: sum(rate(sql_update_count{instance=~"$instance"}[$__rate_interval]))
            select: sum(rate(sql_select_count{instance=~"$instance"}[$__rate_interval]))
            "#),
        panel!(Lines Milliseconds, "Service latency", "Of statements, p99 of each node",
            r#"{{instance}}: histogram_quantile(0.99, sum by (instance, le) (rate(sql_service_latency_bucket{instance=~"$instance"}[$__rate_interval]))) / 1e6"#),
        panel!(Lines Share, "CPU", "Busy share of each node",
            r#"{{instance}}: sys_cpu_combined_percent_normalized{instance=~"$instance"}"#),
        panel!(Lines Count, "Sublevels of L0", "Above 20 the node holds writes back",
            r#"{{instance}}: storage_l0_sublevels{instance=~"$instance"}"#),
        panel!(Lines PerSecond, "Write stalls", "Times that the storage engine stopped writes",
            r#"{{instance}}: rate(storage_write_stalls{instance=~"$instance"}[$__rate_interval])"#),
        panel!(Lines Seconds, "Admission waits", "Seconds waited per second, of requests to the key-value layer",
            r#"{{instance}}: rate(admission_wait_durations_kv_sum{instance=~"$instance"}[$__rate_interval]) / 1e9"#),
        panel!(Lines BytesPerSecond, "Disk", "Bytes read and written of each node", r#"
            {{instance}}, read: rate(sys_host_disk_read_bytes{instance=~"$instance"}[$__rate_interval])
            {{instance}}, written: rate(sys_host_disk_write_bytes{instance=~"$instance"}[$__rate_interval])
            "#),
        panel!(Lines Count, "Ranges", "Of each node, and those without enough replicas", r#"
            {{instance}}: ranges{instance=~"$instance"}
            without enough replicas: sum(ranges_underreplicated{instance=~"$instance"})
            "#),
    ],
    samples: &[r#"
        sys_uptime{instance="a"} 0+15x10
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
