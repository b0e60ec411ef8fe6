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

/// Every way and its name, the default first; those of one server first.
const MODES: [(&str, Mode); 6] = [
    ("native", local(Format::Native)),
    ("rowbinary", local(Format::RowBinary)),
    ("jsoneachrow", local(Format::JsonEachRow)),
    ("distributed", distributed(Format::Native)),
    ("distributed-rowbinary", distributed(Format::RowBinary)),
    ("distributed-jsoneachrow", distributed(Format::JsonEachRow)),
];

const fn local(format: Format) -> Mode {
    Mode {
        format,
        is_distributed: false,
    }
}

const fn distributed(format: Format) -> Mode {
    Mode {
        format,
        is_distributed: true,
    }
}

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
    /// The names of `--insert` that are proposed for one server.
    pub(super) const OF_SERVER: &[&str] = &["native", "rowbinary", "jsoneachrow"];
    /// Those for several servers.
    pub(super) const OF_CLUSTER: &[&str] = &[
        "native",
        "rowbinary",
        "jsoneachrow",
        "distributed",
        "distributed-rowbinary",
        "distributed-jsoneachrow",
    ];
    /// Another name of the default, where it says that the servers' own tables are meant.
    const LOCAL: &str = "local";

    /// What is done where `--insert` says nothing.
    pub(super) const fn default_one() -> Self {
        local(Format::Native)
    }

    /// From a name of `--insert`.
    pub(super) fn of(name: &str) -> Option<Self> {
        if name == Self::LOCAL {
            return Some(Self::default_one());
        }
        let mut known = MODES.iter();
        known
            .find(|(known, _)| *known == name)
            .map(|(_, mode)| *mode)
    }

    /// The name of `--insert`.
    pub(super) fn name(self) -> &'static str {
        let mut known = MODES.iter();
        known
            .find(|(_, mode)| *mode == self)
            .map_or("", |(name, _)| name)
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
        for (names, is_cluster) in [(Mode::OF_SERVER, false), (Mode::OF_CLUSTER, true)] {
            for name in names {
                assert_eq!(Mode::of(name).map(Mode::name), Some(*name));
            }
            let known = MODES
                .iter()
                .filter(|(_, mode)| is_cluster || !mode.is_distributed);
            assert!(known.map(|(name, _)| name).eq(names));
            assert_eq!(Mode::of(names[0]), Some(Mode::default_one()));
        }
        assert_eq!(Mode::of("Native"), None);
        assert_eq!(Mode::of("local").map(Mode::name), Some("native"));
    }
}
