//! Control groups, version 1 and 2: limits on a node's use of the machine's cores and memory.
//!
//! Linux: it writes to what is mounted as `cgroup` and `cgroup2`. Must not know what a node is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use highwater_model::user_error::UserError;

/// Quota period in microseconds: short, so that a node never pauses for long.
const PERIOD_US: u32 = 20_000;
/// Period for quotas below the kernel's minimum for a short period.
const LONG_PERIOD_US: u32 = 100_000;
/// The kernel's minimum quota per period, microseconds.
const QUOTA_US_MIN: f64 = 1_000.0;
/// Maximum attempts to remove a group, 20 ms apart: its last process may not have left it yet.
const REMOVALS_MAX: u32 = 100;
/// Error text for missing rights.
const NO_RIGHTS: &str =
    "run Highwater as root, or add --no-quota to start the nodes without quotas";

/// Parent directories for groups: one per needed hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchies(Vec<PathBuf>);

impl Hierarchies {
    /// The hierarchies of this machine with `controllers`, such as `cpu` and `memory`, and with an optional one, which
    /// version 2 includes in another.
    pub(super) fn find(controllers: &[&str], optional: Option<&str>) -> Result<Self, UserError> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut parents = Vec::new();
        for controller in controllers {
            let parent = version_1(&mounts, &own, controller)
                .or_else(|| version_2(&mounts, &own, controller))
                .ok_or_else(|| {
                    let message = format!(
                        "this machine has no control groups with the controller `{controller}`"
                    );
                    UserError::usage(message)
                        .with_hint("add --no-quota to start the nodes without quotas")
                })?;
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        let parent = optional.and_then(|controller| version_1(&mounts, &own, controller));
        let parent = parent.filter(|parent| !parents.contains(parent));
        parents.extend(parent);
        Ok(Self(parents))
    }

    /// Directories that represent hierarchies, for tests.
    #[cfg(test)]
    pub(super) fn at(parents: Vec<PathBuf>) -> Self {
        Self(parents)
    }

    /// The directories of a group of that name, existing or not.
    pub(super) fn group(&self, name: &str) -> Vec<PathBuf> {
        self.0.iter().map(|parent| parent.join(name)).collect()
    }
}

/// Creates a group.
pub(super) fn create(group: &[PathBuf]) -> Result<(), UserError> {
    for path in group {
        fs::create_dir(path).map_err(|error| {
            let place = path.display();
            UserError::usage(format!("cannot make the control group {place}: {error}"))
                .with_hint(NO_RIGHTS)
        })?;
    }
    Ok(())
}

/// Moves a process into a group, with all its future children.
pub(super) fn add(group: &[PathBuf], pid: u32) -> Result<(), UserError> {
    let mut paths = group.iter();
    paths.try_for_each(|path| write(&path.join("cgroup.procs"), &pid.to_string()))
}

/// Limits the cores that a group uses.
pub(super) fn limit_cpu(group: &[PathBuf], cores: f64) -> Result<(), UserError> {
    let short = cores * f64::from(PERIOD_US) >= QUOTA_US_MIN;
    let period = if short { PERIOD_US } else { LONG_PERIOD_US };
    let quota = format!("{:.0}", (cores * f64::from(period)).max(QUOTA_US_MIN));
    let path = of_controller(group, "cpu.max", "cpu.cfs_quota_us")?;
    if path.ends_with("cpu.max") {
        return write_checked(&path, &format!("{quota} {period}"));
    }
    write(&path.with_file_name("cpu.cfs_period_us"), &period.to_string())?;
    write_checked(&path, &quota)
}

/// The cores that a group may use, as set in the kernel; absent if unlimited.
pub(super) fn cpu_limit(group: &[PathBuf]) -> Option<f64> {
    let path = of_controller(group, "cpu.max", "cpu.cfs_quota_us").ok()?;
    // Version 2 has both in one file.
    let text = read(&path) + " " + &read(&path.with_file_name("cpu.cfs_period_us"));
    let mut words = text.split_ascii_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Limits the memory of a group.
pub(super) fn limit_memory(group: &[PathBuf], bytes: u64) -> Result<(), UserError> {
    let path = of_controller(group, "memory.max", "memory.limit_in_bytes")?;
    write(&path, &bytes.to_string())?;
    let set = read(&path);
    // The kernel counts in pages.
    let is_near = |set: u64| set.abs_diff(bytes) < 1 << 16;
    if set.trim().parse().is_ok_and(is_near) {
        return Ok(());
    }
    Err(ignored(&path, &bytes.to_string(), set.trim()))
}

/// Removes a group whose processes have ended; returns whether it was removed.
pub(super) fn remove(group: &[PathBuf]) -> bool {
    let mut paths = group.iter();
    paths.all(|path| {
        for _ in 0..REMOVALS_MAX {
            match fs::remove_dir(path) {
                Ok(()) => return true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
        false
    })
}

/// A file of the group's controller, by its name in version 2 or 1, depending on which exists.
fn of_controller(group: &[PathBuf], two: &str, one: &str) -> Result<PathBuf, UserError> {
    let mut files = group.iter().flat_map(|path| [path.join(two), path.join(one)]);
    files.find(|file| file.exists()).ok_or_else(|| {
        let place = group.first().map(|path| path.display().to_string()).unwrap_or_default();
        UserError::usage(format!("the control group {place} has neither `{two}` nor `{one}`"))
            .with_hint("add --no-quota to start the nodes without quotas")
    })
}

fn write(path: &Path, text: &str) -> Result<(), UserError> {
    fs::write(path, text).map_err(|error| {
        let place = path.display();
        UserError::usage(format!("cannot write {text} to {place}: {error}")).with_hint(NO_RIGHTS)
    })
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Whether a file lists the controller.
fn lists(path: &Path, controller: &str) -> bool {
    let listed = read(path);
    let mut words = listed.split_ascii_whitespace();
    words.any(|word| word == controller)
}

/// Writes a quota, and compares it with the value read back.
fn write_checked(path: &Path, text: &str) -> Result<(), UserError> {
    write(path, text)?;
    let set = read(path);
    if set.trim() == text {
        return Ok(());
    }
    Err(ignored(path, text, set.trim()))
}

fn ignored(path: &Path, written: &str, set: &str) -> UserError {
    let place = path.display();
    UserError::usage(format!(
        "the kernel ignores a quota: {written} was written to {place}, which is `{set}`"
    ))
    .with_hint("add --no-quota to start the nodes without quotas")
}

/// A directory of version 1 that has the controller.
fn version_1(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let has = |options: &str| options.split(',').any(|option| option == controller);
    let mount = mounts_of(mounts, "cgroup").find(|(_, options)| has(options))?.0;
    let line = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (names, path) = rest.split_once(':')?;
        has(names).then_some(path)
    });
    Some(below(mount, line))
}

/// A directory of version 2 that passes the controller on to its child groups.
fn version_2(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let (mount, _) = mounts_of(mounts, "cgroup2").next()?;
    let line = own.lines().find_map(|line| line.strip_prefix("0::"));
    let gives = |parent: &Path| {
        let has = |name: &str| lists(&parent.join(name), controller);
        let file = parent.join("cgroup.subtree_control");
        // It cannot be enabled if the group has its own processes.
        has("cgroup.subtree_control")
            || has("cgroup.controllers")
                && fs::write(file, format!("+{controller}")).is_ok()
                && has("cgroup.subtree_control")
    };
    let places = [below(mount, line), PathBuf::from(mount)];
    let there = places.iter().find(|place| gives(place));
    // Without rights, no controller can be enabled: the error is then about rights.
    let exists = lists(&Path::new(mount).join("cgroup.controllers"), controller);
    there.cloned().or_else(|| exists.then(|| PathBuf::from(mount)))
}

/// This process's own group below a mount; the mount itself if it does not show the group, as in containers.
fn below(mount: &str, own: Option<&str>) -> PathBuf {
    let mount = Path::new(mount);
    let path = mount.join(own.unwrap_or_default().trim_start_matches('/'));
    if path.is_dir() { path } else { mount.to_owned() }
}

/// Mount points of a file system type, with their options.
fn mounts_of<'m>(mounts: &'m str, kind: &'m str) -> impl Iterator<Item = (&'m str, &'m str)> {
    mounts.lines().filter_map(move |line| {
        let mut words = line.split(' ').skip(1);
        let (place, found) = (words.next()?, words.next()?);
        Some((place, words.next()?)).filter(|_| found == kind)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const MOUNTS: &str = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
        cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n\
        cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

    #[test]
    fn a_hierarchy_is_known_by_its_controller() {
        let parent = version_1(MOUNTS, "2:cpu,cpuacct:/no/such\n0::/\n", "cpu").unwrap();
        assert_eq!(parent, Path::new("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(version_1(MOUNTS, "", "memory"), None);
        assert_eq!(version_2("", "0::/\n", "cpu"), None);
    }

    /// A directory with the files of a version, which the kernel would create itself.
    fn group(files: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let place = tempfile::tempdir().unwrap();
        let group = Hierarchies::at(vec![place.path().to_owned()]).group("node");
        create(&group).unwrap();
        for file in files {
            fs::write(group[0].join(file), "").unwrap();
        }
        (place, group)
    }

    #[test]
    fn quotas_are_written_in_the_words_of_each_version() {
        let (_place, one) = group(&["cpu.cfs_quota_us", "memory.limit_in_bytes"]);
        limit_cpu(&one, 0.3).unwrap();
        assert_eq!(read(&one[0].join("cpu.cfs_quota_us")), "6000");
        assert_eq!(read(&one[0].join("cpu.cfs_period_us")), "20000");
        assert_eq!(cpu_limit(&one), Some(0.3));
        limit_cpu(&one, 0.02).unwrap();
        assert_eq!(read(&one[0].join("cpu.cfs_quota_us")), "2000");
        assert_eq!(read(&one[0].join("cpu.cfs_period_us")), "100000");
        fs::write(one[0].join("cpu.cfs_quota_us"), "-1").unwrap();
        assert_eq!(cpu_limit(&one), None);
        limit_memory(&one, 1 << 30).unwrap();
        assert_eq!(read(&one[0].join("memory.limit_in_bytes")), "1073741824");
        let (_place, two) = group(&["cpu.max", "memory.max"]);
        limit_memory(&two, 64 << 20).unwrap();
        assert_eq!(read(&two[0].join("memory.max")), "67108864");
        limit_cpu(&two, 2.5).unwrap();
        assert_eq!(read(&two[0].join("cpu.max")), "50000 20000");
        assert_eq!(cpu_limit(&two), Some(2.5));
        fs::write(two[0].join("cpu.max"), "max 20000").unwrap();
        assert_eq!(cpu_limit(&two), None);
    }

    /// The kernel drops whatever is written there.
    #[test]
    fn a_limit_that_is_not_read_back_is_reported() {
        let (_place, group) = group(&[]);
        let place = group[0].display();
        for file in ["cpu.max", "memory.max"] {
            symlink("/dev/null", group[0].join(file)).unwrap();
        }
        for (limited, said) in [
            (limit_cpu(&group, 2.0), "40000 20000 was written to"),
            (limit_memory(&group, 1 << 20), "1048576 was written to"),
        ] {
            let error = limited.unwrap_err();
            let message = format!("the kernel ignores a quota: {said} {place}/");
            assert!(error.message.starts_with(&message), "{error}");
            assert!(error.message.ends_with(", which is ``"), "{error}");
            assert!(error.hint.unwrap().contains("--no-quota"));
        }
    }

    #[test]
    fn a_group_that_cannot_be_created_or_limited_has_a_hint() {
        let (_place, group) = group(&[]);
        let error = limit_cpu(&group, 1.0).unwrap_err();
        assert!(error.message.contains("neither `cpu.max` nor"), "{error}");
        let again = create(&group).unwrap_err();
        assert!(again.hint.unwrap().contains("--no-quota"));
        assert!(remove(&group) && !group[0].exists());
        assert!(remove(&group), "it is gone already");
    }
}
