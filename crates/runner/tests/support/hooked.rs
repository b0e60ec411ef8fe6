//! A target that forwards everything to another one, except for a test's changes. Must not define the changes.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{
    Admin, Capabilities, Connect, KeyCounts, KeySums, Lease, LeaseAction, RegistryEntry, Response,
    RowTaker, ServerAdmin, Session, TableAdmin, TableDescriber, TablePolicy, TableReader, Target,
    TargetFacts, Timeline,
};
use highwater_model::op::{BoundColumn, BoundTable, BoundWorkload, PlaceholderStyle, Value};
use highwater_model::stored::{DeclaredColumn, KeyRange};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

/// The differences of a target from the wrapped one.
pub(crate) trait Hooks: Send + Sync + 'static {
    /// Wraps an opened session, or returns why it is refused.
    fn opened(
        &self,
        connect: &Connect,
        session: Box<dyn Session>,
    ) -> Result<Box<dyn Session>, UserError>;

    /// Wraps the connection used before and after the load.
    fn administers(&self, admin: Box<dyn Admin>, _timeline: &Rc<dyn Timeline>) -> Box<dyn Admin> {
        admin
    }
}

/// The target.
pub(crate) struct Hooked<H> {
    pub(crate) inner: Arc<dyn Target>,
    pub(crate) hooks: H,
}

impl<H: Hooks> Target for Hooked<H> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn placeholders(&self) -> PlaceholderStyle {
        self.inner.placeholders()
    }

    fn urls(&self) -> Vec<String> {
        self.inner.urls()
    }

    fn configure(&self, settings: &[(String, String)]) -> Result<(), UserError> {
        self.inner.configure(settings)
    }

    fn host_of(&self, number: u32, attempt: u32) -> usize {
        self.inner.host_of(number, attempt)
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let session = self.inner.connect(connect.clone()).await?;
            self.hooks.opened(&connect, session)
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let admin = self.inner.administer(Rc::clone(&timeline)).await?;
            Ok(self.hooks.administers(admin, &timeline))
        })
    }
}

/// The differences of an admin from the wrapped one.
pub(crate) trait AdminHooks {
    /// Called after each wait for an idle target; returns whether it is idle.
    fn quiesced(&mut self, _deadline: Nanos, quiet: bool) -> Response<'_, bool> {
        Box::pin(std::future::ready(Ok(quiet)))
    }

    /// The tables have been created, and the load is about to begin.
    fn made(&self) {}

    /// Whether leases are ended on request.
    fn ends_leases(&self) -> bool {
        true
    }

    /// Whether the server's own counter of rows is read.
    fn has_counter(&self) -> bool {
        true
    }

    /// The size of the tables, replacing their own.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Why sums or counts by this many keys are refused.
    fn refuses_sums(&self, _table: &BoundTable, _width: u64) -> Option<UserError> {
        None
    }

    /// Changes the computed sums.
    fn summed(&self, _sums: &mut KeySums) {}

    /// Why rows are refused, after all of them were sent.
    fn refuses_rows(&self) -> Option<UserError> {
        None
    }
}

/// The admin.
pub(crate) struct HookedAdmin<H> {
    pub(crate) inner: Box<dyn Admin>,
    pub(crate) hooks: H,
}

impl<H: AdminHooks> ServerAdmin for HookedAdmin<H> {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        self.inner.facts()
    }

    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool> {
        Box::pin(async move {
            let quiet = self.inner.quiesce(deadline).await?;
            self.hooks.quiesced(deadline, quiet).await
        })
    }
}

impl<H: AdminHooks> TableAdmin for HookedAdmin<H> {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        self.inner.create_tables(workload, policy)
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(async move {
            self.inner.update_registry(entries).await?;
            if entries.iter().any(|entry| entry.writing) {
                self.hooks.made();
            }
            Ok(())
        })
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        match action {
            LeaseAction::End(_) if !self.hooks.ends_leases() => {
                self.inner.leases(LeaseAction::Read)
            }
            action => self.inner.leases(action),
        }
    }

    fn rows_inserted<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        if self.hooks.has_counter() {
            return self.inner.rows_inserted(workload);
        }
        Box::pin(std::future::ready(Ok(None)))
    }

    fn storage_bytes<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        match self.hooks.size() {
            None => self.inner.storage_bytes(workload),
            size => Box::pin(std::future::ready(Ok(size))),
        }
    }
}

impl<H: AdminHooks> TableReader for HookedAdmin<H> {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> Response<'a, KeyCounts> {
        match self.hooks.refuses_sums(table, width) {
            None => self.inner.count_by_key(table, width),
            Some(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums> {
        let refusal = self.hooks.refuses_sums(table, width);
        Box::pin(async move {
            refusal.map_or(Ok(()), Err)?;
            let mut sums = self.inner.sums_by_key(table, width).await?;
            self.hooks.summed(&mut sums);
            Ok(sums)
        })
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        let refusal = self.hooks.refuses_rows();
        Box::pin(async move {
            self.inner.read_rows(table, ranges, take).await?;
            refusal.map_or(Ok(()), Err)
        })
    }

    fn declared_columns<'a>(
        &'a mut self,
        table: &'a BoundTable,
    ) -> Response<'a, Vec<DeclaredColumn>> {
        self.inner.declared_columns(table)
    }

    fn text_in<'a>(
        &'a mut self,
        column: &'a BoundColumn,
        text: &'a str,
    ) -> Response<'a, Option<String>> {
        self.inner.text_in(column, text)
    }

    fn hidden_rows<'a>(&'a mut self, table: &'a BoundTable) -> Response<'a, Option<String>> {
        self.inner.hidden_rows(table)
    }

    fn condition(&self, table: &BoundTable, row: &[Value]) -> Option<String> {
        self.inner.condition(table, row)
    }
}

impl<H: AdminHooks> TableDescriber for HookedAdmin<H> {}
