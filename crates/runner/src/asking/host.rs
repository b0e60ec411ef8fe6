//! The machine that the target runs on, when that is this one: CPU, memory, disks, networks.
//!
//! From the kernel's process files; what one of them does not tell is absent.

use std::path::Path;

use highwater_driver::telemetry::names;
use highwater_driver::{BoxFuture, Reading, TargetError, TelemetryReader};
use procfs::{Current, CurrentSI};

/// Most disks, and most networks, that are told one by one, in the order of the kernel.
const DEVICES_MAX: usize = 8;
/// Bytes of a sector in the kernel's counters, whatever the disk's own are.
const SECTOR_BYTES: f64 = 512.0;
/// Devices whose traffic is another device's, or none.
const NOT_DISKS: [&str; 6] = ["loop", "ram", "zram", "dm-", "sr", "fd"];

/// A reader of this machine; none on a system without such files.
pub(super) fn reader() -> Option<Box<dyn TelemetryReader>> {
    procfs::KernelStats::current().ok()?;
    Some(Box::new(Host))
}

struct Host;

impl TelemetryReader for Host {
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Reading>, TargetError>> {
        let mut readings = Vec::new();
        cpu(&mut readings);
        memory(&mut readings);
        disks(&mut readings);
        networks(&mut readings);
        Box::pin(std::future::ready(Ok(readings)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn float(number: u64) -> f64 {
    number as f64
}

fn cpu(readings: &mut Vec<Reading>) {
    let Ok(stats) = procfs::KernelStats::current() else {
        return;
    };
    let total = stats.total;
    let cores = float(u64::try_from(stats.cpu_time.len()).unwrap_or(1).max(1));
    let second = float(procfs::ticks_per_second()) * cores;
    let busy = total.user
        + total.nice
        + total.system
        + total.irq.unwrap_or(0)
        + total.softirq.unwrap_or(0);
    let mut share = |name, ticks: u64| readings.push(Reading::seconds(name, float(ticks) / second));
    share(names::CPU_BUSY, busy);
    share(names::CPU_STEAL, total.steal.unwrap_or(0));
    share(names::CPU_IOWAIT, total.iowait.unwrap_or(0));
    if let Ok(load) = procfs::LoadAverage::current() {
        readings.push(Reading::level(names::LOAD, "1", load.one.into()));
    }
}

fn memory(readings: &mut Vec<Reading>) {
    let memory = procfs::Meminfo::current().ok();
    let shares = memory.and_then(|memory| Some((memory.mem_available?, memory.mem_total)));
    if let Some((available, total @ 1..)) = shares {
        let used = 1.0 - float(available) / float(total);
        readings.push(Reading::level(names::MEMORY_USED, "share", used));
    }
}

fn disks(readings: &mut Vec<Reading>) {
    let Ok(disks) = procfs::diskstats() else {
        return;
    };
    let is_disk = |name: &str| {
        let named = !NOT_DISKS.iter().any(|other| name.starts_with(other));
        // A part of a disk has no directory of its own there.
        named && Path::new("/sys/block").join(name).exists()
    };
    let used = disks
        .into_iter()
        .filter(|disk| disk.reads + disk.writes > 0);
    for disk in used.filter(|disk| is_disk(&disk.name)).take(DEVICES_MAX) {
        let read = float(disk.sectors_read) * SECTOR_BYTES;
        let written = float(disk.sectors_written) * SECTOR_BYTES;
        let busy = float(disk.time_in_progress) / 1e3;
        readings.push(Reading::count(names::DISK_READ, "bytes", read).of(&disk.name));
        readings.push(Reading::count(names::DISK_WRITTEN, "bytes", written).of(&disk.name));
        readings.push(Reading::seconds(names::DISK_BUSY, busy).of(&disk.name));
    }
}

fn networks(readings: &mut Vec<Reading>) {
    let Ok(devices) = procfs::net::dev_status() else {
        return;
    };
    let mut devices: Vec<_> = devices.into_values().collect();
    devices.retain(|device| device.recv_bytes + device.sent_bytes > 0);
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    for device in devices.iter().take(DEVICES_MAX) {
        let (received, sent) = (float(device.recv_bytes), float(device.sent_bytes));
        readings.push(Reading::count(names::NET_RECEIVED, "bytes", received).of(&device.name));
        readings.push(Reading::count(names::NET_SENT, "bytes", sent).of(&device.name));
    }
}
