//! Reads control groups, version 1 and 2: how much of its CPU quota a node uses.
//!
//! The machine's CPU use does not show this: a node that has used up its quota waits while the machine idles. Must not
//! change a group.

use std::fs;
use std::path::PathBuf;

use highwater_driver::telemetry::names;
use highwater_driver::{BoxFuture, MetricSample, TelemetryReader};
use highwater_model::numbers::to_f64;
use highwater_model::user_error::UserError;

use highwater_driver::telemetry::LimitedNode;

/// A reader of these nodes.
pub(super) fn reader(nodes: &[LimitedNode]) -> Box<dyn TelemetryReader> {
    Box::new(ControlGroups(nodes.to_vec()))
}

struct ControlGroups(Vec<LimitedNode>);

impl TelemetryReader for ControlGroups {
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<MetricSample>, UserError>> {
        let samples = self.0.iter().flat_map(samples).collect();
        Box::pin(std::future::ready(Ok(samples)))
    }
}

/// The used fraction of a node's quota, and the fraction of time in periods that exhausted it.
fn samples(limited: &LimitedNode) -> Vec<MetricSample> {
    let used = used_s(&limited.group)
        .map(|seconds| seconds / limited.cores)
        .map(|seconds| MetricSample::seconds(names::CPU_BUSY, seconds));
    let throttled = throttled_s(&limited.group);
    let throttled = throttled.map(|seconds| MetricSample::seconds(names::CPU_THROTTLED, seconds));
    let both = used.into_iter().chain(throttled);
    both.map(|sample| sample.of(&*limited.node)).collect()
}

/// CPU seconds of a group so far.
fn used_s(group: &[PathBuf]) -> Option<f64> {
    let nanoseconds = read(group, "cpuacct.usage").and_then(|text| number(&text));
    nanoseconds.map(|used| used / 1e9).or_else(|| Some(counter(group, "usage_usec")? / 1e6))
}

/// Total seconds of periods in which a group exhausted its quota.
fn throttled_s(group: &[PathBuf]) -> Option<f64> {
    Some(counter(group, "nr_throttled")? * period_s(group)?)
}

/// The period of a quota.
fn period_s(group: &[PathBuf]) -> Option<f64> {
    let of_version_2 = || read(group, "cpu.max").and_then(|text| number(text.split(' ').nth(1)?));
    let of_version_1 = read(group, "cpu.cfs_period_us").and_then(|text| number(&text));
    of_version_1.or_else(of_version_2).map(|us| us / 1e6)
}

/// A line of `cpu.stat`, which both versions have.
fn counter(group: &[PathBuf], name: &str) -> Option<f64> {
    let mut stats =
        group.iter().filter_map(|directory| fs::read_to_string(directory.join("cpu.stat")).ok());
    stats.find_map(|text| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(known, _)| *known == name).and_then(|(_, value)| number(value))
    })
}

/// The file of that name, in whichever hierarchy has it.
fn read(group: &[PathBuf], file: &str) -> Option<String> {
    let mut directories = group.iter();
    directories.find_map(|directory| fs::read_to_string(directory.join(file)).ok())
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<u64>().ok().map(to_f64)
}

#[cfg(test)]
mod tests {
    use highwater_driver::telemetry::Measure;

    use super::*;

    /// A hierarchy with only these files.
    fn hierarchy(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn says(files: &[(&str, &str)]) -> Vec<(String, Option<String>, Measure, f64)> {
        let place = hierarchy(files);
        let directories = ["cpu", "cpuacct"].map(|of| place.path().join(of));
        let limited = LimitedNode { node: "2".to_owned(), cores: 0.5, group: directories.to_vec() };
        samples(&limited)
            .into_iter()
            .map(|sample| {
                let rounded = (sample.value * 1e9).round() / 1e9;
                (sample.name.into_owned(), sample.node, sample.measure, rounded)
            })
            .collect()
    }

    #[test]
    fn both_versions_say_how_much_of_a_quota_is_used_and_how_long_none_was_left() {
        // Four CPU seconds of half a core are eight seconds of it; 150 periods of 20 ms are three seconds.
        let node = || Some("2".to_owned());
        let expected = [
            ("cpu_busy".to_owned(), node(), Measure::Seconds, 8.0),
            ("cpu_throttled".to_owned(), node(), Measure::Seconds, 3.0),
        ];
        let version_1 = [
            ("cpuacct/cpuacct.usage", "4000000000\n"),
            ("cpu/cpu.cfs_period_us", "20000\n"),
            ("cpu/cpu.stat", "nr_periods 400\nnr_throttled 150\nthrottled_time 7\n"),
        ];
        assert_eq!(says(&version_1), expected);
        let version_2 = [
            ("cpu/cpu.max", "10000 20000\n"),
            ("cpu/cpu.stat", "usage_usec 4000000\nnr_periods 400\nnr_throttled 150\n"),
        ];
        assert_eq!(says(&version_2), expected);
        assert_eq!(says(&version_1[1..]), expected[1..], "no accounts of it");
        assert_eq!(says(&[]), [], "a group that is gone");
    }
}
