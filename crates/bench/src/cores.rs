//! Separate cores for a benchmark's clients and for the server.
//!
//! If both share cores, the ratio of the same two programs with one client can be twice as high in one round as in the
//! next; on separate cores it scatters less. The likely cause, unproven, is the system's placement of the two.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Starts a server on all available cores except the first, which is left for this process and for what it starts
/// later. On a machine with one core nothing changes.
///
/// # Errors
///
/// If the system does not allow choosing the cores.
pub fn apart<T>(start_server: impl FnOnce() -> T) -> io::Result<T> {
    let all = sched_getaffinity(None)?;
    let usable = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
    let (mut clients, mut servers) = (CpuSet::new(), all);
    if let Some(first) = usable.min() {
        clients.set(first);
        servers.unset(first);
    }
    if servers.count() == 0 {
        return Ok(start_server());
    }
    sched_setaffinity(None, &servers)?;
    let server = start_server();
    sched_setaffinity(None, &clients)?;
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_a_core_that_no_server_has() {
        let all = sched_getaffinity(None).unwrap();
        let server = apart(|| sched_getaffinity(None).unwrap()).unwrap();
        let clients = sched_getaffinity(None).unwrap();
        if all.count() == 1 {
            assert_eq!((server, clients), (all, all));
            return;
        }
        assert_eq!(clients.count(), 1);
        assert_eq!(server.count(), all.count() - 1);
        let shared =
            (0..CpuSet::MAX_CPU).filter(|core| clients.is_set(*core) && server.is_set(*core));
        assert_eq!(shared.count(), 0);
    }
}
