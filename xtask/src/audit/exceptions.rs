//! The places where a rule does not hold, each with the reason why.

use super::finding::Finding;

/// One rule lifted for one file or folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exception {
    pub(crate) rule: &'static str,
    /// A file, or a folder with a slash at its end.
    pub(crate) place: &'static str,
    pub(crate) reason: &'static str,
}

pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: "writes files",
        place: "crates/claude-code-adapter/src/process/registry.rs",
        reason: "the registry of running children is the adapter's own state, outside the project's files",
    },
    Exception {
        rule: "writes files",
        place: "crates/claude-code-adapter/src/limits/store.rs",
        reason: "the ends of the account's limits are the adapter's own state, outside the project's files",
    },
    Exception {
        rule: "writes files",
        place: "crates/claude-code-adapter/src/internal_guard.rs",
        reason: "the guard tells the kernel its own name, in a file that is none",
    },
    Exception {
        rule: "backend named",
        place: "crates/ktx/src/cli/setup.rs",
        reason: "the agent that ktx is attached to has the same name as the backend",
    },
];

/// Takes out what an exception covers. An exception that covers nothing is a finding itself.
pub(crate) fn apply(findings: Vec<Finding>, exceptions: &[Exception]) -> Vec<Finding> {
    let stale = exceptions
        .iter()
        .filter(|exception| !findings.iter().any(|finding| covers(exception, finding)))
        .map(|exception| {
            let what = format!(
                "the exception from `{}` ({}) covers nothing",
                exception.rule, exception.reason
            );
            let cure = "delete it from `xtask/src/audit/exceptions.rs`";
            Finding::file(exception.place, "stale exception", what, cure)
        })
        .collect::<Vec<_>>();
    let mut kept: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| {
            !exceptions
                .iter()
                .any(|exception| covers(exception, finding))
        })
        .collect();
    kept.extend(stale);
    kept
}

fn covers(exception: &Exception, finding: &Finding) -> bool {
    let place = finding.path == exception.place
        || (exception.place.ends_with('/') && finding.path.starts_with(exception.place));
    place && finding.rule == exception.rule
}
