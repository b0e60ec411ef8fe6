//! Opens a connection that the server accepts: checks the login, and the settings that the server knows.
//!
//! HTTP has no start-up exchange, so a first query checks user and password. Must not run a workload's statements.

use std::rc::Rc;

use highwater_driver::contract::Timeline;
use highwater_driver::sql::connection::rows_of;
use highwater_driver::time_limit;
use highwater_model::user_error::UserError;

use super::insert_mode::{Format, Mode};
use super::options::Node;
use super::wire::{EXACT_FRACTIONS, SETTINGS, Wire, dial};

/// Connects within the node's time limit.
pub(super) async fn open(node: &Node, timeline: &Rc<dyn Timeline>) -> Result<Wire, UserError> {
    let opening = async {
        let http = dial(node).await?;
        let mut wire = Wire::new(http, node.clone(), Rc::clone(timeline));
        if node.known.get().is_none() {
            let names = SETTINGS.map(|(name, _)| format!("'{name}'")).join(", ");
            let sql = format!("SELECT name FROM system.settings WHERE name IN ({names})");
            let rows = rows_of(&mut wire, &node.shown, &sql).await?;
            // If another session was faster, it has the same response.
            drop(node.known.set(rows.into_iter().flatten().flatten().collect()));
            wire.write_heads();
        }
        // Checks the login, and that it may set these settings.
        rows_of(&mut wire, &node.shown, "SELECT 1").await?;
        Ok(wire)
    };
    time_limit::connected(timeline, node.connect_timeout, &node.shown, opening).await
}

/// Fails for a format in which the connected server would read other numbers than were sent.
pub(super) fn check_format(node: &Node, mode: Mode) -> Result<(), UserError> {
    let mut known = node.known.get().into_iter().flatten();
    if mode.format != Format::JsonEachRow || known.any(|name| name == EXACT_FRACTIONS) {
        return Ok(());
    }
    let (shown, name) = (&node.shown, mode.name());
    Err(UserError::usage(format!(
        "{shown}: `--insert {name}`: the server has no setting `{EXACT_FRACTIONS}`, so that it reads \
         fractions inexactly"
    ))
    .with_hint("use --insert native or --insert rowbinary, which send numbers as they are"))
}
