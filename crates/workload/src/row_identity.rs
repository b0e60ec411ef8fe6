//! The identity of a workload's rows: equal identities mean equal tables with equal rows.
//!
//! It covers the schema as the target creates it, the generators, and the seed. Batch size, shards, replicas, streams,
//! queries, and other databases' SQL do not change rows, so they are excluded. Must not hold the fingerprint of a
//! workload, which also covers its ops.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::definition::Definition;
use super::definition::preferred;
use super::entity::Entity;
use super::generators::columns::ColumnGenerator;
use super::generators::plain::Plain;
use super::table::Table;
use highwater_model::plan::hex;
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;

/// Part of every fingerprint: incremented when the same file and seed give different rows or ops.
pub(super) const GENERATOR_VERSION: u32 = 1;

/// Parameters for how a target spreads rows, which change no row.
pub(super) const SPREADING: [&str; 3] = ["shards", "num_shards", "replicas"];

/// The inputs that determine the rows of all tables.
#[derive(Serialize)]
struct RowIdentity<'a> {
    generators: u32,
    seed: Seed,
    format: u32,
    entities: &'a [Entity],
    tables: Vec<Table>,
}

/// Each table's create statements, by dialect.
pub(super) type Creation = Vec<BTreeMap<String, Vec<String>>>;

/// SHA-256, in hexadecimal, of the inputs that determine the rows in a target of these dialects.
pub(super) fn row_identity(
    definition: &Definition,
    creation: &Creation,
    dialects: &[String],
    seed: Seed,
) -> Result<String, UserError> {
    let mut tables = definition.tables.clone();
    for (table, creation) in tables.iter_mut().zip(creation) {
        // Finding rows changes none of them.
        table.key.clear();
        let place = format!("table `{}`", table.name);
        let create = preferred(creation, dialects, &place)?.clone();
        table.create = BTreeMap::from([("this target's".to_owned(), create)]);
        for column in &mut table.columns {
            if let ColumnGenerator::Plain(Plain::Keys(keys)) = &mut column.generator {
                keys.leave_out_what_changes_no_key();
            }
        }
    }
    let identity = RowIdentity {
        generators: GENERATOR_VERSION,
        seed,
        format: definition.format,
        entities: &definition.entities,
        tables,
    };
    digest(&identity, "the workload's rows have no identity")
}

/// SHA-256, in hexadecimal, of a value as JSON; `missing` is the error if it cannot be serialized.
pub(super) fn digest(content: &impl Serialize, missing: &str) -> Result<String, UserError> {
    let content = serde_json::to_vec(content)
        .map_err(|error| UserError::usage(format!("{missing}: {error}")))?;
    Ok(hex(&Sha256::digest(&content)))
}
