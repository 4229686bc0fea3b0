//! Tests merging the results of two loops.

use serde_yaml::Value;

use super::source;

fn orders(measures: &[&str]) -> String {
    let measures: Vec<String> = measures.iter().map(|text| format!("- {text}\n")).collect();
    format!(
        "name: orders\n# Whose it is.\nmeasures:\n{}",
        measures.concat()
    )
}

fn merge(before: &[&str], own: &[&str], now: &[&str]) -> Option<Value> {
    let text = |measures: &[&str]| orders(measures).into_bytes();
    let merged = source(&text(before), &text(own), &text(now))?;
    assert!(merged.contains("# Whose it is."), "{merged}");
    Some(value(&merged))
}

fn value(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

const COUNT: &str = "{name: orders, expr: count(*)}";
const SUM: &str = "{name: revenue, expr: sum(amount)}";
const AVERAGE: &str = "{name: average, expr: avg(amount)}";
const OTHER_SUM: &str = "{name: revenue, expr: sum(net)}";

#[test]
fn measures_of_both_sides_stay() {
    assert_eq!(
        merge(&[COUNT], &[COUNT, SUM], &[COUNT, AVERAGE]),
        Some(value(&orders(&[COUNT, AVERAGE, SUM])))
    );
    assert_eq!(
        merge(&[COUNT, SUM], &[COUNT], &[COUNT, SUM, AVERAGE]),
        Some(value(&orders(&[COUNT, AVERAGE])))
    );
    assert_eq!(
        merge(&[SUM], &[OTHER_SUM], &[SUM, COUNT]),
        Some(value(&orders(&[OTHER_SUM, COUNT])))
    );
    assert_eq!(
        merge(&[COUNT], &[COUNT, SUM], &[COUNT, SUM]),
        Some(value(&orders(&[COUNT, SUM])))
    );
}

#[test]
fn one_measure_with_two_texts_is_no_merge() {
    assert_eq!(merge(&[], &[SUM], &[OTHER_SUM]), None);
    assert_eq!(merge(&[COUNT, SUM], &[COUNT], &[COUNT, OTHER_SUM]), None);
    assert_eq!(source(b"name: a\n", b"name: b\n", b"name: c\n"), None);
    assert_eq!(source(b"", b"name: b\n", b": ["), None);
}
