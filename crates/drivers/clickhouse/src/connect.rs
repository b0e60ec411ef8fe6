//! From an address to a connection that the server accepts: login, and which settings it knows.
//!
//! HTTP has no start-up: a first question shows whether user and password are right. Must not run a
//! workload's statements.

use std::rc::Rc;

use highwater_driver::contract::{TargetError, Timeline};
use highwater_driver::sql::connection::rows_of;
use highwater_driver::time_limit;

use super::insert_mode::{Format, Mode};
use super::options::Node;
use super::wire::{EXACT_FRACTIONS, SETTINGS, Wire, dial};

/// Connects within the node's bound.
pub(super) async fn open(node: &Node, timeline: &Rc<dyn Timeline>) -> Result<Wire, TargetError> {
    let opening = async {
        let http = dial(node).await?;
        let mut wire = Wire::new(http, node.clone(), Rc::clone(timeline));
        if node.known.get().is_none() {
            let names = SETTINGS.map(|(name, _)| format!("'{name}'")).join(", ");
            let sql = format!("SELECT name FROM system.settings WHERE name IN ({names})");
            let rows = rows_of(&mut wire, &node.shown, &sql).await?;
            // Whoever was faster has the same answer.
            drop(node.known.set(rows.into_iter().flatten().flatten().collect()));
            wire.write_heads();
        }
        // Whether the login is right, and may set these.
        rows_of(&mut wire, &node.shown, "SELECT 1").await?;
        Ok(wire)
    };
    time_limit::connected(timeline, node.connect_timeout, &node.shown, opening).await
}

/// Fails with a format in which the server, to which a connection was opened, would read other numbers than
/// were sent.
pub(super) fn check_format(node: &Node, mode: Mode) -> Result<(), TargetError> {
    let mut known = node.known.get().into_iter().flatten();
    if mode.format != Format::JsonEachRow || known.any(|name| name == EXACT_FRACTIONS) {
        return Ok(());
    }
    let (shown, name) = (&node.shown, mode.name());
    Err(TargetError::usage(format!(
        "{shown}: `--insert {name}`: the server has no setting `{EXACT_FRACTIONS}`, so that it reads \
         fractions inexactly"
    ))
    .with_hint("use --insert native or --insert rowbinary, which send numbers as they are"))
}
