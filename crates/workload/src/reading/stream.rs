//! Streams, which mix ops.

use toml::de::DeValue;

use crate::definition::{Arrivals, MAX_BLOCK, OpBodyDefinition, OpDefinition, StreamSpec, Unit};
use crate::input::{Entry, Section};
use crate::parameter::ParameterKind;
use highwater_model::op::OpId;

/// The weight that completes the others to a hundred.
const REST: &str = "rest";

/// Reads a stream of `[streams]`.
pub(super) fn read_stream(entry: Entry<'_>, ops: &[OpDefinition]) -> Option<StreamSpec> {
    let of = entry.section(format!("stream `{}`", entry.key))?;
    let units = [("rows", Unit::Rows), ("queries", Unit::Queries)];
    let unit = of.word("unit", &units, None);
    let kinds = [("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson)];
    let arrivals = of.word("arrivals", &kinds, None);
    let part = of.required("ops", "{ NAME = 1 }")?.section(format!("`ops` of {}", of.place))?;
    let mut mix = Vec::new();
    let mut rest = None;
    for weight in part.entries() {
        let position = weight.key_position("op", ops);
        if matches!(weight.value(), DeValue::String(text) if text == REST) {
            rest = position;
        } else if let (Some(position), Some(weight)) = (position, read_weight(weight)) {
            mix.push((position, weight));
        }
    }
    of.finish();
    if let Some(position) = rest {
        let others: u32 = mix.iter().map(|(_, weight)| *weight).sum();
        if let Some(weight) = 100_u32.checked_sub(others) {
            mix.push((position, weight));
        } else {
            let message = format!("{} adds up to {others}%", part.place);
            part.error::<()>(message, "what is not \"rest\" is at most 100");
        }
    }
    mix.retain(|(_, weight)| *weight > 0);
    let op =
        |(position, weight): &(usize, u32)| Some((OpId(u16::try_from(*position).ok()?), *weight));
    let stream = StreamSpec {
        name: entry.key.to_owned(),
        ops: mix.iter().filter_map(op).collect(),
        unit: unit?,
        arrivals: arrivals?,
    };
    check_mix(&part, &stream, ops);
    Some(stream)
}

fn read_weight(entry: Entry<'_>) -> Option<u32> {
    let weight = entry.number(ParameterKind::Integer);
    let weight = weight.and_then(|number| u32::try_from(number).ok());
    weight.filter(|weight| *weight <= 1_000_000).or_else(|| {
        let hint = "a whole number from 0, for never, to 1,000,000";
        entry.error(format!("`{}` has no usable weight", entry.key), hint)
    })
}

/// A stream of rows is one insert, so that its ops cover the rows without a gap; a stream of queries has none. If some
/// of its ops write, each op visits all weights.
fn check_mix(part: &Section<'_>, stream: &StreamSpec, ops: &[OpDefinition]) {
    let mix = || stream.ops.iter().filter_map(|(id, _)| ops.get(usize::from(id.0)));
    let is_insert = |op: &&OpDefinition| matches!(op.body, OpBodyDefinition::Insert { .. });
    let inserts = mix().filter(is_insert).count();
    let good = match stream.unit {
        Unit::Rows => inserts == 1 && stream.ops.len() == 1,
        Unit::Queries => inserts == 0 && !stream.ops.is_empty(),
    };
    if !good {
        let message = format!("{} does not fit its unit", part.place);
        let hint = "unit = \"rows\" takes exactly one insert, \"queries\" takes queries only";
        part.error::<()>(message, hint);
    }
    let weights: u64 = stream.ops.iter().map(|(_, weight)| u64::from(*weight)).sum();
    if weights > MAX_BLOCK && mix().any(|op| op.body.writes().is_some()) {
        let message = format!("the weights of {} add up to {weights}", part.place);
        let hint = format!("with an op that writes among them to at most {MAX_BLOCK}");
        part.error::<()>(message, hint);
    }
    let name = &stream.name;
    let is_named = ops.iter().any(|op| op.name == *name);
    if is_named && mix().any(|op| op.name != *name) {
        let message = format!("stream `{name}` has the name of an op but runs others");
        part.error::<()>(message, "rename the stream");
    }
}
