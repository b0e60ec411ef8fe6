//! `entity`: an attribute of different entities, all alike.

use super::distinct::read_attribute;
use super::making::{OpScope, Parameter};
use crate::generators::columns::Scope;
use crate::generators::prelude::{Draws, Section, Serialize, Spec, TEXT, Value, specs};
use highwater_model::numbers::{to_f64, truncate_to_u64};

/// An attribute of an entity out of `first..=last`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are part of fingerprints")]
pub(crate) struct Entity {
    entity: usize,
    attribute: usize,
    first: u64,
    last: u64,
}

impl Parameter for Entity {
    const SPECS: &'static [Spec] = specs!(
        "entity", "an attribute of an entity drawn uniformly", TEXT,
        ["entity": Text, "attribute": Text; "from": Float, "to": Float];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let from = of.float("from", Some(0.0));
        let to = of.float("to", Some(1.0));
        let (entity, attribute) = read_attribute(of, scope)?;
        let good = 0.0 <= from && from <= to && to <= 1.0;
        let message = format!("`from` and `to` of {} are not shares", of.place);
        of.check(good, message, "0 ≤ from ≤ to ≤ 1, such as from = 0.25, to = 0.75");
        let count = of.good(scope.entities.get(entity)?.count)?;
        // The number of the entity at a share of all, at most the last one.
        let at = |share| truncate_to_u64(to_f64(count) * share).min(count.saturating_sub(1));
        let (first, last) = (at(from), at(to));
        let (there, requested) = (last - first + 1, scope.count);
        let message = format!("{} wants {requested} of {there} entities", of.place);
        of.check(there >= requested, message, "a smaller `count`, or more entities");
        of.good(Self { entity, attribute, first, last })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let numbers = different(&op.draws, op.index, self.last - self.first + 1, op.count);
        let entity = op.entities.get(self.entity);
        values.extend(numbers.into_iter().map(|number| {
            entity.map_or(Value::Null, |entity| {
                Value::Text(entity.value(self.attribute, self.first + number).into())
            })
        }));
    }
}

/// `count` different numbers below `items`, each set equally probable: Floyd's sample (Bentley and Floyd,
/// "A sample of brilliance", CACM 1987). Fewer if there are fewer.
fn different(draws: &Draws, index: u64, items: u64, count: u64) -> Vec<u64> {
    let count = count.min(items);
    let first = index.wrapping_mul(count);
    let mut chosen = Vec::new();
    for n in 0..count {
        let last = items - count + n;
        let number = draws.below(first.wrapping_add(n), last + 1);
        let is_taken = chosen.contains(&number);
        chosen.push(if is_taken { last } else { number });
    }
    chosen
}
