//! A CrateDB cluster under load: the panels of CrateDB's benchmarking guide, by the metrics of CrateDB's own JMX
//! exporter and of cAdvisor, or of node_exporter where there is no Kubernetes.
//!
//! Names of metrics are those that the exporters served when they were recorded: crate-jmx-exporter 1.2.4
//! (<https://github.com/crate/jmx_exporter>), which calls everything a gauge, and node_exporter. cAdvisor was not
//! recorded: its names are from its documentation and from the guide's exported dashboard. Where the guide's queries
//! are mistaken (a rate of a gauge, a number of cores that is always 8) these are not.

use super::dashboard::{Dashboard, Panel, panel};

const QUERIES: Panel = panel!(Lines PerSecond, "Queries per second", "By kind of statement",
    "{{query}}: sum by (query) (rate(crate_query_total_count[$__rate_interval]))");
const DURATION: Panel = panel!(Lines Milliseconds, "Average query duration", "Sum of durations over their number, by kind of statement",
    "{{query}}: sum by (query) (rate(crate_query_sum_of_durations_millis[$__rate_interval])) / sum by (query) (rate(crate_query_total_count[$__rate_interval]))");
const FAILED: Panel = panel!(Lines PerSecond, "Query error rate", "Statements that failed, by kind",
    "{{query}}: sum by (query) (rate(crate_query_failed_count[$__rate_interval]))");
const REJECTED: Panel = panel!(Lines PerSecond, "Rejected writes", "Must stay 0: the write pool's queue is full otherwise, and clients must send again",
    r#"{{instance}}: sum by (instance) (rate(crate_threadpools{name="write",property="rejected"}[$__rate_interval]))"#);
const ACTIVE: Panel = panel!(Lines Count, "Active threads", "By thread pool",
    r#"{{name}}: sum by (name) (crate_threadpools{property="active"})"#);
const SHARDS: Panel = panel!(Lines Count, "Shards", "Primaries, replicas, both, and those without a node",
    r#"{{property}}: sum by (property) (crate_node{name="shard_stats"})"#);
const SHARD_SIZES: Panel = panel!(Lines Bytes, "Shard sizes", "Sum by table, without the schema of the dashboard itself",
    r#"{{table}}: sum by (table) (crate_node{name="shard_info",property="size",schema!="gc"})"#);
const CONNECTIONS: Panel = panel!(Lines Count, "Open connections", "By protocol",
    r#"{{protocol}}: sum by (protocol) (crate_connections{property="open"})"#);
const READY: Panel = panel!(Figure Count, "Nodes that are ready", "By CrateDB's own exporter",
    "nodes: sum(crate_ready)");

/// Beside cAdvisor: one series for each pod.
pub(super) static ON_KUBERNETES: Dashboard = Dashboard {
    name: "cratedb-kubernetes",
    title: "CrateDB cluster on Kubernetes",
    about: "CrateDB's JMX exporter and cAdvisor. CPU around 90% is well used; rejected writes must stay 0; writes to \
            disk that fall to a constant show a credit that ran out.",
    from: "now-15m",
    choices: &[(
        "namespace",
        "label_values(container_cpu_usage_seconds_total{container=\"crate\"}, namespace)",
    )],
    panels: &[
        panel!(Figure Count, "Nodes", "Pods that run",
            r#"pods: count(count by (pod) (container_cpu_usage_seconds_total{container="crate",namespace=~"$namespace"}))"#),
        READY,
        QUERIES,
        DURATION,
        panel!(Lines Share, "CPU per pod", "Share of the pod's own limit",
            r#"{{pod}}: sum by (pod) (rate(container_cpu_usage_seconds_total{container="crate",namespace=~"$namespace"}[$__rate_interval])) / sum by (pod) (container_spec_cpu_quota{container="crate",namespace=~"$namespace"} / container_spec_cpu_period{container="crate",namespace=~"$namespace"})"#),
        panel!(Lines Count, "CPU cores", "Cores in use, of each pod",
            r#"{{pod}}: sum by (pod) (rate(container_cpu_usage_seconds_total{container="crate",namespace=~"$namespace"}[$__rate_interval]))"#),
        panel!(Lines Bytes, "Memory", "Of each pod",
            r#"{{pod}}: sum by (pod) (container_memory_usage_bytes{container="crate",namespace=~"$namespace"})"#),
        REJECTED,
        ACTIVE,
        SHARDS,
        SHARD_SIZES,
        panel!(Lines BytesPerSecond, "File system", "Bytes read and written, of each pod", r#"
            {{pod}}, read: sum by (pod) (rate(container_fs_reads_bytes_total{container="crate",namespace=~"$namespace"}[$__rate_interval]))
            {{pod}}, written: sum by (pod) (rate(container_fs_writes_bytes_total{container="crate",namespace=~"$namespace"}[$__rate_interval]))
            "#),
        panel!(Lines BytesPerSecond, "Network", "Bytes received and sent, of each pod", r#"
            {{pod}}, received: sum by (pod) (rate(container_network_receive_bytes_total{namespace=~"$namespace",pod=~"crate-.*"}[$__rate_interval]))
            {{pod}}, sent: sum by (pod) (rate(container_network_transmit_bytes_total{namespace=~"$namespace",pod=~"crate-.*"}[$__rate_interval]))
            "#),
        FAILED,
        CONNECTIONS,
    ],
    samples: &[r#"
        container_cpu_usage_seconds_total{container="crate",namespace="n",pod="crate-0"} 0+30x10
        container_spec_cpu_quota{container="crate",namespace="n",pod="crate-0"} 400000x10
        container_spec_cpu_period{container="crate",namespace="n",pod="crate-0"} 100000x10
        container_memory_usage_bytes{container="crate",namespace="n",pod="crate-0"} 1000000x10
        container_fs_reads_bytes_total{container="crate",namespace="n",pod="crate-0"} 0+1000x10
        container_fs_writes_bytes_total{container="crate",namespace="n",pod="crate-0"} 0+1000x10
        container_network_receive_bytes_total{namespace="n",pod="crate-0"} 0+1000x10
        container_network_transmit_bytes_total{namespace="n",pod="crate-0"} 0+1000x10
        "#],
};

/// Beside node_exporter: one series for each machine.
pub(super) static ON_MACHINES: Dashboard = Dashboard {
    name: "cratedb-machines",
    title: "CrateDB cluster on machines",
    about: "CrateDB's JMX exporter and node_exporter on each machine. CPU around 90% is well used; rejected writes \
            must stay 0; writes to disk that fall to a constant show a credit that ran out.",
    from: "now-15m",
    choices: &[("job", "label_values(node_cpu_seconds_total, job)")],
    panels: &[
        panel!(Figure Count, "Machines", "Those that report",
            r#"machines: count(count by (instance) (node_cpu_seconds_total{job=~"$job"}))"#),
        READY,
        QUERIES,
        DURATION,
        panel!(Lines Share, "CPU", "Busy share of each machine",
            r#"{{instance}}: 1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle",job=~"$job"}[$__rate_interval]))"#),
        panel!(Lines Count, "CPU cores", "Busy cores of each machine",
            r#"{{instance}}: sum by (instance) (rate(node_cpu_seconds_total{mode!="idle",job=~"$job"}[$__rate_interval]))"#),
        panel!(Lines Bytes, "Memory", "In use on each machine",
            r#"{{instance}}: node_memory_MemTotal_bytes{job=~"$job"} - node_memory_MemAvailable_bytes{job=~"$job"}"#),
        REJECTED,
        ACTIVE,
        SHARDS,
        SHARD_SIZES,
        panel!(Lines BytesPerSecond, "Disks", "Bytes read and written, of each machine", r#"
            {{instance}}, read: sum by (instance) (rate(node_disk_read_bytes_total{job=~"$job"}[$__rate_interval]))
            {{instance}}, written: sum by (instance) (rate(node_disk_written_bytes_total{job=~"$job"}[$__rate_interval]))
            "#),
        panel!(Lines BytesPerSecond, "Network", "Bytes received and sent, of each machine, without loopback", r#"
            {{instance}}, received: sum by (instance) (rate(node_network_receive_bytes_total{device!="lo",job=~"$job"}[$__rate_interval]))
            {{instance}}, sent: sum by (instance) (rate(node_network_transmit_bytes_total{device!="lo",job=~"$job"}[$__rate_interval]))
            "#),
        FAILED,
        CONNECTIONS,
    ],
    samples: &[],
};
