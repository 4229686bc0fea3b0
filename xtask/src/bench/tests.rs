//! Figures, ratios and printed lines.

use super::*;

fn outcome(measured: f64) -> Outcome {
    Outcome {
        name: "ktx --version".to_owned(),
        unit: "ms",
        measured,
        yardstick: 1.0,
        bound: 3.0,
    }
}

#[test]
fn a_line_shows_both_figures_the_ratio_and_the_bound() {
    assert_eq!(
        outcome(1.9504).wire().to_string(),
        r#"{"name":"ktx --version","unit":"ms","measured":1.95,"yardstick":1.0,"ratio":1.95,"bound":3.0,"holds":true}"#
    );
    assert!(!outcome(3.01).holds());
}

#[test]
fn the_page_lists_every_benchmark() {
    let page = Repository::locate()
        .unwrap()
        .root()
        .join("docs-site/src/reference/benchmarks.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut listed: Vec<&str> = page
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once("` |")?.0))
        .collect();
    listed.dedup();
    assert_eq!(listed, BENCHMARKS.map(|benchmark| benchmark.name));
}

#[test]
fn the_median_ignores_one_disturbed_run() {
    assert!((measure::median(vec![2.0, 900.0, 1.0]) - 2.0).abs() < f64::EPSILON);
    assert!(measure::median(Vec::new()).is_nan());
}

#[test]
fn reads_the_high_water_mark_of_a_status_file() {
    let status = "Name:\tktx\nVmPeak:\t  9000 kB\nVmHWM:\t    6144 kB\n";
    assert_eq!(measure::high_water_mark(status), Some(6144.0));
    assert_eq!(measure::high_water_mark("Name:\tktx\n"), None);
}

#[test]
fn decoders_are_judged_by_growth_and_overhead() {
    let printed = [
        r#"{"protocol":"gemini","size":1,"ms":2.0,"mb_per_s":500.0}"#,
        r#"{"protocol":"gemini","size":10,"ms":21.0,"mb_per_s":476.0}"#,
        r#"{"call_us":400.0,"bare_us":150.0,"overhead_us":250.0}"#,
    ]
    .join("\n");
    let judged: Vec<String> = decoders::outcomes(&printed)
        .unwrap()
        .iter()
        .map(|outcome| format!("{} {} {}", outcome.name, outcome.ratio(), outcome.holds()))
        .collect();
    assert_eq!(
        judged,
        [
            "decode 10 MB against 1 MB: gemini 10.5 true",
            "a call over bare HTTP, processor time 0.25 true",
        ]
    );
    assert!(decoders::outcomes(r#"{"protocol":"gemini","size":1,"ms":2.0}"#).is_err());
}

#[test]
fn growth_is_the_ratio_of_two_folders() {
    let printed = [
        r#"{"sources":100,"load":5.0,"validate":1.0,"compile":{"plain":0.1,"refused":0.1}}"#,
        r#"{"sources":1000,"load":50.0,"validate":10.0,"compile":{"plain":0.1,"refused":1.0}}"#,
        r#"{"sources":10000,"load":600.0,"validate":210.0,"compile":{"plain":0.15,"refused":9.0}}"#,
        r#"{"measures":700,"validate":10.0}"#,
        r#"{"measures":7000,"validate":900.0}"#,
    ]
    .join("\n");
    let found: Vec<(String, f64, bool)> = semantic::outcomes(&printed)
        .unwrap()
        .into_iter()
        .map(|outcome| (outcome.name.clone(), outcome.ratio(), outcome.holds()))
        .collect();
    assert_eq!(
        found,
        [
            ("load 10000 sources against 1000".to_owned(), 12.0, true),
            (
                "validate 10000 sources against 1000".to_owned(),
                21.0,
                false
            ),
            (
                "validate 7000 measures of each kind in one source against 700".to_owned(),
                90.0,
                false
            ),
            (
                "compile over 10000 sources against 100: plain".to_owned(),
                0.15 / 0.1,
                true
            ),
        ]
    );
    let missing = semantic::outcomes("{}").unwrap_err().to_string();
    assert_eq!(missing, "100 sources were not measured");
}

#[test]
fn sessions_are_judged_by_their_costs() {
    let printed = r#"{"idle":{"ms":900.0,"kib":4.0,"descriptors":0,"threads":0},
        "events":{"events":100000,"ours_ms":800.0,"bare_ms":500.0,"processor_ms":600.0},
        "resume":{"ours_ms":50.0,"bare_ms":10.0},"durable":{"ours_ms":1.0,"bare_ms":5.0}}"#;
    let judged: Vec<String> = sessions::outcomes_of(printed)
        .unwrap()
        .iter()
        .map(|outcome| format!("{} {} {}", outcome.name, outcome.ratio(), outcome.holds()))
        .collect();
    assert_eq!(
        judged,
        [
            "an event through a session, against 10 µs 0.8 true",
            "an event, processor time, against 5 µs 1.2 false",
            "events through a session against a bare loop 1.6 true",
            "resume of 10000 events against reading them 5 false",
            "a durable record of 16 logs against one of a single log 0.2 true",
            "a waiting agent, against 16 KiB 0.25 true",
            "opening 1000 agents, against 2000 ms 0.45 true",
            "descriptors and threads of 1000 waiting agents 0 true",
        ]
    );
    let missing = sessions::outcomes_of("{}").unwrap_err().to_string();
    assert_eq!(missing, "`events` of `events` was not measured");
}
