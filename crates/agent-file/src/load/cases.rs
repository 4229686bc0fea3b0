//! Reads and makes cases.

use std::path::Path;

use ktx_config::yaml::LoadedYaml;
use ktx_diagnostics::{Code, Diagnostic, Location};
use serde_json::{Map, Value, json};

use super::build::{in_project, name_metrics};
use super::{CheckedFile, read};
use crate::check;
use crate::complete::complete;
use crate::folder::FileRoots;
use crate::model::CaseFile;
use crate::rules::{CaseRules, ProjectFacts, check_cases, check_paths};
use crate::spec::{CASE_FILE, CASES, PathKind, ValueShape};

const OF_A_TURN: [&str; 5] = [
    "input",
    "ground_truth",
    "expected_tools",
    "files",
    "retrieval_context",
];

/// Adds the faults of a named file.
pub(super) fn of_agent(
    agent: &Value,
    disk: &FileRoots,
    around: &ProjectFacts,
    faults: &mut Vec<Diagnostic>,
) -> Option<CaseFile> {
    if let Some(cases) = agent.get("test_cases").filter(|cases| cases.is_array()) {
        // The check of the agent file has reported the fault.
        return make(cases, &json!({}), disk).ok();
    }
    let name = agent.get("test_cases_file")?.as_str()?;
    let path = disk.find(name, PathKind::File).ok()?;
    let mut checked = check_file(&path, &FileRoots::of(&path, &disk.project), around);
    faults.append(&mut checked.faults);
    checked.value
}

pub(super) fn check_file(
    path: &Path,
    disk: &FileRoots,
    around: &ProjectFacts,
) -> CheckedFile<CaseFile> {
    let loaded = match read(path, disk) {
        Ok(loaded) => loaded,
        Err(faults) => return CheckedFile::refused(faults),
    };
    let shape = match loaded.value {
        Value::Array(_) => CASES,
        _ => ValueShape::Object(CASE_FILE),
    };
    let findings = check::check(&loaded.value, &shape, &loaded.places, &[]);
    let mut faults = findings.faults;
    faults.extend(check_paths(&findings.paths, &loaded.places, disk));
    let (cases, above): (&Value, &[&str]) = match &loaded.value {
        Value::Array(_) => (&loaded.value, &[]),
        other => (other.get("cases").unwrap_or(&Value::Null), &["cases"]),
    };
    faults.extend(check_cases(&CaseRules {
        cases,
        above,
        places: &loaded.places,
        around,
    }));
    CheckedFile::of(faults, || {
        make(cases, &loaded.value, disk).map_err(|what| at_file(&loaded, what))
    })
}

fn at_file(loaded: &LoadedYaml, what: String) -> Diagnostic {
    let Location { file, .. } = loaded.places.value(&[]);
    Diagnostic::error(Code::FileUnreadable, what).at(Location {
        file,
        position: None,
    })
}

fn make(cases: &Value, file: &Value, disk: &FileRoots) -> Result<CaseFile, String> {
    let cases = cases.as_array().cloned().unwrap_or_default();
    let merged: Value = cases
        .iter()
        .enumerate()
        .map(|(index, case)| with_defaults(case, file, index + 1))
        .collect();
    let mut completed = complete(&merged, &CASES);
    for case in completed.as_array_mut().into_iter().flatten() {
        arrange(case);
        paths(case, disk)?;
    }
    let arms = match complete(file, &ValueShape::Object(CASE_FILE)).get("arms") {
        Some(arms) => arms.clone(),
        None => json!([]),
    };
    serde_json::from_value(json!({ "arms": arms, "cases": completed }))
        .map_err(|error| format!("cannot be used: {error}"))
}

fn with_defaults(case: &Value, file: &Value, number: usize) -> Value {
    let mut case: Map<String, Value> = case.as_object().cloned().unwrap_or_default();
    case.retain(|_, value| !value.is_null());
    let defaults = file.get("defaults").and_then(Value::as_object);
    for (key, value) in defaults.into_iter().flatten() {
        case.entry(key).or_insert_with(|| value.clone());
    }
    if let Some(date) = file.get("as_of") {
        case.entry("as_of").or_insert_with(|| date.clone());
    }
    case.entry("name")
        .or_insert_with(|| Value::from(format!("case-{number}")));
    Value::Object(case)
}

fn arrange(case: &mut Value) {
    let Value::Object(case) = case else { return };
    let evaluations = case.shift_remove("evaluations");
    let mut own = Map::new();
    for key in OF_A_TURN {
        if let Some(value) = case.shift_remove(key) {
            own.insert(key.to_owned(), value);
        }
    }
    let turns = case
        .entry("turns")
        .or_insert_with(|| json!([Value::Object(own)]));
    for turn in turns.as_array_mut().into_iter().flatten() {
        if let (Value::Object(turn), Some(evaluations)) = (&mut *turn, &evaluations) {
            turn.entry("evaluations").or_insert(evaluations.clone());
        }
        if let Some(metrics) = turn.get_mut("evaluations") {
            name_metrics(metrics);
        }
    }
}

fn paths(case: &mut Value, disk: &FileRoots) -> Result<(), String> {
    let turns = case.get_mut("turns").and_then(Value::as_array_mut);
    for turn in turns.into_iter().flatten() {
        let files = turn.get_mut("files").and_then(Value::as_array_mut);
        for file in files.into_iter().flatten() {
            if let Some(path) = file.get_mut("path") {
                in_project(path, disk)?;
            }
        }
    }
    Ok(())
}
