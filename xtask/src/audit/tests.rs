//! Tests each rule with a violation and a valid text.

use super::*;

mod backend_rules;
mod manifest_rules;
mod masking;
mod source_rules;
mod walls;

fn audit(path: &str, text: &str) -> String {
    audit_all(&[(path, text)])
}

fn audit_all(files: &[(&str, &str)]) -> String {
    let files: Vec<TextFile> = files
        .iter()
        .map(|(path, text)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        })
        .collect();
    let mut findings = check_texts(&files);
    findings.sort();
    findings
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
