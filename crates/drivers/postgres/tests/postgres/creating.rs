//! Tables created by several programs at the same moment.

use futures_util::future::join_all;
use highwater_driver::{LeaseAction, TablePolicy};
use highwater_model::units::Seed;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::client::{admin, open, points};
use crate::support::block_on;

/// Number of databases to try: the server rejects one of two only occasionally.
const TIMES: usize = 6;
/// Programs that start at the same moment.
const PROGRAMS: usize = 4;

#[test]
fn programs_that_begin_at_one_moment_do_not_refuse_each_other() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    for time in 0..TIMES {
        let database = format!("together_{time}");
        server.sql("postgres", &format!("CREATE DATABASE {database}"));
        let target = open(&server.url(SUPERUSER, &database), None).unwrap();
        block_on(async {
            let workload = points();
            let policy = TablePolicy::new("f", Seed(1));
            let opened = join_all((0..PROGRAMS).map(|_| admin(target.as_ref()))).await;
            let mut admins: Vec<_> = opened.into_iter().map(Result::unwrap).collect();
            let leases = admins.iter_mut().map(|a| a.leases(LeaseAction::Read));
            for read in join_all(leases).await {
                assert!(read.unwrap().is_empty());
            }
            let created = admins.iter_mut().map(|a| a.create_tables(&workload, &policy));
            for entries in join_all(created).await {
                assert_eq!(entries.unwrap().len(), workload.tables.len());
            }
        });
    }
}
