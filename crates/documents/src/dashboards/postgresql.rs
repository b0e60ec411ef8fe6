//! A PostgreSQL server under load, by the metrics of postgres_exporter, whose names are those that it served when it
//! was recorded.

use super::dashboard::{Choice, Dashboard, panel};

pub(super) static DASHBOARD: Dashboard = Dashboard {
    name: "postgresql",
    title: "PostgreSQL server",
    about: "postgres_exporter. Sessions that wait for locks and checkpoints that are requested, not timed, are the \
            usual reasons why a server is no faster while its CPU is idle.",
    from: "now-15m",
    choices: &[Choice::of("instance", "label_values(pg_stat_database_xact_commit, instance)")],
    stands_for: &[],
    panels: &[
        panel!(Lines PerSecond, "Transactions", "Committed and rolled back", r#"
            {{instance}}, committed: sum by (instance) (rate(pg_stat_database_xact_commit{instance=~"$instance"}[$__rate_interval]))
            {{instance}}, rolled back: sum by (instance) (rate(pg_stat_database_xact_rollback{instance=~"$instance"}[$__rate_interval]))
            "#),
        panel!(Lines PerSecond, "Rows", "Inserted, updated, and returned to readers", r#"
            {{instance}}, inserted: sum by (instance) (rate(pg_stat_database_tup_inserted{instance=~"$instance"}[$__rate_interval]))
            {{instance}}, updated: sum by (instance) (rate(pg_stat_database_tup_updated{instance=~"$instance"}[$__rate_interval]))
            {{instance}}, fetched: sum by (instance) (rate(pg_stat_database_tup_fetched{instance=~"$instance"}[$__rate_interval]))
            "#),
        panel!(Lines Count, "Sessions", "By state",
            r#"{{state}}: sum by (state) (pg_stat_activity_count{instance=~"$instance"})"#),
        panel!(Lines Count, "Locks", "Held, by mode",
            r#"{{mode}}: sum by (mode) (pg_locks_count{instance=~"$instance"})"#),
        panel!(Lines PerSecond, "Checkpoints", "Timed, and requested because too much was written", r#"
            {{instance}}, timed: rate(pg_stat_bgwriter_checkpoints_timed_total{instance=~"$instance"}[$__rate_interval])
            {{instance}}, requested: rate(pg_stat_bgwriter_checkpoints_req_total{instance=~"$instance"}[$__rate_interval])
            "#),
        panel!(Lines Share, "Blocks from disk", "Share of the blocks that were not in shared buffers",
            r#"{{instance}}: sum by (instance) (rate(pg_stat_database_blks_read{instance=~"$instance"}[$__rate_interval])) / (sum by (instance) (rate(pg_stat_database_blks_read{instance=~"$instance"}[$__rate_interval])) + sum by (instance) (rate(pg_stat_database_blks_hit{instance=~"$instance"}[$__rate_interval])))"#),
        panel!(Lines PerSecond, "Deadlocks", "Found by the server",
            r#"{{instance}}: sum by (instance) (rate(pg_stat_database_deadlocks{instance=~"$instance"}[$__rate_interval]))"#),
        panel!(Lines Bytes, "Size of databases", "On disk",
            r#"{{datname}}: sum by (datname) (pg_database_size_bytes{instance=~"$instance"})"#),
    ],
    samples: &[],
};
