//! `plus`: an earlier parameter and a duration.

use super::making::{OpScope, Parameter};
use crate::generators::columns::Scope;
use crate::generators::prelude::{ColumnType, Section, Serialize, Spec, TIMESTAMP, Value, specs};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plus {
    /// Position of the earlier parameter.
    parameter: usize,
    /// Milliseconds.
    add: i64,
}

impl Parameter for Plus {
    const SPECS: &'static [Spec] = specs!(
        "plus", "an earlier parameter and a duration", TIMESTAMP,
        ["parameter": Text, "add": Duration;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let add = of.duration("add", None);
        let entry = of.required("parameter", "\"…\"")?;
        let parameter = entry.position("earlier parameter", scope.parameters)?;
        let earlier = scope.parameters.get(parameter)?;
        if earlier.kind != ColumnType::Timestamp {
            let message = format!("parameter `{}` is not of type `timestamp`", earlier.name);
            return entry.error(message, "a duration is added to points in time");
        }
        of.good(Self { parameter, add })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let earlier = op.begins.get(self.parameter).and_then(|begin| values.get(*begin));
        values.push(match earlier {
            Some(Value::TimestampMs(time)) => Value::TimestampMs(time.saturating_add(self.add)),
            _ => Value::Null,
        });
    }
}
