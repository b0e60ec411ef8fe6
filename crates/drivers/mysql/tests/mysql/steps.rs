//! Transactions whose steps depend on values and on answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_driver::Target;
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::units::Seed;
use highwater_workload::{OpContext, Script, WorkloadSpec};

use crate::client::{Client, on_server, started};

/// Runs a script's op 0; the error is that of its preparation.
async fn run(target: &dyn Target, steps: &str) -> Result<Outcome, String> {
    let text = &format!("BEGIN;\n{steps}");
    let read = Script { name: "script", text, weight: 1 };
    let spec = WorkloadSpec::from_scripts(&[read], &BTreeMap::new()).unwrap();
    let workload = spec.instantiate(&BTreeMap::new(), Seed(1)).unwrap();
    let bound = workload.bind(&["mysql".to_owned()], target.placeholders()).unwrap();
    let mut client =
        Client::connect(target, &Arc::new(bound)).await.map_err(|error| error.to_string())?;
    let op = workload.op(&workload.streams()[0], 0, &OpContext::default());
    Ok(client.send(0, op.body).await)
}

const ALL_TYPES: &str = "SELECT 7 AS i, -1 AS m, 'x y' AS t, CAST(12.50 AS DECIMAL(10,2)) AS d, \
    0.5e0 AS f, NULL AS n, DATE '2026-11-30' AS day, TIMESTAMP '2026-11-30 01:02:03' AS at";

#[test]
fn steps_and_answers_are_those_of_the_script() {
    on_server(started(), None, async |server, target| {
        server.sql("CREATE TABLE seen (number INT AUTO_INCREMENT PRIMARY KEY, step TEXT)");
        let seen = || {
            let rows =
                server.sql("SELECT GROUP_CONCAT(step ORDER BY number SEPARATOR ' ') FROM seen");
            server.sql("DELETE FROM seen");
            rows
        };
        let types = format!(
            "{ALL_TYPES} \\gset\nINSERT INTO seen (step) VALUES (:i), (:m), (:t), (:d), (:f), \
             (coalesce(:n, 'null')), (:day), (:at);\nEND;"
        );
        for (steps, expected) in [
            ("INSERT INTO seen (step) VALUES ('a');\nROLLBACK;", "NULL"),
            (
                "SELECT 5 AS n \\gset\n\\set m :n * 2\n\\if :n > 4\nINSERT INTO seen (step) VALUES (:m);\n\
                 \\else\nINSERT INTO seen (step) VALUES ('under');\n\\endif\nEND;",
                "10",
            ),
            (
                "\\set a 3\n\\sleep 20 ms\nSELECT 1 AS a FROM seen \\aset\n\
              INSERT INTO seen (step) VALUES (:a);\nEND;",
                "3",
            ),
            (
                "SELECT 1 AS a UNION ALL SELECT 2 \\aset\nINSERT INTO seen (step) VALUES (:a);\nEND;",
                "2",
            ),
            (types.as_str(), "7 -1 x y 12.50 0.5 null 2026-11-30 2026-11-30 01:02:03"),
        ] {
            let outcome = run(target.as_ref(), steps).await.unwrap();
            assert!(outcome.is_success() && outcome.session_usable, "{steps}: {outcome:?}");
            assert_eq!(outcome.rolled_back, steps.contains("ROLLBACK"), "{steps}");
            assert_eq!(seen(), expected, "{steps}");
        }
        let steps = "INSERT INTO seen (step) VALUES ('a');\nSELECT 1 AS a UNION ALL SELECT 2 \\gset\n\
                     INSERT INTO seen (step) VALUES (:a);\nEND;";
        let outcome = run(target.as_ref(), steps).await.unwrap();
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert!(outcome.session_usable);
        let error = outcome.error.unwrap();
        assert_eq!(
            (error.class, error.message.as_str()),
            (ErrorClass::Data, "expected one row, got 2")
        );
        assert_eq!(seen(), "NULL");
        let steps = "SELECT 1 AS a \\gset\nSELECT :b;\nEND;";
        let error = run(target.as_ref(), steps).await.unwrap_err();
        assert!(
            error.contains("returns no column `b` for a later value; it returns `a`"),
            "{error}"
        );
        let steps = "SELECT CURRENT_TIME AS b \\gset\nSELECT :b;\nEND;";
        let error = run(target.as_ref(), steps).await.unwrap_err();
        assert!(error.contains("column `b` is a length of time: select it as text"), "{error}");
    });
}
