//! Faults planted in stored rows, and their names in the audit.

use highwater_model::record::Fault;

/// A fault planted in the stored rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    /// A row is deleted.
    Dropped(u64),
    /// A row is duplicated.
    Duplicated(u64),
    /// Two rows have exchanged values of `n`.
    Swapped(u64, u64),
    /// `n` of one row is increased by as much as it is decreased in the other.
    Offset(u64, u64),
    /// The last digit of `note` is changed.
    Edited(u64),
    /// A row without a key of this run.
    Strange(u64),
}

impl Planted {
    /// The affected rows.
    pub(crate) fn rows(self) -> Vec<u64> {
        match self {
            Self::Dropped(row) | Self::Duplicated(row) | Self::Edited(row) => vec![row],
            Self::Swapped(one, other) | Self::Offset(one, other) => vec![one, other],
            Self::Strange(_) => Vec::new(),
        }
    }

    /// Number of wrong rows.
    pub(crate) fn count(self) -> u64 {
        (self.rows().len() as u64).max(1)
    }

    /// The row after which a trigger plants it: all affected rows then exist.
    pub(crate) fn last_row(self) -> u64 {
        match self {
            Self::Strange(row) => row,
            _ => self.rows().into_iter().max().unwrap(),
        }
    }

    pub(crate) fn fault(self) -> (Fault, Option<&'static str>) {
        match self {
            Self::Dropped(_) => (Fault::Missing, None),
            Self::Duplicated(_) => (Fault::Duplicated, None),
            Self::Swapped(..) | Self::Offset(..) => (Fault::Altered, Some("n")),
            Self::Edited(_) => (Fault::Altered, Some("note")),
            Self::Strange(_) => (Fault::Surplus, None),
        }
    }

    /// The statement, in the SQL that most databases share.
    pub(crate) fn sql(self) -> String {
        match self {
            Self::Dropped(row) => format!("DELETE FROM meters WHERE id = {row};"),
            Self::Duplicated(row) => {
                format!("INSERT INTO meters SELECT * FROM meters WHERE id = {row};")
            }
            // 2001 apart, so that the values of both certainly differ.
            Self::Swapped(one, other) => format!(
                "UPDATE meters SET n = (SELECT total FROM (SELECT sum(o.n) AS total FROM meters o \
                 WHERE o.id IN ({one}, {other})) AS pair) - n WHERE id IN ({one}, {other});"
            ),
            Self::Offset(one, other) => format!(
                "UPDATE meters SET n = n + CASE WHEN id = {one} THEN 7 ELSE -7 END \
                 WHERE id IN ({one}, {other});"
            ),
            Self::Edited(row) => format!(
                "UPDATE meters SET note = substr(note, 1, 10) || \
                 CASE WHEN substr(note, 11, 1) = '1' THEN '2' ELSE '1' END WHERE id = {row};"
            ),
            Self::Strange(row) => format!("INSERT INTO meters (id, n) VALUES (-1 - {row}, 7);"),
        }
    }
}
