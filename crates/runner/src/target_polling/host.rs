//! CPU, memory, disks, and networks of the target's machine, if that is this machine.
//!
//! Read from the kernel's process files; values that a file does not contain are absent.

use std::path::Path;

use highwater_driver::telemetry::{names, units};
use highwater_driver::{BoxFuture, MetricSample, TelemetryReader};
use highwater_model::numbers::to_f64;
use highwater_model::user_error::UserError;
use procfs::net::DeviceStatus;
use procfs::{Current, CurrentSI, DiskStat, KernelStats};

use crate::telemetry::busy;

/// Bytes per sector in the kernel's counters, whatever the disk's sector size.
const SECTOR_BYTES: f64 = 512.0;
/// Devices without traffic, or whose traffic counts for another device.
const NOT_DISKS: [&str; 6] = ["loop", "ram", "zram", "dm-", "sr", "fd"];

/// A reader of this machine; `None` on a system without such files.
pub(super) fn reader() -> Option<Box<dyn TelemetryReader>> {
    procfs::KernelStats::current().ok()?;
    Some(Box::new(Host))
}

struct Host;

impl TelemetryReader for Host {
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<MetricSample>, UserError>> {
        let mut readings = Vec::new();
        if let Ok(stats) = procfs::KernelStats::current() {
            readings.extend(cpu(&stats));
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

/// Fractions of all processors together; values that the kernel does not report are omitted.
fn cpu(stats: &KernelStats) -> Vec<MetricSample> {
    let total = &stats.total;
    let cores = to_f64(u64::try_from(stats.cpu_time.len()).unwrap_or(1).max(1));
    let second = to_f64(procfs::ticks_per_second()) * cores;
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
    // A partition has no directory of its own there.
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
    .map(|reading| reading.of(&disk.name))
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
    .map(|reading| reading.of(&device.name))
}

#[cfg(test)]
mod tests {
    use highwater_driver::telemetry::Measure;
    use procfs::prelude::*;

    use super::*;
    use crate::telemetry::of_kernel;

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
}
