//! Encoded entries of dictionaries, kept between batches, because the same entries recur. Must not know the format of
//! the entries.

use std::sync::Arc;

use highwater_model::op::Dictionary;

/// Maximum entries of a dictionary that are kept encoded; those of a larger one are encoded row by row.
const ENTRIES_KEPT: usize = 100_000;
/// Maximum dictionaries kept, in addition to those of one batch.
const KEPT_MAX: usize = 2_000;

/// See the module documentation.
pub(super) struct Words {
    kept: Vec<Encoded>,
    /// Writes a text.
    put_text: fn(&mut Vec<u8>, &str),
}

/// A dictionary, or one attribute of its objects.
struct Encoded {
    values: Arc<[Box<str>]>,
    attribute: Option<String>,
    bytes: Vec<u8>,
    /// Start of each entry, and end of the last one.
    begins: Vec<usize>,
}

impl Encoded {
    #[inline]
    fn put(&self, out: &mut Vec<u8>, code: usize) -> Option<()> {
        let range = *self.begins.get(code)?..*self.begins.get(code + 1)?;
        out.extend_from_slice(self.bytes.get(range)?);
        Some(())
    }
}

/// A dictionary of a batch, as returned by [`Words::find`].
#[derive(Clone, Copy)]
pub(super) struct Entries<'b> {
    coded: &'b Dictionary,
    attribute: Option<&'b str>,
    /// Position of its encoded entries, if kept.
    kept: Option<usize>,
}

impl Words {
    /// For a format that writes texts this way.
    pub(super) fn new(put_text: fn(&mut Vec<u8>, &str)) -> Self {
        Self { kept: Vec::new(), put_text }
    }

    /// Frees space for the dictionaries of a batch: results for an earlier batch become invalid.
    pub(super) fn begin_batch(&mut self) {
        // Each batch may have new dictionaries.
        if self.kept.len() >= KEPT_MAX {
            self.kept.clear();
        }
    }

    /// Looks up a dictionary, and encodes it on first use.
    pub(super) fn find<'b>(
        &mut self,
        coded: &'b Dictionary,
        attribute: Option<&'b str>,
    ) -> Entries<'b> {
        let kept =
            (coded.values.len() <= ENTRIES_KEPT).then(|| self.position(&coded.values, attribute));
        Entries { coded, attribute, kept }
    }

    /// Writes the entries of this many rows; `None` if one is missing.
    pub(super) fn put_all(
        &self,
        out: &mut Vec<u8>,
        entries: &Entries<'_>,
        rows: usize,
    ) -> Option<()> {
        let codes = entries.coded.codes.get(..rows)?;
        let Some(kept) = entries.kept else {
            for row in 0..rows {
                self.put(out, entries, row)?;
            }
            return Some(());
        };
        let encoded = self.kept.get(kept)?;
        for code in codes {
            encoded.put(out, usize::try_from(*code).ok()?)?;
        }
        Some(())
    }

    /// Writes the entry of a row; `None` if it is missing.
    pub(super) fn put(&self, out: &mut Vec<u8>, entries: &Entries<'_>, row: usize) -> Option<()> {
        let code = usize::try_from(*entries.coded.codes.get(row)?).ok()?;
        if let Some(kept) = entries.kept {
            return self.kept.get(kept)?.put(out, code);
        }
        let entry = entries.coded.values.get(code)?;
        self.put_value(out, entry, entries.attribute);
        Some(())
    }

    fn put_value(&self, out: &mut Vec<u8>, entry: &str, attribute: Option<&str>) {
        match attribute {
            None => (self.put_text)(out, entry),
            Some(name) => (self.put_text)(out, &attribute_text(entry, name)),
        }
    }

    fn position(&mut self, values: &Arc<[Box<str>]>, attribute: Option<&str>) -> usize {
        let is_kept = |kept: &Encoded| {
            kept.attribute.as_deref() == attribute && Arc::ptr_eq(&kept.values, values)
        };
        if let Some(at) = self.kept.iter().position(is_kept) {
            return at;
        }
        let mut bytes = Vec::new();
        let mut begins = Vec::with_capacity(values.len() + 1);
        for value in values.iter() {
            begins.push(bytes.len());
            self.put_value(&mut bytes, value, attribute);
        }
        begins.push(bytes.len());
        self.kept.push(Encoded {
            values: Arc::clone(values),
            attribute: attribute.map(str::to_owned),
            bytes,
            begins,
        });
        self.kept.len() - 1
    }
}

/// An attribute of a JSON object as text, as in the object's checksum; empty if it is missing.
fn attribute_text(json: &str, name: &str) -> String {
    let object: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    match object.get(name) {
        None | Some(serde_json::Value::Null) => String::new(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
