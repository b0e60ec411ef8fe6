//! The summary of a run as text: about fifteen lines, three judgments, and a next command.
//!
//! Must be understandable without color. It contains no escape codes, and text from the target cannot add any.

pub(super) mod counts;
pub(super) mod group;
pub(super) mod head;
pub(super) mod judged;
pub(super) mod ops;
pub(super) mod scale;
pub(super) mod search;
pub(super) mod tail;
pub(super) mod target;
#[cfg(test)]
mod tests;
pub(super) mod tune;

pub use group::group_trial_line;
pub use scale::{nodes_left_out, scale_trial_line};
pub use search::probe_line;
pub use tune::trial_line;

use highwater_analysis::judge::measured_streams;
use highwater_model::record::{Question, RecordRef};
use highwater_next::next_command;

use crate::events::settings_line;
use crate::layout::{self, labeled};

/// The summary; identifies the record by its ID.
pub fn text<'a>(record: impl Into<RecordRef<'a>>) -> String {
    let record = record.into();
    text_at(record, &record.header().id)
}

/// The summary; `directory` is where the record is stored, as the user would type it.
pub fn text_at<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let mut blocks = match record {
        RecordRef::Experiment(experiment) => {
            let of_question = match &experiment.question {
                Question::Tune(tune) => tune::blocks(run, tune),
                Question::Search(search) => search::blocks(run, search),
                Question::Group(group) => group::blocks(run, group),
                Question::Scale(scale) => scale::blocks(run, scale),
            };
            [of_question, vec![tail::findings(record)]].concat()
        }
        RecordRef::Run(_) | RecordRef::Imported(_) => vec![
            head::lines(run, &measured),
            counts::lines(run, &measured),
            ops::lines(run, &measured),
            [tail::lines(run, &measured), tail::findings(record)].concat(),
        ],
    };
    let next = next_command(record, &measured, directory);
    // The judgments, the record, and the next command form one block.
    let mut end = judged::lines(record);
    if let Some(file) = &record.header().settings_file {
        end.push(labeled("", &settings_line(file)));
    }
    end.push(labeled("record", directory));
    end.extend(next.map(|next| labeled("next:", &next)));
    blocks.push(end);
    layout::blocks(blocks)
}
