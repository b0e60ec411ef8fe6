//! Events of an experiment at the begin of a trial: its values, and progress. Must not hold results of trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Unit;
use crate::scale::{PredictedRate, ScalePurpose};
use crate::search::{ProbePurpose, SearchAxis};
use crate::tune::TrialPurpose;
use crate::units::Nanos;

/// What a trial of an experiment tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    /// A value of a search's axis.
    Probe {
        /// Why.
        purpose: ProbePurpose,
        /// What is varied.
        axis: SearchAxis,
        /// The value; absent for an estimate by closed load.
        at: Option<f64>,
        /// What the stream counts in.
        unit: Unit,
    },
    /// A configuration of a tuning.
    Configuration {
        /// Why.
        purpose: TrialPurpose,
        /// Each axis and its value.
        values: Vec<[String; 2]>,
    },
    /// A run of a group.
    Variant {
        /// Name of its variant.
        name: String,
        /// Which of its variant's runs it is, from 1.
        round: u32,
        /// Runs of each variant.
        times: u32,
    },
    /// A size of a growth.
    Size {
        /// Why.
        purpose: ScalePurpose,
        /// How many nodes.
        nodes: u32,
        /// Which of several variants of a target it is; absent where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variant: Option<String>,
        /// The node that is measured alone; absent of a size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<u32>,
        /// What is predicted for it; absent where nothing is.
        predicted: Option<PredictedRate>,
        /// What the stream counts in.
        unit: Unit,
    },
}

/// How far an experiment is, when a trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentProgress {
    /// Trials that are over.
    pub done: u32,
    /// Trials at most.
    pub most: u32,
    /// What they took.
    #[serde(rename = "spent_ns")]
    pub spent: Nanos,
    /// What one that is to come takes, as far as is known.
    #[serde(rename = "each_ns")]
    pub each: Nanos,
    /// What making one ready takes besides, as far as is known: it is in no budget.
    #[serde(default, rename = "ready_ns")]
    pub ready: Nanos,
    /// What all of them may take; absent: no bound.
    #[serde(rename = "budget_ns")]
    pub budget: Option<Nanos>,
}
