//! Rules about cases.

use ktx_config::yaml::YamlPositions;
use ktx_diagnostics::{Code, Diagnostic, Hint, nearest};
use serde_json::Value;

use super::ProjectFacts;
use crate::check::{NamedPath, at_path};
use crate::folder::{FileRoots, PathFault};

pub(crate) struct CaseRules<'a> {
    pub(crate) cases: &'a Value,
    pub(crate) above: &'a [&'a str],
    pub(crate) places: &'a YamlPositions,
    pub(crate) around: &'a ProjectFacts,
}

pub(crate) fn check_paths(
    paths: &[NamedPath],
    places: &YamlPositions,
    disk: &FileRoots,
) -> Vec<Diagnostic> {
    let faults = paths.iter().filter_map(|named| {
        let fault = disk.find(&named.path, named.to).err()?;
        let code = match fault {
            PathFault::Outside => Code::OutsideProject,
            _ => Code::FileUnreadable,
        };
        let path: Vec<&str> = named.at.iter().map(String::as_str).collect();
        let message = at_path(&named.at, &fault.describe(&named.path));
        Some(Diagnostic::error(code, message).at(places.value(&path)))
    });
    faults.collect()
}

pub(crate) fn check_cases(rules: &CaseRules<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let cases = rules.cases.as_array().into_iter().flatten();
    for (index, case) in cases.enumerate() {
        let index = index.to_string();
        let path: Vec<String> = rules
            .above
            .iter()
            .map(|key| (*key).to_owned())
            .chain([index])
            .collect();
        rules.questions(case, &path, &mut found);
        rules.truths(case, &path, &mut found);
        let turns = case
            .get("turns")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for (index, turn) in turns.enumerate() {
            let path: Vec<String> = path
                .iter()
                .cloned()
                .chain(["turns".to_owned(), index.to_string()])
                .collect();
            rules.truths(turn, &path, &mut found);
        }
    }
    found
}

/// Keys of a question; with `turns`, they belong in the turns.
const OF_A_TURN: [&str; 4] = [
    "ground_truth",
    "expected_tools",
    "files",
    "retrieval_context",
];

impl CaseRules<'_> {
    fn questions(&self, case: &Value, path: &[String], found: &mut Vec<Diagnostic>) {
        if !case.is_object() {
            return;
        }
        let is_written = |key: &str| case.get(key).is_some_and(|value| !value.is_null());
        let message = match (is_written("input"), is_written("turns")) {
            (true, true) => "give `input` or `turns`, not both",
            (false, false) => "give `input` or `turns`",
            (false, true) if case["turns"] == Value::Array(Vec::new()) => {
                "`turns` has no questions"
            }
            (false, true) => {
                if let Some(key) = OF_A_TURN.into_iter().find(|key| is_written(key)) {
                    let message = "write it in the turn that it belongs to";
                    found.push(self.fault(path, key, Code::BadValue, message));
                }
                return;
            }
            (true, false) => return,
        };
        let place = self.place(path);
        let fault = Diagnostic::error(Code::MissingKey, at_path(path, message));
        found.push(fault.at(place));
    }

    fn truths(&self, question: &Value, path: &[String], found: &mut Vec<Diagnostic>) {
        let Some(known) = &self.around.connections else {
            return;
        };
        let (truths, many): (Vec<&Value>, bool) = match question.get("ground_truth") {
            Some(Value::Array(truths)) => (truths.iter().collect(), true),
            Some(truth) => (vec![truth], false),
            None => return,
        };
        for (index, truth) in truths.into_iter().enumerate() {
            let Some(name) = truth.get("connection").and_then(Value::as_str) else {
                continue;
            };
            if known.iter().any(|known| known == name) {
                continue;
            }
            let mut path = path.to_vec();
            path.push("ground_truth".to_owned());
            if many {
                path.push(index.to_string());
            }
            let message = format!("there is no connection `{name}`");
            let mut fault = self.fault(&path, "connection", Code::UnknownConnection, &message);
            if let Some(near) = nearest(name, known.iter().map(String::as_str)).first() {
                fault
                    .hints
                    .push(Hint::new(format!("did you mean `{near}`?")));
            }
            found.push(fault);
        }
    }

    fn fault(&self, path: &[String], key: &str, code: Code, message: &str) -> Diagnostic {
        let mut path = path.to_vec();
        path.push(key.to_owned());
        Diagnostic::error(code, at_path(&path, message)).at(self.place(&path))
    }

    fn place(&self, path: &[String]) -> ktx_diagnostics::Location {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        self.places.value(&path)
    }
}
