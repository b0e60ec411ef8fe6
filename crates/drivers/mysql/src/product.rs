//! Identifies the product behind the protocol, from the server's own description. Must not do I/O.

/// A product, with its differences from MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    MariaDb,
    MySql,
    TiDb,
    SingleStore,
}

impl Product {
    /// Determines it from the responses to `version()` and `@@version_comment`.
    pub(super) fn of(version: &str, comment: &str) -> Self {
        let says = |word: &str| [version, comment].iter().any(|text| text.contains(word));
        if says("TiDB") {
            Self::TiDb
        } else if says("MariaDB") {
            Self::MariaDb
        } else if says("MemSQL") || says("SingleStore") {
            Self::SingleStore
        } else {
            Self::MySql
        }
    }

    /// Names of its SQL dialects, best first.
    pub(super) fn dialects(self) -> Vec<String> {
        let own = match self {
            Self::MariaDb => Some("mariadb"),
            Self::MySql => None,
            Self::TiDb => Some("tidb"),
            Self::SingleStore => Some("singlestore"),
        };
        let names = own.into_iter().chain(["mysql"]);
        names.map(str::to_owned).collect()
    }

    /// Whether `lock_wait_timeout` limits how long a statement waits for a table lock; unless it is set, the limit is a
    /// day.
    pub(super) fn has_table_lock_timeout(self) -> bool {
        self != Self::SingleStore
    }

    /// Whether it may belong to a Galera cluster.
    pub(super) fn may_replicate(self) -> bool {
        matches!(self, Self::MariaDb | Self::MySql)
    }

    /// Whether every statement can be prepared.
    pub(super) fn prepares_inserts(self) -> bool {
        self != Self::SingleStore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_recognized_by_its_version_or_its_comment() {
        for (version, comment, product, best) in [
            ("10.11.19-MariaDB-0+deb12u1", "Debian 12", Product::MariaDb, "mariadb"),
            ("8.0.36", "MySQL Community Server - GPL", Product::MySql, "mysql"),
            ("8.0.11-TiDB-v8.3.0", "TiDB Server (Apache License 2.0)", Product::TiDb, "tidb"),
            (
                "5.7.32",
                "SingleStoreDB source distribution (compatible; MySQL Enterprise)",
                Product::SingleStore,
                "singlestore",
            ),
            ("5.5.8", "MemSQL source distribution", Product::SingleStore, "singlestore"),
        ] {
            let found = Product::of(version, comment);
            assert_eq!(found, product, "{version}");
            assert_eq!(found.dialects()[0], best);
            assert_eq!(found.dialects().last().unwrap(), "mysql");
        }
    }
}
