//! CPU, memory, disks, and networks of the target's machine, if that is this machine; the CPU also by who took it: the
//! target's processes and this one.
//!
//! Read from the kernel's process files; values that a file does not contain are absent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use highwater_driver::system::process_cpu;
use highwater_driver::telemetry::{LimitedNode, names, units};
use highwater_driver::{BoxFuture, Listener, MetricSample, TelemetryReader};
use highwater_model::numbers::to_f64;
use highwater_model::user_error::UserError;
use procfs::net::DeviceStatus;
use procfs::{Current, CurrentSI, DiskStat, KernelStats};

use super::linux::busy;
use super::processes::{self, Server};
use super::{EmbeddedCpu, MachineReader};

/// Bytes per sector in the kernel's counters, whatever the disk's sector size.
const SECTOR_BYTES: f64 = 512.0;
/// Devices without traffic, or whose traffic counts for another device.
const NOT_DISKS: [&str; 6] = ["loop", "ram", "zram", "dm-", "sr", "fd"];

/// A reader of this machine, on which a target with these servers runs; `None` on a system without such files.
pub(crate) fn reader(
    listeners: &[Listener],
    embedded_cpu: Option<EmbeddedCpu>,
) -> Option<MachineReader> {
    procfs::KernelStats::current().ok()?;
    Some(Box::new(Host { embedded_cpu, servers: processes::servers(listeners) }))
}

struct Host {
    embedded_cpu: Option<EmbeddedCpu>,
    servers: Vec<Server>,
}

impl TelemetryReader for Host {
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<MetricSample>, UserError>> {
        let mut readings = Vec::new();
        if let Ok(stats) = procfs::KernelStats::current() {
            readings.extend(cpu(&stats));
            readings.extend(self.cpu_by_process(cores(&stats)));
        }
        if let Ok(load) = procfs::LoadAverage::current() {
            readings.push(MetricSample::level(names::LOAD, "1", load.one.into()));
        }
        memory(&mut readings);
        disks(&mut readings);
        networks(&mut readings);
        Box::pin(std::future::ready(Ok(readings)))
    }
}

impl Host {
    /// The parts of all processors' time that the target's processes, or its threads in this process, and the load
    /// generator took.
    fn cpu_by_process(&self, cores: f64) -> Vec<MetricSample> {
        let of_all = |name, seconds: f64| MetricSample::seconds(name, seconds / cores);
        let second = to_f64(procfs::ticks_per_second());
        let mut by_program: BTreeMap<&str, u64> = BTreeMap::new();
        for server in &self.servers {
            if let Some(ticks) = server.ticks() {
                *by_program.entry(&server.program).or_default() += ticks;
            }
        }
        let embedded = self.embedded_cpu.as_ref().map(|cpu| cpu());
        let process = process_cpu().unwrap_or_default();
        let client = process.saturating_sub(embedded.unwrap_or_default());
        let in_process = embedded.map(|used| of_all(names::CPU_OF_SERVER, used.as_secs_f64()));
        let servers = by_program.into_iter().map(|(program, ticks)| {
            of_all(names::CPU_OF_SERVER, to_f64(ticks) / second).on_node(program)
        });
        let client = of_all(names::CPU_OF_LOAD_GENERATOR, client.as_secs_f64());
        in_process.into_iter().chain(servers).chain([client]).collect()
    }
}

fn cores(stats: &KernelStats) -> f64 {
    to_f64(u64::try_from(stats.cpu_time.len()).unwrap_or(1).max(1))
}

/// Fractions of all processors together; values that the kernel does not report are omitted.
fn cpu(stats: &KernelStats) -> Vec<MetricSample> {
    let total = &stats.total;
    let second = to_f64(procfs::ticks_per_second()) * cores(stats);
    let share = |name, ticks: u64| MetricSample::seconds(name, to_f64(ticks) / second);
    let reported = [
        (names::CPU_BUSY, Some(busy(total))),
        (names::CPU_STEAL, total.steal),
        (names::CPU_IOWAIT, total.iowait),
    ];
    reported.into_iter().filter_map(|(name, ticks)| Some(share(name, ticks?))).collect()
}

fn memory(readings: &mut Vec<MetricSample>) {
    let memory = procfs::Meminfo::current().ok();
    let shares = memory.and_then(|memory| Some((memory.mem_available?, memory.mem_total)));
    if let Some((available, total @ 1..)) = shares {
        let used = 1.0 - to_f64(available) / to_f64(total);
        readings.push(MetricSample::level(names::MEMORY_USED, units::SHARE, used));
    }
}

fn disks(readings: &mut Vec<MetricSample>) {
    let Ok(disks) = procfs::diskstats() else {
        return;
    };
    // A partition has no separate directory there.
    let is_whole = |name: &str| Path::new("/sys/block").join(name).exists();
    let used = disks
        .into_iter()
        .filter(|disk| disk.reads + disk.writes > 0)
        .filter(|disk| is_disk(&disk.name) && is_whole(&disk.name));
    readings.extend(used.flat_map(|disk| of_disk(&disk)));
}

fn is_disk(name: &str) -> bool {
    !NOT_DISKS.iter().any(|other| name.starts_with(other))
}

fn of_disk(disk: &DiskStat) -> [MetricSample; 3] {
    let read = to_f64(disk.sectors_read) * SECTOR_BYTES;
    let written = to_f64(disk.sectors_written) * SECTOR_BYTES;
    let busy = to_f64(disk.time_in_progress) / 1e3;
    [
        MetricSample::count(names::DISK_READ, "bytes", read),
        MetricSample::count(names::DISK_WRITTEN, "bytes", written),
        MetricSample::seconds(names::DISK_BUSY, busy),
    ]
    .map(|reading| reading.on_node(&disk.name))
}

fn networks(readings: &mut Vec<MetricSample>) {
    let Ok(devices) = procfs::net::dev_status() else {
        return;
    };
    let mut devices: Vec<_> = devices.into_values().collect();
    devices.retain(|device| device.recv_bytes + device.sent_bytes > 0);
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    readings.extend(devices.iter().flat_map(of_network));
}

fn of_network(device: &DeviceStatus) -> [MetricSample; 2] {
    let (received, sent) = (to_f64(device.recv_bytes), to_f64(device.sent_bytes));
    [
        MetricSample::count(names::NET_RECEIVED, "bytes", received),
        MetricSample::count(names::NET_SENT, "bytes", sent),
    ]
    .map(|reading| reading.on_node(&device.name))
}

/// A reader of these nodes.
pub(crate) fn quota_reader(nodes: &[LimitedNode]) -> MachineReader {
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
    both.map(|sample| sample.on_node(&*limited.node)).collect()
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

/// The file of that name, in the hierarchy that has it.
fn read(group: &[PathBuf], file: &str) -> Option<String> {
    let mut directories = group.iter();
    directories.find_map(|directory| fs::read_to_string(directory.join(file)).ok())
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<u64>().ok().map(to_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::of_kernel;
    use highwater_driver::telemetry::Measure;
    use procfs::prelude::*;

    fn parts(readings: &[MetricSample]) -> Vec<(&str, Option<&str>, Measure, f64)> {
        readings.iter().map(|r| (r.name.as_ref(), r.node.as_deref(), r.measure, r.value)).collect()
    }

    #[test]
    fn processors_are_reported_as_seconds_of_all_of_them_together() {
        // Four processors; a second has this many ticks on each.
        let ticks = procfs::ticks_per_second();
        let lines = format!(
            "cpu  {} 0 0 0 {} 0 0 {}\ncpu0 1 0 0 0\ncpu1 1 0 0 0\ncpu2 1 0 0 0\ncpu3 1 0 0 0",
            40 * ticks,
            4 * ticks,
            8 * ticks
        );
        let expected = [
            ("cpu_busy", None, Measure::Seconds, 10.0),
            ("cpu_steal", None, Measure::Seconds, 2.0),
            ("cpu_iowait", None, Measure::Seconds, 1.0),
        ];
        assert_eq!(parts(&cpu(&of_kernel(&lines))), expected);
        let old = cpu(&of_kernel("cpu  100 0 0 100\ncpu0 100 0 0 100"));
        assert_eq!(old.len(), 1, "neither stolen nor waiting: {old:?}");
    }

    #[test]
    fn a_disk_is_reported_in_bytes_and_seconds_of_work() {
        // 200 reads of 4,000 sectors, 300 writes of 6,000, half a second busy.
        let disk = DiskStat::from_line("8 0 sda 200 0 4000 90 300 0 6000 80 0 500 170").unwrap();
        let node = Some("sda");
        let expected = [
            ("disk_read", node, Measure::Count, 2_048_000.0),
            ("disk_written", node, Measure::Count, 3_072_000.0),
            ("disk_busy", node, Measure::Seconds, 0.5),
        ];
        assert_eq!(parts(&of_disk(&disk)), expected);
        let disks = ["sda", "nvme0n1", "vdb", "loop0", "dm-1", "zram0", "sr0"];
        let real: Vec<&str> = disks.into_iter().filter(|name| is_disk(name)).collect();
        assert_eq!(real, ["sda", "nvme0n1", "vdb"]);
    }

    #[test]
    fn a_network_is_reported_in_bytes() {
        let text = "Inter-| Receive | Transmit\n face |bytes\n\
                    eth0: 1000 2 0 0 0 0 0 0 3000 4 0 0 0 0 0 0\n";
        let devices = procfs::net::InterfaceDeviceStatus::from_buf_read(text.as_bytes());
        let expected = [
            ("net_received", Some("eth0"), Measure::Count, 1_000.0),
            ("net_sent", Some("eth0"), Measure::Count, 3_000.0),
        ];
        assert_eq!(parts(&of_network(&devices.unwrap().0["eth0"])), expected);
    }

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
