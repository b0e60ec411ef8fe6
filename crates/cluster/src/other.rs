//! A system without Linux's list of processes: every cluster is refused, so none exists.

use std::path::Path;

use highwater_driver::interrupts::Interrupts;
use highwater_driver::telemetry::LimitedNode;
use highwater_model::cluster::ClusterSpec;
use highwater_model::user_error::UserError;

use crate::{HistoryEntry, Node, NodeAction, Options};

/// None exists.
pub enum Cluster {}

impl Cluster {
    /// Always an error.
    pub fn new(_: ClusterSpec, _: &Path, _: Options, _: Interrupts) -> Result<Self, UserError> {
        let message = "cluster files need Linux, whose list of processes tells what has ended";
        Err(UserError::usage(message).with_hint("start the database by hand, and name its URL"))
    }

    /// Never called.
    pub fn size(&self) -> u32 {
        match *self {}
    }

    /// Never called.
    pub fn resize(&mut self, _: u32) -> Result<Vec<Node>, UserError> {
        match *self {}
    }

    /// Never called.
    pub fn fresh(&mut self, _: u32) -> Result<Vec<Node>, UserError> {
        match *self {}
    }

    /// Never called.
    pub fn alone(&mut self, _: u32) -> Result<Vec<Node>, UserError> {
        match *self {}
    }

    /// Never called.
    pub fn nodes(&mut self) -> Result<Vec<Node>, UserError> {
        match *self {}
    }

    /// Never called.
    pub fn urls(&mut self) -> Result<Vec<String>, UserError> {
        match *self {}
    }

    /// Never called.
    pub fn is_ready(&self, _: u32) -> Result<Option<bool>, UserError> {
        match *self {}
    }

    /// Never called.
    pub fn holder(&self, _: u32) -> Result<fn(bool), UserError> {
        match *self {}
    }

    /// Never called.
    pub fn act(&mut self, _: u32, _: NodeAction) -> Result<(), UserError> {
        match *self {}
    }

    /// Never called.
    pub fn awaits_warm_up(&self) -> bool {
        match *self {}
    }

    /// Never called.
    pub fn begin_quota(&mut self) -> Result<(), UserError> {
        match *self {}
    }

    /// Never called.
    pub fn limited_nodes(&self) -> Vec<LimitedNode> {
        match *self {}
    }

    /// Never called.
    pub fn restore(&mut self) -> Result<bool, UserError> {
        match *self {}
    }

    /// Never called.
    pub fn down(&mut self) -> Result<(), UserError> {
        match *self {}
    }

    /// Never called.
    pub fn keep(&mut self) -> Result<(), UserError> {
        match *self {}
    }

    /// Never called.
    pub fn history(&self) -> &[HistoryEntry] {
        match *self {}
    }
}
