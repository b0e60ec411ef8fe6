//! URL schemes of targets, by which a word of the command line is known to be one.

/// Targets that the program supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSchemes {
    /// URL schemes, without the colon.
    pub schemes: Vec<&'static str>,
    /// The target when none is named.
    pub default_url: Option<&'static str>,
}

impl Default for TargetSchemes {
    /// Those that this program was built with.
    fn default() -> Self {
        let schemes = highwater_drivers::drivers().iter().flat_map(|driver| driver.schemes());
        Self { schemes: schemes.copied().collect(), default_url: highwater_drivers::default_url() }
    }
}
