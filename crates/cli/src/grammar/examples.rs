//! The end of each help text: examples, where settings come from, and notes.

use super::command::Command;

/// Below the list of commands.
pub(super) const TOP: &str = "\
Examples:
  highwater demo                                   search, growth, and sizing in one demo
  highwater run                                    as fast as an embedded database goes, 10 s
  highwater run cpu $URL --rate 50k --p99 50ms     a gate: exit code 1 if it is missed
  highwater find cpu $URL --p99 50ms               the highest rate with p99 ≤ 50 ms
  highwater show                                   the latest run again
  highwater size 1M --from highwater-runs          the cluster for a million rows per second

`highwater run --help` describes each flag.";

/// Where else settings come from.
pub(super) const SETTINGS: &str = "\
Numbers take k, M, and G; durations ns, us, ms, s, m, and h, also combined (1h30m).

Precedence: command line, then HIGHWATER_* variables, then highwater.toml. A variable is \
HIGHWATER_ and the flag's name (HIGHWATER_RATE=50k, HIGHWATER_WARM_UP=5s); lists are separated by \
spaces, in HIGHWATER_TARGET also by commas. highwater.toml is read from the working directory. Its \
keys are the long flag names, at the top for all commands, or in a table named after one command.

Highwater removes a password in a target URL from the process title at startup. Passwords from a \
prompt or the environment never appear there.";

const SHORT: &str = "`--help` adds examples, environment variables, the file, and the exit codes.";

const RUN: &str = "\
Examples:
  highwater run
      workload cpu on a new embedded database, closed load, 10 s
  highwater run cpu $URL -c 64 -d 60s
      as fast as 64 sessions go
  highwater run cpu $URL --rate 50k -d 5m --p99 50ms --errors 0.1%
      a gate in a pipeline: the target must sustain 50,000 rows/s
  highwater run cpu $URL --stream insert@1k --stream dashboards@50,100,150,200 --step 5m
      steady ingest while the dashboards' rate rises in steps
  highwater run cpu $URL -d 1m..30m --until 'ci95<1%'
      until the throughput is known to 1%
  highwater run cpu $URL --drop --shards 12 --replicas 1 --with refresh_interval=5000
      new tables with 12 shards, one replica of each, and one more setting
  highwater run -f top.sql -f write.sql@3 $URL -c 50 --audit off
      your own statements on your own tables, mixed one to three
  highwater run kv --read-percent 0 -c 384 -d 2h URL1 … URL30
      workload parameters are flags too
  highwater run cpu $URL --share 2/4 --start-at 2026-11-20T18:30:00Z
      the second of four load generators";

const LOAD: &str = "\
Examples:
  highwater load sensors $URL --rows 314M
      fill the table; run the same command again to continue after an interruption
  highwater load kv $URL --rows 10M --batch 1
      the keys that later reads look up";

const TUNE: &str = "\
Examples:
  highwater tune cpu $URL --over batch=500..32k --over sessions=4..64
      the best batch size and number of sessions, without measuring every configuration
  highwater tune cpu $URL --over shards=3,9,12,18,36,54 --drop
      a new table for each number of shards
  highwater tune cpu $URL --over batch=1k..32k --rate 50k --by server_cpu_per_row
      the lowest server CPU at an equal rate
  highwater tune cpu $URL --over rows=0,10M,100M --budget 6h
      throughput against data volume
  highwater find cpu $URL --tuned RUN
      use the best configuration in a search";

const FIND: &str = "\
Examples:
  highwater find cpu $URL --p99 50ms --budget 30m
      the highest rate of rows at which 99% of the batches take at most 50 ms
  highwater find cpu $URL --quick --dry-run
      the planned probes and their duration
  highwater find cpu $URL --stream insert@1k --stream dashboards@find --p99 2s
      the highest rate of queries during 1,000 rows/s of ingest
  highwater find cpu $URL --axis sessions --p99 100ms
      the highest number of sessions within the objective
  highwater find cpu $URL --min-rate 50k
      a gate: exit code 1 if the mark is below 50,000 rows/s

Default objective: at least 99% of the offered rate is acknowledged, no op is rejected, no op \
fails, and no backlog grows. Objectives you set are added to it; --errors and --rejected replace \
the default limits on failed and rejected ops.";

const DEMO: &str = "\
Examples:
  highwater demo
      find the mark of a simulated cluster, measure its growth with nodes, and size one; each step \
      prints its command";

const SHOW: &str = "\
Examples:
  highwater show
      the latest run
  highwater show 2026-11-20T18 --format csv
      the intervals of one run, named by a prefix of its ID
  highwater show m1/highwater-runs/a m2/highwater-runs/b
      two load generators' shares merged into one run";

const AUDIT: &str = "\
Examples:
  highwater audit
      the latest run again, from the ledger in its directory: after a power failure, a failover, or
      a restored backup
  highwater audit 2026-11-20T18 $URL
      a run whose process was killed, on the database's new address";

const COMPARE: &str = "\
Examples:
  highwater run cpu $OLD --interleave $NEW --repeat 5 -d 60s
      five runs on each of two targets, alternating, and their comparison
  highwater run cpu $URL --repeat 5 --variant a='./restart.sh a' --variant b='./restart.sh b'
      one target in two configurations
  highwater compare highwater-runs/before highwater-runs/after --fail-if-worse 5%
      a gate: exit code 1 if anything is worse by 5% or more, 3 if no verdict is possible
  highwater compare r1,r2,r3 r4,r5,r6 --format markdown
      a comment for a pull request";

const IMPORT: &str = "\
Examples:
  pgbench -c 4 -T 60 -l -P 1 > pgbench.out 2>&1; highwater import pgbench_log.* pgbench.out
      one run: the logs of all threads, and the printed output
  sysbench oltp_read_only --report-interval=1 --histogram=on run | tee s.out; highwater import s.out
      sysbench's printed output
  k6 run --summary-export=k6.json load.js; highwater import k6.json
      a k6 summary
  highwater import latencies.hlog --unit us -o before
      a histogram log, stored in a directory that `highwater compare` can use as a group";

const CHECK: &str = "\
Examples:
  highwater check $URL
      connect to each host; print version, privileges, session spread, disk space, and the load
      generator's ceiling
  highwater check my-workload.toml
      read a workload file and describe it
  highwater check sweep.csv
      read figures, and report any that are implausible";

const WORKLOADS: &str = "\
Examples:
  highwater workloads
      list the built-in workloads
  highwater workloads show cpu > my-cpu.toml
      copy a workload's file to change it
  highwater workloads new my.toml
      write a commented file as a starting point";

/// The end of a command's short help, and its examples.
pub(super) const fn of(command: Command) -> (&'static str, &'static str) {
    match command {
        Command::Demo => (SHORT, DEMO),
        Command::Run => (SHORT, RUN),
        Command::Load => (SHORT, LOAD),
        Command::Find => (SHORT, FIND),
        Command::Tune => (SHORT, TUNE),
        Command::Show => (SHORT, SHOW),
        Command::Audit => (SHORT, AUDIT),
        Command::Compare => (SHORT, COMPARE),
        // These texts name databases, so they are files and not code.
        Command::Size => (SHORT, include_str!("examples_size.txt").trim_ascii_end()),
        Command::Table => (SHORT, include_str!("examples_table.txt").trim_ascii_end()),
        Command::Check => (SHORT, CHECK),
        Command::Import => (SHORT, IMPORT),
        Command::Workloads => (SHORT, WORKLOADS),
    }
}
