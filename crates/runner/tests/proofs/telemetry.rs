//! The telemetry of a simulated cluster, compared with its known values.

use highwater_analysis::findings::findings;
use highwater_analysis::telemetry::{mean, measured as measured_range, named, rejected, values_of};
use highwater_model::plan::AuditLevel;
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::names;
use highwater_model::units::Nanos;
use highwater_report as report;

use crate::support::{Job, closed, number, one_node, open};

fn over_the_measurement(record: &RunRecord, name: &str) -> f64 {
    let telemetry = record.target_telemetry.as_ref().unwrap();
    let mut found = named(telemetry, name);
    let series = found.next().unwrap();
    assert!(found.next().is_none());
    mean(telemetry, series, measured_range(record).unwrap()).unwrap()
}

#[test]
fn cpu_is_the_utilization_and_the_queue_is_that_of_the_theory() {
    let target = one_node("cores=1&service=exp&request=1ms");
    let mut job = Job::new(&target, &[("insert", open(700))]);
    job.settings.push(("batch", "1".to_owned()));
    job.arrivals = Some(highwater_model::plan::Arrivals::Poisson);
    job.sessions = 400;
    job.step = Nanos::from_secs(600);
    let record = job.run().record;
    // M/M/1 at ρ = 0.7: utilization ρ, and ρ² / (1 − ρ) = 1.63 wait on average.
    let busy = over_the_measurement(&record, names::CPU_BUSY);
    assert!((busy - 0.7).abs() < 0.01, "{busy}");
    let waiting = over_the_measurement(&record, names::QUEUE);
    // 600 nearly independent samples of a queue with variance 8.6: 3 σ / √600 = 0.36.
    assert!((waiting - 1.63).abs() < 0.4, "{waiting}");
}

#[test]
fn rejections_reported_by_the_target_equal_those_received() {
    let target = "sim:?nodes=1&shards=1&replicas=0&cores=1&request=1ms&row=0&queue=3&rtt=0";
    let mut job = Job::new(target, &[("insert", open(900))]);
    job.settings.push(("batch", "1".to_owned()));
    job.arrivals = Some(highwater_model::plan::Arrivals::Poisson);
    job.step = Nanos::from_secs(20);
    let record = job.run().record;
    let refused: u64 = record
        .results
        .iter()
        .filter(|result| result.phase == "measure")
        .filter_map(|result| result.errors.get("rejected"))
        .sum();
    assert!(refused > 100, "{refused}");
    assert_eq!(rejected(&record), Some(refused));
}

#[test]
fn an_exhausted_disk_credit_is_reported() {
    let target = "sim:?nodes=1&shards=1&replicas=0&cores=4&request=0&row=100us&rtt=0&\
                  service=constant&disk=10000&burst=300000";
    let mut job = Job::new(target, &[("insert", closed(4))]);
    job.settings.push(("batch", "100".to_owned()));
    job.step = Nanos::from_secs(30);
    let record = job.run().record;
    // The CPU allows 40,000 rows/s; 30,000 of them use credit, which lasts for ten seconds. Then 10,000.
    let per_s = &record.availability.acknowledged_per_s;
    assert_eq!((per_s[5], per_s[20]), (400, 100));
    let telemetry = record.target_telemetry.as_ref().unwrap();
    let drawn = |name| values_of(telemetry, named(telemetry, name).next().unwrap());
    let busy = drawn(names::DISK_BUSY);
    assert_eq!((busy[9], busy[12]), (Some(0.0), Some(1.0)));
    assert_eq!(drawn("disk_credit")[5], Some(0.5));
    let cpu = drawn(names::CPU_BUSY);
    assert_eq!((cpu[5], cpu[20]), (Some(1.0), Some(0.25)));
    assert_eq!(drawn("disk_rows")[5], Some(number(40_000)));
    assert_eq!(record.target.settings["capacity.rows_per_s.batch_100"], "10000.0");
}

#[test]
fn asking_changes_nothing_that_is_measured() {
    let target = one_node("cores=2&service=exp&request=2ms&query=3ms");
    let mut job = Job::new(&target, &[("insert", open(5_000)), ("dashboards", closed(3))]);
    let polled = job.run().record;
    job.telemetry.off = true;
    let mut unpolled = job.run().record;
    assert!(polled.target_telemetry.is_some() && unpolled.target_telemetry.is_none());
    assert_eq!(polled.results, unpolled.results);
    assert_eq!(polled.intervals, unpolled.intervals);
    unpolled.target_telemetry = polled.target_telemetry.clone();
    assert_eq!(report::results_csv(&polled), report::results_csv(&unpolled));
}

#[test]
fn a_target_that_goes_away_takes_its_telemetry_along_and_nothing_else() {
    let mut job = Job::new(&one_node("request=2ms&die=4s"), &[("insert", closed(2))]);
    job.step = Nanos::from_secs(10);
    let record = job.run().record;
    let telemetry = record.target_telemetry.as_ref().unwrap();
    let source = &telemetry.sources[0];
    assert!(source.failed > 0 && source.failure.as_deref().unwrap().contains("down"));
    let last = *telemetry.times_ns.last().unwrap();
    assert!(last < Nanos::from_secs(4).0, "{last}");
    assert!(report::text(&record).contains("readings failed"));
}

/// The soak case of the guide: the CPU allows 40,000 rows/s, of which the disk sustains 10,000; 9 M rows of credit,
/// used at 30,000 rows/s, last for 300 s.
#[test]
fn a_credit_that_ends_in_a_soak_is_found_dated_and_explained() {
    let target = "sim:?nodes=1&shards=1&replicas=0&cores=4&request=0&row=100us&rtt=0&\
                  service=exp&disk=10000&burst=9000000";
    let mut job = Job::new(target, &[("insert", closed(8))]);
    job.settings.push(("batch", "100".to_owned()));
    job.step = Nanos::from_secs(600);
    // Of thirty million rows; their values do not matter here.
    job.audit = AuditLevel::Count;
    let record = job.run().record;
    let polled = findings(&record);
    let found = polled.iter().find(|polled| polled.code == "throughput_changed");
    let found = found.unwrap_or_else(|| panic!("{polled:?}"));
    let at = found.sentence.split(" at ").nth(1).and_then(|rest| rest.split(" s,").next());
    let at: f64 = at.unwrap().parse().unwrap_or_else(|_| panic!("{found:?}"));
    assert!((at - 300.0).abs() <= 5.0, "{found:?}");
    assert!(found.sentence.starts_with("throughput fell by 7"), "{found:?}");
    for part in ["disk_busy of 1 0% → 100%", "cpu_busy of 1"] {
        assert!(found.evidence.contains(part), "{part}: {found:?}");
    }
    assert!(found.hint.contains("the disk became the limit"), "{found:?}");

    // The same with unlimited credit: nothing changes.
    job.target = target.replace("&disk=10000&burst=9000000", "");
    let steady = findings(&job.run().record);
    assert!(steady.iter().all(|polled| polled.code != "throughput_changed"), "{steady:?}");
}
