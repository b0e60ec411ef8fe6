//! `highwater cluster`: starting, resizing and ending clusters, and the files that describe them.

mod commands;
mod endings;
mod files;
mod lab;
mod nodes;
mod restoring;
