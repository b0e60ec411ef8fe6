//! A CrateDB cluster under load: the panels of CrateDB's benchmarking guide, by the metrics of CrateDB's own JMX
//! exporter and of cAdvisor, or of node_exporter where there is no Kubernetes.
//!
//! Names of metrics are those that the exporters served when they were recorded: crate-jmx-exporter 1.2.4
//! (<https://github.com/crate/jmx_exporter>), which calls everything a gauge, and node_exporter. cAdvisor was not
//! recorded: its names are from its documentation and from the guide's exported dashboard. Where the guide's queries
//! are mistaken (a rate of a gauge, a number of cores that is always 8) these are not. Its list of clusters is that of
//! a cloud; here a cluster is what one job of Prometheus scrapes.

use super::dashboard::{Choice, Dashboard, Panel, panel};

// `@own`: which series of CrateDB's own exporter are shown; `@by`: the label that tells its nodes apart.

const QUERIES: Panel = panel!(Lines PerSecond, "Queries per second", "By kind of statement",
    "{{query}}: sum by (query) (rate(crate_query_total_count{@own}[$__rate_interval]))");
const DURATION: Panel = panel!(Lines Milliseconds, "Average query duration", "Sum of durations over their number, by kind of statement",
    "{{query}}: sum by (query) (rate(crate_query_sum_of_durations_millis{@own}[$__rate_interval])) / sum by (query) (rate(crate_query_total_count{@own}[$__rate_interval]))");
const FAILED: Panel = panel!(Lines PerSecond, "Query error rate", "Statements that failed, by kind",
    "{{query}}: sum by (query) (rate(crate_query_failed_count{@own}[$__rate_interval]))");
const REJECTED: Panel = panel!(Lines PerSecond, "Rejected writes", "Must stay 0: the write pool's queue is full otherwise, and clients must send again", r#"
    {{@by}}: sum by (@by) (rate(crate_threadpools{name="write",property="rejected",@own}[$__rate_interval]))
    all: sum(rate(crate_threadpools{name="write",property="rejected",@own}[$__rate_interval]))
    "#);
const ACTIVE: Panel = panel!(Lines Count, "Active threads", "By thread pool",
    r#"{{name}}: sum by (name) (crate_threadpools{property="active",@own})"#);
const QUEUES: Panel = panel!(Lines Count, "Queues of thread pools", "What waits for a thread, by thread pool: a queue that is full rejects",
    r#"{{name}}: sum by (name) (crate_threadpools{property="queueSize",@own})"#);
const THREADS: Panel = panel!(Lines Count, "Threads of thread pools", "Now, and the most that there were", r#"
    {{name}}: sum by (name) (crate_threadpools{property="poolSize",@own})
    {{name}}, at most: sum by (name) (crate_threadpools{property="largestPoolSize",@own})
    "#);
const COMPLETED: Panel = panel!(Lines PerSecond, "Completed by thread pools", "By thread pool",
    r#"{{name}}: sum by (name) (rate(crate_threadpools{property="completed",@own}[$__rate_interval]))"#);
const REJECTIONS: Panel = panel!(Lines PerSecond, "Rejected by thread pools", "By thread pool; what a pool of writes or searches rejects, a client sees",
    r#"{{name}}: sum by (name) (rate(crate_threadpools{property="rejected",@own}[$__rate_interval]))"#);
const SHARDS: Panel = panel!(Lines Count, "Shards", "Primaries, replicas, both, and those without a node",
    r#"{{property}}: sum by (property) (crate_node{name="shard_stats",@own})"#);
const TABLE_SIZES: Panel = panel!(Lines Bytes, "Sizes of tables", "Sum of the shards of each table, without the schema of CrateDB's own admin page",
    r#"{{table}}: sum by (table) (crate_node{name="shard_info",property="size",schema!="gc",@own})"#);
const SHARD_SIZES: Panel = panel!(Lines Bytes, "Shard sizes", "Sum of the shards of each table on each node: nodes that hold more have more to do",
    r#"{{@by}}, {{table}}: sum by (@by, table) (crate_node{name="shard_info",property="size",schema!="gc",@own})"#);
const CONNECTIONS: Panel = panel!(Lines Count, "Open connections", "By protocol",
    r#"{{protocol}}: sum by (protocol) (crate_connections{property="open",@own})"#);
const READY: Panel = panel!(Figure Count, "Nodes that are ready", "By CrateDB's own exporter",
    "nodes: sum(crate_ready{@own})");

/// Beside cAdvisor: one series for each pod.
pub(super) static ON_KUBERNETES: Dashboard = Dashboard {
    name: "cratedb-kubernetes",
    title: "CrateDB cluster on Kubernetes",
    about: "CrateDB's JMX exporter and cAdvisor. CPU around 90% is well used; rejected writes must stay 0; writes to \
            disk that fall to a constant show a credit that ran out. The labels `namespace` and `pod` of CrateDB's own \
            series are those that Prometheus' operator adds; a cluster is what one of its jobs scrapes.",
    from: "now-15m",
    choices: &[
        Choice::of(
            "namespace",
            "label_values(container_cpu_usage_seconds_total{container=\"crate\"}, namespace)",
        ),
        Choice::of("cluster", "label_values(crate_ready{namespace=~\"$namespace\"}, job)"),
        Choice::listed(
            "pod",
            "label_values(crate_ready{namespace=~\"$namespace\",job=~\"$cluster\"}, pod)",
        ),
    ],
    stands_for: &[
        ("@own", r#"namespace=~"$namespace",job=~"$cluster",pod=~"$pod""#),
        ("@crate", r#"container="crate",namespace=~"$namespace",pod=~"$pod""#),
        ("@pod", r#"namespace=~"$namespace",pod=~"$pod",pod=~"crate-.*""#),
        ("@by", "pod"),
    ],
    panels: &[
        panel!(Figure Count, "Nodes", "Pods that run",
            "pods: count(count by (pod) (container_cpu_usage_seconds_total{@crate}))"),
        READY,
        QUERIES,
        DURATION,
        panel!(Lines Share, "CPU per pod", "Part of the pod's own limit",
            "{{pod}}: sum by (pod) (rate(container_cpu_usage_seconds_total{@crate}[$__rate_interval])) / sum by (pod) (container_spec_cpu_quota{@crate} / container_spec_cpu_period{@crate})"),
        panel!(Lines Count, "CPU cores", "Cores in use, of each pod and all", r"
            {{pod}}: sum by (pod) (rate(container_cpu_usage_seconds_total{@crate}[$__rate_interval]))
            all: sum(rate(container_cpu_usage_seconds_total{@crate}[$__rate_interval]))
            "),
        panel!(Lines Bytes, "Memory", "Of each pod and all", r"
            {{pod}}: sum by (pod) (container_memory_usage_bytes{@crate})
            all: sum(container_memory_usage_bytes{@crate})
            "),
        REJECTED,
        ACTIVE,
        QUEUES,
        THREADS,
        COMPLETED,
        REJECTIONS,
        SHARDS,
        TABLE_SIZES,
        SHARD_SIZES,
        panel!(Lines BytesPerSecond, "File system", "Bytes read and written, of each pod", r"
            {{pod}}, read: sum by (pod) (rate(container_fs_reads_bytes_total{@crate}[$__rate_interval]))
            {{pod}}, written: sum by (pod) (rate(container_fs_writes_bytes_total{@crate}[$__rate_interval]))
            "),
        panel!(Lines BytesPerSecond, "Network", "Bytes received and sent, of each pod and all", r"
            {{pod}}, received: sum by (pod) (rate(container_network_receive_bytes_total{@pod}[$__rate_interval]))
            {{pod}}, sent: sum by (pod) (rate(container_network_transmit_bytes_total{@pod}[$__rate_interval]))
            all, received: sum(rate(container_network_receive_bytes_total{@pod}[$__rate_interval]))
            all, sent: sum(rate(container_network_transmit_bytes_total{@pod}[$__rate_interval]))
            "),
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
            must stay 0; writes to disk that fall to a constant show a credit that ran out. A cluster is what one job \
            of Prometheus scrapes; `job` is that of node_exporter.",
    from: "now-15m",
    choices: &[
        Choice::of("cluster", "label_values(crate_ready, job)"),
        Choice::listed("node", "label_values(crate_ready{job=~\"$cluster\"}, instance)"),
        Choice::of("job", "label_values(node_cpu_seconds_total, job)"),
        Choice::listed("machine", "label_values(node_cpu_seconds_total{job=~\"$job\"}, instance)"),
    ],
    stands_for: &[
        ("@own", r#"job=~"$cluster",instance=~"$node""#),
        ("@machine", r#"job=~"$job",instance=~"$machine""#),
        ("@by", "instance"),
    ],
    panels: &[
        panel!(Figure Count, "Machines", "Those that report",
            "machines: count(count by (instance) (node_cpu_seconds_total{@machine}))"),
        READY,
        QUERIES,
        DURATION,
        panel!(Lines Share, "CPU", "Busy part of each machine",
            r#"{{instance}}: 1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle",@machine}[$__rate_interval]))"#),
        panel!(Lines Count, "CPU cores", "Busy cores of each machine and all", r#"
            {{instance}}: sum by (instance) (rate(node_cpu_seconds_total{mode!="idle",@machine}[$__rate_interval]))
            all: sum(rate(node_cpu_seconds_total{mode!="idle",@machine}[$__rate_interval]))
            "#),
        panel!(Lines Bytes, "Memory", "In use on each machine and all", r"
            {{instance}}: node_memory_MemTotal_bytes{@machine} - node_memory_MemAvailable_bytes{@machine}
            all: sum(node_memory_MemTotal_bytes{@machine} - node_memory_MemAvailable_bytes{@machine})
            "),
        REJECTED,
        ACTIVE,
        QUEUES,
        THREADS,
        COMPLETED,
        REJECTIONS,
        SHARDS,
        TABLE_SIZES,
        SHARD_SIZES,
        panel!(Lines BytesPerSecond, "Disks", "Bytes read and written, of each machine", r"
            {{instance}}, read: sum by (instance) (rate(node_disk_read_bytes_total{@machine}[$__rate_interval]))
            {{instance}}, written: sum by (instance) (rate(node_disk_written_bytes_total{@machine}[$__rate_interval]))
            "),
        panel!(Lines BytesPerSecond, "Network", "Bytes received and sent, of each machine and all, without loopback", r#"
            {{instance}}, received: sum by (instance) (rate(node_network_receive_bytes_total{device!="lo",@machine}[$__rate_interval]))
            {{instance}}, sent: sum by (instance) (rate(node_network_transmit_bytes_total{device!="lo",@machine}[$__rate_interval]))
            all, received: sum(rate(node_network_receive_bytes_total{device!="lo",@machine}[$__rate_interval]))
            all, sent: sum(rate(node_network_transmit_bytes_total{device!="lo",@machine}[$__rate_interval]))
            "#),
        FAILED,
        CONNECTIONS,
    ],
    samples: &[],
};
