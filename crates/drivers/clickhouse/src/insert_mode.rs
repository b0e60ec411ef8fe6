//! The values of `--insert`: the format of a batch and, with several servers, its target table. Must not encode.

/// The encoding of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One block, column by column: no prefix of it is a valid request.
    Native,
    /// Row by row, without separators.
    RowBinary,
    /// One JSON object per row, as text.
    JsonEachRow,
}

/// An insert mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) format: Format,
    /// Through the `Distributed` table, which forwards rows, instead of the server's own table.
    pub(super) is_distributed: bool,
}

/// The formats, in the order of the insert modes.
const FORMATS: [Format; 3] = [Format::Native, Format::RowBinary, Format::JsonEachRow];
/// The values of `--insert` with several servers: one per format for the servers' own tables (also for a single
/// server), then one per format for the `Distributed` tables.
const NAMES: &[&str] = &[
    "native",
    "rowbinary",
    "jsoneachrow",
    "distributed",
    "distributed-rowbinary",
    "distributed-jsoneachrow",
];
/// Alternative name of the default, which states that the servers' own tables are used.
const LOCAL: &str = "local";

impl Format {
    /// The server's name of the format.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => "Native",
            Self::RowBinary => "RowBinary",
            Self::JsonEachRow => "JSONEachRow",
        }
    }
}

impl Mode {
    /// The mode without `--insert`.
    pub(super) const fn default_one() -> Self {
        Self { format: Format::Native, is_distributed: false }
    }

    /// The values of `--insert` to suggest, for one server or for several.
    pub(super) fn names(is_cluster: bool) -> &'static [&'static str] {
        if is_cluster { NAMES } else { &NAMES[..FORMATS.len()] }
    }

    /// Parses a value of `--insert`.
    pub(super) fn of(name: &str) -> Option<Self> {
        if name == LOCAL {
            return Some(Self::default_one());
        }
        let at = NAMES.iter().position(|known| *known == name)?;
        Some(Self { format: FORMATS[at % FORMATS.len()], is_distributed: at >= FORMATS.len() })
    }

    /// The value of `--insert`.
    pub(super) fn name(self) -> &'static str {
        let mut names = NAMES.iter().copied();
        let named = names.find(|name| Self::of(name) == Some(self));
        named.unwrap_or_default()
    }

    /// Whether a batch is always stored as a whole or not at all.
    pub(super) fn is_atomic(self) -> bool {
        self == Self::default_one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_one_way_and_those_of_a_server_are_local() {
        for is_cluster in [false, true] {
            let names = Mode::names(is_cluster);
            for name in names {
                assert_eq!(Mode::of(name).map(Mode::name), Some(*name));
            }
            assert_eq!(Mode::of(names[0]), Some(Mode::default_one()));
        }
        assert_eq!(Mode::of("Native"), None);
        let above = Mode { format: Format::RowBinary, is_distributed: true };
        assert_eq!(Mode::of("distributed-rowbinary"), Some(above));
        assert_eq!(Mode::of("local").map(Mode::name), Some("native"));
    }
}
