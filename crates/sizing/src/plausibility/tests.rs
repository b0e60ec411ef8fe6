//! Each rule with figures that must and must not trigger it.

use highwater_analysis::fixture;

use super::*;
use crate::series::{PUBLISHED, SeriesSet, of_record, read};

fn of_text(text: &str) -> Vec<PlausibilityWarning> {
    audit(&read(text).unwrap(), None)
}

/// Codes of the rules that a file triggers.
fn rules(text: &str) -> Vec<&'static str> {
    of_text(text).into_iter().map(|warning| warning.rule.code()).collect()
}

fn published(file: &str) -> Vec<PlausibilityWarning> {
    let mut known = PUBLISHED.iter();
    of_text(known.find(|known| known.file == file).unwrap().text)
}

/// The only warning of a rule about a published file.
fn the(file: &str, rule: Rule) -> PlausibilityWarning {
    let mut warnings = published(file).into_iter().filter(|o| o.rule == rule);
    let only = warnings.next().unwrap();
    assert_eq!(warnings.next(), None);
    only
}

#[track_caller]
fn says(warning: &PlausibilityWarning, parts: &[&str]) {
    for part in parts {
        let message = &warning.message;
        assert!(message.contains(part), "`{part}` in {message}");
    }
}

#[test]
fn ten_gibibytes_are_not_ten_gigabits() {
    let warning = the("one-million-rows.csv", Rule::RowBytes);
    says(&warning, &["10 GiB/s", "10,288 bytes per row", "`cpu`"]);
    says(&warning, &["read as 10 Gbit/s it is 1,198 bytes"]);
    assert_eq!(warning.places, ["line 10"]);
}

#[test]
fn three_queries_are_more_than_their_total() {
    let warnings = published("query-scaling.csv");
    let above: Vec<&str> = warnings
        .iter()
        .filter(|warning| warning.rule == Rule::PartsExceedTotal)
        .filter_map(|o| o.message.split("% above").next()?.rsplit(' ').next())
        .collect();
    assert_eq!(above, ["4.3", "4.2", "2.3", "2.9"]);
}

#[test]
fn linear_is_71_7_per_cent() {
    let warning = the("query-scaling.csv", Rule::NotLinear);
    says(&warning, &["linear", "71.7%"]);
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
    let mut shards = warnings.iter().filter(|o| o.rule == Rule::ShardsPerNode);
    let first = shards.next().unwrap();
    says(first, &["8,112 shards", "2,704 per node"]);
    says(first, &["38,769 rows in each"]);
    assert_eq!(shards.count(), 1, "12 and 24 nodes hold fewer than 1,000");
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
    says(only, &["138,840", "108,352", "28%"]);
    assert_eq!(only.places, ["line 21", "line 25"]);
}

#[test]
fn published_writes_of_one_byte_raise_nothing() {
    assert_eq!(published("kv-writes.csv"), []);
}

/// Each line is a file, with `|` for its line breaks, and the rules that it triggers.
#[track_caller]
fn check(cases: &str) {
    for case in cases.trim().lines() {
        let (text, expected) = case.split_once("=>").unwrap();
        let text = text.trim().replace(" | ", "\n");
        assert_eq!(rules(&text).join(" "), expected.trim(), "{case}");
    }
}

#[test]
fn sessions_rate_and_latency_agree() {
    let of = |sessions_latency_pace: &str, expected: &str| {
        let columns = "nodes,queries_per_s,sessions,mean_latency_ms,pace";
        check(&format!("{columns} | 3,1000,{sessions_latency_pace} => {expected}"));
    };
    of("100,100,", "");
    of("100,114,", "");
    of("100,116,", "littles_law");
    of("100,84,", "littles_law");
    of("100,20,open", "");
    of("100,120,open", "littles_law");
    // 100 sessions that wait 80 of 100 ms; responses are for batches, not rows; 384 sessions at 230,000/s are 1.67 ms
    // each.
    check(
        "
        sessions,latency_ms,think_time_ms,qps | 100,20,80,1000 =>
        sessions,latency_ms,batch,rows_per_s | 4,8,1000,500000 =>
        sessions,latency_ms,batch,rows_per_s | 4,80,1000,500000 => littles_law
        sessions,p99_ms,ops_per_s | 384,7,230000 =>
        sessions,p99_ms,ops_per_s | 384,1.2,230000 => littles_law
        ",
    );
}

#[test]
fn traffic_fits_the_rows() {
    // Three copies of each row cross the network.
    check(
        "
        nodes,network,bytes_per_row,rows_per_s | 3,1.2 GB/s,1000,1000000 =>
        nodes,network,bytes_per_row,rows_per_s | 3,4.1 GB/s,1000,1000000 => row_bytes
        nodes,network,bytes_per_row,rows_per_s | 3,0.2 GB/s,1000,1000000 =>
        nodes,network,bytes_per_row,rows_per_s | 3,90 MB/s,1000,1000000 => row_bytes
        nodes,network,bytes_per_row,rows_per_s | 3,4 GB/s,,1000000 =>
        nodes,network,bytes_per_row,rows_per_s | 3,5 GB/s,,1000000 => row_bytes
        replicas,network,bytes_per_row,rows_per_s | 2,6 GB/s,1000,1000000 =>
        ",
    );
}

#[test]
fn network_and_disks_carry_the_written_bytes() {
    let of = |nic: &str, disk: &str, expected: &str| {
        let columns = "nodes,replicas,bytes_per_row,rows_per_s,nic,disk_limit";
        check(&format!("{columns} | 4,1,1000,1000000,{nic},{disk} => {expected}"));
    };
    of("10 Gbit/s", "600 MB/s", "");
    of("1 Gbit/s", "600 MB/s", "bandwidth");
    of("10 Gbit/s", "400 MB/s", "bandwidth");
    check("nodes,nic,network,queries_per_s | 2,10 Gbit/s,30 Gbit/s,100 => bandwidth");
}

#[test]
fn parts_in_rows_of_their_own_are_added_too() {
    check(
        "
        nodes,op,qps | 3,total,110 | 3,a,50 | 3,b,60 | 6,a,100 | 6,b,120 =>
        nodes,op,qps | 3,total,100 | 3,a,50 | 3,b,60 | 6,a,100 | 6,b,120 => parts_exceed_total
        nodes,total_per_s,q1,q2 | 3,100,50,50.9 =>
        ",
    );
}

#[test]
fn linear_is_a_claim_only_where_it_is_made() {
    check(
        "
        nodes,rows_per_s,claim | 1,100, | 4,345,scales linearly =>
        nodes,rows_per_s,claim | 1,100, | 4,335,scales linearly => not_linear
        nodes,rows_per_s,claim | 1,100, | 4,300,grows sub-linearly =>
        nodes,rows_per_s,claim | 1,100, | 4,300,is not linear =>
        nodes,rows_per_s,claim | 1,100, | 4,300, =>
        ",
    );
}

#[test]
fn rate_times_duration_are_the_rows() {
    // Figures of TSBS' documentation: 103,680,000 rows in 936.5 s. Queries are not counted by the rows of the table.
    check(
        "
        rows,duration_s,rows_per_s | 103680000,936.525,110707 =>
        rows,duration_s,rows_per_s | 103680000,500,110707 => rate_times_duration
        metrics,duration_s,metrics_per_s | 1000,10,100 =>
        metrics,duration_s,metrics_per_s | 1000,10,50 => rate_times_duration
        rows,duration_s,queries_per_s | 1000000,10,50 =>
        ",
    );
}

#[test]
fn bytes_of_batches_and_of_all_rows_follow_from_a_row() {
    check(
        "
        batch,bytes_per_row,batch_bytes,rows_per_s | 1000,512,0.6 MB,10 =>
        batch,bytes_per_row,batch_bytes,rows_per_s | 1000,512,0.3 MB,10 => size_of_data
        rows,bytes_per_row,data_gib,rows_per_s | 51.2M,512,24.4,10 =>
        rows,bytes_per_row,data_gib,rows_per_s | 51.2M,512,244,10 => size_of_data
        ",
    );
}

#[test]
fn load_per_node_may_be_constant_or_a_grid() {
    // One is of a published series of growing clusters: 48/10 and 288/60 nodes per client.
    check(
        "
        nodes,users,qps | 3,30,10 | 6,60,19 | 12,120,36 =>
        nodes,users,qps | 3,30,10 | 6,30,19 => users_per_node
        nodes,clients,ops_per_s | 48,10,174373 | 288,60,1099837 =>
        nodes,users,qps | 3,10,9 | 3,30,10 | 6,10,15 | 6,30,19 =>
        nodes,users,qps | 3,10,9 | 3,20,10 | 3,30,10 =>
        ",
    );
}

#[test]
fn shards_are_within_the_guidance_of_the_engine_and_reach_every_node() {
    check(
        "
        engine,nodes,shards,replicas,rows_per_s | CrateDB,3,3000,,10 =>
        engine,nodes,shards,replicas,rows_per_s | CrateDB,3,3001,,10 => shards_per_node
        engine,nodes,shards,replicas,rows_per_s | CrateDB,3,2000,1,10 => shards_per_node
        engine,nodes,shards,replicas,rows_per_s | nobody's,3,3001,,10 =>
        engine,nodes,shards,replicas,rows_per_s | ,6,4,0,10 => shards_per_node
        engine,nodes,shards,replicas,rows_per_s | ,6,4,1,10 =>
        ",
    );
}

#[test]
fn tpmc_has_a_ceiling() {
    // Published figures: 140,000 and 100,000 warehouses at 95 and 99%.
    check("nodes,warehouses,tpmC | 81,140000,1684437 | 81,100000,1245462 =>");
    // A published table names 500 warehouses for each of these.
    let wrong = of_text("nodes,warehouses,tpmC\n3,500,25646.4\n");
    says(&wrong[0], &["51.3 each", "6,430"]);
    let growing = "vcpus_per_node,warehouses,tpmC\n2,500,6415.7\n4,1000,12829.93\n8,2000,25646.4\n";
    let at_ceiling = of_text(growing);
    assert_eq!(at_ceiling.len(), 1);
    says(&at_ceiling[0], &["how many warehouses were loaded"]);
}

#[test]
fn repeats_may_differ_by_a_fifth_and_series_that_are_compared_by_anything() {
    check(
        "
        nodes,rows_per_s | 3,100 | 3,119 =>
        nodes,rows_per_s | 3,100 | 3,121 => duplicates_disagree
        series,source,nodes,rows_per_s | a,x,3,100 | a,x,6,190 | b,x,3,150 | b,x,6,290 =>
        ",
    );
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
fn a_size_with_a_digit_too_few_or_too_many_is_out_of_line() {
    let of = |third: u32| {
        rules(&format!("nodes,rows_per_s\n1,236000\n2,440000\n3,{third}\n4,815000\n5,1000000\n"))
    };
    assert_eq!(of(63_500), ["out_of_line"]);
    assert_eq!(of(6_350_000), ["out_of_line"]);
    assert_eq!(of(635_000), [""; 0]);
    // The last size, which has no larger neighbor, in another unit.
    assert_eq!(rules("nodes,rows_per_s\n1,41000\n2,78000\n4,8520000\n"), ["out_of_line"]);
    assert_eq!(rules("nodes,rows_per_s\n1,41\n2,78\n4,142000\n"), ["out_of_line"]);
    // A cluster that has passed its peak is no mistake, and neither is one that stays there.
    let falling = "nodes,rows_per_s\n1,500000\n2,900000\n4,300000\n8,200000\n";
    assert_eq!(rules(falling), [""; 0]);
}

#[test]
fn nodes_in_the_column_of_the_throughput_are_doubted() {
    assert_eq!(rules("rows_per_s,nodes\n1,236000\n2,440000\n"), ["swapped"; 2]);
    assert_eq!(rules("nodes,rows_per_s\n1000,236000\n"), [""; 0]);
}

#[test]
fn every_rule_has_a_unique_code_and_is_triggered_here() {
    let mut codes: Vec<&str> = Rule::ALL.iter().map(|(_, code, _)| *code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 14);
    for (rule, code, _) in Rule::ALL {
        assert_eq!(rule.code(), *code);
        let json = serde_json::to_value(rule).unwrap();
        assert_eq!(json, *code);
    }
}

proptest::proptest! {
    /// A sweep over nodes of a consistent cluster, with 3% of measuring noise on every throughput and 2% on every
    /// latency, has no warnings.
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

/// Steps of one run, and runs at two rates, are not repeats.
#[test]
fn a_point_at_another_offered_rate_is_no_repetition() {
    let mut set = read("series,nodes,rows_per_s\nx,3,1\n").unwrap();
    set.points = of_record(&fixture::open_steps());
    let disagree = |set: &SeriesSet| {
        let mut warnings = audit(set, None).into_iter();
        warnings.any(|warning| warning.rule == Rule::DuplicatesDisagree)
    };
    assert!(!disagree(&set));
    let mut runs = set.clone();
    for (number, point) in runs.points.iter_mut().enumerate() {
        point.source = format!("run {number}");
    }
    assert!(!disagree(&runs));
    // With one rate they are.
    for point in &mut set.points {
        point.offered_per_s = Some(50.0);
    }
    assert!(disagree(&set));
}
