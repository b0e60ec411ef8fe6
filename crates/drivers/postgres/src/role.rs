//! Whether a server is writable, and whether it is a standby: used for `target_session_attrs`, as in libpq. Must not
//! choose a host.

use super::options::{Node, SessionAttributes};
use super::wire::Connection;
use highwater_driver::contract::TargetError;
use highwater_driver::sql::connection::rows_of;
use highwater_driver::sql_query::first_value;

/// The role that a server reports at start-up, from PostgreSQL 14 on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReportedRole {
    read_only_by_default: Option<bool>,
    standby: Option<bool>,
}

impl ReportedRole {
    /// Processes any reported parameter.
    pub(super) fn take(&mut self, name: &str, value: &str) {
        match name {
            "default_transaction_read_only" => self.read_only_by_default = Some(value == "on"),
            "in_hot_standby" => self.standby = Some(value == "on"),
            _ => {}
        }
    }

    fn read_only(self) -> Option<bool> {
        Some(self.read_only_by_default? || self.standby?)
    }
}

/// Why a connection is not of the requested kind; `None` if it is.
pub(super) async fn mismatch(
    connection: &mut Connection,
    reported: ReportedRole,
    node: &Node,
    expected: SessionAttributes,
) -> Result<Option<&'static str>, TargetError> {
    use SessionAttributes::{Any, PreferStandby, Primary, ReadOnly, ReadWrite, Standby};
    let is = match expected {
        Any => return Ok(None),
        ReadWrite | ReadOnly => match reported.read_only() {
            Some(known) => known,
            None => is_on(connection, node, "SHOW transaction_read_only").await?,
        },
        Primary | Standby | PreferStandby => match reported.standby {
            Some(known) => known,
            None => is_on(connection, node, "SELECT pg_catalog.pg_is_in_recovery()").await?,
        },
    };
    Ok(match (expected, is) {
        (ReadWrite, true) => Some("its sessions are read-only"),
        (ReadOnly, false) => Some("its sessions are not read-only"),
        (Primary, true) => Some("it is a standby"),
        (Standby | PreferStandby, false) => Some("it is no standby"),
        _ => None,
    })
}

async fn is_on(connection: &mut Connection, node: &Node, sql: &str) -> Result<bool, TargetError> {
    let value = first_value(rows_of(connection, &node.shown, sql).await?);
    Ok(value.is_some_and(|value| ["on", "t", "true"].contains(&value.as_str())))
}
