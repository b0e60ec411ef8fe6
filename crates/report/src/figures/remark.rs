//! A sentence below a table. It must not know what the sentence is about.

/// Longest text of a file that is shown in a line.
pub(super) const LONGEST: usize = 100;

/// A sentence with its label.
pub(crate) struct Remark {
    /// Empty if the sentence continues the one before.
    pub(crate) label: &'static str,
    pub(crate) sentence: String,
}

impl Remark {
    pub(crate) fn new(label: &'static str, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { label, sentence }
    }
}
