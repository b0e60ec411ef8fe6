//! An op of several statements, for the tests of drivers of SQL servers that have transactions.

use std::sync::Arc;

use highwater_model::op::{BoundOp, BoundOpKind, BoundStatement, BoundWorkload, ColumnType};
use highwater_model::transaction::BoundTransaction;

/// Each statement takes the op's first value at `?1` or `$1`.
pub fn transaction(statements: &[&str]) -> Arc<BoundWorkload> {
    let statements = statements.iter().map(|sql| {
        let count = usize::from(sql.contains("?1") || sql.contains("$1"));
        BoundStatement {
            sql: (*sql).to_owned(),
            parameters: vec![ColumnType::Bigint; count],
            values: vec![0; count],
        }
    });
    Arc::new(BoundWorkload {
        ops: vec![BoundOp {
            name: "transaction".to_owned(),
            kind: BoundOpKind::Transaction(BoundTransaction::of_statements(statements)),
        }],
        ..BoundWorkload::default()
    })
}
