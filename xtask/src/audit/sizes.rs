//! Length limits of files and functions.

use super::finding::Finding;
use super::source::{Purpose, Source};

/// Lines without tests before a warning.
const FILE_WARNING: usize = 500;
const FILE_LIMIT: usize = 800;
/// An exception can lift clippy's limit of 100 lines only to here.
const FUNCTION_LIMIT: usize = 150;

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    if source.path.contains("/generated/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let lines = source.shipped_lines();
    if source.purpose() != Purpose::Test && lines > FILE_WARNING {
        let what = format!("{lines} lines without tests");
        let finding = Finding::file(
            &source.path,
            "file size",
            what,
            "split it by what its parts are about",
        );
        findings.push(if lines > FILE_LIMIT {
            finding
        } else {
            finding.warning()
        });
    }
    for function in source.functions() {
        if function.lines > FUNCTION_LIMIT {
            let what = format!("`{}` has {} lines", function.name, function.lines);
            findings.push(
                Finding::file(
                    &source.path,
                    "function size",
                    what,
                    "name its steps and split it",
                )
                .at(function.line),
            );
        }
    }
    findings
}
