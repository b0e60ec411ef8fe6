//! `distinct`: one of the different values that an attribute has among all entities.

use std::sync::Arc;

use super::making::{OpScope, Parameter};
use crate::generators::columns::{Scope, attribute_position};
use crate::generators::prelude::{Section, Serialize, Spec, TEXT, Value, specs};

/// Positions of entity and attribute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Distinct {
    pub(crate) entity: usize,
    pub(crate) attribute: usize,
}

impl Parameter for Distinct {
    const SPECS: &'static [Spec] = specs!(
        "distinct", "one of the different values of an attribute", TEXT,
        ["entity": Text, "attribute": Text;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let (entity, attribute) = read_attribute(of, scope)?;
        Some(Self { entity, attribute })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let all = op.distinct.get(&(self.entity, self.attribute));
        let all = all.map(Vec::as_slice).unwrap_or_default();
        op.append_each(values, |n| {
            let pick = usize::try_from(op.draws.below(n, all.len() as u64)).unwrap_or(0);
            all.get(pick).map_or(Value::Null, |value| Value::Text(Arc::clone(value)))
        });
    }
}

/// The positions of the `entity` and of one `attribute` of it.
pub(super) fn read_attribute(of: &Section<'_>, scope: &Scope<'_>) -> Option<(usize, usize)> {
    let entity = of.required("entity", "\"…\"");
    let attribute = of.required("attribute", "\"…\"");
    let position = entity?.position("entity", scope.entities)?;
    let entity = scope.entities.get(position);
    Some((position, attribute_position(attribute?, &of.place, entity)?))
}
