//! Information for judging and repeating a run, folded: environment, settings, plan.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::layout::{Row, headed};
use crate::text::head::short_hash;
use highwater_analysis::memory::data_in_memory;
use highwater_model::display::{bytes, count, foreign};
use highwater_model::record::RunRecord;

use super::super::page::Part;
use super::tables::{pairs, table};

/// Maximum characters of a value from the target.
const WORDS: usize = 400;

pub(in crate::html) fn settings(record: &RunRecord) -> Part {
    let plan = serde_json::to_string_pretty(&record.plan.definition).unwrap_or_default();
    let size = |n: Option<u64>| n.map_or_else(|| "not reported".to_owned(), bytes);
    let target = &record.target;
    let urls = foreign(&target.urls.join(" "), WORDS);
    Part {
        id: "settings",
        title: "Environment and plan",
        abstract_line: format!("{urls}, plan {}", short_hash(&record.plan.hash)),
        body: html! {
            (folded("Load generator", &map(&record.header.environment)))
            (folded("Target", &html! {
                (pairs([
                    ("addresses", urls),
                    ("traits", foreign(&target.traits.join(", "), WORDS)),
                    ("driver", target.driver.clone()),
                    ("version", foreign(&target.version, WORDS)),
                    ("tables before the measured phases", size(target.bytes_before)),
                    ("tables after the last phase", size(target.bytes_after)),
                    ("in memory", data_in_memory(record).map_or_else(|| "not reported".to_owned(), |data| data.words())),
                ].into_iter()))
                (hosts(record))
                @if !target.settings.is_empty() { h4 { "Settings" } (map(&target.settings)) }
            }))
            (folded("Workload", &html! {
                (pairs([
                    ("name", record.workload.name.clone()),
                    ("version", record.workload.version.to_string()),
                    ("fingerprint", record.workload.fingerprint.clone()),
                ].into_iter()))
                (map(&record.workload.parameters))
            }))
            (folded("Plan", &html! {
                p class="term" {
                    "Fingerprint of the plan: " code { (record.plan.hash) } ". It leaves out the target, \
                     so that two targets can be shown to have had the same plan."
                }
                pre tabindex="0" { code { (plan) } }
            }))
        },
    }
}

fn hosts(record: &RunRecord) -> Markup {
    let rows = record.target.hosts.iter().map(|host| {
        let (sessions, acknowledged) = (count(host.sessions), count(host.acknowledged));
        Row::new([foreign(&host.url, WORDS), sessions, acknowledged])
    });
    let rows = headed("host | sessions | acknowledged ops", rows);
    html! { @if rows.len() > 1 { (table("Hosts", &rows, 1)) } }
}

fn map(values: &BTreeMap<String, String>) -> Markup {
    let shown = values.iter();
    pairs(shown.map(|(name, value)| (name.as_str(), foreign(value, WORDS))))
}

pub(super) fn folded(title: &str, body: &Markup) -> Markup {
    html! {
        details class="inner" {
            summary { (title) }
            div class="folded" { (body) }
        }
    }
}
