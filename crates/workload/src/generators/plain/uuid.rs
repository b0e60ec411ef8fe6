//! `uuid`: UUIDs of version 4.

use super::making::Make;
use crate::generators::prelude::{ColumnType, Draws, Section, Serialize, Spec, TEXT, specs};

/// It has no options; its only form is its name in fingerprints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Uuid {
    Uuid,
}

impl Make for Uuid {
    const SPECS: &'static [Spec] = specs!("uuid", "a UUID of version 4", TEXT, [;];);

    fn read(_: &Section<'_>, _: &str, _: ColumnType) -> Option<Self> {
        Some(Self::Uuid)
    }

    /// The n-th UUID (RFC 9562): 122 random bits.
    fn text(&self, draws: &Draws, n: u64) -> String {
        let high = draws.word(n.wrapping_mul(2)) & !0xf000;
        let high = high | 0x4000;
        let low = draws.word(n.wrapping_mul(2).wrapping_add(1)) & !(0b11 << 62) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}
