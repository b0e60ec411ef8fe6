//! `--share auto`: which share of a plan this process runs, from the variables of the program that started it.
//!
//! A launcher is one entry of `LAUNCHERS`. Each was tried, or taken from the launcher's documentation, as
//! `docs/concepts/shares.md` lists. Must not read the environment: the variables are given, so that every
//! launcher can be tested without it.

use std::collections::BTreeMap;
use std::fmt;

use highwater_model::plan::{LANES, Share};
use highwater_model::user_error::UserError;

/// The number of shares, for launchers that do not know it.
pub const SHARES: &str = "HIGHWATER_SHARES";

/// How a launcher numbers its processes, from 0.
struct Launcher {
    name: &'static str,
    index: &'static str,
    /// Absent if the launcher does not tell it.
    count: Option<&'static str>,
    /// It is not this launcher that starts the processes, unless this variable is set as well.
    requires: Option<&'static str>,
    /// Counts the attempts to run the process, and its value at the first one.
    attempt: Option<(&'static str, u64)>,
}

const PLAIN: Launcher =
    Launcher { name: "", index: "", count: None, requires: None, attempt: None };

/// A launcher inside an allocation of Slurm: its processes inherit Slurm's variables, which then number the nodes or
/// the one batch script.
const MPI: [Launcher; 2] = [
    Launcher {
        name: "Open MPI",
        index: "OMPI_COMM_WORLD_RANK",
        count: Some("OMPI_COMM_WORLD_SIZE"),
        ..PLAIN
    },
    Launcher { name: "MPI", index: "PMI_RANK", count: Some("PMI_SIZE"), ..PLAIN },
];

/// All others, of which two that disagree are an error.
const LAUNCHERS: [Launcher; 6] = [
    Launcher {
        name: "a Slurm step",
        index: "SLURM_PROCID",
        count: Some("SLURM_STEP_NUM_TASKS"),
        requires: Some(STEP),
        attempt: Some((RESTARTS, 0)),
    },
    Launcher { name: "a Kubernetes indexed Job", index: "JOB_COMPLETION_INDEX", ..PLAIN },
    Launcher {
        name: "AWS Batch",
        index: "AWS_BATCH_JOB_ARRAY_INDEX",
        count: Some("AWS_BATCH_JOB_ARRAY_SIZE"),
        attempt: Some(("AWS_BATCH_JOB_ATTEMPT", 1)),
        ..PLAIN
    },
    Launcher {
        name: "Google Batch",
        index: "BATCH_TASK_INDEX",
        count: Some("BATCH_TASK_COUNT"),
        ..PLAIN
    },
    Launcher {
        name: "a Cloud Run job",
        index: "CLOUD_RUN_TASK_INDEX",
        count: Some("CLOUD_RUN_TASK_COUNT"),
        attempt: Some(("CLOUD_RUN_TASK_ATTEMPT", 0)),
        ..PLAIN
    },
    Launcher { name: "Nomad", index: "NOMAD_ALLOC_INDEX", ..PLAIN },
];

const STEP: &str = "SLURM_STEP_ID";
const RESTARTS: &str = "SLURM_RESTART_COUNT";
/// Index, smallest index, distance between two, and number of the elements of a job array.
const ARRAY: [&str; 4] = [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "SLURM_ARRAY_TASK_COUNT",
];
/// Set in every process of an allocation, including the batch script, which runs once.
const JOB: &str = "SLURM_JOB_ID";

/// Whether `--share auto` uses this variable.
pub fn uses(variable: &str) -> bool {
    let named = |launcher: &Launcher| {
        let attempt = launcher.attempt.map(|(attempt, _)| attempt);
        launcher.index == variable
            || [launcher.count, launcher.requires, attempt].contains(&Some(variable))
    };
    let ours = [SHARES, JOB].contains(&variable) || ARRAY.contains(&variable);
    ours || MPI.iter().chain(&LAUNCHERS).any(named)
}

/// A share, and the source of its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchedShare {
    /// The share.
    pub share: Share,
    /// The launcher.
    pub launcher: &'static str,
    /// The variables with number and count.
    variables: [&'static str; 2],
}

impl fmt::Display for LaunchedShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Share { index, of, .. } = self.share;
        let [number, count] = self.variables;
        write!(f, "share {index} of {of}, started by {} ({number}, {count})", self.launcher)
    }
}

/// The share of this process.
///
/// # Errors
/// No launcher is found, or several that disagree; the number of shares is missing; or this is not the first attempt,
/// whose rows a second one would write again.
pub fn share(variables: &BTreeMap<String, String>) -> Result<LaunchedShare, UserError> {
    let numbers = Numbers(variables);
    let mpi: Vec<LaunchedShare> = found(&MPI, numbers)?;
    let found = if mpi.is_empty() {
        let mut found = found(&LAUNCHERS, numbers)?;
        if let Some(element) = array_element(numbers)? {
            // The step of an array's element has one task.
            found.retain(|other| other.share.of > 1 || other.launcher != LAUNCHERS[0].name);
            found.push(element);
        }
        found
    } else {
        mpi
    };
    let Some(first) = found.first() else {
        return Err(none(numbers));
    };
    if let Some(other) = found.iter().find(|other| other.share != first.share) {
        return Err(contradiction(first, other));
    }
    Ok(first.clone())
}

fn found(launchers: &[Launcher], numbers: Numbers<'_>) -> Result<Vec<LaunchedShare>, UserError> {
    launchers.iter().filter_map(|launcher| launcher.share(numbers).transpose()).collect()
}

impl Launcher {
    fn share(&self, numbers: Numbers<'_>) -> Result<Option<LaunchedShare>, UserError> {
        let is_absent = |name| !numbers.has(name);
        if is_absent(self.index) || self.requires.is_some_and(is_absent) {
            return Ok(None);
        }
        let index = numbers.read(self.index)?;
        if let Some((name, first)) = self.attempt {
            numbers.check_attempt(name, first)?;
        }
        let count = self.count.filter(|name| numbers.has(name)).unwrap_or(SHARES);
        if is_absent(count) {
            let message = format!("--share auto: {} does not tell the number of shares", self.name);
            return Err(UserError::usage(message)
                .with_hint(format!("set {SHARES} to it, where {} is set up", self.name)));
        }
        numbers.launched(self.name, index, [self.index, count]).map(Some)
    }
}

/// The share of an element of a job array.
fn array_element(numbers: Numbers<'_>) -> Result<Option<LaunchedShare>, UserError> {
    let [id, least, distance, count] = ARRAY;
    if !numbers.has(id) {
        return Ok(None);
    }
    numbers.check_attempt(RESTARTS, 0)?;
    let position = numbers.read(id)?.checked_sub(numbers.read(least)?);
    let (distance, elements) = (numbers.read(distance)?.max(1), numbers.read(count)?);
    let index = position.filter(|position| position % distance == 0).map(|of| of / distance);
    match index {
        Some(index) if index < elements => {
            numbers.launched("a Slurm job array", index, [id, count]).map(Some)
        }
        _ => Err(UserError::usage("--share auto: the indexes of the Slurm job array have gaps")
            .with_hint("number the elements evenly, such as --array=1-4")),
    }
}

/// The variables of this process.
#[derive(Clone, Copy)]
struct Numbers<'v>(&'v BTreeMap<String, String>);

impl Numbers<'_> {
    fn has(self, name: &str) -> bool {
        self.0.get(name).is_some_and(|text| !text.is_empty())
    }

    fn read(self, name: &str) -> Result<u64, UserError> {
        let text = self.0.get(name).map_or("", String::as_str);
        text.parse().map_err(|_| self.wrong(name))
    }

    fn wrong(self, name: &str) -> UserError {
        let text = self.0.get(name).map_or("", String::as_str);
        UserError::usage(format!("--share auto: {name} is `{text}`, which is no number of a share"))
            .with_hint("give the share itself, such as --share 1/4")
    }

    /// Fails for a process that is started again: the rows of the first attempt may be there.
    fn check_attempt(self, name: &str, first: u64) -> Result<(), UserError> {
        if !self.has(name) || self.read(name)? <= first {
            return Ok(());
        }
        let message =
            format!("--share auto: this is not the first attempt ({name}={})", self.read(name)?);
        Err(UserError::usage(message).with_hint(
            "the other shares ran without this one; start all of them anew, and switch retries off",
        ))
    }

    fn launched(
        self,
        launcher: &'static str,
        index: u64,
        variables: [&'static str; 2],
    ) -> Result<LaunchedShare, UserError> {
        let count = self.read(variables[1])?;
        if self.has(SHARES) && self.read(SHARES)? != count {
            let message = format!(
                "--share auto: {SHARES} is {}, and {} is {count}",
                self.read(SHARES)?,
                variables[1]
            );
            return Err(UserError::usage(message).with_hint(format!("unset {SHARES}")));
        }
        let of = u32::try_from(count).ok().filter(|count| (1..=LANES).contains(count));
        let of = of.ok_or_else(|| {
            UserError::usage(format!("--share auto: {} is {count}", variables[1]))
                .with_hint(format!("a plan has 1 to {LANES} shares"))
        })?;
        let index = u32::try_from(index).ok().filter(|index| *index < of);
        let index = index.ok_or_else(|| self.wrong(variables[0]))?;
        let share = Share { index: index + 1, of, ..Share::WHOLE };
        Ok(LaunchedShare { share, launcher, variables })
    }
}

fn none(numbers: Numbers<'_>) -> UserError {
    if numbers.has(JOB) {
        return UserError::usage(
            "--share auto: this is a Slurm batch script, which runs once, on one node",
        )
        .with_hint("start the load generators with `srun highwater run …`, or as a job array");
    }
    UserError::usage("--share auto: no launcher started this process").with_hint(
        "start it with srun, mpirun, or another launcher; or give the share, such as --share 1/4",
    )
}

fn contradiction(first: &LaunchedShare, other: &LaunchedShare) -> UserError {
    UserError::usage(format!("--share auto: two launchers disagree: {first}; {other}"))
        .with_hint("give the share itself, such as --share 1/4")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &str) -> Result<LaunchedShare, UserError> {
        let pair = |word: &str| word.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()));
        let variables: BTreeMap<_, _> = variables.split_whitespace().filter_map(pair).collect();
        assert!(variables.keys().all(|name| uses(name) || name.starts_with("OTHER")));
        share(&variables)
    }

    #[test]
    fn each_launcher_numbers_its_processes() {
        for (variables, launcher, index, count) in [
            (
                "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4",
                "a Slurm step",
                1,
                4,
            ),
            (
                "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4",
                "a Slurm step",
                4,
                4,
            ),
            (
                "SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3 \
                 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=4",
                "a Slurm job array",
                3,
                4,
            ),
            // The element's script starts the load generator by `srun`.
            (
                "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_ARRAY_TASK_ID=1 \
                 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=2",
                "a Slurm job array",
                2,
                2,
            ),
            ("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", "Open MPI", 3, 4),
            // Inside a batch script, every rank has its variables as well.
            (
                "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 SLURM_JOB_ID=7 SLURM_PROCID=0",
                "Open MPI",
                3,
                4,
            ),
            // On a second node, in the step of the daemon that starts the ranks.
            (
                "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 SLURM_STEP_ID=0 SLURM_PROCID=1 \
                 SLURM_STEP_NUM_TASKS=2",
                "Open MPI",
                3,
                4,
            ),
            ("PMI_RANK=0 PMI_SIZE=64", "MPI", 1, 64),
            ("JOB_COMPLETION_INDEX=1 HIGHWATER_SHARES=3", "a Kubernetes indexed Job", 2, 3),
            (
                "AWS_BATCH_JOB_ARRAY_INDEX=1 AWS_BATCH_JOB_ARRAY_SIZE=2 AWS_BATCH_JOB_ATTEMPT=1",
                "AWS Batch",
                2,
                2,
            ),
            ("BATCH_TASK_INDEX=0 BATCH_TASK_COUNT=2", "Google Batch", 1, 2),
            (
                "CLOUD_RUN_TASK_INDEX=0 CLOUD_RUN_TASK_COUNT=2 CLOUD_RUN_TASK_ATTEMPT=0",
                "a Cloud Run job",
                1,
                2,
            ),
            ("NOMAD_ALLOC_INDEX=1 HIGHWATER_SHARES=2", "Nomad", 2, 2),
        ] {
            let found = of(variables).unwrap();
            assert_eq!((found.share.index, found.share.of), (index, count), "{variables}");
            assert_eq!(found.launcher, launcher, "{variables}");
        }
    }

    #[test]
    fn what_does_not_number_the_shares_exactly_is_refused() {
        for (variables, reason) in [
            ("", "no launcher started this process"),
            ("SLURM_JOB_ID=7", "batch script"),
            (
                "JOB_COMPLETION_INDEX=1",
                "a Kubernetes indexed Job does not tell the number of shares",
            ),
            ("NOMAD_ALLOC_INDEX=1", "Nomad does not tell"),
            ("PMI_RANK=1", "MPI does not tell"),
            ("PMI_RANK=4 PMI_SIZE=4", "PMI_RANK is `4`"),
            ("PMI_RANK=x PMI_SIZE=4", "PMI_RANK is `x`"),
            ("PMI_RANK=0 PMI_SIZE=65", "PMI_SIZE is 65"),
            ("PMI_RANK=0 PMI_SIZE=0", "PMI_SIZE is 0"),
            (
                "PMI_RANK=0 PMI_SIZE=4 HIGHWATER_SHARES=3",
                "HIGHWATER_SHARES is 3, and PMI_SIZE is 4",
            ),
            (
                "PMI_RANK=0 PMI_SIZE=4 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4",
                "two launchers disagree: share 2 of 4, started by Open MPI (OMPI_COMM_WORLD_RANK, ",
            ),
            (
                "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_ARRAY_TASK_ID=0 \
                 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=2",
                "two launchers disagree",
            ),
            (
                "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=1 \
                 SLURM_ARRAY_TASK_COUNT=3",
                "have gaps",
            ),
            (
                "CLOUD_RUN_TASK_INDEX=0 CLOUD_RUN_TASK_COUNT=2 CLOUD_RUN_TASK_ATTEMPT=1",
                "not the first attempt (CLOUD_RUN_TASK_ATTEMPT=1)",
            ),
            (
                "AWS_BATCH_JOB_ARRAY_INDEX=1 AWS_BATCH_JOB_ARRAY_SIZE=2 AWS_BATCH_JOB_ATTEMPT=2",
                "not the first attempt",
            ),
            (
                "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_RESTART_COUNT=1",
                "not the first attempt",
            ),
        ] {
            let error = of(variables).unwrap_err();
            assert!(error.message.contains(reason), "{variables}: {}", error.message);
            assert!(error.hint.is_some(), "{variables}");
        }
    }
}
