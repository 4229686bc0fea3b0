//! Listed requirements and the tests that name them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::Source;
use crate::repository::TextFile;

const LIST: &str = "fixtures/audit/requirements.txt";
const RULE: &str = "requirements";

/// The rules contain invalid ids.
const RULES: &str = "xtask/src/audit/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequirementStage {
    Begun,
    Open,
}

/// Reports requirements without a test, `open` ones with a test, and unlisted ids. The list has one
/// id per line, optionally with `open`; `#` starts a comment.
pub(crate) fn check(files: &[TextFile], sources: &[Source]) -> Vec<Finding> {
    let Some(list) = files.iter().find(|file| file.path == LIST) else {
        return Vec::new();
    };
    let listed: BTreeMap<&str, RequirementStage> = list.text.lines().filter_map(entry).collect();
    let families: BTreeSet<&str> = listed.keys().map(|id| family(id)).collect();
    let mut findings = Vec::new();
    let mut untested: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, stage) in &listed {
        let is_tested = sources.iter().any(|source| source.tests_mention(id));
        match (stage, is_tested) {
            (RequirementStage::Begun, false) => untested.entry(family(id)).or_default().push(id),
            (RequirementStage::Open, true) => {
                let what = format!("a test names `{id}`, which is listed as open");
                let cure = "take the word `open` off its line";
                findings.push(Finding::file(LIST, RULE, what, cure));
            }
            (RequirementStage::Begun, true) | (RequirementStage::Open, false) => {}
        }
    }
    findings.extend(untested.values().map(|ids| {
        let what = format!("{} without a test: {}", ids.len(), ids.join(" "));
        let cure = "name the id in the doc comment of its test";
        Finding::file(LIST, RULE, what, cure)
    }));
    findings.extend(unlisted(sources, &listed, &families));
    findings
}

fn unlisted(
    sources: &[Source],
    listed: &BTreeMap<&str, RequirementStage>,
    families: &BTreeSet<&str>,
) -> Vec<Finding> {
    static ID: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?-u)\b[A-Z]{3,5}-[0-9]{1,3}\b").ok());
    let Some(pattern) = ID.as_ref() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for source in sources
        .iter()
        .filter(|source| !source.path.starts_with(RULES))
    {
        for (index, line) in source.text.lines().enumerate() {
            let ids = pattern.find_iter(line).map(|found| found.as_str());
            for id in ids.filter(|id| families.contains(family(id)) && !listed.contains_key(id)) {
                let what = format!("`{id}` is not listed");
                let cure = "correct the id, or add it to `fixtures/audit/requirements.txt`";
                findings.push(Finding::file(&source.path, RULE, what, cure).at(index + 1));
            }
        }
    }
    findings
}

fn family(id: &str) -> &str {
    id.split('-').next().unwrap_or_default()
}

fn entry(line: &str) -> Option<(&str, RequirementStage)> {
    let mut words = line.split('#').next()?.split_whitespace();
    let id = words.next()?;
    let stage = if words.next() == Some("open") {
        RequirementStage::Open
    } else {
        RequirementStage::Begun
    };
    Some((id, stage))
}
