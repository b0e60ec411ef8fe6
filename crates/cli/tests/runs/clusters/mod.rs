//! `highwater cluster`: starting, resizing and ending clusters, and the files that describe them.

mod commands;
mod files;
mod lab;
mod nodes;
