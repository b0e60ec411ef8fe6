//! The options of keys that come again.

use super::section::{Reader, Section};
use crate::distribution::PowerLaw;
use crate::keys::{KeyOrder, KeyShape};
use highwater_model::input_error::suggest;

/// Orders by name.
const ORDERS: [&str; 3] = ["hash", "sequential", "zipfian"];

/// The exponent and the offset of the original of the workload `kv`.
const S: f64 = 1.1;
const V: f64 = 1.0;

/// Reads the options of `keys`.
pub(super) fn read(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> Option<KeyShape> {
    let entry = section.required(reader, "order", "\"hash\"")?;
    let word = section.text_of(reader, "order", entry)?;
    let cycle = section.integer(reader, "cycle", 0..=i64::MAX, Some(0));
    let different = section.integer(reader, "different", 0..=i64::MAX, Some(0));
    let apart = section.integer(reader, "apart", 1..=i64::MAX, Some(1));
    let s = section.float(reader, "s", Some(S));
    let v = section.float(reader, "v", Some(V));
    let order = match word.as_str() {
        "hash" => KeyOrder::Hash,
        "sequential" => KeyOrder::Sequential,
        "zipfian" => {
            let (s, v) = (s?, v?);
            if !(1.0 < s && s <= 100.0 && (1.0..=1e15).contains(&v)) {
                let message = format!("`s` {s} and `v` {v} of {} make no power law", section.place);
                let hint = "`s` is above 1, at most 100, such as 1.1; `v` at least 1".to_owned();
                reader.report(section.span.clone(), message, Some(hint));
                return None;
            }
            // A rank becomes as many keys as there are neighbors to be kept apart.
            let last = i64::MAX.unsigned_abs() / apart?.unsigned_abs() - 1;
            KeyOrder::Zipfian(PowerLaw::new(s, v, last))
        }
        _ => {
            let message = format!("unknown `order` `{word}` of {}", section.place);
            reader.report(entry.span(), message, suggest(&word, ORDERS));
            return None;
        }
    };
    let shape = KeyShape {
        order,
        cycle: cycle?.unsigned_abs(),
        different: different?.unsigned_abs(),
        apart: apart?.unsigned_abs(),
    };
    let least = shape.different.max(shape.apart);
    if shape.cycle > 0 && shape.cycle < least {
        let message = format!(
            "keys of {} begin again after {}, and {least} must be different",
            section.place, shape.cycle
        );
        let hint = "a longer cycle, a smaller batch, or fewer rows beforehand".to_owned();
        reader.report(section.span.clone(), message, Some(hint));
        return None;
    }
    Some(shape)
}
