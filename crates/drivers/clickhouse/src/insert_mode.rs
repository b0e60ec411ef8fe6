//! The names of `--insert`: the format of a batch, and over several servers which table it is for. Must not
//! write one.

/// How a batch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One block, column by column: it cannot be cut at a place where its first half is a request too.
    Native,
    /// Row by row, without anything between two of them.
    RowBinary,
    /// An object a row, as text.
    JsonEachRow,
}

/// A way to insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) format: Format,
    /// Through the table above those of all servers, which passes rows on; not to the server's own table.
    pub(super) is_distributed: bool,
}

/// The forms, in the order in which the ways to insert are named.
const FORMATS: [Format; 3] = [Format::Native, Format::RowBinary, Format::JsonEachRow];
/// The names of `--insert` on several servers: a name for each form into the servers' own tables, which one
/// server has too, then for each into the tables above those.
const NAMES: &[&str] = &[
    "native",
    "rowbinary",
    "jsoneachrow",
    "distributed",
    "distributed-rowbinary",
    "distributed-jsoneachrow",
];
/// Another name of the default, where it says that the servers' own tables are meant.
const LOCAL: &str = "local";

impl Format {
    /// The server's name of it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => "Native",
            Self::RowBinary => "RowBinary",
            Self::JsonEachRow => "JSONEachRow",
        }
    }
}

impl Mode {
    /// What is done where `--insert` says nothing.
    pub(super) const fn default_one() -> Self {
        Self { format: Format::Native, is_distributed: false }
    }

    /// The names of `--insert` that are proposed, for one server or for several.
    pub(super) fn names(is_cluster: bool) -> &'static [&'static str] {
        if is_cluster { NAMES } else { &NAMES[..FORMATS.len()] }
    }

    /// From a name of `--insert`.
    pub(super) fn of(name: &str) -> Option<Self> {
        if name == LOCAL {
            return Some(Self::default_one());
        }
        let at = NAMES.iter().position(|known| *known == name)?;
        Some(Self { format: FORMATS[at % FORMATS.len()], is_distributed: at >= FORMATS.len() })
    }

    /// The name of `--insert`.
    pub(super) fn name(self) -> &'static str {
        let mut names = NAMES.iter().copied();
        let named = names.find(|name| Self::of(name) == Some(self));
        named.unwrap_or_default()
    }

    /// Whether a batch is stored as a whole or not at all, whatever becomes of its request.
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
