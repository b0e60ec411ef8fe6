//! The protocols of the sink, and the real driver of each.
//!
//! Must not start anything.

use highwater_driver::contract::{Driver, TableFeatures, TargetError};
use highwater_driver::target_url::{Host, Secret, TargetUrl};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_driver_cratedb::CrateDbDriver;
use highwater_driver_mysql::MySqlDriver;
use highwater_driver_postgres::PostgresDriver;

/// A protocol that the sink speaks.
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

    /// The protocol that a URL names.
    pub(super) fn of(url: &TargetUrl) -> Result<Self, TargetError> {
        let names: Vec<String> = Self::ALL
            .iter()
            .map(|protocol| format!("`null:{}`", protocol.name()))
            .collect();
        let plain = url.hosts.is_empty() && url.user.is_none() && url.parameters.is_empty();
        Self::ALL
            .into_iter()
            .find(|protocol| plain && protocol.name() == url.path)
            .ok_or_else(|| {
                TargetError::usage(format!("target `{url}` is no sink that there is"))
                    .with_hint(format!("there are {}", names.join(", ")))
            })
    }

    /// What follows `null:`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MySql => "mysql",
            Self::Crate => "crate",
            Self::ClickHouse => "clickhouse",
        }
    }

    /// The driver whose sessions are measured.
    pub(super) fn driver(self) -> &'static dyn Driver {
        match self {
            Self::Postgres => &PostgresDriver,
            Self::MySql => &MySqlDriver,
            Self::Crate => &CrateDbDriver,
            Self::ClickHouse => &ClickHouseDriver,
        }
    }

    /// Dialects of a workload's statements.
    pub(super) const fn dialects(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &["postgresql"],
            Self::MySql => &["mariadb", "mysql"],
            Self::Crate => &["cratedb", "postgresql"],
            Self::ClickHouse => &["clickhouse"],
        }
    }

    /// Whether several statements can be one transaction, where they are real.
    pub(super) const fn has_transactions(self) -> bool {
        matches!(self, Self::Postgres | Self::MySql)
    }

    /// What tables have besides columns, where they are real.
    pub(super) const fn table_features(self) -> TableFeatures {
        TableFeatures {
            shards: matches!(self, Self::Crate),
            settings: true,
        }
    }

    /// The URL that the real driver gets for sinks on these ports.
    pub(super) fn url(self, ports: &[u16]) -> TargetUrl {
        let hosts = ports.iter().map(|port| Host::at("127.0.0.1", *port));
        TargetUrl {
            scheme: self.name().to_owned(),
            user: Some("highwater".to_owned()),
            // The sink takes any: so no file is read for one.
            password: (self == Self::MySql).then(|| Secret::new("")),
            hosts: hosts.collect(),
            path: "sink".to_owned(),
            parameters: [("sslmode".to_owned(), "disable".to_owned())].into(),
        }
    }
}
