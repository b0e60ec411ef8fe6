//! What stands at the end of the help texts.

use super::Command;

/// Below the list of commands.
pub(super) const TOP: &str = "\
Examples:
  highwater demo                                   the whole path on a simulated cluster
  highwater run                                    as fast as an embedded database goes, 10 s
  highwater run cpu $URL --rate 50k --p99 50ms     a gate: exit code 1 if it is missed
  highwater find cpu $URL --p99 50ms               the highest rate that holds 50 ms
  highwater show                                   the newest run again
  highwater size 1M --from highwater-runs          which cluster carries a million rows per second

`highwater run --help` tells the rest.";

/// Where else settings come from.
pub(super) const SETTINGS: &str = "\
Numbers take k, M and G; durations ns, us, ms, s, m and h, also combined (1h30m).

Every flag can also be set in the environment, as HIGHWATER_ and its name (HIGHWATER_RATE=50k, \
HIGHWATER_WARM_UP=5s), and in highwater.toml in the working directory, under its long name, at \
the top or in a table named after the command. The command line wins over the environment, the \
environment over the file. Lists in the environment are separated by spaces; HIGHWATER_TARGET \
also by commas.

A password in a target's URL is cut out of the process title at once; one that is asked for, or \
comes from the environment, is never there.";

const SHORT: &str = "`--help` adds examples, the environment, the file and the exit codes.";

const RUN: &str = "\
Examples:
  highwater run
      workload cpu on a fresh embedded database, closed load, 10 s
  highwater run cpu $URL -c 64 -d 60s
      as fast as 64 sessions go
  highwater run cpu $URL --rate 50k -d 5m --p99 50ms --errors 0.1%
      a gate in a pipeline: 50,000 rows/s must hold
  highwater run cpu $URL --stream insert@1k --stream dashboards@50,100,150,200 --step 5m
      ingest goes on while dashboards step up
  highwater run cpu $URL -d 1m..30m --until 'ci95<1%'
      as long as it takes to be sure
  highwater run cpu $URL --drop --shards 12 --replicas 1 --with refresh_interval=5000
      new tables of 12 shards with one replica each, and a setting of their own
  highwater run -f top.sql -f write.sql@3 $URL -c 50 --audit off
      statements of your own, on tables of your own, one to three
  highwater run kv --read-percent 0 -c 384 -d 2h URL1 … URL30
      a workload's parameters are flags too
  highwater run cpu $URL --share 2/4 --start-at 2026-11-20T18:30:00Z
      the second of four load generators";

const LOAD: &str = "\
Examples:
  highwater load sensors $URL --rows 314M
      fill the table; the same command again goes on where this one ended
  highwater load kv $URL --rows 10M --batch 1
      the keys that later reads find";

const TUNE: &str = "\
Examples:
  highwater tune cpu $URL --over batch=500..32k --over sessions=4..64
      the best batch and number of sessions, without measuring every cell of the grid
  highwater tune cpu $URL --over shards=3,9,12,18,36,54 --drop
      tables of so many shards each
  highwater tune cpu $URL --over batch=1k..32k --rate 50k --by server_cpu_per_row
      the lowest impact at an equal rate
  highwater tune cpu $URL --over rows=0,10M,100M --budget 6h
      speed against data volume
  highwater find cpu $URL --tuned RUN
      go on with what was found";

const FIND: &str = "\
Examples:
  highwater find cpu $URL --p99 50ms --budget 30m
      the highest rate of rows at which 99 % of the batches are answered within 50 ms
  highwater find cpu $URL --quick --dry-run
      what would be done, and how long it takes
  highwater find cpu $URL --stream insert@1k --stream dashboards@find --p99 2s
      the queries that 1,000 rows/s of ingest leave room for
  highwater find cpu $URL --axis sessions --p99 100ms
      the most sessions that wait no longer
  highwater find cpu $URL --min-rate 50k
      a gate: exit code 1 if the mark is below 50,000 rows/s

Without a flag the objective is: at least 99 % of the offered rate is acknowledged, nothing is \
rejected, no op fails, no backlog grows. These hold beside any objective that is given, but for \
--errors and --rejected, which take the place of theirs.";

const DEMO: &str = "\
Examples:
  highwater demo
      find the mark of a simulated cluster, see how it grows with nodes, size one; the commands \
      are shown and can be pasted";

const SHOW: &str = "\
Examples:
  highwater show
      the newest run
  highwater show 2026-11-20T18 --format csv
      one run's intervals, found by the beginning of its id
  highwater show m1/highwater-runs/a m2/highwater-runs/b
      two load generators' shares as one run";

const COMPARE: &str = "\
Examples:
  highwater run cpu $OLD --interleave $NEW --repeat 5 -d 60s
      five runs on each of two targets, in turn, and what differs
  highwater run cpu $URL --repeat 5 --variant a='./restart.sh a' --variant b='./restart.sh b'
      the same target in two configurations
  highwater compare highwater-runs/before highwater-runs/after --fail-if-worse 5%
      a gate: exit code 1 if anything is worse by a difference that matters, 3 if nobody can tell
  highwater compare r1,r2,r3 r4,r5,r6 --format markdown
      for a comment on a change";

const IMPORT: &str = "\
Examples:
  pgbench -c 4 -T 60 -l -P 1 > pgbench.out 2>&1; highwater import pgbench_log.* pgbench.out
      one run: the logs of all threads, and what was printed
  sysbench oltp_read_only --report-interval=1 --histogram=on run | tee s.out; highwater import s.out
      what sysbench prints
  k6 run --summary-export=k6.json load.js; highwater import k6.json
      a summary of k6
  highwater import latencies.hlog --unit us -o before
      a log of histograms, into a directory that `highwater compare` takes as a group";

const CHECK: &str = "\
Examples:
  highwater check $URL
      connect to each host; say version, rights, spread, disk and this machine's own ceiling
  highwater check my-workload.toml
      read a workload file and say what it would do
  highwater check sweep.csv
      read figures, and say what speaks against them";

const WORKLOADS: &str = "\
Examples:
  highwater workloads
      what there is
  highwater workloads show cpu > my-cpu.toml
      a workload's file, to be changed
  highwater workloads new my.toml
      a commented file to begin with";

/// The end of a command's short help, and its examples.
pub(super) const fn of(command: Command) -> (&'static str, &'static str) {
    match command {
        Command::Demo => (SHORT, DEMO),
        Command::Run => (SHORT, RUN),
        Command::Load => (SHORT, LOAD),
        Command::Find => (SHORT, FIND),
        Command::Tune => (SHORT, TUNE),
        Command::Show => (SHORT, SHOW),
        Command::Compare => (SHORT, COMPARE),
        // Databases are named in its text, which therefore is no code.
        Command::Size => (SHORT, include_str!("examples_size.txt").trim_ascii_end()),
        Command::Table => (SHORT, include_str!("examples_table.txt").trim_ascii_end()),
        Command::Check => (SHORT, CHECK),
        Command::Import => (SHORT, IMPORT),
        Command::Workloads => (SHORT, WORKLOADS),
    }
}
