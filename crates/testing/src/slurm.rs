//! A private Slurm of one machine: a controller and one node on loopback, ended when dropped. It needs root.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::programs::SLURM;
use crate::server::{directory, free_port, give_away, kill, program_as, started, wait_until_ready};

/// The user as whom Munge runs, which owns its key.
const MUNGE: &str = "munge";

/// A running Slurm.
pub struct Slurm {
    directory: TempDir,
    _of_munge: TempDir,
    munge: Option<Child>,
    controller: Option<Child>,
    node: Option<Child>,
}

/// Whether the tests that need Slurm are skipped; see [`SLURM`].
///
/// # Panics
///
/// Same as [`Program::is_left_out`](crate::programs::Program::is_left_out).
pub fn skipped() -> bool {
    SLURM.is_left_out()
}

impl Slurm {
    /// Starts one with four processors, whatever the machine has.
    ///
    /// # Panics
    ///
    /// If Slurm is not installed or does not start.
    pub fn start() -> Self {
        started("Slurm", Self::try_start)
    }

    fn try_start() -> io::Result<Self> {
        SLURM.required().map_err(io::Error::other)?;
        let of_munge = directory("hw-munge-")?;
        let directory = directory("hw-slurm-")?;
        let socket = of_munge.path().join("socket");
        give_away(MUNGE, of_munge.path())?;
        let in_munge = |name: &str| of_munge.path().join(name).display().to_string();
        let munge = program_as(MUNGE, Path::new("/usr/sbin/munged"))
            .args(["--foreground", "--force", "--key-file=/etc/munge/munge.key"])
            .arg(format!("--socket={}", socket.display()))
            .args(["pid", "log", "seed"].map(|name| format!("--{name}-file={}", in_munge(name))))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned();
        let place = |name: &str| directory.path().join(name).display().to_string();
        let (port, node_port) = (free_port()?, free_port()?);
        let settings = format!(
            "ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmctldPort={port}\nSlurmdPort={node_port}\n\
             AuthType=auth/munge\nAuthInfo=socket={socket}\nCommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
             StateSaveLocation={state}\nSlurmdSpoolDir={spool}\nSlurmctldLogFile={log}\nSlurmdLogFile={node_log}\n\
             SlurmctldPidFile={pid}\nSlurmdPidFile={node_pid}\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\nMpiDefault=none\n\
             ReturnToService=2\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000\n\
             PartitionName=main Nodes=ALL Default=YES State=UP\n",
            socket = socket.display(),
            state = place("state"),
            spool = place("spool"),
            log = place("log"),
            node_log = place("node-log"),
            pid = place("pid"),
            node_pid = place("node-pid"),
        );
        fs::create_dir(place("state"))?;
        fs::create_dir(place("spool"))?;
        fs::write(place("slurm.conf"), settings)?;
        let mut slurm = Self {
            directory,
            _of_munge: of_munge,
            munge: Some(munge),
            controller: None,
            node: None,
        };
        slurm.controller = Some(slurm.command("slurmctld").arg("-D").spawn()?);
        let mut node = slurm.command("slurmd").arg("-D").spawn()?;
        let is_idle = || {
            let mut sinfo = slurm.command("sinfo");
            let state = sinfo.args(["-h", "-o", "%t"]).stdout(Stdio::piped()).output()?;
            Ok(String::from_utf8_lossy(&state.stdout).trim() == "idle")
        };
        let ready = wait_until_ready(&mut node, is_idle, &[slurm.directory.path().join("log")]);
        slurm.node = Some(node);
        ready.map(|()| slurm)
    }

    /// A program of Slurm, which finds this one.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.directory.path().join("slurm.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for process in [&mut self.node, &mut self.controller, &mut self.munge] {
            kill(process);
        }
    }
}
