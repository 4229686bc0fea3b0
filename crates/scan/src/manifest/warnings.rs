//! Warnings about unchanged shards.

use ktx_warehouse::ScanWarning;
use ktx_yaml::Obstacle;

pub(crate) fn unreadable(path: &str, reason: &str) -> ScanWarning {
    warning(
        "manifest_unreadable",
        format!("could not read `{path}`, so it was left as it is: {reason}"),
    )
}

pub(crate) fn not_edited(path: &str, obstacle: &Obstacle) -> ScanWarning {
    let Obstacle { line, what } = obstacle;
    warning(
        "manifest_not_edited",
        format!(
            "`{path}` was left as it is, though the warehouse has changed: line {line} holds {what}, \
             which cannot be changed in place; write that part in block style without anchors and \
             tags, then scan again"
        ),
    )
}

fn warning(code: &str, message: String) -> ScanWarning {
    ScanWarning {
        code: code.to_owned(),
        message,
        table: None,
        column: None,
        recoverable: true,
    }
}
