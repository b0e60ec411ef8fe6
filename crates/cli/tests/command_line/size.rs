//! `highwater size` as used by scripts.

use std::fs;
use std::process::Output;

use assert_cmd::Command;
use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

const SWEEP: &str = "\
nodes,vcpus_per_node,replicas,rows_per_s
1,16,0,293147
2,16,0,493723
3,16,0,676781
4,16,0,856460
5,16,0,1043659
";

/// The program in a directory that contains `sweep.csv`, without Highwater's environment variables.
fn highwater(directory: &TempDir) -> Command {
    fs::write(directory.path().join("sweep.csv"), SWEEP).unwrap();
    super::highwater(directory)
}

/// A directory that also contains this file.
fn with_file(name: &str, text: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join(name), text).unwrap();
    directory
}

/// Calls `size` in this directory, with the words of a line.
fn size(directory: &TempDir, line: &str) -> Output {
    let words = line.split_whitespace();
    let mut size = highwater(directory);
    size.arg("size").args(words).output().unwrap()
}

fn call(line: &str) -> Output {
    size(&TempDir::new().unwrap(), line)
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The message of a call that ends with exit code 2 and prints nothing on stdout.
fn refused(output: Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn json(line: &str) -> Value {
    serde_json::from_str(&stdout(&call(&format!("{line} --json")))).unwrap()
}

/// The JSON of a call that may print warnings about its figures on stderr.
fn json_of(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The input of a flag.
fn input<'a>(plan: &'a Value, flag: &str) -> &'a Value {
    let mut inputs = plan["inputs"].as_array().unwrap().iter();
    inputs.find(|input| input["flag"] == flag).unwrap()
}

#[test]
fn help_of_size() {
    assert_snapshot!(stdout(&call("--help-all")));
}

#[test]
fn a_sweep_sizes_a_million_rows() {
    assert_snapshot!(stdout(&call("1M --from sweep.csv")));
}

#[test]
fn a_demand_that_is_not_known_is_planned_for_with_the_size_of_least_regret() {
    let output = call("500k..800k --from sweep.csv --price 0.80");
    assert_snapshot!(stdout(&output));
}

#[test]
fn published_growth_is_an_assumption_throughout() {
    let plan = json("1M --assume cratedb-1m");
    assert_eq!(plan["schema"], "highwater-size/4");
    assert_eq!(plan["assumed"], true);
    assert_eq!(plan["nodes"]["interval"]["expected"], 5);
    assert_eq!(plan["nodes"]["planned"], 6);
    assert_eq!(plan["needs"][0]["origin"]["kind"], "published");
    let notes = plan["notes"].to_string();
    assert!(notes.contains("Measure one size of your own"), "{notes}");
    assert_eq!(input(&plan, "--from")["origin"]["kind"], "published");
    let text = stdout(&call("1M --assume cratedb-1m -v"));
    for said in [
        "\n1,000,000 rows/s · rests on assumptions",
        "published 5 sizes, 1 to 5 nodes",
        "Assumed, not measured here:",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn rows_and_queries_can_both_be_assumed() {
    let both = "--assume cratedb-1m --assume cratedb-queries";
    let plan = json(&format!("300k 10q/s {both}"));
    let needs = plan["needs"].as_array().unwrap();
    let of: Vec<&str> = needs.iter().map(|need| need["origin"]["from"].as_str().unwrap()).collect();
    assert_eq!(of.len(), 2);
    assert!(of[0].starts_with("cratedb-1m") && of[1].starts_with("cratedb-queries"));
    let alone = |rate: &str| {
        let plan = json(&format!("{rate} {both}"));
        plan["nodes"]["interval"]["expected"].as_u64().unwrap()
    };
    let together = plan["nodes"]["interval"]["expected"].as_u64().unwrap();
    assert!(together > alone("300k").max(alone("10q/s")), "{plan}");
}

#[test]
fn one_scaling_model_can_be_chosen_and_too_few_sizes_for_it_are_reported() {
    let plan = json_of(&call("600k --from sweep.csv --model usl --json"));
    let models = plan["needs"][0]["models"].as_array().unwrap();
    assert_eq!(models.len(), 1, "{models:?}");
    assert_eq!(models[0]["model"], "usl");
    let notes = plan["notes"].to_string();
    assert!(notes.contains("`USL` is fitted to 5 sizes; 6 are advised"), "{notes}");
    assert_eq!(input(&plan, "--model")["value"], "USL");
}

#[test]
fn one_measured_cluster_grows_as_published_ones_did() {
    let directory = with_file("one.csv", "nodes,rows_per_s\n3,338390.5\n");
    for assumed in ["", " --assume cratedb-1m"] {
        let line = format!("400k --from one.csv --json{assumed}");
        let plan = json_of(&size(&directory, &line));
        // 3 · (400,000 / 338,390)^(1/0.8) = 3.7 nodes; one size does not show that there is any growth.
        assert_eq!(plan["nodes"]["to_prove"]["expected"], 4);
        assert_eq!(plan["nodes"]["to_prove"]["farthest"], 6);
        assert_eq!(plan["needs"][0]["origin"]["kind"], "measured");
        assert_eq!(plan["needs"][0]["growth"]["kind"], "published");
    }
}

/// Calls that used to end without a number: each prints one for every scenario, and exits with 0, proven or not.
#[test]
fn size_always_answers_with_a_number_for_every_scenario() {
    let directory = with_file("two.csv", "nodes,rows_per_s\n3,338390\n4,420000\n");
    for (line, is_proven) in [
        ("1M --assume cratedb-1m", true),
        ("1M --assume cratedb-1m --tolerate-failures 1", false),
        ("1M --from sweep.csv --growth 5%", false),
        ("1M --from sweep.csv --headroom 20%", true),
        ("1M --from sweep.csv --tolerate-failures 1", false),
        ("400k --from two.csv", true),
        ("1M --from two.csv", false),
        ("3M --from sweep.csv --confidence 50%", false),
        ("3M --from sweep.csv --confidence 99%", false),
        ("1000q/s --assume cratedb-queries", false),
    ] {
        let plan = json_of(&size(&directory, &format!("{line} --json")));
        assert_eq!(plan["nodes"]["interval"].is_object(), is_proven, "{line}");
        let scenarios = plan["decision"]["scenarios"].as_array().unwrap();
        assert!(scenarios.len() > 3, "{line}: {scenarios:?}");
        for scenario in scenarios {
            assert!(scenario["nodes"].as_u64().unwrap() > 0, "{line}: {scenario}");
            let is_proven = scenario["interval"].is_object();
            assert_eq!(scenario["to_prove"].is_null(), is_proven, "{line}: {scenario}");
        }
    }
}

#[test]
fn sizes_beyond_twice_the_measured_range_are_marked_without_an_interval() {
    assert_snapshot!(stdout(&call("3M --from sweep.csv --price 0.80")));
    let twenty = with_file("one.csv", "nodes,rows_per_s\n20,338390.5\n");
    let text = stdout(&size(&twenty, "30M --from one.csv --assume cratedb-1m"));
    assert!(
        text.contains("unproven: predictions end at twice the largest measured size"),
        "{text}"
    );
    let unknown = call("3M --from sweep.csv --extrapolate");
    assert!(refused(unknown).contains("--extrapolate"));
}

#[test]
fn sizes_can_count_vcpus() {
    let directory = with_file("vcpus.csv", "vcpu,rows_per_s\n4,90000\n8,165000\n16,290000\n");
    assert_snapshot!(stdout(&size(&directory, "350k --from vcpus.csv --price 0.05")));
    // Three machines of each size, as a provider's series has them.
    let series = "nodes,vcpus,transactions_per_s\n3,2,640\n3,4,1280\n3,8,2500\n";
    let directory = with_file("three.csv", series);
    let plan = json_of(&size(&directory, "3000q/s --from three.csv --json"));
    assert_eq!(plan["axis"], "vcpus");
    assert_eq!(plan["decision"]["scenarios"][0]["machines"], 3);
}

#[test]
fn several_machines_are_named_wherever_their_size_is() {
    let series = "nodes,vcpus,rows_per_s\n2,4,90000\n2,8,165000\n2,16,290000\n";
    let directory = with_file("two.csv", series);
    let text = stdout(&size(&directory, "310k --from two.csv --price 0.05"));
    assert!(text.starts_with("2 machines of "), "{text}");
    assert!(text.contains("machines × vCPUs") && text.contains(" 2 × "), "{text}");
    let all = stdout(&size(&directory, "310k --from two.csv -v"));
    assert!(all.contains("larger than the largest that was measured"), "{all}");
    let plan = json_of(&size(&directory, "310k --from two.csv --price 0.05 --json"));
    let vcpus = plan["nodes"]["planned"].as_f64().unwrap();
    let price = plan["price_per_month"].as_f64().unwrap();
    assert!((price - 2.0 * vcpus * 0.05 * 730.0).abs() < 1e-6, "{plan}");
    let useless = refused(size(&directory, "310k --from two.csv --vcpus 16"));
    assert!(useless.contains("--vcpus: the sizes count vCPUs themselves"), "{useless}");
    let queries = with_file("queries.csv", "nodes,queries_per_s\n1,100\n2,190\n");
    let useless = refused(size(&queries, "250q/s --from queries.csv --vcpus 16"));
    assert!(useless.contains("do not say how many vCPUs"), "{useless}");
}

#[test]
fn the_question_states_every_condition() {
    let conditions = "--headroom 20% --growth 5% --tolerate-failures 1";
    let text = stdout(&call(&format!("1M --from sweep.csv {conditions}")));
    let stated =
        "for 1,000,000 rows/s with 20% headroom, 1 node lost and 12 months of growth by 5% a month";
    assert!(text.contains(stated), "{text}");
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("plan.html");
    let call = format!("1M --from sweep.csv {conditions} --html {}", page.display());
    stdout(&size(&directory, &call));
    let page = fs::read_to_string(page).unwrap();
    let (_, question) = page.split_once("<h1>").unwrap();
    let (question, _) = question.split_once("</h1>").unwrap();
    assert!(
        question.replace('\u{a0}', " ").contains("20% headroom, 1 node lost and 12 months"),
        "{question}"
    );
}

#[test]
fn if_no_number_is_enough_no_output_contradicts_it_and_the_exit_code_is_1() {
    let flat = "nodes,rows_per_s\n1,100\n2,150\n3,130\n4,100\n5,70\n";
    let directory = with_file("flat.csv", flat);
    let output = size(&directory, "10k --from flat.csv --html plan.html");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("no number of nodes")
            && text.contains("beyond 2 nodes, throughput grows by less than 10%"),
        "{text}"
    );
    assert!(!text.contains("unproven"), "{text}");
    let page = fs::read_to_string(directory.path().join("plan.html")).unwrap();
    assert!(page.contains("data-x=\"2\">most<"), "the chart marks it as what it is");
}

/// A growth that has not finished its first size, and a directory that a killed run left.
#[test]
fn a_run_without_a_result_is_left_out_with_one_sentence() {
    let directory = TempDir::new().unwrap();
    for nodes in ["1", "2"] {
        let target = format!("sim:?nodes={nodes}&replicas=0");
        let run = highwater(&directory).args(["run", "cpu", &target, "-d", "5s", "-q"]).output();
        assert_eq!(run.unwrap().status.code(), Some(0));
    }
    let begun = directory.path().join("highwater-runs/2000-begun");
    fs::create_dir(&begun).unwrap();
    fs::write(begun.join("plan.json"), "{}").unwrap();
    let output = size(&directory, "1k --from highwater-runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let warned = String::from_utf8(output.stderr).unwrap();
    assert_eq!(warned.matches("2000-begun is left out").count(), 1, "{warned}");
    // A process that runs it has locked its plan.
    let plan = fs::File::open(begun.join("plan.json")).unwrap();
    plan.lock().unwrap();
    let output = size(&directory, "1k --from highwater-runs");
    let warned = String::from_utf8(output.stderr).unwrap();
    assert!(warned.contains("2000-begun is still running, and is left out"), "{warned}");
}

#[test]
fn a_resumed_growth_counts_each_size_once() {
    let directory = TempDir::new().unwrap();
    let scale = |more: &[&str]| {
        let words =
            "scale cpu sim:?nodes={nodes}&replicas=0 --each run --sessions 8 -d 5s -q".split(' ');
        let output = highwater(&directory).args(words).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    };
    scale(&["--nodes", "1,2"]);
    scale(&["--nodes", "1,2,4", "--resume", "last"]);
    let plan = json_of(&size(&directory, "1k --from highwater-runs --json"));
    let measured = plan["needs"][0]["curve"].as_array().unwrap();
    let measured = measured.iter().filter(|point| point["measured_per_s"].is_f64());
    assert_eq!(measured.count(), 3);
    // The error would shrink with measurements that are counted twice.
    let alone = json_of(&size(&directory, "1k --from last --json"));
    assert_eq!(plan["needs"][0]["error"], alone["needs"][0]["error"]);
    let [all, alone] = [&plan, &alone].map(|of| of["needs"][0]["capacity"].to_string());
    assert_eq!(all, alone);
}

#[test]
fn an_unknown_demand_has_a_reason_for_no_size_of_least_regret() {
    let unproven = stdout(&call("500k..3M --from sweep.csv --price 0.80 -v"));
    assert!(unproven.contains("No size of least regret is named"), "{unproven}");
    let without = stdout(&call("500k..800k --from sweep.csv -v"));
    assert!(without.contains("The size of least regret needs --price"), "{without}");
}

#[test]
fn shards_and_replicas_of_simulated_runs_are_those_of_the_url() {
    let directory = TempDir::new().unwrap();
    for nodes in ["2", "4"] {
        let target = format!("sim:?nodes={nodes}&replicas=1&shards=12");
        let words = ["run", "cpu", &target, "-d", "5s", "-q"];
        let run = highwater(&directory).args(words).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{run:?}");
    }
    let output = size(&directory, "1k --from highwater-runs -v");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().filter(|line| line.trim_start().starts_with("replicas "));
    let line = lines.next().unwrap();
    assert!(line.contains(" 1 ") && line.contains("measured"), "{line}");
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let directory = with_file("highwater.toml", "[size]\ntolerate-failures = 2\n");
    let survived = |environment: Option<&str>, flag: Option<&str>| {
        let mut size = highwater(&directory);
        size.args(["size", "100k", "--from", "sweep.csv", "--json"]);
        if let Some(text) = environment {
            size.env("HIGHWATER_TOLERATE_FAILURES", text);
        }
        if let Some(text) = flag {
            size.args(["--tolerate-failures", text]);
        }
        let plan = json_of(&size.output().unwrap());
        let origin = &input(&plan, "--tolerate-failures")["origin"]["from"];
        let origin = origin.as_str().unwrap().to_owned();
        (plan["nodes"]["survive"].as_u64().unwrap(), origin)
    };
    let expected = |lost: u64, origin: &str| (lost, origin.to_owned());
    assert_eq!(survived(None, None), expected(2, "tolerate-failures in highwater.toml"));
    assert_eq!(survived(Some("1"), None), expected(1, "HIGHWATER_TOLERATE_FAILURES"));
    assert_eq!(survived(Some("1"), Some("0")), expected(0, "--tolerate-failures"));
}

/// The plan names 122% as the upper end of the assumed cost.
#[test]
fn a_replica_can_cost_more_than_the_first_copy() {
    let plan = json("300k --from sweep.csv --replicas 1 --replica-cost 122%");
    assert_eq!(input(&plan, "--replica-cost")["value"], "122% of the first copy");
}

#[test]
fn mistakes_have_a_cause_and_a_hint() {
    let cases = [
        "",
        "many --from sweep.csv",
        "1M",
        "1M --assume cratedb-1",
        "200q/s --assume cratedb-1m",
        "200q/s --from sweep.csv",
        "1M --from absent.csv",
        "1M --from sweep.csv --series nobody's",
        "1M --from sweep.csv --headroom 100%",
        "1M --from sweep.csv --replica-cost 1001%",
        "1M --from sweep.csv --growth 5%/month",
        "1M --from sweep.csv --growth 5",
        "1M --from sweep.csv --retention 90",
        "1M --from sweep.csv --model logistic",
        "1M --assume cratedb-1m --assume cratedb-big-bite",
    ];
    let messages = cases.map(|line| refused(call(line)));
    assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_mistake_in_a_file_is_shown_at_its_place() {
    let directory = with_file("bad.csv", "nodes,rows_per_s\n1,fast\n");
    assert_snapshot!(refused(size(&directory, "1M --from bad.csv")));
}

#[test]
fn several_series_are_chosen_by_name() {
    let two = "series,nodes,rows_per_s\na,1,100\na,2,190\na,3,270\nb,1,50\nb,2,90\n";
    let directory = with_file("two.csv", two);
    let message = refused(size(&directory, "300 --from two.csv"));
    assert!(message.contains("--series 'a' or --series 'b'"), "{message}");
    let chosen = size(&directory, "300 --from two.csv --series a");
    assert_eq!(chosen.status.code(), Some(0));
}

#[test]
fn runs_of_simulated_clusters_size_the_next_one() {
    let directory = TempDir::new().unwrap();
    for nodes in ["1", "2", "3"] {
        let target = format!("sim:?nodes={nodes}&replicas=0");
        let label = format!("nodes={nodes}");
        let words = ["run", "cpu", &target, "-d", "5s", "-q", "--label", &label];
        let run = highwater(&directory).args(words).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{run:?}");
    }
    let plan = json_of(&size(&directory, "1k --from highwater-runs --json"));
    let measured = plan["needs"][0]["curve"].as_array().unwrap();
    let measured = measured.iter().filter(|point| point["measured_per_s"].is_f64());
    let sizes: Vec<f64> = measured.map(|point| point["nodes"].as_f64().unwrap()).collect();
    assert_eq!(sizes, [1.0, 2.0, 3.0]);
    assert_eq!(plan["nodes"]["planned"], 1);
    assert_eq!(plan["needs"][0]["origin"]["kind"], "measured");
}

#[test]
fn fits_are_of_relative_or_absolute_squares() {
    // SPEC SDM91, as in the tests of R's `usl`.
    let specs = "nodes,rows_per_s\n1,64.9\n18,995.9\n36,1652.4\n72,1853.2\n108,1828.9\n144,1775\n\
                 216,1702.2\n";
    let directory = with_file("specs.csv", specs);
    let usl = |squares: &str| {
        let line = format!("1000 --from specs.csv --json --squares {squares}");
        let plan = json_of(&size(&directory, &line));
        let mut models = plan["needs"][0]["models"].as_array().unwrap().iter();
        let usl = models.find(|model| model["model"] == "usl").unwrap();
        let sigma = usl["fit"]["curve"]["contention"].as_f64().unwrap();
        (sigma, usl["peak"]["size"].as_f64().unwrap())
    };
    let (sigma, peak) = usl("absolute");
    assert!((sigma - 0.027_728_5).abs() < 5e-8 && (peak - 96.52).abs() < 5e-3);
    let (sigma, _) = usl("relative");
    assert!((sigma - 0.0135).abs() < 5e-5);
}

#[test]
fn variants_of_one_target_are_not_mixed_into_one_size() {
    let text = "nodes,variant,rows_per_s\n1,old,1000\n2,old,1900\n1,new,1300\n2,new,2500\n";
    let directory = with_file("variants.csv", text);
    let message = refused(size(&directory, "2k --from variants.csv"));
    assert!(message.contains("--series 'series new' or --series 'series old'"), "{message}");
    let mut size = highwater(&directory);
    let one =
        size.args(["size", "2k", "--from", "variants.csv", "--series", "series new", "--json"]);
    let plan: Value = serde_json::from_str(&stdout(&one.output().unwrap())).unwrap();
    assert_eq!(plan["needs"][0]["measured"], "2 sizes, 1 to 2 nodes, 1,300 to 2,500 rows/s");
}

#[test]
fn shards_that_the_planned_nodes_cannot_share_evenly_are_named() {
    let sizes = |shards: u32| {
        let rows = [(1, 1000), (2, 1960), (4, 3800), (6, 5600)];
        let rows = rows.map(|(nodes, rate)| format!("{nodes},{shards},{rate}\n"));
        with_file("shards.csv", &format!("nodes,primary_shards,rows_per_s\n{}", rows.concat()))
    };
    let planned = |shards: u32| stdout(&size(&sizes(shards), "6400 --from shards.csv -v"));
    let uneven = planned(12);
    assert!(uneven.starts_with("8 nodes"), "{uneven}");
    let words = uneven.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words
            .contains("do not divide evenly among 8 nodes: the busiest holds 2, so up to 25% less"),
        "{uneven}"
    );
    assert!(!planned(24).contains("do not divide evenly"));
    // At a measured size, the models would take the loss for one of growth.
    let measured = planned(9).split_whitespace().collect::<Vec<_>>().join(" ");
    let loss = "9 copies of shards did not divide evenly among 2 nodes (the busiest holds 5, so about 90% of linear), \
                4 nodes (the busiest holds 3, so about 75% of linear), 6 nodes (the busiest holds 2, so about 75%";
    assert!(measured.contains(loss), "{measured}");
    assert!(!planned(12).contains("did not divide evenly"));
}

#[test]
fn the_csv_of_a_growth_is_a_basis_whose_columns_are_all_known() {
    let text = "nodes,rows_per_s,ci95_low,ci95_high,first_failed,estimate,estimate_low90,estimate_high90,linear,\
                percent_of_linear,per_node,p99_ms,p99_at_least,predicted,predicted_low90,predicted_high90,\
                price_per_million_rows,limit,engine,measurement,data_judgment,objective\n\
                1,43000,,,,,,,43000,100,43000,,false,,,,0.1,CPU of node 1,simulated cluster,valid,clean,none set\n\
                2,83000,,,,,,,86000,96.5,41500,286,true,74900,55600,93000,0.1,,simulated cluster,valid,clean,none set\n";
    let directory = with_file("growth.csv", text);
    let checked = highwater(&directory).args(["check", "growth.csv"]).output().unwrap();
    let checked = stdout(&checked);
    let settings = checked.lines().find(|line| line.starts_with("settings")).unwrap();
    assert_eq!(settings.split_whitespace().skip(1).collect::<Vec<_>>(), ["nodes,", "engine"]);
}
