//! The text form of [`SimParameters`]: the parameters of a `sim:` URL, with units.
//!
//! Every error names the parameter, quotes the value, and lists the accepted values. Must not know the meaning of a
//! parameter.

use std::collections::BTreeMap;

use highwater_model::units::Nanos;

use highwater_model::user_error::UserError;

use super::parameters::{Rebuild, ServiceDistribution, SimClock, SimParameters, Stall, Warm};
/// All parameters, in the order of the reference page.
pub const PARAMETERS: &[&str] = &[
    "nodes",
    "cores",
    "request",
    "row",
    "query",
    "service",
    "shards",
    "replicas",
    "replica_cost",
    "hot_shard",
    "rtt",
    "client",
    "lock",
    "queue",
    "disk",
    "burst",
    "answer_bytes",
    "slow_node",
    "warm",
    "stall",
    "die",
    "failover",
    "start",
    "rebuild",
    "lag",
    "drop",
    "duplicate",
    "alter",
    "swap",
    "offset",
    "lose_ack",
    "fail",
    "clock",
];

const MAX_NODES: u32 = 1_000;
const MAX_CORES: u32 = 4_096;
const MAX_SHARDS: u32 = 10_000;
const MAX_REPLICAS: u32 = 100;
const MAX_QUEUE: u32 = 1_000_000;
const MAX_ANSWER_BYTES: u64 = 1 << 40;
const MAX_DISK_ROWS: u64 = 1_000_000_000_000;
/// 30 days, so that sums of a few spans cannot overflow [`Nanos`].
const MAX_SPAN: Nanos = Nanos::from_secs(30 * 86_400);
const MAX_FACTOR: f64 = 1_000.0;
const MAX_STALLS: usize = 1_000;

/// Longest first, for printing.
const UNITS: [(&str, u64); 7] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// A description of the accepted values.
type Expected = String;

impl SimParameters {
    /// Parses the parameters of a URL; missing ones keep their defaults.
    ///
    /// Fails with a usage error that names the parameter, and lists the known ones.
    pub fn parse(given: &BTreeMap<String, String>) -> Result<Self, UserError> {
        let mut parameters = Self::default();
        for (name, value) in given {
            if !PARAMETERS.contains(&name.as_str()) {
                return Err(UserError::usage(format!("target `sim:`: unknown parameter `{name}`"))
                    .with_hint(parameter_list()));
            }
            parameters.set(name, value).map_err(|expected| {
                UserError::usage(format!(
                    "target `sim:`: parameter `{name}` is `{value}`, but should be {expected}"
                ))
                .with_hint(parameter_list())
            })?;
        }
        parameters.check_together()?;
        Ok(parameters)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), Expected> {
        match name {
            "nodes" => self.nodes = count(text, 1, MAX_NODES)?,
            "cores" => self.cores = count_or_inf(text, 1, MAX_CORES)?,
            "request" => self.request = span(text)?,
            "row" => self.row = span(text)?,
            "query" => self.query = span(text)?,
            "service" => self.service = service(text)?,
            "shards" => self.shards = count(text, 1, MAX_SHARDS)?,
            "replicas" => self.replicas = count(text, 0, MAX_REPLICAS)?,
            "replica_cost" => self.replica_cost = number(text, 0.0, MAX_FACTOR)?,
            "hot_shard" => self.hot_shard = number(text, 0.0, 1.0)?,
            "rtt" => self.rtt = span(text)?,
            "client" => self.client = rows_per_s(text)?,
            "lock" => self.lock = span(text)?,
            "queue" => self.queue = count_or_inf(text, 0, MAX_QUEUE)?,
            "disk" => self.disk = rows_per_s(text)?,
            "burst" => self.burst = disk_rows(text, 0)?,
            "answer_bytes" => self.answer_bytes = bytes(text)?,
            "slow_node" => self.slow_node = slow_nodes(text)?,
            "warm" => self.warm = Some(warm(text)?),
            "stall" => self.stall = stalls(text)?,
            "die" => self.die = Some(span(text)?),
            "failover" => self.failover = span(text)?,
            "start" => self.start = span(text)?,
            "rebuild" => self.rebuild = Some(rebuild(text)?),
            "lag" => self.lag = span(text)?,
            "drop" => self.drop = number(text, 0.0, 1.0)?,
            "duplicate" => self.duplicate = number(text, 0.0, 1.0)?,
            "alter" => self.alter = number(text, 0.0, 1.0)?,
            "swap" => self.swap = number(text, 0.0, 1.0)?,
            "offset" => self.offset = number(text, 0.0, 1.0)?,
            "lose_ack" => self.lose_ack = number(text, 0.0, 1.0)?,
            "fail" => self.fail = number(text, 0.0, 1.0)?,
            "clock" => self.clock = clock(text)?,
            _ => return Err("a known parameter".to_owned()),
        }
        Ok(())
    }

    fn check_together(&self) -> Result<(), UserError> {
        if self.replicas >= self.nodes {
            return Err(UserError::usage(format!(
                "target `sim:`: parameter `replicas` is {}, but {} hold{} at most {} \
                 beside the primary",
                self.replicas,
                counted(self.nodes, "node", "nodes"),
                if self.nodes == 1 { "s" } else { "" },
                counted(self.nodes - 1, "copy", "copies"),
            ))
            .with_hint(format!(
                "add `&replicas={}` (`?replicas=` where nothing else is set), or begin with {} nodes",
                self.nodes - 1,
                self.replicas + 1
            )));
        }
        if self.burst > 0 && self.disk.is_none() {
            return Err(UserError::usage(
                "target `sim:`: parameter `burst` is given, but a disk without a bound needs no credit",
            )
            .with_hint("add `disk`, such as `disk=20000`"));
        }
        match self.slow_node.keys().find(|node| **node >= self.nodes) {
            None => Ok(()),
            Some(node) => Err(UserError::usage(format!(
                "target `sim:`: parameter `slow_node` names node {}, but nodes are numbered \
                 from 1 to {}",
                node.saturating_add(1),
                self.nodes
            ))
            .with_hint("give more `nodes` or another node")),
        }
    }

    /// All parameters as text that [`SimParameters::parse`] reads back; disabled ones are omitted.
    pub fn settings(&self) -> BTreeMap<String, String> {
        PARAMETERS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), self.text_of(name)?)))
            .collect()
    }

    fn text_of(&self, name: &str) -> Option<String> {
        Some(match name {
            "nodes" => self.nodes.to_string(),
            "cores" => or_inf(self.cores),
            "request" => span_text(self.request),
            "row" => span_text(self.row),
            "query" => span_text(self.query),
            "service" => match self.service {
                ServiceDistribution::Exponential => "exp".to_owned(),
                ServiceDistribution::Constant => "constant".to_owned(),
                ServiceDistribution::Lognormal(cv) => format!("lognormal:{cv}"),
            },
            "shards" => self.shards.to_string(),
            "replicas" => self.replicas.to_string(),
            "replica_cost" => self.replica_cost.to_string(),
            "hot_shard" => Some(self.hot_shard).filter(|part| *part > 0.0)?.to_string(),
            "rtt" => span_text(self.rtt),
            "client" => self.client?.to_string(),
            "lock" => span_text(Some(self.lock).filter(|held| *held > Nanos::ZERO)?),
            "queue" => or_inf(self.queue),
            "disk" => self.disk?.to_string(),
            "burst" => Some(self.burst).filter(|rows| *rows > 0)?.to_string(),
            "answer_bytes" => self.answer_bytes.to_string(),
            "slow_node" => joined(&self.slow_node, |(node, speed)| {
                format!("{}:{speed}", node.saturating_add(1))
            })?,
            "warm" => {
                self.warm.map(|warm| format!("{}:{}", span_text(warm.length), warm.factor))?
            }
            "stall" => joined(&self.stall, |stall| {
                format!("{}+{}", span_text(stall.at), span_text(stall.length))
            })?,
            "die" => span_text(self.die?),
            "failover" => span_text(self.failover),
            "start" => span_text(self.start),
            "rebuild" => self
                .rebuild
                .map(|rebuild| format!("{}:{}", span_text(rebuild.length), rebuild.share))?,
            "lag" => span_text(Some(self.lag).filter(|lag| *lag > Nanos::ZERO)?),
            "drop" => self.drop.to_string(),
            "duplicate" => self.duplicate.to_string(),
            "alter" => self.alter.to_string(),
            "swap" => self.swap.to_string(),
            "offset" => self.offset.to_string(),
            "lose_ack" => self.lose_ack.to_string(),
            "fail" => self.fail.to_string(),
            "clock" => match self.clock {
                SimClock::Simulated => "sim".to_owned(),
                SimClock::Real => "real".to_owned(),
            },
            _ => return None,
        })
    }
}

fn parameter_list() -> String {
    format!("known parameters are {}", PARAMETERS.join(", "))
}

fn count(text: &str, least: u32, most: u32) -> Result<u32, Expected> {
    text.parse()
        .ok()
        .filter(|count| (least..=most).contains(count))
        .ok_or_else(|| format!("a whole number from {least} to {most}"))
}

fn count_or_inf(text: &str, least: u32, most: u32) -> Result<Option<u32>, Expected> {
    if text == "inf" {
        return Ok(None);
    }
    count(text, least, most).map(Some).map_err(|expected| format!("{expected}, or `inf`"))
}

fn bytes(text: &str) -> Result<u64, Expected> {
    text.parse()
        .ok()
        .filter(|bytes| *bytes <= MAX_ANSWER_BYTES)
        .ok_or_else(|| format!("a whole number of bytes up to {MAX_ANSWER_BYTES}"))
}

/// Rows per second, or no limit.
fn rows_per_s(text: &str) -> Result<Option<u64>, Expected> {
    if text == "inf" {
        return Ok(None);
    }
    disk_rows(text, 1).map(Some).map_err(|expected| format!("{expected}, or `inf`"))
}

fn disk_rows(text: &str, least: u64) -> Result<u64, Expected> {
    text.parse()
        .ok()
        .filter(|rows| (least..=MAX_DISK_ROWS).contains(rows))
        .ok_or_else(|| format!("a whole number of rows from {least} to {MAX_DISK_ROWS}"))
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, Expected> {
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("a number from {least} to {most}"))
}

fn positive(text: &str, most: f64) -> Option<f64> {
    number(text, 0.0, most).ok().filter(|number| *number > 0.0)
}

fn span(text: &str) -> Result<Nanos, Expected> {
    parse_span(text)
        .filter(|span| *span <= MAX_SPAN)
        .ok_or_else(|| "a time such as `200us`, `1.5ms` or `30s`, at most 30 days".to_owned())
}

/// A number and a unit; fractions of a nanosecond are rounded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "`as` saturates, and the caller refuses what is above 30 days, far below 2⁵³ ns"
)]
fn parse_span(text: &str) -> Option<Nanos> {
    if text == "0" {
        return Some(Nanos::ZERO);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.parse().ok()?;
    Some(Nanos((number * *scale as f64).round() as u64))
}

fn span_text(span: Nanos) -> String {
    UNITS
        .iter()
        .find(|(_, scale)| span.0 > 0 && span.0.is_multiple_of(*scale))
        .map_or_else(|| "0s".to_owned(), |(unit, scale)| format!("{}{unit}", span.0 / scale))
}

fn or_inf(count: Option<u32>) -> String {
    count.map_or_else(|| "inf".to_owned(), |count| count.to_string())
}

/// The items as a comma-separated list; `None` if there are none.
fn joined<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> Option<String> {
    let texts: Vec<String> = items.into_iter().map(text).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

fn service(text: &str) -> Result<ServiceDistribution, Expected> {
    match text {
        "exp" => Some(ServiceDistribution::Exponential),
        "constant" => Some(ServiceDistribution::Constant),
        _ => text
            .strip_prefix("lognormal:")
            .and_then(|cv| positive(cv, 100.0))
            .map(ServiceDistribution::Lognormal),
    }
    .ok_or_else(|| {
        "`exp`, `constant` or `lognormal:CV` with a coefficient of variation above 0, up to 100"
            .to_owned()
    })
}

fn slow_nodes(text: &str) -> Result<BTreeMap<u32, f64>, Expected> {
    text.split(',')
        .map(|item| {
            let (node, speed) = item.split_once(':')?;
            let node = node.parse::<u32>().ok()?.checked_sub(1)?;
            Some((node, positive(speed, MAX_FACTOR)?))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| {
            "a list such as `2:0.5`: nodes, numbered from 1, and their speeds, above 0 and up to \
             1000, where 1 is normal"
                .to_owned()
        })
}

fn warm(text: &str) -> Result<Warm, Expected> {
    text.split_once(':')
        .and_then(|(length, factor)| {
            Some(Warm { length: span(length).ok()?, factor: number(factor, 1.0, MAX_FACTOR).ok()? })
        })
        .filter(|warm| warm.length > Nanos::ZERO)
        .ok_or_else(|| {
            "a time and a factor from 1 to 1000, such as `30s:4` for work that takes four times \
             as long at the start"
                .to_owned()
        })
}

fn rebuild(text: &str) -> Result<Rebuild, Expected> {
    text.split_once(':')
        .and_then(|(length, share)| {
            let share = positive(share, 1.0).filter(|share| *share < 1.0)?;
            Some(Rebuild { length: span(length).ok()?, share })
        })
        .filter(|rebuild| rebuild.length > Nanos::ZERO)
        .ok_or_else(|| {
            "a time and a part of the capacity below 1, such as `30s:0.4` for copying that takes \
             40% of all nodes for 30 seconds"
                .to_owned()
        })
}

fn stalls(text: &str) -> Result<Vec<Stall>, Expected> {
    let mut stalls = text
        .split(',')
        .map(|item| {
            let (at, length) = item.split_once('+')?;
            let stall = Stall { at: span(at).ok()?, length: span(length).ok()? };
            (stall.length > Nanos::ZERO).then_some(stall)
        })
        .collect::<Option<Vec<Stall>>>()
        .filter(|stalls| stalls.len() <= MAX_STALLS)
        .ok_or_else(|| {
            format!("a list of at most {MAX_STALLS} times and lengths, such as `30s+2s,60s+500ms`")
        })?;
    stalls.sort_by_key(|stall| stall.at);
    Ok(merged(&stalls))
}

/// Ascending stalls, with overlapping or touching ones merged.
fn merged(stalls: &[Stall]) -> Vec<Stall> {
    let mut merged: Vec<Stall> = Vec::with_capacity(stalls.len());
    for stall in stalls {
        match merged.last_mut() {
            Some(last) if stall.at <= last.end() => {
                last.length = last.end().max(stall.end()) - last.at;
            }
            _ => merged.push(*stall),
        }
    }
    merged
}

fn clock(text: &str) -> Result<SimClock, Expected> {
    match text {
        "sim" => Ok(SimClock::Simulated),
        "real" => Ok(SimClock::Real),
        _ => Err("`sim` or `real`".to_owned()),
    }
}

fn counted(number: u32, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
