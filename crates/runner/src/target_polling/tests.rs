//! Polling during a run: reports what it can, and disturbs nothing.

use std::cell::{Cell, RefCell};

use highwater_analysis::telemetry::values_of;
use highwater_driver::Listener;
use highwater_driver::clock::SimulatedTimeline;
use highwater_model::event::Event;
use highwater_model::target_telemetry::{
    POINTS_MAX, SERIES_MAX, SeriesKind, TelemetryPoint, TelemetrySeries,
};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::*;
use crate::request::Silent;

const S: u64 = 1_000_000_000;

fn sample(table: &mut Table, second: u64, readings: Vec<MetricSample>) {
    table.add(Nanos::from_secs(second), vec![Some(readings)]);
}

fn only(table: Table) -> (TargetTelemetry, TelemetrySeries) {
    let telemetry = table.finish(Nanos::ZERO, &["target"]);
    let series = telemetry.series[0].clone();
    (telemetry, series)
}

#[test]
fn counters_become_increases_and_seconds_shares() {
    let mut table = Table::default();
    for (second, ops, busy) in [(0, 100.0, 5.0), (1, 130.0, 5.25), (3, 130.0, 6.25)] {
        let readings = vec![
            MetricSample::count("ops", "1", ops),
            MetricSample::seconds("busy", busy),
            MetricSample::level("queue", "1", ops / 7.0),
        ];
        sample(&mut table, second, readings);
    }
    let telemetry = table.finish(Nanos::ZERO, &["target"]);
    let values: Vec<_> = telemetry.series.iter().map(|s| s.values.clone()).collect();
    assert_eq!(values[0], [None, Some(30.0), Some(0.0)]);
    assert_eq!(values[1], [None, Some(0.25), Some(0.5)]);
    assert_eq!(values[2], [Some(14.2857), Some(18.5714), Some(18.5714)]);
    assert_eq!(telemetry.series[1].kind, SeriesKind::Level);
    assert_eq!(telemetry.times_ns, [0, S, 3 * S]);
}

#[test]
fn a_counter_that_begins_anew_is_no_increase() {
    let mut table = Table::default();
    for (second, ops) in [(0, 100.0), (1, 3.0), (2, f64::NAN), (3, 8.0)] {
        sample(&mut table, second, vec![MetricSample::count("ops", "1", ops)]);
    }
    assert_eq!(only(table).1.values, [None, None, None, Some(5.0)]);
}

#[test]
fn a_second_sample_of_the_same_time_adds_nothing() {
    let mut table = Table::default();
    let ops = |value| MetricSample::count("ops", "1", value);
    sample(&mut table, 1, vec![ops(1.0)]);
    sample(&mut table, 1, vec![ops(2.0)]);
    // Nor does a second reading of the same name: no time has passed since the first.
    sample(&mut table, 2, vec![ops(4.0), ops(9.0)]);
    sample(&mut table, 3, vec![ops(10.0)]);
    let (telemetry, ops) = only(table);
    assert_eq!(telemetry.times_ns, [S, 2 * S, 3 * S]);
    assert_eq!(ops.values, [None, None, Some(1.0)]);
}

#[test]
fn a_node_that_comes_late_or_leaves_has_gaps_and_no_other_length() {
    let mut table = Table::default();
    let queue = |node: &str, value| MetricSample::level("queue", "1", value).on_node(node);
    sample(&mut table, 0, vec![queue("a", 1.0)]);
    sample(&mut table, 1, vec![queue("a", 2.0), queue("b", 3.0)]);
    sample(&mut table, 2, vec![queue("b", 4.0)]);
    let telemetry = table.finish(Nanos::ZERO, &["target"]);
    let values: Vec<_> = telemetry.series.iter().map(|s| s.values.clone()).collect();
    assert_eq!(values[0], [Some(1.0), Some(2.0), None]);
    assert_eq!(values[1], [None, Some(3.0), Some(4.0)]);
}

#[test]
fn a_mean_of_two_neighbors_uses_only_existing_values() {
    let mut table = Table::default();
    for second in 0..u64::try_from(POINTS_MAX).unwrap() {
        // Every other second of a pair has no reading; a counter includes it in the next one.
        let is_silent = second % 2 == 0 && second > 0;
        let number = f64::from(u32::try_from(second).unwrap());
        let said = vec![
            MetricSample::level("queue", "1", 8.0),
            MetricSample::count("ops", "1", 3.0 * number),
        ];
        sample(&mut table, second, if is_silent { Vec::new() } else { said });
    }
    assert_eq!(table.interval, Nanos::from_secs(2));
    let telemetry = table.finish(Nanos::ZERO, &["target"]);
    let [queue, ops] = telemetry.series.as_slice() else {
        panic!("{telemetry:?}");
    };
    assert!(queue.values.iter().all(|value| *value == Some(8.0)));
    let grown: f64 = ops.values.iter().flatten().sum();
    // The last even second has no reading.
    let last = f64::from(u32::try_from(POINTS_MAX - 2).unwrap());
    assert_eq!(grown.to_bits(), (3.0 * last).to_bits());
}

#[test]
fn a_long_run_keeps_sums_and_means_in_fewer_points() {
    let mut table = Table::default();
    let seconds = u64::try_from(3 * POINTS_MAX).unwrap();
    let mut second = 0;
    while second < seconds {
        let number = f64::from(u32::try_from(second).unwrap());
        let readings = vec![
            MetricSample::count("ops", "1", 2.0 * number),
            MetricSample::level("queue", "1", 7.0),
        ];
        sample(&mut table, second, readings);
        second += table.interval.0 / S;
    }
    assert_eq!(table.interval, Nanos::from_secs(4));
    let (telemetry, ops) = only(table);
    assert!(telemetry.times_ns.len() < POINTS_MAX);
    let sum: f64 = ops.values.iter().flatten().sum();
    let last = telemetry.times_ns.last().unwrap() / S;
    assert_eq!(highwater_model::numbers::to_f64(2 * last).to_bits(), sum.to_bits());
    let drawn = values_of(&telemetry, &ops);
    assert!(drawn[1..].iter().all(|rate| *rate == Some(2.0)), "{drawn:?}");
    let levels = &telemetry.series[1].values;
    assert!(levels.iter().all(|level| *level == Some(7.0)));
}

#[test]
fn series_beyond_the_bound_are_counted_and_left_out() {
    let mut table = Table::default();
    for second in 0..2 {
        let nodes = 0..SERIES_MAX + 3;
        let levels =
            nodes.map(|node| MetricSample::level("queue", "1", 1.0).on_node(node.to_string()));
        sample(&mut table, second, levels.collect());
    }
    let telemetry = table.finish(Nanos::ZERO, &["target"]);
    assert_eq!(telemetry.series.len(), SERIES_MAX);
    assert_eq!(telemetry.series_left_out, 3);
}

#[test]
fn of_very_many_series_not_even_the_names_are_kept() {
    let mut table = Table::default();
    for second in 0..2 {
        let nodes = 0..5 * SERIES_MAX;
        let levels =
            nodes.map(|node| MetricSample::level("queue", "1", 1.0).on_node(node.to_string()));
        sample(&mut table, second, levels.collect());
    }
    let telemetry = table.finish(Nanos::ZERO, &["target"]);
    // Three times the bound are recognized as dropped; the last ones are counted again each time.
    let expected = u64::try_from(3 * SERIES_MAX + 2 * SERIES_MAX).unwrap();
    assert_eq!(telemetry.series_left_out, expected);
}

/// How a reader behaves, by poll number.
#[derive(Clone, Copy)]
enum Manner {
    Answers,
    Hangs,
    FailsFrom(u32, u32),
    /// Fails at these polls.
    FailsAt(&'static [u32]),
    Takes(Nanos),
    /// Takes 10 ms, then 1 ms.
    Hastens,
    Mute,
    /// Its connection is neither made nor refused.
    NeverOpens,
}

struct Scripted {
    manner: Manner,
    polls: Rc<Cell<u32>>,
    timeline: Rc<dyn Timeline>,
}

impl TelemetryReader for Scripted {
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<MetricSample>, UserError>> {
        let number = self.polls.get();
        self.polls.set(number + 1);
        let readings = vec![MetricSample::level("queue", "1", f64::from(number))];
        Box::pin(async move {
            match self.manner {
                Manner::Hangs => std::future::pending().await,
                Manner::FailsFrom(from, to) if (from..to).contains(&number) => refused(number),
                Manner::FailsAt(numbers) if numbers.contains(&number) => refused(number),
                Manner::Takes(_) | Manner::Hastens => {
                    let time = match self.manner {
                        Manner::Takes(time) => time,
                        _ if number == 0 => Nanos::from_millis(10),
                        _ => Nanos::from_millis(1),
                    };
                    let end = self.timeline.now().saturating_add(time);
                    self.timeline.sleep_until(end).await;
                    Ok(readings)
                }
                _ => Ok(readings),
            }
        })
    }
}

fn refused(number: u32) -> Result<Vec<MetricSample>, UserError> {
    Err(UserError::new(
        UserErrorKind::Statement,
        format!("question {number} refused{}", ", and why".repeat(100)),
    ))
}

fn opener(manner: Manner, polls: Rc<Cell<u32>>) -> Opener {
    Box::new(move |timeline| {
        let polls = Rc::clone(&polls);
        let reader: Box<dyn TelemetryReader> = Box::new(Scripted { manner, polls, timeline });
        match manner {
            Manner::NeverOpens => Box::pin(std::future::pending()),
            Manner::Mute => Box::pin(std::future::ready(Ok(None))),
            _ => Box::pin(std::future::ready(Ok(Some(reader)))),
        }
    })
}

/// Polls sources during passes of these lengths in milliseconds: returns the telemetry, and the length of each pass.
fn asked_beside(
    sources: Vec<Opener>,
    observer: Rc<dyn Observer>,
    passes: Vec<u64>,
) -> Vec<(Option<TargetTelemetry>, Nanos)> {
    let time = SimulatedTimeline::new();
    let timeline: Rc<dyn Timeline> = Rc::new(time.clone());
    let mut poller = TelemetryPoller::new(Rc::clone(&timeline));
    for (number, open) in sources.into_iter().enumerate() {
        poller.add(&format!("source {number}"), open);
    }
    let said = time.block_on(async move {
        let mut said = Vec::new();
        for millis in passes {
            poller.begin().await;
            let begun = timeline.now();
            let end = timeline.sleep_until(begun.saturating_add(Nanos::from_millis(millis)));
            poller.beside(observer.as_ref(), end).await;
            said.push((poller.record(), timeline.now().saturating_sub(begun)));
        }
        said
    });
    said.unwrap()
}

/// Polls sources of these manners during a run of this many seconds: returns the telemetry, the end of the run, and the
/// number of polls per source.
fn polled_beside(manners: &[Manner], seconds: u64) -> (Option<TargetTelemetry>, Nanos, Vec<u32>) {
    let polls: Vec<Rc<Cell<u32>>> = manners.iter().map(|_| Rc::default()).collect();
    let sources =
        manners.iter().zip(&polls).map(|(manner, polls)| opener(*manner, Rc::clone(polls)));
    let mut said = asked_beside(sources.collect(), Rc::new(Silent), vec![1_000 * seconds]);
    let (telemetry, ended) = said.remove(0);
    let polls = polls.iter().map(|polls| polls.get()).collect();
    (telemetry, ended, polls)
}

#[test]
fn every_second_has_a_sample_from_before_the_first_op_on() {
    let (telemetry, ended, polls) = polled_beside(&[Manner::Answers], 3);
    let telemetry = telemetry.unwrap();
    assert_eq!(telemetry.times_ns, [0, S, 2 * S, 3 * S]);
    assert_eq!(telemetry.interval_ns, S);
    assert_eq!((ended, polls), (Nanos::from_secs(3), vec![5]));
}

/// Keeps the samples that it receives.
#[derive(Default)]
struct Watcher(RefCell<TargetTelemetry>);

impl Observer for Watcher {
    fn event(&self, _: &Event) {}

    fn telemetry(&self, point: &dyn Fn() -> TelemetryPoint) {
        self.0.borrow_mut().add(&point(), 1_000);
    }
}

#[test]
fn an_observer_sees_each_sample_as_in_the_record() {
    let watcher = Rc::new(Watcher::default());
    let source = opener(Manner::Answers, Rc::default());
    let observer = Rc::clone(&watcher) as Rc<dyn Observer>;
    let mut said = asked_beside(vec![source], observer, vec![3_500]);
    let (recorded, seen) = (said.remove(0).0.unwrap(), watcher.0.take());
    assert_eq!(seen.times_ns, [S, 2 * S, 3 * S]);
    let names = |of: &TargetTelemetry| -> Vec<String> {
        of.series.iter().map(|series| series.name.clone()).collect()
    };
    assert_eq!(names(&seen), names(&recorded));
    // The record has one sample before the first op, and one at the end.
    assert_eq!(seen.series[0].values, recorded.series[0].values[1..4]);
}

#[test]
fn a_source_without_a_response_neither_delays_a_run_nor_hides_the_others() {
    let (telemetry, ended, _) = polled_beside(&[Manner::Hangs, Manner::Answers], 20);
    let telemetry = telemetry.unwrap();
    assert!(ended <= Nanos::from_secs(21), "{ended:?}");
    let [silent, other] = telemetry.sources.as_slice() else {
        panic!("{telemetry:?}");
    };
    assert_eq!(silent.failed, silent.readings);
    assert_eq!(silent.failure.as_deref(), Some("no answer within 10 s"));
    assert_eq!(other.failed, 0);
    let said = telemetry.series[0].values.iter().flatten().count();
    assert!(said >= 15, "the other one is asked as often as can be: {said}");
}

#[test]
fn requests_pending_at_the_end_of_the_run_are_still_answered() {
    let source = opener(Manner::Takes(Nanos::from_millis(20)), Rc::default());
    let mut said = asked_beside(vec![source], Rc::new(Silent), vec![2_005]);
    let (telemetry, ended) = said.remove(0);
    let telemetry = telemetry.unwrap();
    // The sample at two seconds, without one at the end: its source rests.
    assert_eq!(ended, Nanos::from_millis(2_020));
    assert_eq!(telemetry.times_ns, [0, S, 2 * S]);
    assert_eq!(telemetry.sources[0].longest_ns, S / 50);
}

#[test]
fn a_source_that_failed_is_left_alone_for_longer_and_longer_and_tried_again() {
    let (telemetry, ended, polls) = polled_beside(&[Manner::FailsFrom(3, 6)], 20);
    let telemetry = telemetry.unwrap();
    assert_eq!(ended, Nanos::from_secs(20));
    let source = &telemetry.sources[0];
    assert_eq!(source.failed, 3);
    let reason = source.failure.as_deref().unwrap();
    assert!(reason.starts_with("question 3 refused"), "the first: {reason}");
    assert_eq!(reason.chars().count(), 200, "a bounded part of it");
    // Polled twice at 0, and at 1; failed at 2, 3 (a second later), and 5 (two later); back from 9 on.
    let times: Vec<u64> = telemetry.times_ns.iter().map(|time| time / S).collect();
    assert_eq!(times[..4], [0, 1, 9, 10]);
    assert_eq!(polls[0], 18);
}

#[test]
fn a_source_that_answered_again_is_no_longer_left_alone_for_long() {
    // Failed at 2 and 3, back from 5 on; failed once more at 7, and polled a second later.
    let (telemetry, _, _) = polled_beside(&[Manner::FailsAt(&[3, 4, 7])], 12);
    let times = telemetry.unwrap().times_ns;
    let times: Vec<u64> = times.iter().map(|time| time / S).collect();
    assert_eq!(times, [0, 1, 5, 6, 8, 9, 10, 11, 12]);
}

#[test]
fn an_unresponsive_source_is_finally_polled_twice_a_minute() {
    let (telemetry, _, polls) = polled_beside(&[Manner::FailsFrom(0, u32::MAX)], 331);
    let source = &telemetry.unwrap().sources[0];
    assert_eq!(source.readings, u64::from(polls[0]));
    // At 0, 1, 3, 7, and 15 s, then every 30 s: at 31, 61 … 331.
    assert_eq!(polls, [5 + 11]);
}

#[test]
fn a_slow_first_answer_leaves_no_gap_at_the_begin() {
    // It would rest for almost a second, but is polled once more.
    let (telemetry, _, _) = polled_beside(&[Manner::Takes(Nanos::from_millis(100))], 5);
    let telemetry = telemetry.unwrap();
    assert!(telemetry.series[0].values[0].is_some(), "{telemetry:?}");
    assert_eq!(telemetry.series[0].values[0], Some(1.0), "the second answer");
}

/// The telemetry of such a source during consecutive passes of these lengths in seconds.
fn asked_in_passes(open: Opener, seconds: &[u64]) -> Vec<Option<TargetTelemetry>> {
    let passes = seconds.iter().map(|seconds| 1_000 * seconds);
    let said = asked_beside(vec![open], Rc::new(Silent), passes.collect());
    said.into_iter().map(|(said, _)| said).collect()
}

#[test]
fn the_longest_answer_is_kept_and_each_pass_counts_anew() {
    let passes = asked_in_passes(opener(Manner::Hastens, Rc::default()), &[3, 3]);
    let passes: Vec<TargetTelemetry> = passes.into_iter().flatten().collect();
    let source = |pass: usize| &passes[pass].sources[0];
    // The first response takes 10 ms, each other one 1 ms.
    assert_eq!((source(0).longest_ns, source(1).longest_ns), (S / 100, S / 1_000));
    assert_eq!(source(0).readings, source(1).readings);
    assert_eq!(passes[1].times_ns[0], 0, "its own begin");
}

#[test]
fn a_failing_source_is_polled_again_only_at_the_end_of_each_pass() {
    // It fails at 0, 1, 3, 7, and 15 s, and at the end of each pass.
    let passes =
        asked_in_passes(opener(Manner::FailsFrom(0, u32::MAX), Rc::default()), &[20, 5, 10]);
    let failed = passes.iter().map(|pass| Some(pass.as_ref()?.sources[0].failed));
    assert_eq!(failed.collect::<Vec<_>>(), [Some(6), Some(1), Some(1)]);
}

#[test]
fn a_slow_response_is_awaited_while_other_sources_are_polled() {
    let slow = Manner::Takes(Nanos::from_secs(4));
    let (telemetry, ended, _) = polled_beside(&[slow, Manner::Answers], 30);
    let telemetry = telemetry.unwrap();
    assert!(ended <= Nanos::from_secs(31), "{ended:?}");
    let [late, other] = telemetry.sources.as_slice() else {
        panic!("{telemetry:?}");
    };
    assert_eq!((late.failed, late.longest_ns), (0, 4 * S + S / 10), "{late:?}");
    assert!(other.readings >= 27, "{other:?}");
    let of_late = telemetry.series[0].values.iter().flatten().count();
    assert!(of_late >= 1, "{telemetry:?}");
}

#[test]
fn a_connection_is_kept_until_an_answer_on_it_fails() {
    let opened = Rc::new(Cell::new(0));
    let inner = opener(Manner::FailsAt(&[4]), Rc::default());
    let counter = Rc::clone(&opened);
    let open: Opener = Box::new(move |timeline| {
        counter.set(counter.get() + 1);
        inner(timeline)
    });
    asked_in_passes(open, &[10]);
    assert_eq!(opened.get(), 2);
}

#[test]
fn a_connection_that_does_not_come_about_holds_nothing_up_either() {
    let (telemetry, ended, polls) = polled_beside(&[Manner::NeverOpens, Manner::Answers], 20);
    let telemetry = telemetry.unwrap();
    assert!(ended <= Nanos::from_secs(22), "{ended:?}");
    let [silent, other] = telemetry.sources.as_slice() else {
        panic!("{telemetry:?}");
    };
    assert_eq!(silent.failure.as_deref(), Some("no answer within 10 s"));
    assert_eq!((silent.failed, polls[0]), (silent.readings, 0));
    assert_eq!(other.failed, 0);
}

#[test]
fn asking_takes_a_tenth_of_the_time_at_most() {
    let slow = Manner::Takes(Nanos::from_millis(500));
    let (telemetry, _, polls) = polled_beside(&[slow], 60);
    let source = &telemetry.unwrap().sources[0];
    assert!(polls[0] <= 14, "{polls:?}");
    assert_eq!(source.longest_ns, S / 2);
    assert_eq!(source.reading_ns, u64::from(polls[0]) * S / 2);
}

#[test]
fn a_source_with_nothing_to_report_is_polled_once_and_not_named() {
    let (telemetry, _, polls) = polled_beside(&[Manner::Mute], 5);
    assert_eq!((telemetry, polls), (None, vec![0]));
}

#[test]
fn this_machine_reports_its_cpu_and_networks() {
    let Some(readings) = of_this_machine(&[], None) else {
        return;
    };
    for name in ["cpu_busy", "cpu_steal", "load", "memory_used"] {
        let found = readings.iter().find(|reading| reading.name == name);
        assert!(found.is_some_and(|reading| reading.value >= 0.0), "{name}");
    }
}

fn of_this_machine(
    listeners: &[Listener],
    embedded_cpu: Option<crate::kernel::EmbeddedCpu>,
) -> Option<Vec<MetricSample>> {
    let mut reader = crate::kernel::reader(listeners, embedded_cpu)?;
    SimulatedTimeline::new().block_on(async move { reader.read().await.unwrap() })
}

/// The parts of this machine's CPU: name, program, seconds of one core.
fn cpu_parts(readings: &[MetricSample]) -> Vec<(&str, Option<&str>, f64)> {
    let parts = readings.iter().filter(|reading| reading.name.starts_with("cpu_of_"));
    parts.map(|reading| (reading.name.as_ref(), reading.node.as_deref(), reading.value)).collect()
}

#[test]
fn a_server_is_told_apart_from_the_load_generator() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Listener::Port(server.local_addr().unwrap().port());
    let Some(readings) = of_this_machine(&[port], None) else {
        return;
    };
    // This test is both.
    let [("cpu_of_server", Some(program), _), ("cpu_of_load_generator", None, _)] =
        cpu_parts(&readings)[..]
    else {
        panic!("{readings:?}");
    };
    assert!(!program.is_empty());
    let alone = of_this_machine(&[], None).unwrap();
    assert_eq!(cpu_parts(&alone).len(), 1, "{alone:?}");
}

#[test]
fn the_threads_of_an_embedded_database_are_no_part_of_the_load_generator() {
    let all = of_this_machine(&[], Some(Box::new(|| Nanos::from_secs(1_000_000))));
    let Some(readings) = all else {
        return;
    };
    let [("cpu_of_server", None, server), ("cpu_of_load_generator", None, client)] =
        cpu_parts(&readings)[..]
    else {
        panic!("{readings:?}");
    };
    assert!(server > 1_000.0 && client < 1e-9, "{readings:?}");
}
