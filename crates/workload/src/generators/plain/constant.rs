//! `constant`: always the same.

use super::literal::Literal;
use super::making::{Make, Texts};
use crate::generators::prelude::{ColumnType, Draws, SCALARS, Section, Serialize, Spec, specs};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Constant(pub(crate) Literal);

impl Make for Constant {
    const SPECS: &'static [Spec] =
        specs!("constant", "always the same", SCALARS, ["value": Literal;];);

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        Literal::read(of.required("value", "…")?, kind).map(Self)
    }

    fn text(&self, _: &Draws, _: u64) -> String {
        self.0.text()
    }

    fn integer(&self, _: &Draws, _: u64) -> i64 {
        self.0.integer()
    }

    fn float(&self, _: &Draws, _: u64) -> f64 {
        self.0.float()
    }

    fn boolean(&self, _: &Draws, _: u64) -> bool {
        self.0 == Literal::Boolean(true)
    }

    fn texts(&self, _: &Draws) -> Option<Texts> {
        Some([self.0.text().into()].into())
    }
}
