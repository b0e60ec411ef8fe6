//! A sink on loopback: the real client path against a server that does nothing.
//!
//! `null:postgres`, `null:mysql`, `null:crate`, and `null:clickhouse` start separate threads that read everything and
//! respond with success in that protocol, and run the real driver's sessions against them. The result is the ceiling of
//! this machine: what it can send with that workload, batch, and number of sessions. The sink's threads are in this
//! process, but their CPU time counts as the target's.
//!
//! It stores nothing: there is nothing to audit, to count, or to continue. Must not take a shortcut for the client,
//! such as a connection without a socket.

mod clickhouse;
mod conversation;
mod cratedb;
mod leases;
mod mysql;
mod postgres;
mod sink;

use std::future::ready;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use highwater_driver::contract::{
    Admin, Capabilities, Connect, Driver, KeyCounts, KeySums, Response, RowTaker, ServerAdmin,
    Session, TableAdmin, TableDescriber, TableReader, Target, TargetFacts, TargetOptions, Timeline,
};
use highwater_driver::table_registry::{Lease, LeaseAction, RegistryEntry, TablePolicy};
use highwater_driver::target_url::TargetUrl;
use highwater_model::op::{BoundTable, BoundWorkload, PlaceholderStyle};
use highwater_model::plan::AuditLevel;
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use self::leases::FolderLeases;
use self::sink::{Protocol, Sink};

/// The driver of `null:PROTOCOL`.
#[derive(Debug, Clone, Copy)]
pub struct NullDriver;

impl Driver for NullDriver {
    fn name(&self) -> &'static str {
        "null"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["null"]
    }

    fn summary(&self) -> &'static str {
        "a sink in this process that stores nothing, for the load generator's own ceiling: \
         null:crate, null:clickhouse, null:mysql or null:postgres"
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError> {
        let [url] = urls else {
            return Err(UserError::usage("a sink is a single target")
                .with_hint("name one `null:` target; --sessions spreads over its threads"));
        };
        let protocol = Protocol::from_url(url)?;
        // Its options are checked before anything starts; no connection is made.
        let prototype = protocol.driver().open(&[protocol.url(&[1])], options)?;
        Ok(Arc::new(NullTarget {
            protocol,
            options: options.clone(),
            prototype,
            running: OnceLock::new(),
        }))
    }
}

/// A sink, and the real driver's target connected to it.
struct Running {
    sink: Sink,
    target: Arc<dyn Target>,
}

/// See the module documentation.
struct NullTarget {
    protocol: Protocol,
    options: TargetOptions,
    /// The real driver's target without an address, for facts that need no connection.
    prototype: Arc<dyn Target>,
    /// Started with the first connection.
    running: OnceLock<Result<Running, UserError>>,
}

impl NullTarget {
    fn running(&self) -> Result<&Running, UserError> {
        let started = self.running.get_or_init(|| self.start());
        started.as_ref().map_err(Clone::clone)
    }

    fn start(&self) -> Result<Running, UserError> {
        let sink = Sink::start(self.protocol).map_err(|error| {
            UserError::unreachable(format!("cannot start a sink on loopback: {error}"))
        })?;
        let url = self.protocol.url(&sink.ports);
        let target = self.protocol.driver().open(&[url], &self.options)?;
        Ok(Running { sink, target })
    }
}

impl Target for NullTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            embedded: true,
            stores_values: false,
            auditable: AuditLevel::Off,
            audit_ns_per_row: 0,
            ..self.prototype.capabilities()
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        self.prototype.placeholders()
    }

    fn urls(&self) -> Vec<String> {
        vec![format!("null:{}", self.protocol.name())]
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let running = self.running()?;
            running.sink.tables.set(&connect.workload);
            running.target.connect(connect).await
        })
    }

    fn administer(&self, _timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            self.running()?;
            let modes = self.prototype.capabilities().insert_modes;
            let insert = self.options.insert.as_deref().or(modes.first().copied());
            let admin = NullAdmin {
                protocol: self.protocol,
                insert: insert.unwrap_or_default().to_owned(),
                leases: self.options.leases_directory.clone().map(FolderLeases::new),
            };
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn embedded_cpu(&self) -> Nanos {
        match self.running.get() {
            Some(Ok(running)) => running.sink.cpu(),
            _ => Nanos::ZERO,
        }
    }

    fn is_sink(&self) -> bool {
        true
    }
}

/// The sink's replacement for a connection before and after the load.
struct NullAdmin {
    protocol: Protocol,
    /// The insert mode, for the facts.
    insert: String,
    /// Absent if no shares of a plan can meet.
    leases: Option<FolderLeases>,
}

impl ServerAdmin for NullAdmin {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        let (name, dialect) = (self.protocol.name(), self.protocol.dialect());
        let mut dialects = dialect.names();
        if self.protocol == Protocol::MySql {
            // It responds like this compatible server.
            dialects.insert(0, "mariadb".to_owned());
        }
        let facts = TargetFacts {
            version: format!("Highwater's own sink, {name} protocol"),
            dialects,
            traits: vec!["stores nothing".to_owned(), format!("insert={}", self.insert)],
            tables: dialect.table_features,
            transactions: dialect.rolls_back,
            atomic_batches: dialect.inserts_whole,
            settings: [("insert", self.insert.as_str()), ("durability", "none: nothing is stored")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..TargetFacts::default()
        };
        Box::pin(ready(Ok(facts)))
    }

    fn quiesce(&mut self, _deadline: Nanos) -> Response<'_, bool> {
        Box::pin(ready(Ok(true)))
    }
}

impl TableAdmin for NullAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        let entries = workload.tables.iter().map(|table| policy.new_entry(&table.name)).collect();
        Box::pin(ready(Ok(entries)))
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        let leases = self.leases.as_ref().map(|leases| leases.perform(action));
        Box::pin(ready(leases.unwrap_or_else(|| Ok(Vec::new()))))
    }
}

impl TableReader for NullAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        _table: &'a BoundTable,
        _width: u64,
    ) -> Response<'a, KeyCounts> {
        Box::pin(ready(Ok(KeyCounts::default())))
    }

    fn sums_by_key<'a>(&'a mut self, _table: &'a BoundTable, _width: u64) -> Response<'a, KeySums> {
        Box::pin(ready(Ok(KeySums::default())))
    }

    fn read_rows<'a>(
        &'a mut self,
        _table: &'a BoundTable,
        _ranges: &'a [KeyRange],
        _take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        Box::pin(ready(Ok(())))
    }
}

impl TableDescriber for NullAdmin {}
