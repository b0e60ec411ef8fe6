//! The driver on three MariaDB Galera nodes: tests share one cluster, one after the other; a test that loses nodes has
//! a separate one.

mod certainty;
mod cluster;
mod conformance;
mod losing;
mod nodes;
