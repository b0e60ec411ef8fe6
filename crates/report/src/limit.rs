//! The limit in words: one line for text, page, and Markdown.
//!
//! Must not decide what limited a run.

use highwater_model::display::{bytes, count, foreign, percent, percent_whole, plain};
use highwater_model::limit::LimitFigure::{
    Busy, BusyAtEnd, BytesPerS, CreditLeft, DelayedInserts, OfCeiling, OfLoadGenerator, OfServer,
    Offered, OthersBusy, Overload, Parts, Paused, QuotaCores, RejectedOps, RejectedPerS, RowsPerOp,
    Sessions, SpeedBytesPerS, StallsPerS, Throttled, Waiting,
};
use highwater_model::limit::{Evidence, Limit, LimitFigure, LimitingResource, Resource};
use highwater_model::numbers::round_to_u64;
use highwater_model::target_telemetry::sources;

use crate::layout::{Remark, list};

/// Maximum characters of a node's name.
const WORDS: usize = 60;
/// Maximum characters of a program's name.
const PROGRAM: usize = 20;
/// A part of a host's CPU time below this is not worth a word.
const SMALL_PART: f64 = 0.005;
/// Maximum characters of a short limit.
const SHORT: usize = 26;

/// `limited by` and the resource with the runner-up, or `limit` and why it was not identified.
pub(crate) fn line(limit: &Limit) -> (&'static str, String) {
    match &limit.by {
        Some(by) => {
            let next = limit.next.as_ref();
            let next = next.map_or_else(String::new, |next| format!(" (next: {})", resource(next)));
            ("limited by", format!("{}{next}", resource(by)))
        }
        None => ("limit", format!("not identified: {}", why_not(limit))),
    }
}

/// The same as a remark.
pub(crate) fn remark(limit: &Limit) -> Remark {
    let (label, sentence) = line(limit);
    Remark::new(label, sentence)
}

/// The resource alone, for a table row; empty if it was not identified.
pub(crate) fn named(limit: &Limit) -> String {
    limit.by.as_ref().map_or_else(String::new, resource)
}

/// The resource and its place, short and without figures: `CPU of node 2`.
pub(crate) fn short(limit: &Limit) -> String {
    let Some(of) = &limit.by else {
        return "not identified".to_owned();
    };
    let name = match of.resource {
        Resource::Cpu => format!("CPU {}", place(of, "node")),
        Resource::HotNode => format!("hot node {}", node(of)),
        Resource::Disk => format!("disk {}", disk_place(of)),
        Resource::Network => format!("network {}", node(of)),
        Resource::Locks => "locks".to_owned(),
        Resource::WritePool => "write pool".to_owned(),
        Resource::LoadGenerator => "load generator".to_owned(),
        Resource::Sessions => "too few sessions".to_owned(),
        Resource::Batch => "small batches".to_owned(),
        Resource::Parts => "too many parts".to_owned(),
        Resource::Replication => "replication".to_owned(),
        Resource::Compaction => "compaction".to_owned(),
        Resource::WriteStalls => "write stalls".to_owned(),
        Resource::AdmissionControl => "admission control".to_owned(),
    };
    foreign(&name, SHORT)
}

fn why_not(limit: &Limit) -> String {
    let unseen: Vec<&str> = limit.unseen.iter().map(|of| unseen(*of)).collect();
    let why = match unseen.as_slice() {
        [] => "no resource near its limit".to_owned(),
        [one] => format!("telemetry does not cover {one}"),
        [first @ .., last] => format!("telemetry does not cover {} or {last}", first.join(", ")),
    };
    match &limit.next {
        Some(nearest) => format!("{why} (nearest: {})", resource(nearest)),
        None => why,
    }
}

const fn unseen(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "all CPUs",
        Resource::Disk => "disks",
        _ => "queues and locks",
    }
}

/// `CPU of node 2, 97%`.
fn resource(of: &LimitingResource) -> String {
    let cpu = || format!("CPU {}{}{}{}", place(of, "node"), busy(of), quota(of), by_program(of));
    match of.resource {
        Resource::Cpu => cpu(),
        Resource::HotNode => {
            let others = of.value(OthersBusy).map_or_else(String::new, |others| {
                format!(", {} on the others", percent_whole(others))
            });
            format!("one hot node: {}{others}", cpu())
        }
        Resource::Disk => disk(of),
        Resource::Network => format!(
            "network {}, {}/s of {}/s",
            node(of),
            figure_bytes(of, BytesPerS),
            figure_bytes(of, SpeedBytesPerS)
        ),
        Resource::Locks => format!(
            "locks, for which {} of {} sessions wait",
            shown(of, Waiting),
            shown(of, Sessions)
        ),
        Resource::WritePool => pool(of),
        Resource::LoadGenerator => format!("the load generator, {}", load_generator(of)),
        Resource::Sessions => load(of, "too few sessions", Sessions, ""),
        Resource::Batch => load(of, "small batches", RowsPerOp, " rows"),
        Resource::Parts => {
            let parts =
                of.value(Parts).map(|parts| format!("{} in the fullest partition", plain(parts)));
            let delayed = of.value(DelayedInserts).filter(|delayed| *delayed > 0.0);
            let delayed = delayed.map(|delayed| format!("{} inserts held up", plain(delayed)));
            let figures = list(parts.into_iter().chain(delayed), ", ");
            format!("too many parts: {figures}")
        }
        Resource::Replication => format!(
            "replication, paused for {} of the time",
            of.value(Paused).map_or_else(String::new, percent_whole)
        ),
        Resource::Compaction => format!(
            "compaction {}, at {} times its overload threshold",
            place(of, "store"),
            shown(of, Overload)
        ),
        Resource::WriteStalls => {
            format!("write stalls {}, {} per second", place(of, "store"), shown(of, StallsPerS))
        }
        Resource::AdmissionControl => {
            format!("admission control, which holds back {} tasks", shown(of, Waiting))
        }
    }
}

/// A host's disks are named.
fn disk_place(of: &LimitingResource) -> String {
    match (of.source.as_deref(), &of.node) {
        (Some(sources::HOST), Some(_)) => node(of),
        _ => place(of, "node"),
    }
}

fn disk(of: &LimitingResource) -> String {
    let place = disk_place(of);
    let waiting = of.value(Waiting);
    let waiting = waiting.map(|waiting| format!(", {} sessions wait for it", plain(waiting)));
    let at_end = of.value(BusyAtEnd);
    let at_end = at_end.map(|busy| format!(", {} in the last third", percent_whole(busy)));
    let credit = of.value(CreditLeft).map(|_| ", its burst credit used up".to_owned());
    let more: String = [at_end, credit, waiting].into_iter().flatten().collect();
    format!("disk {place}{}{more}", busy(of))
}

fn pool(of: &LimitingResource) -> String {
    let rejected = of.value(RejectedOps).filter(|part| *part > 0.0);
    let inside = of.value(RejectedPerS).filter(|per_s| *per_s > 0.0);
    match (rejected, inside) {
        (Some(part), _) => format!("the write pool, which rejected {} of the ops", percent(part)),
        (None, Some(per_s)) => {
            format!("the write pool, which rejected {} tasks per second", plain(per_s))
        }
        (None, None) => {
            format!(
                "the write pool, in which {} tasks wait although CPU is free",
                shown(of, Waiting)
            )
        }
    }
}

fn load_generator(of: &LimitingResource) -> String {
    let Some(Evidence { figure, value }) = of.evidence.first() else {
        return String::new();
    };
    match figure {
        OfCeiling => format!("at {} of its ceiling", percent_whole(*value)),
        Offered => format!("which offered {} of the planned load", percent(*value)),
        _ => format!("CPU {}", percent_whole(*value)),
    }
}

/// `too few sessions: 4, while the target's busiest CPU is at 31%`.
fn load(of: &LimitingResource, what: &str, figure: LimitFigure, unit: &str) -> String {
    format!(
        "{what}: {}{unit}, while the target's busiest CPU is at {}",
        shown(of, figure),
        of.value(Busy).map_or_else(String::new, percent_whole)
    )
}

fn busy(of: &LimitingResource) -> String {
    of.value(Busy).map_or_else(String::new, |busy| format!(", {}", percent_whole(busy)))
}

/// `: 46% PROGRAM, 38% Highwater, 16% other programs`.
fn by_program(of: &LimitingResource) -> String {
    let (server, client) = (of.value(OfServer), of.value(OfLoadGenerator));
    let Some(client) = client else {
        return String::new();
    };
    let rest = of.value(Busy).unwrap_or(0.0) - client - server.unwrap_or(0.0);
    let program = of.program.as_deref();
    let program =
        program.map_or_else(|| "the database".to_owned(), |program| foreign(program, PROGRAM));
    // A user may see the processes of others, but not which of them listens where.
    let others = match server {
        Some(_) => "other programs",
        None => "the database and other programs, which cannot be separated",
    };
    let parts = [(server.unwrap_or(0.0), program.as_str()), (client, "Highwater"), (rest, others)];
    let parts = parts.iter().filter(|(part, _)| *part >= SMALL_PART);
    let parts = parts.map(|(part, name)| format!("{} {name}", percent_whole(*part)));
    format!(": {}", list(parts, ", "))
}

/// ` of its quota of 0.3 cores, which was used up 96% of the time`.
fn quota(of: &LimitingResource) -> String {
    let Some(cores) = of.value(QuotaCores) else {
        return String::new();
    };
    let plural = if (cores - 1.0).abs() < f64::EPSILON { "" } else { "s" };
    let throttled = of.value(Throttled).map_or_else(String::new, |part| {
        format!(", which was used up {} of the time", percent_whole(part))
    });
    format!(" of its quota of {} core{plural}{throttled}", plain(cores))
}

/// `of node 2`, `of the host`, `of the target`.
fn place(of: &LimitingResource, kind: &str) -> String {
    match (of.source.as_deref(), &of.node) {
        (_, Some(_)) => format!("of {kind} {}", node(of)),
        (Some(sources::HOST), None) => "of the host".to_owned(),
        (Some(sources::TARGET) | None, None) => "of the target".to_owned(),
        (Some(endpoint), None) => format!("of {}", foreign(endpoint, WORDS)),
    }
}

fn node(of: &LimitingResource) -> String {
    foreign(of.node.as_deref().unwrap_or("of the target"), WORDS)
}

fn shown(of: &LimitingResource, figure: LimitFigure) -> String {
    match of.value(figure) {
        Some(value) if value >= 1_000.0 => count(round_to_u64(value)),
        Some(value) => plain(value),
        None => String::new(),
    }
}

fn figure_bytes(of: &LimitingResource, figure: LimitFigure) -> String {
    bytes(round_to_u64(of.value(figure).unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::limit::SaturationSign;

    fn limiting(
        resource: Resource,
        place: (&str, &str),
        figures: &[(LimitFigure, f64)],
    ) -> LimitingResource {
        let word = |word: &str| (!word.is_empty()).then(|| word.to_owned());
        let evidence = figures.iter().copied().map(|(figure, value)| Evidence { figure, value });
        LimitingResource {
            resource,
            source: word(place.0),
            node: word(place.1),
            program: None,
            evidence: evidence.collect(),
        }
    }

    fn limit(by: Option<LimitingResource>, next: Option<LimitingResource>) -> Limit {
        Limit {
            phase: "measure".to_owned(),
            saturation: SaturationSign::ClosedLoad,
            by,
            next,
            unseen: Vec::new(),
        }
    }

    #[test]
    fn the_limit_and_the_runner_up_are_one_line() {
        let cpu = limiting(Resource::Cpu, ("target", "2"), &[(Busy, 0.97), (Waiting, 8.0)]);
        let disk = limiting(Resource::Disk, ("target", "1"), &[(Busy, 0.71)]);
        let both = limit(Some(cpu.clone()), Some(disk));
        let said = "CPU of node 2, 97% (next: disk of node 1, 71%)";
        assert_eq!(line(&both), ("limited by", said.to_owned()));
        let alone = limit(Some(cpu.clone()), None);
        assert_eq!(line(&alone).1, "CPU of node 2, 97%");
        let nearest = limit(None, Some(cpu));
        let said = "not identified: no resource near its limit (nearest: CPU of node 2, 97%)";
        assert_eq!(line(&nearest), ("limit", said.to_owned()));
    }

    #[test]
    fn a_few_words_name_the_resource_and_where_it_is() {
        let short =
            |resource, place| short(&limit(Some(limiting(resource, place, &[(Busy, 0.97)])), None));
        let node = ("target", "2");
        let long = ("target", "a-node-with-a-very-long-name");
        let words = [
            short(Resource::Cpu, node),
            short(Resource::Cpu, ("host", "")),
            short(Resource::HotNode, node),
            short(Resource::Disk, ("host", "nvme0n1")),
            short(Resource::Network, ("host", "eth0")),
            short(Resource::LoadGenerator, ("", "")),
            super::short(&limit(None, None)),
        ];
        let expected = "CPU of node 2, CPU of the host, hot node 2, disk nvme0n1, network eth0, \
                        load generator, not identified";
        assert_eq!(words.join(", "), expected);
        let cut = short(Resource::Cpu, long).chars().count();
        assert!(cut <= SHORT + 1, "{cut}");
    }

    #[test]
    fn missing_telemetry_is_reported() {
        let unseen = |unseen: &[Resource]| {
            let mut limit = limit(None, None);
            limit.unseen = unseen.to_vec();
            line(&limit).1
        };
        let all = [Resource::Cpu, Resource::Disk, Resource::WritePool];
        assert_eq!(
            unseen(&all),
            "not identified: telemetry does not cover all CPUs, disks or queues and locks"
        );
        assert_eq!(unseen(&all[1..2]), "not identified: telemetry does not cover disks");
    }

    /// Checks the text for a resource with these figures.
    fn says(resource: Resource, place: (&str, &str), figures: &[(LimitFigure, f64)]) -> String {
        line(&limit(Some(limiting(resource, place, figures)), None)).1
    }

    const ENDPOINT: &str = "http://a:8080/_status/vars";

    #[test]
    fn each_resource_is_named_with_its_place_and_its_figures() {
        let node = |resource, figures: &[_]| says(resource, ("target", "2"), figures);
        let all = |resource, figures: &[_]| says(resource, ("", ""), figures);
        let store = |resource, figures: &[_]| says(resource, (ENDPOINT, "1"), figures);
        let groups = ("control_groups", "2");
        let quota = [(Busy, 0.98), (QuotaCores, 1.0), (Throttled, 0.96)];
        let others = (OthersBusy, 0.41);
        let rejected = [(RejectedOps, 0.042), (RejectedPerS, 9.0)];
        let network = [(BytesPerS, 118e6), (SpeedBytesPerS, 125e6)];
        let lines = [
            says(Resource::Cpu, ("host", ""), &[(Busy, 0.991)]),
            node(Resource::HotNode, &[(Busy, 0.97), others]),
            says(Resource::Cpu, groups, &[(Busy, 0.98), (QuotaCores, 0.3)]),
            says(Resource::HotNode, groups, &[&quota[..], &[others]].concat()),
            says(Resource::Disk, ("host", "nvme0n1"), &[(Busy, 0.93)]),
            node(Resource::Disk, &[(Busy, 0.7), (BusyAtEnd, 1.0), (CreditLeft, 0.0)]),
            all(Resource::Disk, &[(Waiting, 12.0)]),
            says(Resource::Network, ("host", "eth0"), &network),
            all(Resource::Locks, &[(Waiting, 14.2), (Sessions, 16.0)]),
            node(Resource::WritePool, &rejected),
            node(Resource::WritePool, &[(RejectedOps, 0.0), rejected[1]]),
            node(Resource::WritePool, &[(Waiting, 3.2)]),
            all(Resource::AdmissionControl, &[(Waiting, 12.4)]),
            all(Resource::LoadGenerator, &[(Busy, 0.93)]),
            all(Resource::LoadGenerator, &[(OfCeiling, 0.95), (Busy, 0.5)]),
            all(Resource::Sessions, &[(Sessions, 4.0), (Busy, 0.31)]),
            all(Resource::Batch, &[(RowsPerOp, 10.0), (Busy, 0.12)]),
            all(Resource::Parts, &[(Parts, 310.0), (DelayedInserts, 4.2)]),
            node(Resource::Replication, &[(Paused, 0.31)]),
            store(Resource::Compaction, &[(Overload, 1.4)]),
            store(Resource::WriteStalls, &[(StallsPerS, 2.1)]),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        CPU of the host, 99%
        one hot node: CPU of node 2, 97%, 41% on the others
        CPU of node 2, 98% of its quota of 0.3 cores
        one hot node: CPU of node 2, 98% of its quota of 1 core, which was used up 96% of the time, 41% on the others
        disk nvme0n1, 93%
        disk of node 2, 70%, 100% in the last third, its burst credit used up
        disk of the target, 12 sessions wait for it
        network eth0, 118 MB/s of 125 MB/s
        locks, for which 14.2 of 16 sessions wait
        the write pool, which rejected 4.20% of the ops
        the write pool, which rejected 9 tasks per second
        the write pool, in which 3.2 tasks wait although CPU is free
        admission control, which holds back 12.4 tasks
        the load generator, CPU 93%
        the load generator, at 95% of its ceiling
        too few sessions: 4, while the target's busiest CPU is at 31%
        small batches: 10 rows, while the target's busiest CPU is at 12%
        too many parts: 310 in the fullest partition, 4.2 inserts held up
        replication, paused for 31% of the time
        compaction of store 1, at 1.4 times its overload threshold
        write stalls of store 1, 2.1 per second
        ");
    }

    #[test]
    fn the_cpu_of_a_host_that_is_shared_is_told_apart_by_program() {
        let program = |program: Option<&str>, parts: &[(LimitFigure, f64)]| {
            let mut cpu = limiting(Resource::Cpu, ("host", ""), &[&[(Busy, 1.0)], parts].concat());
            cpu.program = program.map(str::to_owned);
            line(&limit(Some(cpu), None)).1
        };
        let both = [(OfServer, 0.46), (OfLoadGenerator, 0.38)];
        let lines = [
            program(Some("postgres"), &both),
            program(None, &[(OfServer, 0.7), (OfLoadGenerator, 0.298)]),
            program(None, &both[1..]),
            program(Some("a\u{1b}[31m-program-with-a-very-long-name"), &both),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        CPU of the host, 100%: 46% postgres, 38% Highwater, 16% other programs
        CPU of the host, 100%: 70% the database, 30% Highwater
        CPU of the host, 100%: 38% Highwater, 62% the database and other programs, which cannot be separated
        CPU of the host, 100%: 46% a [31m-program-with-…, 38% Highwater, 16% other programs
        ");
    }

    #[test]
    fn a_nodes_name_brings_no_escape_codes() {
        let of = limiting(Resource::Cpu, ("target", "\u{1b}[31mn"), &[(Busy, 0.97)]);
        assert!(!line(&limit(Some(of), None)).1.contains('\u{1b}'));
    }
}
