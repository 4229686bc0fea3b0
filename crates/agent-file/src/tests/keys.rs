//! Tests every key with a wrong value.

use std::fmt::Write as _;

use ktx_diagnostics::Severity;
use serde_json::{Value, json};

use super::mutations::{CASES, WHOLE, paths};
use super::*;
use crate::CaseFile;

type CheckFunction = fn(&Path, &Path) -> Vec<Diagnostic>;

fn agent_faults(path: &Path, project: &Path) -> Vec<Diagnostic> {
    AgentFile::check(path, project, &known()).faults
}

fn case_faults(path: &Path, project: &Path) -> Vec<Diagnostic> {
    CaseFile::check(path, project, &known()).faults
}

fn value_of(text: &str) -> Value {
    ktx_config::yaml::load_text(text, "a.yaml").unwrap().value
}

/// Each key refuses at least one of these; with the start of their JSON.
fn wrong_values() -> [(Value, &'static str); 5] {
    [
        (json!("-wrong-"), "\"-wrong-\""),
        (json!(-12_345), "-12345"),
        (json!({ "-wrong-": 1 }), "{\"-wrong-\""),
        (json!([["-wrong-"]]), "[[\"-wrong-\""),
        (json!(true), "true"),
    ]
}

/// Paths of keys, without keys of list items.
fn keys(whole: &Value) -> Vec<String> {
    let mut places = Vec::new();
    paths(whole, "", &mut places);
    let is_key = |place: &String| {
        let last = place.rsplit('/').next().unwrap_or_default();
        last.parse::<usize>().is_err()
    };
    places.into_iter().filter(is_key).collect()
}

/// Returns each key's first fault that is exactly at the wrong value.
fn faults_of_keys(text: &str, check: CheckFunction) -> String {
    let folder = project();
    let path = folder.path().join("agents/a.yaml");
    let whole = value_of(text);
    let mut lines = String::new();
    for place in keys(&whole) {
        let fault = wrong_values().into_iter().find_map(|(wrong, begins)| {
            let mut value = whole.clone();
            *value.pointer_mut(&place).unwrap() = wrong.clone();
            let text = value.to_string();
            fs::write(&path, &text).unwrap();
            let column = text.split(begins).next().unwrap().chars().count() + 1;
            let faults = check(&path, folder.path());
            let here = faults.into_iter().find(|fault| {
                let position = fault.location.as_ref().and_then(|place| place.position);
                let is_here = position.is_some_and(|at| {
                    let length = u32::try_from(begins.len()).unwrap();
                    let column = u32::try_from(column).unwrap();
                    at.line == 1 && (column..column + length).contains(&at.column)
                });
                fault.severity == Severity::Error && is_here
            });
            here.map(|fault| format!("{wrong}: {}", fault.message))
        });
        let fault = fault.unwrap_or_else(|| "anything".to_owned());
        writeln!(lines, "{place} = {fault}").unwrap();
    }
    lines
}

/// HOLO-10.
#[test]
fn each_key_of_an_agent_file_refuses_a_wrong_value_at_its_place() {
    insta::assert_snapshot!(faults_of_keys(WHOLE, agent_faults));
}

/// HOLO-51.
#[test]
fn each_key_of_a_case_file_refuses_a_wrong_value_at_its_place() {
    insta::assert_snapshot!(faults_of_keys(CASES, case_faults));
}
