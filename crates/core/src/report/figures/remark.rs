//! A sentence below a table. It must not know what the sentence is about.

/// Longest text of a file that is shown in a line.
pub(super) const LONGEST: usize = 100;

/// A sentence with its label.
pub(in crate::report) struct Remark {
    /// Empty if the sentence continues the one before.
    pub(in crate::report) label: &'static str,
    pub(in crate::report) sentence: String,
}

impl Remark {
    pub(in crate::report) fn new(label: &'static str, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { label, sentence }
    }
}
