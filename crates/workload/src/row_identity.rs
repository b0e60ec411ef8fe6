//! The identity of a workload's rows: equal identities mean equal tables with equal rows.
//!
//! It covers the schema, the generators and the seed. Batch size, shards, replicas, streams and
//! queries leave every row as it is, so they are left out. What must not be here: the fingerprint
//! of a workload, which covers its ops too.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::definition::Definition;
use super::entity::Entity;
use super::generators::columns::ColumnGenerator;
use super::generators::plain::Plain;
use super::table::Table;
use highwater_model::input_error::InputError;
use highwater_model::plan::hex;
use highwater_model::units::Seed;

/// Parameters that say how a target spreads rows, and do not change any row.
pub(super) const SPREADING: [&str; 3] = ["shards", "num_shards", "replicas"];

/// What determines the rows of all tables.
#[derive(Serialize)]
struct RowIdentity<'a> {
    generators: u32,
    seed: Seed,
    format: u32,
    entities: &'a [Entity],
    tables: Vec<Table>,
}

/// SHA-256 in hexadecimal of what determines the rows. `unspread` is the same workload with the
/// defaults of [`SPREADING`]: the statements that create tables are taken from there.
pub(super) fn row_identity(
    definition: &Definition,
    unspread: &Definition,
    generators: u32,
    seed: Seed,
) -> Result<String, InputError> {
    let mut tables = definition.tables.clone();
    for (position, table) in tables.iter_mut().enumerate() {
        // How rows are found again changes none of them.
        table.key.clear();
        if let Some(other) = unspread.tables.get(position) {
            table.create.clone_from(&other.create);
        }
        for column in &mut table.columns {
            if let ColumnGenerator::Plain(Plain::Keys(keys)) = &mut column.generator {
                keys.leave_out_what_changes_no_key();
            }
        }
    }
    let identity = RowIdentity {
        generators,
        seed,
        format: definition.format,
        entities: &definition.entities,
        tables,
    };
    let content = serde_json::to_vec(&identity).map_err(|error| {
        InputError::elsewhere(format!("the workload's rows have no identity: {error}"))
    })?;
    Ok(hex(&Sha256::digest(&content)))
}
