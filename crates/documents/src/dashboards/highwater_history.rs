//! Runs over weeks: what `highwater serve --metrics-listen` says of its store, as often as it was scraped.

use super::dashboard::{Choice, Dashboard, panel};

pub(super) static DASHBOARD: Dashboard = Dashboard {
    name: "highwater-history",
    title: "Highwater history",
    about: "The newest answer to each question in a store, by `highwater serve --metrics-listen`. Prometheus knows it from \
            its first scrape on, and a run that was followed by another one between two scrapes is not seen: the page of \
            `highwater serve` has every run.",
    from: "now-30d",
    choices: &[
        Choice::of("instance", "label_values(highwater_stored_runs, instance)"),
        Choice::of("workload", "label_values(highwater_stored_runs, workload)"),
        Choice::of("target", "label_values(highwater_stored_runs, target)"),
    ],
    stands_for: &[],
    panels: &[
        panel!(Figure Count, "Runs", "In the store, by kind; those that go on are not counted",
            r#"{{kind}}: sum by (kind) (highwater_stored_runs{instance=~"$instance",workload=~"$workload",target=~"$target"})"#),
        panel!(Figure Seconds, "Since the newest run", "Since it began",
            r#"since it began: time() - max(highwater_stored_started_timestamp_seconds{instance=~"$instance",workload=~"$workload",target=~"$target"})"#),
        panel!(Figure Share, "Questions with a valid measurement", "Share of the newest runs whose figures are the target's, and not the load generator's",
            r#"valid: avg(highwater_stored_measurement_valid{instance=~"$instance",workload=~"$workload",target=~"$target"})"#),
        panel!(Figure Share, "Questions with a met objective", "Share of the newest runs that had an objective",
            r#"met: avg(highwater_stored_objective_met{instance=~"$instance",workload=~"$workload",target=~"$target"})"#),
        panel!(Lines PerSecond, "Throughput of runs", "Answer of the newest run in units per second, with the bounds of its interval: a change within them is \
             noise. Settings may differ: compare the runs before you conclude anything", r#"
            {{workload}} on {{target}}, {{unit}}: highwater_stored_answer{kind="run",instance=~"$instance",workload=~"$workload",target=~"$target"}
            {{workload}} on {{target}}, at least: highwater_stored_answer_low{kind="run",instance=~"$instance",workload=~"$workload",target=~"$target"}
            {{workload}} on {{target}}, at most: highwater_stored_answer_high{kind="run",instance=~"$instance",workload=~"$workload",target=~"$target"}
            "#),
        panel!(Lines Count, "Marks of searches", "The highest rate that the target sustained in the newest search: units per second, or sessions",
            r#"{{workload}} on {{target}}, {{unit}}: highwater_stored_answer{kind="find",instance=~"$instance",workload=~"$workload",target=~"$target"}"#),
        panel!(Lines PerSecond, "Best of tunings and largest sizes of growths", "Units per second of the newest one",
            r#"{{kind}}, {{workload}} on {{target}}: highwater_stored_answer{kind=~"tune|scale",instance=~"$instance",workload=~"$workload",target=~"$target"}"#),
        panel!(Lines Count, "Stored runs", "A step is a run that ended, or was removed",
            r#"{{kind}}, {{workload}} on {{target}}: highwater_stored_runs{instance=~"$instance",workload=~"$workload",target=~"$target"}"#),
        panel!(Lines PerSecond, "Rows acknowledged while runs were scraped", "By runs with --metrics-listen, as they went on; by the machine that they ran on",
            "{{instance}}: sum by (instance) (rate(highwater_rows_acknowledged_total[$__rate_interval]))"),
    ],
    samples: &[r#"
        highwater_stored_runs{instance="a",kind="run",workload="cpu",target="t",unit="rows"} 1+1x10
        highwater_stored_started_timestamp_seconds{instance="a",kind="run",workload="cpu",target="t",unit="rows"} 1x10
        highwater_stored_measurement_valid{instance="a",kind="run",workload="cpu",target="t",unit="rows"} 1x10
        highwater_stored_objective_met{instance="a",kind="run",workload="cpu",target="t",unit="rows"} 1x10
        highwater_stored_answer{instance="a",kind="run",workload="cpu",target="t",unit="rows"} 100x10
        highwater_stored_answer_low{instance="a",kind="run",workload="cpu",target="t",unit="rows"} 90x10
        highwater_stored_answer_high{instance="a",kind="run",workload="cpu",target="t",unit="rows"} 110x10
        highwater_stored_answer{instance="a",kind="find",workload="cpu",target="t",unit="rows"} 80x10
        highwater_stored_answer{instance="a",kind="tune",workload="cpu",target="t",unit="rows"} 120x10
        highwater_rows_acknowledged_total{instance="b",stream="insert"} 0+1500x10
        "#],
};
