//! Leases of tables: they show which run is filling a table, so that no second run does.
//!
//! A lease is a row of `highwater_leases`, renewed by a heartbeat. This module has the rules; the statements are in
//! `sql::leases`. Must not contain SQL, read a clock, or inspect processes.

use highwater_model::units::Nanos;

/// Name of the table of leases.
pub const LEASES_TABLE: &str = "highwater_leases";
/// Time between two heartbeats.
pub const HEARTBEAT: Nanos = Nanos::from_secs(6);
/// After this long without a heartbeat, a lease is watched for [`WATCH`]; both together are the half minute after which
/// the lease of a killed run ends.
pub const HEARTBEAT_OVERDUE: Nanos = Nanos::from_secs(20);
/// A lease with an overdue heartbeat ends if none comes within this time: after an outage of the target, its owner
/// needs a moment to write again.
pub const WATCH: Nanos = Nanos::from_secs(10);
/// A lock of the owner's connection keeps a lease for this long without a heartbeat; a target may keep the connections
/// of a vanished machine for hours.
pub const LOCKED_MAX: Nanos = Nanos::from_secs(300);

/// A process, identified by its machine, its number, and its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// Name of the process for display, such as `alice@host7`.
    pub name: String,
    /// The boot id and process namespace in which the number is valid; empty if the system provides neither.
    pub machine: String,
    /// Number of the process.
    pub process: u32,
    /// Its start, in the units of the system.
    pub started: u64,
}

/// A lease: a run fills a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lease {
    /// The table, unquoted.
    pub table: String,
    /// Share of the plan that this process runs, from 1.
    pub share: u32,
    /// Number of shares of the plan.
    pub shares: u32,
    /// Common to all leases of one run, and unique to it.
    pub token: String,
    /// Hash of the plan.
    pub plan: String,
    /// The holder.
    pub owner: Owner,
    /// Time since it was taken, by the target's clock.
    pub held: Nanos,
    /// Time since the last heartbeat, by the target's clock.
    pub silent: Nanos,
    /// Whether the connection of its heartbeat still holds its lock; absent if the target has no such locks.
    pub is_locked: Option<bool>,
}

/// An action on leases.
#[derive(Debug, Clone, Copy)]
pub enum LeaseAction<'a> {
    /// No change.
    Read,
    /// Adds those whose table and share are not leased.
    Take(&'a [Lease]),
    /// Writes the heartbeat for a token.
    Renew(&'a str),
    /// Ends the leases of a token.
    End(&'a str),
}

/// The state of a lease's holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// It is running.
    Alive,
    /// It is not running; the lease may be ended.
    Gone,
    /// Its heartbeat is overdue; only a second check after [`WATCH`] decides.
    Silent,
}

impl Lease {
    /// Whether the two holders must not both fill the table: true unless they are different shares of one plan.
    pub fn excludes(&self, other: &Self) -> bool {
        let is_other_share =
            self.plan == other.plan && self.shares == other.shares && self.share != other.share;
        self.table == other.table && self.token != other.token && !is_other_share
    }

    /// The state of its holder; `is_running` returns whether a process of this machine is running, and `None` for other
    /// machines.
    pub fn holder(&self, is_running: impl Fn(&Owner) -> Option<bool>) -> Holder {
        match is_running(&self.owner) {
            Some(true) => Holder::Alive,
            Some(false) => Holder::Gone,
            None if self.silent < HEARTBEAT_OVERDUE => Holder::Alive,
            None if self.is_locked == Some(true) && self.silent < LOCKED_MAX => Holder::Alive,
            None => Holder::Silent,
        }
    }

    /// Whether a heartbeat came between two checks that are `passed` apart.
    pub fn beat_since(&self, earlier: &Self, passed: Nanos) -> bool {
        self.silent < earlier.silent.saturating_add(Nanos(passed.0 / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(token: &str, plan: &str, share: u32, shares: u32) -> Lease {
        Lease {
            table: "cpu".to_owned(),
            share,
            shares,
            token: token.to_owned(),
            plan: plan.to_owned(),
            ..Lease::default()
        }
    }

    #[test]
    fn only_different_shares_of_one_plan_fill_a_table_together() {
        let mine = lease("a", "p", 1, 2);
        for (other, excludes) in [
            (lease("a", "p", 1, 2), false),
            (lease("b", "p", 2, 2), false),
            (lease("b", "p", 1, 2), true),
            (lease("b", "q", 2, 2), true),
            (lease("b", "p", 2, 3), true),
            (Lease { table: "mem".to_owned(), ..lease("b", "q", 1, 2) }, false),
        ] {
            assert_eq!(mine.excludes(&other), excludes, "{other:?}");
            assert_eq!(other.excludes(&mine), excludes, "{other:?}");
        }
    }

    #[test]
    fn a_process_of_this_machine_decides_and_a_heartbeat_elsewhere() {
        let silent = |seconds, is_locked| Lease {
            silent: Nanos::from_secs(seconds),
            is_locked,
            ..lease("a", "p", 1, 1)
        };
        for (seconds, locked, running, holder) in [
            (500, None, Some(true), Holder::Alive),
            (0, Some(true), Some(false), Holder::Gone),
            (19, None, None, Holder::Alive),
            (20, None, None, Holder::Silent),
            (20, Some(false), None, Holder::Silent),
            (299, Some(true), None, Holder::Alive),
            (300, Some(true), None, Holder::Silent),
        ] {
            let got = silent(seconds, locked).holder(|_| running);
            assert_eq!(got, holder, "{seconds} {locked:?} {running:?}");
        }
    }

    #[test]
    fn a_heartbeat_between_two_looks_is_seen() {
        let silent = |ms| Lease { silent: Nanos::from_millis(ms), ..lease("a", "p", 1, 1) };
        let passed = Nanos::from_secs(10);
        assert!(silent(400).beat_since(&silent(25_000), passed));
        assert!(silent(9_000).beat_since(&silent(25_000), passed));
        assert!(!silent(35_000).beat_since(&silent(25_000), passed));
        // Clocks of the target's nodes differ slightly.
        assert!(!silent(34_000).beat_since(&silent(25_000), passed));
    }
}
