//! The protocols of the sink, each with its real driver.
//!
//! Must not start anything.

use highwater_driver::contract::Driver;
use highwater_driver::sql::cratedb::CRATEDB;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::target_url::{Host, Secret, TargetUrl};
use highwater_driver_clickhouse::{CLICKHOUSE, ClickHouseDriver};
use highwater_driver_cratedb::CrateDbDriver;
use highwater_driver_mysql::{MYSQL, MySqlDriver};
use highwater_driver_postgres::{POSTGRESQL, PostgresDriver};
use highwater_model::user_error::UserError;

/// A protocol of the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// The PostgreSQL wire protocol, version 3.
    Postgres,
    /// The MySQL wire protocol.
    MySql,
    /// CrateDB's HTTP endpoint.
    Crate,
    /// ClickHouse's HTTP interface.
    ClickHouse,
}

impl Protocol {
    const ALL: [Self; 4] = [Self::Postgres, Self::MySql, Self::Crate, Self::ClickHouse];

    /// The protocol named by a URL.
    pub(super) fn of(url: &TargetUrl) -> Result<Self, UserError> {
        let names: Vec<String> =
            Self::ALL.iter().map(|protocol| format!("`null:{}`", protocol.name())).collect();
        let plain = url.hosts.is_empty() && url.user.is_none() && url.parameters.is_empty();
        Self::ALL.into_iter().find(|protocol| plain && protocol.name() == url.path).ok_or_else(
            || {
                UserError::usage(format!("target `{url}` is no sink that there is"))
                    .with_hint(format!("there are {}", names.join(", ")))
            },
        )
    }

    /// Its name, the driver of its sessions, and that driver's SQL.
    const fn parts(self) -> (&'static str, &'static dyn Driver, &'static Dialect) {
        match self {
            Self::Postgres => ("postgres", &PostgresDriver, &POSTGRESQL),
            Self::MySql => ("mysql", &MySqlDriver, &MYSQL),
            Self::Crate => ("crate", &CrateDbDriver, &CRATEDB),
            Self::ClickHouse => ("clickhouse", &ClickHouseDriver, &CLICKHOUSE),
        }
    }

    /// The name after `null:`.
    pub(super) const fn name(self) -> &'static str {
        self.parts().0
    }

    /// The driver whose sessions are measured.
    pub(super) const fn driver(self) -> &'static dyn Driver {
        self.parts().1
    }

    /// The dialect of a real server.
    pub(super) const fn dialect(self) -> &'static Dialect {
        self.parts().2
    }

    /// The URL that the real driver gets for sinks on these ports.
    pub(super) fn url(self, ports: &[u16]) -> TargetUrl {
        let hosts = ports.iter().map(|port| Host::at("127.0.0.1", *port));
        TargetUrl {
            scheme: self.name().to_owned(),
            user: Some("highwater".to_owned()),
            // The sink accepts any password, so no file is read for one.
            password: (self == Self::MySql).then(|| Secret::new("")),
            hosts: hosts.collect(),
            path: "sink".to_owned(),
            parameters: [("sslmode".to_owned(), "disable".to_owned())].into(),
        }
    }
}
