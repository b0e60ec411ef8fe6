//! Clusters of small processes: the guarantees on which growths rely.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

use std::cell::RefCell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use highwater_cluster::{Cluster, Options};
use highwater_driver::TargetOptions;
use highwater_driver::clock::RealClock;
use highwater_driver::interrupts::{self, Interrupter};
use highwater_model::cluster::parse;
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::{UserError, UserErrorKind};
use tempfile::TempDir;

/// A cluster's file and state, and its reports.
struct Lab {
    place: TempDir,
    text: String,
    said: Rc<RefCell<Vec<String>>>,
}

/// A node that is ready at once.
const READY: &str = "ready.log = 'up'";

impl Lab {
    /// Nodes with this command, and these additional lines of `[node]`.
    fn new(command: &str, more: &str) -> Self {
        Self {
            place: tempfile::tempdir().unwrap(),
            text: format!(
                "format = 1\nname = 'lab'\n[node]\ncommand = \"{command}\"\nports.http = 0\n\
                 url = 'sqlite:{{data}}/node.db'\nmetrics = ['http://{{host}}:{{port.http}}/m']\n\
                 {more}\n"
            ),
            said: Rc::default(),
        }
    }

    fn options(&self) -> Options {
        let said = Rc::clone(&self.said);
        Options {
            directory: self.place.path().to_owned(),
            no_quota: false,
            remove_data: true,
            takes_over: false,
            hidden: Vec::new(),
            open: Rc::new(|url: &str| {
                let options = TargetOptions {
                    insert: None,
                    data_directory: None,
                    leases_directory: None,
                    application_name: "test".to_owned(),
                    seed: Seed(1),
                    connect_timeout: Nanos::SECOND,
                };
                highwater_drivers::open(&[url.to_owned()], &options)
            }),
            report: Rc::new(move |line: &str| said.borrow_mut().push(line.to_owned())),
        }
    }

    fn open_with(&self, options: Options) -> (Result<Cluster, UserError>, Interrupter) {
        let (interrupter, interrupts) = interrupts::channel();
        let state = self.place.path().join("lab-state");
        let cluster = Cluster::new(parse(&self.text).unwrap(), &state, options, interrupts);
        (cluster, interrupter)
    }

    fn open(&self) -> Cluster {
        self.open_with(self.options()).0.unwrap()
    }
}

fn is_alive(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_dropped_cluster_is_ended_and_its_data_are_removed() {
    let lab = Lab::new("touch mine; echo up; exec sleep 300", READY);
    let mut cluster = lab.open();
    let nodes = cluster.resize(2).unwrap();
    assert_eq!((nodes.len(), cluster.size()), (2, 2));
    assert_eq!(cluster.urls().unwrap().len(), 2);
    let data = nodes[1].data.clone().unwrap();
    assert_eq!(nodes[1].url, format!("sqlite:{}/node.db", data.display()));
    assert!(nodes[1].metrics[0].starts_with("http://127.0.0.1:"), "{nodes:?}");
    assert!(data.join("mine").exists());
    let pids: Vec<i32> = nodes.iter().map(|node| node.pid.unwrap()).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    drop(cluster);
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert!(!data.exists());
}

#[test]
fn a_fresh_cluster_has_no_data_of_the_one_before() {
    let lab = Lab::new("date +%N >> starts; echo up; exec sleep 300", READY);
    let mut cluster = lab.open();
    let starts = |cluster: &mut Cluster| {
        let data = cluster.nodes().unwrap()[0].data.clone().unwrap();
        fs::read_to_string(data.join("starts")).unwrap()
    };
    cluster.resize(1).unwrap();
    let first = starts(&mut cluster);
    cluster.fresh(1).unwrap();
    let second = starts(&mut cluster);
    assert_eq!((first.lines().count(), second.lines().count()), (1, 1));
    assert_ne!(first, second);
}

#[test]
fn a_cluster_that_is_up_on_purpose_is_not_taken_over_unless_that_is_meant() {
    let lab = Lab::new("echo up; exec sleep 300", READY);
    let mut cluster = lab.open();
    let pid = cluster.resize(1).unwrap()[0].pid.unwrap();
    cluster.keep().unwrap();
    drop(cluster);
    assert!(is_alive(pid));
    let error = lab.open_with(lab.options()).0.err().unwrap();
    assert_eq!(error.message, "the cluster is up already, with 1 nodes");
    let takes_over = Options { takes_over: true, ..lab.options() };
    let mut cluster = lab.open_with(takes_over).0.unwrap();
    assert_eq!(cluster.size(), 1);
    cluster.down().unwrap();
    // This process is its parent, and must reap it through another handle.
    assert_eq!(cluster.size(), 0);
}

#[test]
fn a_query_or_a_url_shows_that_a_node_is_ready() {
    let ready = "ready = { sql = 'SELECT 40 + {node} + 1', answer = '42' }";
    let lab = Lab::new("echo up; exec sleep 300", ready);
    lab.open().resize(1).unwrap();

    let wrong = ready.replace("42", "43").replace(" }", ", within = '200ms' }");
    let lab = Lab::new("echo up; exec sleep 300", &wrong);
    let error = lab.open().resize(1).unwrap_err();
    let why = "node 1 is not ready after 200 ms: `SELECT 40 + 1 + 1` is `42`, not `43`";
    assert!(error.message.starts_with(why), "{error}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        for status in ["503 Starting", "200 OK"] {
            let mut stream = listener.accept().unwrap().0;
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            assert!(request[..length].starts_with(b"GET /ping HTTP/1.1\r\n"));
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
            stream.write_all(response.as_bytes()).unwrap();
        }
    });
    let lab = Lab::new("exec sleep 300", &format!("ready.http = 'http://{address}/ping'"));
    lab.open().resize(1).unwrap();
    serving.join().unwrap();
}

#[test]
fn nodes_start_one_by_one_if_the_file_requires_it() {
    // Each node becomes ready only if the previous one was ready at its start.
    let command = "[ {node} = 1 ] || grep -q up ../../node1.log || exit 1; sleep 0.2; echo up; exec sleep 300";
    let lab = Lab::new(command, "start = 'one-by-one'\nready.log = 'up'");
    assert_eq!(lab.open().resize(3).unwrap().len(), 3);
}

#[test]
fn files_of_running_nodes_name_later_nodes() {
    let more = format!("{READY}\nfiles.'etc/peers' = '{{node}}: {{peers.http}}'");
    let lab = Lab::new("echo up; exec sleep 300", &more);
    let mut cluster = lab.open();
    let peers = |cluster: &mut Cluster| {
        let data = cluster.nodes().unwrap()[0].data.clone().unwrap();
        fs::read_to_string(data.join("etc/peers")).unwrap()
    };
    cluster.resize(1).unwrap();
    assert_eq!(peers(&mut cluster).matches("127.0.0.1:").count(), 1);
    cluster.resize(3).unwrap();
    let peers = peers(&mut cluster);
    assert!(peers.starts_with("1: 127.0.0.1:") && peers.matches("127.0.0.1:").count() == 3);
}

#[test]
fn a_second_interrupt_waits_for_nothing() {
    let lab = Lab::new("trap '' TERM; echo up; sleep 300 & wait; exec sleep 300", READY);
    let (cluster, interrupter) = lab.open_with(lab.options());
    let mut cluster = cluster.unwrap();
    let pid = cluster.resize(1).unwrap()[0].pid.unwrap();
    interrupter.interrupt();
    let error = cluster.resize(2).unwrap_err();
    assert_eq!(error.kind, UserErrorKind::Interrupted);
    interrupter.interrupt();
    // A graceful end would take ten seconds.
    drop(cluster);
    assert!(!is_alive(pid));
    assert!(lab.said.borrow().iter().any(|line| line == "node 1 was killed"));
}

/// Cores that a process used for a second.
fn cores(pid: i32) -> f64 {
    let ticks = || -> f64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()
    };
    // From before the first reading to after the second one, and longer if this thread had to wait.
    let clock = RealClock::start();
    let before = ticks();
    thread::sleep(Duration::from_secs(1));
    let used = (ticks() - before) / 100.0;
    used / clock.now().as_secs_f64()
}

/// Whether this process may create control groups.
fn has_control_groups() -> bool {
    let parents = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"];
    let name = format!("highwater-test-{}", std::process::id());
    parents.iter().any(|parent| {
        let path = Path::new(parent).join(&name);
        let made = Path::new(parent).join("cgroup.procs").exists() && fs::create_dir(&path).is_ok();
        let usable =
            made && ["cpu.cfs_quota_us", "cpu.max"].iter().any(|file| path.join(file).exists());
        made && fs::remove_dir(&path).is_ok() && usable
    })
}

#[test]
fn a_quota_holds_from_the_start_or_from_the_end_of_the_warm_up() {
    if !has_control_groups() {
        return;
    }
    let busy = "echo up; while :; do :; done";
    let lab = Lab::new(busy, &format!("{READY}\nquota = {{ cpu = 0.1 }}"));
    let mut cluster = lab.open();
    let pid = cluster.resize(1).unwrap()[0].pid.unwrap();
    let used = cores(pid);
    // A tick of 0.01 s at each end, and two periods of 20 ms that the kernel may grant early.
    assert!(used < 0.1 + 0.02 + 0.01, "{used}");
    // The basis of a run's telemetry: the node has used up its quota repeatedly.
    let limited = cluster.limited_nodes();
    assert_eq!((limited.len(), limited[0].node.as_str(), limited[0].cores), (1, "1", 0.1));
    let read = |file: &str| {
        let mut groups = limited[0].group.iter();
        groups.find_map(|group| fs::read_to_string(group.join(file)).ok())
    };
    let stat = read("cpu.stat").unwrap();
    let throttled = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
    assert!(throttled.unwrap().parse::<u64>().unwrap() > 0, "{stat}");
    assert!(stat.contains("usage_usec") || read("cpuacct.usage").is_some(), "{limited:?}");
    drop(cluster);
    assert!(!is_alive(pid));

    let lab = Lab::new(
        busy,
        &format!("{READY}\nquota = {{ cpu = 0.1, memory = '64MiB', begins = 'warm-up' }}"),
    );
    let mut cluster = lab.open();
    let pid = cluster.resize(1).unwrap()[0].pid.unwrap();
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    assert!(groups.contains("/highwater-lab-1-"), "{groups}");
    cluster.begin_quota().unwrap();
    let used = cores(pid);
    assert!(used < 0.1 + 0.02 + 0.01, "{used}");
    let limited = cluster.limited_nodes();
    let memory: Vec<String> = limited[0]
        .group
        .iter()
        .flat_map(|group| ["memory.limit_in_bytes", "memory.max"].map(|file| group.join(file)))
        .filter_map(|file| fs::read_to_string(file).ok())
        .collect();
    assert_eq!(memory, ["67108864\n"], "64 MiB, as the kernel says");
    drop(cluster);
    let left = fs::read_dir("/sys/fs/cgroup/cpu").or_else(|_| fs::read_dir("/sys/fs/cgroup"));
    let names = left.unwrap().map(|entry| entry.unwrap().file_name());
    let own = format!("highwater-lab-1-{}-", std::process::id());
    let ours = names.filter(|name| name.to_string_lossy().starts_with(&own));
    assert_eq!(ours.count(), 0);
}

#[test]
fn without_quotas_no_control_group_is_created() {
    let lab = Lab::new(
        "cat /proc/self/cgroup; echo up; exec sleep 300",
        &format!("{READY}\nquota = {{ cpu = 0.1 }}"),
    );
    let options = Options { no_quota: true, ..lab.options() };
    let mut cluster = lab.open_with(options).0.unwrap();
    let log = cluster.resize(1).unwrap()[0].log.clone().unwrap();
    assert!(!fs::read_to_string(log).unwrap().contains("highwater-lab"));
    assert_eq!(cluster.limited_nodes(), []);
}
