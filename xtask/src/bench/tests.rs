//! Figures, ratios and what is printed.

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
