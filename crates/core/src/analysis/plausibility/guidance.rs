//! What databases advise for themselves, as data: no rule knows a database.

/// Rows of `engine,most_shards_per_node`.
const GUIDANCE: &str = include_str!("guidance.csv");

/// Most shard copies on a node of this engine; absent where nothing is known.
pub(super) fn most_shards_per_node(engine: &str) -> Option<f64> {
    let engine = engine.to_lowercase();
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(GUIDANCE.as_bytes());
    let mut records = reader.records().filter_map(Result::ok);
    let row = records.find(|row| row.get(0).is_some_and(|name| engine.contains(name)))?;
    row.get(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_found_in_any_writing_and_others_have_no_guidance() {
        assert_eq!(most_shards_per_node("CrateDB 5.4.0"), Some(1_000.0));
        assert_eq!(most_shards_per_node("PostgreSQL 17"), None);
    }
}
