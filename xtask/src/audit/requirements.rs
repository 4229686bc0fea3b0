//! The listed requirements and the tests that name them.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::source::Source;
use crate::repository::TextFile;

const LIST: &str = "fixtures/audit/requirements.txt";

/// Families of which every id must stand in a test.
const COMPLETE: [&str; 2] = ["COG", "KTX"];

/// Tells, family by family, the requirements whose id no test mentions: a failure in a family that is
/// complete, else a warning. The list has one id per line; `#` opens a comment.
pub(crate) fn check(files: &[TextFile], sources: &[Source]) -> Vec<Finding> {
    let Some(list) = files.iter().find(|file| file.path == LIST) else {
        return Vec::new();
    };
    let mut families: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for id in list.text.lines().filter_map(id) {
        let family = id.split('-').next().unwrap_or_default();
        let (total, missing) = families.entry(family).or_default();
        *total += 1;
        if !sources.iter().any(|source| source.tests_mention(id)) {
            missing.push(id);
        }
    }
    families
        .iter()
        .filter(|(_, (_, missing))| !missing.is_empty())
        .map(|(family, (total, missing))| {
            let what = format!(
                "{} of {total} without a test: {}",
                missing.len(),
                missing.join(" ")
            );
            let cure = "name the id in the doc comment of its test";
            let finding = Finding::file(LIST, "requirements", what, cure);
            if COMPLETE.contains(family) {
                finding
            } else {
                finding.warning()
            }
        })
        .collect()
}

fn id(line: &str) -> Option<&str> {
    line.split('#')
        .next()
        .and_then(|line| line.split_whitespace().next())
}
