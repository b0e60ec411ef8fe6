//! How many trials an experiment made, and how long they took. Must not know what they showed.

use highwater_model::record::Question;

use super::parts::plural;

/// How many trials an experiment made, in words, and what all of them took, nanoseconds.
pub(crate) fn trials(question: &Question) -> (String, u64) {
    match question {
        Question::Search(of) => counted("probe", of.probes.iter().map(|probe| probe.took_ns)),
        Question::Tune(of) => counted("probe", of.trials.iter().map(|trial| trial.took_ns)),
        Question::Group(of) => counted("run", of.trials.iter().map(|trial| trial.took_ns)),
        Question::Scale(of) => counted("size", of.trials.iter().map(|trial| trial.took_ns)),
    }
}

fn counted(what: &str, took_ns: impl ExactSizeIterator<Item = u64>) -> (String, u64) {
    (plural(took_ns.len(), what), took_ns.sum())
}
