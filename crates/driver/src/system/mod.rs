//! What differs between operating systems: owners and modes of files, pipes, CPU clocks, names of the machine, Unix
//! sockets, and process groups. Other crates call these functions instead of a system's own.
//!
//! A fact that a system does not have is absent, never invented; an action that it does not have is an error. The
//! clock's timer, the kernel's process files, and clusters are elsewhere, because only Linux has them. Must not decide
//! what follows from a fact.

#[cfg(any(not(unix), test))]
#[cfg_attr(unix, expect(dead_code, unreachable_pub, reason = "a test of its positions"))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use other::*;
#[cfg(unix)]
pub use unix::*;

/// Who may do what with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRights {
    /// The id of its owner.
    pub owner: u32,
    /// The id of its group.
    pub group: u32,
    /// Its permission bits.
    pub mode: u32,
}

/// Names of this machine and of its system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineNames {
    /// In the network.
    pub host: Option<String>,
    /// The system's, such as `Linux`.
    pub system: String,
    /// The version of its kernel.
    pub kernel: Option<String>,
    /// The processor's, such as `x86_64`.
    pub architecture: String,
}

#[cfg(all(test, unix))]
mod tests {
    use super::{other, unix};

    #[test]
    fn positions_are_those_of_the_call_on_every_system() {
        for (write_all_at, read_exact_at) in [
            (
                unix::write_all_at as fn(&_, &_, _) -> _,
                unix::read_exact_at as fn(&_, &mut _, _) -> _,
            ),
            (other::write_all_at, other::read_exact_at),
        ] {
            let file = tempfile::tempfile().unwrap();
            write_all_at(&file, b"abcd", 0).unwrap();
            write_all_at(&file, b"BC", 1).unwrap();
            let mut read = [0; 3];
            read_exact_at(&file, &mut read, 1).unwrap();
            assert_eq!(&read, b"BCd");
            read_exact_at(&file, &mut read, 0).unwrap();
            assert_eq!(&read, b"aBC");
            assert!(read_exact_at(&file, &mut read, 2).is_err(), "it has fewer bytes");
        }
    }
}
