//! `attribute`: an attribute of the row's entity.

use std::collections::BTreeMap;

use super::making::Scope;
use super::making::{Fill, Generate, MadeFor};
use crate::entity::{Attributes, Entity};
use crate::generators::plain::Texts;
use crate::generators::prelude::{
    ColumnData, Entry, Section, Segments, Serialize, Spec, TEXT, specs,
};
use crate::layout::codes;

/// Position of one of the entity's attributes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Attribute(usize);

impl Generate for Attribute {
    const SPECS: &'static [Spec] = specs!(
        "attribute", "an attribute of the row's entity", TEXT, ["attribute": Text;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let entry = of.required("attribute", "\"…\"")?;
        attribute_position(entry, &of.place, scope.entity).map(Self)
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        let coded = column.entity.map(|entity| coded(entity, self.0));
        let (values, of_entity) = coded.unwrap_or_else(|| (Vec::new().into(), Vec::new()));
        Codes { values, of_entity }
    }
}

/// The position of an attribute of the table's entity.
pub(crate) fn attribute_position(
    entry: Entry<'_>,
    place: &str,
    entity: Option<&Entity>,
) -> Option<usize> {
    let Some(entity) = entity else {
        let message = format!("{place} needs the table to have an `entity`");
        return entry.error(message, "add entity = \"…\" to the table");
    };
    entry.position("attribute", &entity.attributes)
}

/// The different values of an attribute, and each entity's position among them.
fn coded(entity: &Attributes, attribute: usize) -> (Texts, Vec<u32>) {
    let values = entity.distinct(attribute);
    let positions: BTreeMap<&str, u32> = values.iter().map(|value| &**value).zip(0..).collect();
    let code = |number| {
        let value = entity.value(attribute, number);
        positions.get(value.as_str()).copied().unwrap_or(0)
    };
    let codes = (0..entity.count()).map(code).collect();
    (values, codes)
}

#[derive(Debug)]
struct Codes {
    values: Texts,
    /// One for each entity.
    of_entity: Vec<u32>,
}

impl Fill for Codes {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        codes(data, &self.values, segments, ColumnData::TextDictionary, |segment, codes| {
            let first = usize::try_from(segment.entity).unwrap_or(0);
            let entities = self.of_entity.get(first..first + segment.rows);
            codes.extend_from_slice(entities.unwrap_or_default());
        });
    }
}
