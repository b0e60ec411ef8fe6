//! Exit codes: the whole list, and which one wins.

use highwater_core::model::judgement::{
    Data, Judgements, Measurement, ObjectiveValue, Reason, ReasonCode,
};

/// Everything asked for was done, and all is well.
pub const WELL: u8 = 0;
/// An objective was missed.
pub const OBJECTIVE_MISSED: u8 = 1;
/// Bad usage or bad input; nothing was run.
pub const USAGE: u8 = 2;
/// The measurement is not sound, or the data are unverified although an audit was asked for.
pub const NOT_SOUND: u8 = 3;
/// Data were lost, duplicated or altered.
pub const DATA: u8 = 4;
/// The target cannot be reached, or refused.
pub const TARGET: u8 = 5;
/// Interrupted; what was measured is kept.
pub const INTERRUPTED: u8 = 130;

/// The list as it stands in the help text.
pub const HELP: &str = "\
Exit codes:
    0  all well
    1  an objective was missed
    2  bad usage or input
    3  measurement not sound, or data unverified although an audit was asked for
    4  data lost, duplicated or altered
    5  target not reachable, or it refused
  130  interrupted";

/// What a finished run has to say, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Findings {
    /// The user ended the run.
    pub interrupted: bool,
    /// Data were lost, duplicated or altered.
    pub data_damaged: bool,
    /// The measurement is not sound, or an audit that was asked for verified nothing.
    pub doubtful: bool,
    /// An objective was missed.
    pub missed: bool,
}

impl From<&Judgements> for Findings {
    fn from(judgements: &Judgements) -> Self {
        let Judgements {
            measurement,
            data,
            objective,
        } = judgements;
        let interruption = |reason: &Reason| reason.code == ReasonCode::Interrupted;
        Self {
            interrupted: measurement.reasons.iter().any(interruption),
            data_damaged: matches!(data.value, Data::Lost | Data::Duplicated | Data::Altered),
            doubtful: measurement.value != Measurement::Sound || data.value == Data::Unverified,
            missed: objective.value == ObjectiveValue::Missed,
        }
    }
}

impl Findings {
    /// The one code for them: damage outranks everything, doubt outranks a missed objective.
    pub const fn code(self) -> u8 {
        match self {
            Self {
                data_damaged: true, ..
            } => DATA,
            Self {
                interrupted: true, ..
            } => INTERRUPTED,
            Self { doubtful: true, .. } => NOT_SOUND,
            Self { missed: true, .. } => OBJECTIVE_MISSED,
            _ => WELL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_outranks_interruption_outranks_doubt_outranks_a_missed_objective() {
        let mut findings = Findings {
            interrupted: true,
            data_damaged: true,
            doubtful: true,
            missed: true,
        };
        assert_eq!(findings.code(), DATA);
        findings.data_damaged = false;
        assert_eq!(findings.code(), INTERRUPTED);
        findings.interrupted = false;
        assert_eq!(findings.code(), NOT_SOUND);
        findings.doubtful = false;
        assert_eq!(findings.code(), OBJECTIVE_MISSED);
        findings.missed = false;
        assert_eq!(findings.code(), WELL);
    }
}
