//! Each rule with figures that it must object to, and with figures that it must not.

use super::*;
use crate::series::{PUBLISHED, read};

fn of_text(text: &str) -> Vec<PlausibilityWarning> {
    audit(&read(text).unwrap(), None)
}

/// Codes of the rules that object to a file.
fn rules(text: &str) -> Vec<&'static str> {
    of_text(text)
        .iter()
        .map(|warning| warning.rule.code())
        .collect()
}

fn published(file: &str) -> Vec<PlausibilityWarning> {
    of_text(
        PUBLISHED
            .iter()
            .find(|known| known.file == file)
            .unwrap()
            .text,
    )
}

/// The only warning of a rule to a published file.
fn the(file: &str, rule: Rule) -> PlausibilityWarning {
    let mut warnings = published(file).into_iter().filter(|o| o.rule == rule);
    let only = warnings.next().unwrap();
    assert_eq!(warnings.next(), None);
    only
}

#[track_caller]
fn says(warning: &PlausibilityWarning, parts: &[&str]) {
    for part in parts {
        assert!(
            warning.message.contains(part),
            "`{part}` in {}",
            warning.message
        );
    }
}

const NOTHING: [&str; 0] = [];

#[test]
fn ten_gibibytes_are_not_ten_gigabits() {
    let warning = the("one-million-rows.csv", Rule::RowBytes);
    says(
        &warning,
        &[
            "10 GiB/s",
            "10,288 bytes per row",
            "read as 10 Gbit/s it is 1,198 bytes",
            "`cpu`",
        ],
    );
    assert_eq!(warning.places, ["line 10"]);
}

#[test]
fn three_queries_are_more_than_their_total() {
    let warnings = published("query-scaling.csv");
    let above: Vec<&str> = warnings
        .iter()
        .filter(|warning| warning.rule == Rule::PartsExceedTotal)
        .filter_map(|o| o.message.split(" % above").next()?.rsplit(' ').next())
        .collect();
    assert_eq!(above, ["4.3", "4.2", "2.3", "2.9"]);
}

#[test]
fn linear_is_71_7_per_cent() {
    let warning = the("query-scaling.csv", Rule::NotLinear);
    says(&warning, &["linear", "71.7 %"]);
    assert_eq!(warning.weight, Weight::Contradiction);
}

#[test]
fn ten_users_per_node_become_five() {
    let warning = the("query-scaling.csv", Rule::UsersPerNode);
    says(&warning, &["from 10 at 3 nodes to 5 at"]);
}

#[test]
fn shards_of_all_partitions_count() {
    let warnings = published("query-scaling.csv");
    let shards: Vec<&PlausibilityWarning> = warnings
        .iter()
        .filter(|warning| warning.rule == Rule::ShardsPerNode)
        .collect();
    assert_eq!(
        shards.len(),
        2,
        "12 and 24 nodes hold fewer than 1,000 each"
    );
    says(
        shards[0],
        &["8,112 shards", "2,704 per node", "38,769 rows in each"],
    );
}

#[test]
fn half_a_megabyte_is_called_two_and_a_half() {
    let warning = the("big-bite.csv", Rule::SizeOfData);
    says(&warning, &["2.5 MB", "512 kB"]);
    assert_eq!(warning.places, ["line 4", "line 5"]);
}

#[test]
fn one_configuration_of_the_guide_has_two_results() {
    let warnings = published("benchmarking-guide.csv");
    let [only] = &warnings[..] else {
        panic!("{warnings:#?}");
    };
    assert_eq!(only.rule, Rule::DuplicatesDisagree);
    says(only, &["138,840", "108,352", "28 %"]);
    assert_eq!(only.places, ["line 21", "line 25"]);
}

#[test]
fn published_writes_of_one_byte_raise_nothing() {
    assert_eq!(published("kv-writes.csv"), []);
}

#[test]
fn sessions_rate_and_latency_agree() {
    let check = |sessions: &str, latency: &str, pace: &str, expected: &[&str]| {
        let text = format!(
            "nodes,sessions,mean_latency_ms,pace,queries_per_s\n3,{sessions},{latency},{pace},1000\n"
        );
        assert_eq!(rules(&text), expected, "{text}");
    };
    check("100", "100", "", &NOTHING);
    check("100", "114", "", &NOTHING);
    check("100", "116", "", &["littles_law"]);
    check("100", "84", "", &["littles_law"]);
    check("100", "20", "open", &NOTHING);
    check("100", "120", "open", &["littles_law"]);
    // 100 sessions that wait 80 ms of 100.
    assert_eq!(
        rules("sessions,latency_ms,think_time_ms,qps\n100,20,80,1000\n"),
        NOTHING
    );
    // Batches, not rows, are answered.
    assert_eq!(
        rules("sessions,latency_ms,batch,rows_per_s\n4,8,1000,500000\n"),
        NOTHING
    );
    assert_eq!(
        rules("sessions,latency_ms,batch,rows_per_s\n4,80,1000,500000\n"),
        ["littles_law"]
    );
    // 384 sessions and 230,000/s are 1.67 ms each.
    assert_eq!(rules("sessions,p99_ms,ops_per_s\n384,7,230000\n"), NOTHING);
    assert_eq!(
        rules("sessions,p99_ms,ops_per_s\n384,1.2,230000\n"),
        ["littles_law"]
    );
}

#[test]
fn traffic_fits_the_rows() {
    let check = |network: &str, bytes: &str, expected: &[&str]| {
        let text = format!("nodes,network,bytes_per_row,rows_per_s\n3,{network},{bytes},1000000\n");
        assert_eq!(rules(&text), expected, "{text}");
    };
    check("1.2 GB/s", "1000", &NOTHING);
    check("4.1 GB/s", "1000", &["row_bytes"]);
    check("0.2 GB/s", "1000", &NOTHING);
    check("90 MB/s", "1000", &["row_bytes"]);
    check("4 GB/s", "", &NOTHING);
    check("5 GB/s", "", &["row_bytes"]);
    // Three copies of each row cross the network.
    let copies = "replicas,network,bytes_per_row,rows_per_s\n2,6 GB/s,1000,1000000\n";
    assert_eq!(rules(copies), NOTHING);
}

#[test]
fn network_and_disks_carry_what_is_written() {
    let check = |nic: &str, disk: &str, expected: &[&str]| {
        let text = format!(
            "nodes,replicas,nic,disk_limit,bytes_per_row,rows_per_s\n4,1,{nic},{disk},1000,1000000\n"
        );
        assert_eq!(rules(&text), expected, "{text}");
    };
    check("10 Gbit/s", "600 MB/s", &NOTHING);
    check("1 Gbit/s", "600 MB/s", &["bandwidth"]);
    check("10 Gbit/s", "400 MB/s", &["bandwidth"]);
    let stated = "nodes,nic,network,queries_per_s\n2,10 Gbit/s,30 Gbit/s,100\n";
    assert_eq!(rules(stated), ["bandwidth"]);
}

#[test]
fn parts_in_rows_of_their_own_are_added_too() {
    let rows = |total: &str| {
        format!("nodes,op,queries_per_s\n3,total,{total}\n3,a,50\n3,b,60\n6,a,100\n6,b,120\n")
    };
    assert_eq!(rules(&rows("110")), NOTHING);
    assert_eq!(rules(&rows("100")), ["parts_exceed_total"]);
    assert_eq!(rules("nodes,total_per_s,q1,q2\n3,100,50,50.9\n"), NOTHING);
}

#[test]
fn linear_is_a_claim_only_where_it_is_made() {
    let check = |claim: &str, last: &str, expected: &[&str]| {
        let text = format!("claim,nodes,rows_per_s\n{claim},1,100\n{claim},4,{last}\n");
        assert_eq!(rules(&text), expected, "{text}");
    };
    check("scales linearly", "345", &NOTHING);
    check("scales linearly", "335", &["not_linear"]);
    check("grows sub-linearly", "300", &NOTHING);
    check("is not linear", "300", &NOTHING);
    check("", "300", &NOTHING);
}

#[test]
fn rate_times_duration_are_the_rows() {
    // Figures of TSBS' documentation: 103,680,000 rows in 936.5 s.
    assert_eq!(
        rules("rows,duration_s,rows_per_s\n103680000,936.525,110707\n"),
        NOTHING
    );
    assert_eq!(
        rules("rows,duration_s,rows_per_s\n103680000,500,110707\n"),
        ["rate_times_duration"]
    );
    assert_eq!(
        rules("metrics,duration_s,metrics_per_s\n1000,10,100\n"),
        NOTHING
    );
    assert_eq!(
        rules("metrics,duration_s,metrics_per_s\n1000,10,50\n"),
        ["rate_times_duration"]
    );
    // Rows in the table are not what queries are counted in.
    assert_eq!(
        rules("rows,duration_s,queries_per_s\n1000000,10,50\n"),
        NOTHING
    );
}

#[test]
fn bytes_of_batches_and_of_all_rows_follow_from_a_row() {
    assert_eq!(
        rules("batch,bytes_per_row,batch_bytes,rows_per_s\n1000,512,0.6 MB,10\n"),
        NOTHING
    );
    assert_eq!(
        rules("batch,bytes_per_row,batch_bytes,rows_per_s\n1000,512,0.3 MB,10\n"),
        ["size_of_data"]
    );
    assert_eq!(
        rules("rows,bytes_per_row,data_gib,rows_per_s\n51.2M,512,24.4,10\n"),
        NOTHING
    );
    assert_eq!(
        rules("rows,bytes_per_row,data_gib,rows_per_s\n51.2M,512,244,10\n"),
        ["size_of_data"]
    );
}

#[test]
fn load_per_node_may_be_constant_or_a_grid() {
    assert_eq!(
        rules("nodes,users,qps\n3,30,10\n6,60,19\n12,120,36\n"),
        NOTHING
    );
    assert_eq!(
        rules("nodes,users,qps\n3,30,10\n6,30,19\n"),
        ["users_per_node"]
    );
    // Figures of a published series of growing clusters: 48/10 and 288/60 nodes per client.
    assert_eq!(
        rules("nodes,clients,ops_per_s\n48,10,174373\n288,60,1099837\n"),
        NOTHING
    );
    assert_eq!(
        rules("nodes,users,qps\n3,10,9\n3,30,10\n6,10,15\n6,30,19\n"),
        NOTHING
    );
    assert_eq!(
        rules("nodes,users,qps\n3,10,9\n3,20,10\n3,30,10\n"),
        NOTHING
    );
}

#[test]
fn shards_are_within_the_guidance_of_the_engine_and_reach_every_node() {
    let check = |engine: &str, nodes: &str, shards: &str, replicas: &str, expected: &[&str]| {
        let text = format!(
            "engine,nodes,shards,replicas,rows_per_s\n{engine},{nodes},{shards},{replicas},10\n"
        );
        assert_eq!(rules(&text), expected, "{text}");
    };
    check("CrateDB", "3", "3000", "", &NOTHING);
    check("CrateDB", "3", "3001", "", &["shards_per_node"]);
    check("CrateDB", "3", "2000", "1", &["shards_per_node"]);
    check("nobody's", "3", "3001", "", &NOTHING);
    check("", "6", "4", "0", &["shards_per_node"]);
    check("", "6", "4", "1", &NOTHING);
}

#[test]
fn tpmc_has_a_ceiling() {
    // Published figures: 140,000 and 100,000 warehouses at 95 and 99 %.
    let published = "nodes,warehouses,tpmC\n81,140000,1684437\n81,100000,1245462\n";
    assert_eq!(rules(published), NOTHING);
    // A published table names 500 warehouses for each of these.
    let wrong = of_text("nodes,warehouses,tpmC\n3,500,25646.4\n");
    says(&wrong[0], &["51.3 each", "6,430"]);
    let growing = "vcpus_per_node,warehouses,tpmC\n2,500,6415.7\n4,1000,12829.93\n8,2000,25646.4\n";
    let at_ceiling = of_text(growing);
    assert_eq!(at_ceiling.len(), 1);
    says(&at_ceiling[0], &["how many warehouses were asked"]);
}

#[test]
fn repeats_may_differ_by_a_fifth_and_series_that_are_compared_by_anything() {
    assert_eq!(rules("nodes,rows_per_s\n3,100\n3,119\n"), NOTHING);
    assert_eq!(
        rules("nodes,rows_per_s\n3,100\n3,121\n"),
        ["duplicates_disagree"]
    );
    let compared = "series,source,nodes,rows_per_s\na,x,3,100\na,x,6,190\nb,x,3,150\nb,x,6,290\n";
    assert_eq!(rules(compared), NOTHING);
    let met = "series,source,nodes,batch,rows_per_s\n\
               a,x,3,100,100\na,x,6,100,190\nb,x,3,100,150\nb,x,3,200,160\n";
    assert_eq!(rules(met), ["duplicates_disagree"]);
}

#[test]
fn a_model_needs_more_sizes_than_parameters() {
    let request = ModelRequest {
        name: "the universal scalability law".to_owned(),
        parameters: 3,
        advised: 6,
    };
    let check = |sizes: u32, expected: Option<Weight>| {
        let rows: String = (1..=sizes).map(|n| format!("{n},{}\n", n * 100)).collect();
        let set = read(&format!("nodes,rows_per_s\n{rows}")).unwrap();
        let found = audit(&set, Some(&request));
        assert_eq!(found.first().map(|warning| warning.weight), expected);
        assert_eq!(audit(&set, None), []);
    };
    check(3, Some(Weight::Contradiction));
    check(4, Some(Weight::Doubt));
    check(6, None);
}

#[test]
fn every_rule_has_a_code_of_its_own_and_objects_to_something_here() {
    let mut codes: Vec<&str> = Rule::ALL.iter().map(|(_, code, _)| *code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 12);
    for (rule, code, _) in Rule::ALL {
        assert_eq!(rule.code(), *code);
        let json = serde_json::to_value(rule).unwrap();
        assert_eq!(json, *code);
    }
}

proptest::proptest! {
    /// A sweep over nodes of a cluster without contradictions, with 3 % of measuring noise on
    /// every throughput and 2 % on every latency, raises nothing.
    #[test]
    fn consistent_figures_raise_nothing(
        per_node in 1_000.0_f64..500_000.0,
        contention in 0.0_f64..0.002,
        sizes in 2_usize..8,
        sessions_per_node in 4_u32..64,
        batch in 100_u32..20_000,
        bytes in 50_u32..2_000,
        noise in proptest::collection::vec(-2.0_f64..2.0, 16),
    ) {
        let mut text = "series,source,engine,claim,nodes,replicas,shards,sessions,batch,\
            bytes_per_row,mean_latency_ms,duration_s,rows,network,nic,disk_limit,batch_bytes,\
            north_per_s,south_per_s,throughput,unit\n".to_owned();
        for size in 0..sizes {
            let nodes = 1_u32 << size;
            let n = f64::from(nodes);
            let rate = per_node * n / (1.0 + contention * (n - 1.0).min(5.0))
                * (1.0 + 0.03 * noise[size]);
            let sessions = sessions_per_node * nodes;
            let latency_ms = f64::from(sessions) * f64::from(batch) / rate * 1e3
                * (1.0 + 0.02 * noise[size + 8]);
            let traffic = rate * f64::from(bytes) * 1.2;
            text += &format!(
                "s,made up,CrateDB,scales linearly,{nodes},1,{},{sessions},{batch},{bytes},\
                 {latency_ms},300,{},{traffic} B/s,{} B/s,{} B/s,{} B,{},{},{rate},rows/s\n",
                nodes * 6, rate * 300.0, traffic, traffic * 3.0,
                f64::from(batch) * f64::from(bytes) * 1.1, rate * 0.6, rate * 0.4,
            );
        }
        let warnings = of_text(&text);
        proptest::prop_assert!(warnings.is_empty(), "{warnings:#?}\n{text}");
    }
}
