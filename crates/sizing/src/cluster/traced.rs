//! Inputs with their origin: a flag, a measurement, a publication, or an assumption.
//!
//! Every input of a plan has this type, so that none loses its origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The user said so; the name of the flag, variable or file.
    Given(String),
    /// A measurement of the user's own; which.
    Measured(String),
    /// Published figures of others; whose.
    Published(String),
    /// It was neither measured nor given; why this value was taken.
    Assumed(String),
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// An input as the plan lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// What it is, with its unit.
    pub name: String,
    /// Its value, as text.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The flag that changes it.
    pub flag: String,
}

impl<T> Traced<T> {
    /// A value given by the user with a flag.
    pub fn given(value: T, flag: &str) -> Self {
        Self { value, origin: Origin::Given(flag.to_owned()) }
    }

    /// A default value, with the reason for it.
    pub fn assumed(value: T, because: &str) -> Self {
        Self { value, origin: Origin::Assumed(because.to_owned()) }
    }

    /// A line of a plan's inputs.
    pub fn input(&self, name: &str, value: impl Into<String>, flag: &str) -> Input {
        self.origin.input(name, value, flag)
    }
}

impl Origin {
    /// A line of a plan's inputs for a value from this origin.
    pub fn input(&self, name: &str, value: impl Into<String>, flag: &str) -> Input {
        Input {
            name: name.to_owned(),
            value: value.into(),
            origin: self.clone(),
            flag: flag.to_owned(),
        }
    }

    /// A word for the origin.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Given(_) => "given",
            Self::Measured(_) => "measured",
            Self::Published(_) => "published",
            Self::Assumed(_) => "assumed",
        }
    }

    /// The exact origin.
    pub fn detail(&self) -> &str {
        match self {
            Self::Given(text)
            | Self::Measured(text)
            | Self::Published(text)
            | Self::Assumed(text) => text,
        }
    }

    /// Whether the plan's reader has to take it on trust.
    pub const fn is_assumption(&self) -> bool {
        matches!(self, Self::Published(_) | Self::Assumed(_))
    }
}
