//! The driver on three nodes of MariaDB with Galera, one after the other on one cluster; a test that loses
//! nodes has a cluster of its own.

mod certainty;
mod cluster;
mod conformance;
mod losing;
mod nodes;
