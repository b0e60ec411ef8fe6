//! The table of flags: the one list behind the parser, the help, the environment and the file.

mod find;
mod flag;
mod results;
mod run;
mod shared;
mod size;
mod tune;

pub use find::{DEMO, SEARCHING};
pub use flag::Flag;
pub use results::{AUDIT_AGAIN, CHECK, COMPARE, IMPORT, SHOW, TABLE};
pub use run::RUN;
pub use size::SIZE;
pub use tune::TUNING;
