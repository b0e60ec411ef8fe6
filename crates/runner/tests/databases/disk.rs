//! Runs on a disk that is too small: rejected before they begin, or stopped before the disk is full.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Job, closed, exit_code, measurement_reasons, open, try_run_on};
use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::units::Nanos;
use highwater_testing::programs::report_left_out;

/// A separate file system in memory, removed when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` if this user may not mount one: the test is skipped.
    fn mount(root: &Path, size: &str) -> Option<Self> {
        let place = root.join("disk");
        std::fs::create_dir(&place).ok()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&place)
            .output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        if !is_mounted {
            report_left_out("mount a file system", "only root may do that");
        }
        is_mounted.then_some(Self(place))
    }

    fn job(&self, streams: &[(&'static str, highwater_runner::planner::PaceInput)]) -> Job {
        let url = format!("sqlite:{}", self.0.join("bench.db").display());
        let mut job = Job::new(&url, streams);
        job.settings = vec![("batch", "200".to_owned())];
        job
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

#[test]
fn a_run_stops_before_the_disk_is_full_and_keeps_and_audits_its_rows() {
    let root = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(root.path(), "160m") else {
        return;
    };
    // At full speed, for much longer than the disk lasts.
    let mut job = disk.job(&[("insert", closed(1))]);
    job.step = Nanos::from_secs(300);
    let end = job.run_in(root.path());
    let record = &end.record;
    assert!(measurement_reasons(record).contains(&ReasonCode::DiskFull), "{record:?}");
    assert_eq!(record.judgments.measurement.value, Measurement::Invalid);
    assert_eq!(record.judgments.data.value, Data::Clean);
    assert!(record.audit.found > 0);
    // No op encountered a full disk.
    assert!(record.results.iter().all(|result| result.errors.is_empty()));
    assert_eq!(exit_code(&end), 3);
    let room = record.estimate.as_ref().and_then(|e| e.disk.as_ref()).unwrap();
    assert_eq!(room.reserve_bytes, 16 << 20);
}

#[test]
fn a_run_that_cannot_fit_is_rejected_unless_the_disk_is_unguarded() {
    let root = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(root.path(), "16m") else {
        return;
    };
    let mut job = disk.job(&[("insert", open(1_000))]);
    job.step = Nanos::from_secs(300);
    let Err(error) = try_run_on(&job, job.open_target(root.path()), root.path()) else {
        panic!("it ran");
    };
    assert!(error.message.contains("would write about"), "{error}");
    assert!(error.hint.unwrap().contains("--no-disk-guard"));
    // A rejected run leaves nothing that a later one would have to clean up.
    job.step = Nanos::from_secs(1);
    let end = job.run_in(&root.path().join("second"));
    assert!(!end.record.target.tables[0].recovered);
    assert_eq!(end.record.judgments.data.value, Data::Clean);
}

#[test]
fn a_very_small_disk_is_never_full() {
    let root = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(root.path(), "30m") else {
        return;
    };
    let mut job = disk.job(&[("insert", closed(4))]);
    job.settings = vec![("batch", "2000".to_owned())];
    job.step = Nanos::from_secs(300);
    let end = job.run_in(root.path());
    let record = &end.record;
    let reasons = measurement_reasons(record);
    assert!(reasons.contains(&ReasonCode::DiskFull), "{reasons:?}");
    for follows in [ReasonCode::TargetLost, ReasonCode::RecordIncomplete, ReasonCode::TooShort] {
        assert!(!reasons.contains(&follows), "{reasons:?}");
    }
    assert_eq!(record.judgments.data.value, Data::Clean);
    assert!(record.results.iter().all(|result| result.errors.is_empty()));
    let left = highwater_driver::DiskSpace::of_path(&disk.0).unwrap();
    assert!(left.free_bytes > 0, "{left:?}");
}
