//! Cores for a benchmark's clients, and others for the server beside them.
//!
//! Where both share cores, the ratio of the same two programs with one client can be twice as high in one round as in the
//! next; apart they scatter less. That the system's placing of the two is the cause is likely, and was not proved.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Starts a server on all cores but the first that this process may use. That one is left for the process itself and
/// for what it starts from then on. A machine with one core has nothing to divide.
///
/// # Errors
///
/// The system does not let the cores be chosen.
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
