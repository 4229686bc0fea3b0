//! The exceptions to the rules, each with its reason.

use super::finding::Finding;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditException {
    pub(crate) rule: &'static str,
    /// A file, or a folder with a trailing slash.
    pub(crate) place: &'static str,
    pub(crate) reason: &'static str,
}

pub(crate) const EXCEPTIONS: &[AuditException] = &[
    AuditException {
        rule: "writes files",
        place: "crates/claude-code-adapter/src/process/registry.rs",
        reason: "the registry of running children is the adapter's own state, outside the project's files",
    },
    AuditException {
        rule: "writes files",
        place: "crates/claude-code-adapter/src/limits/store.rs",
        reason: "the ends of the account's limits are the adapter's own state, outside the project's files",
    },
    AuditException {
        rule: "writes files",
        place: "crates/claude-code-adapter/src/internal_guard.rs",
        reason: "the guard tells the kernel its own name, in a file that is none",
    },
    AuditException {
        rule: "writes files",
        place: "crates/usage-ledger/src/account_limits/book_file.rs",
        reason: "the ends of limits are a cache of the program, outside the project's files",
    },
    AuditException {
        rule: "writes files",
        place: "crates/mcp-server/src/background.rs",
        reason: "a server in the background has no terminal: its output goes to the null device",
    },
    AuditException {
        rule: "reads the clock",
        place: "crates/claude-code-adapter/src/limits.rs",
        reason: "limits of the account end at times of the calendar",
    },
    AuditException {
        rule: "reads the clock",
        place: "crates/llm-runtime/src/governor.rs",
        reason: "pauses end at times of the calendar",
    },
    AuditException {
        rule: "reads the clock",
        place: "crates/observability/src/collect.rs",
        reason: "spans of a trace have times of the calendar",
    },
    AuditException {
        rule: "reads the clock",
        place: "crates/provider-adapters/src/clock.rs",
        reason: "the default of the adapters' clock, which tests replace",
    },
    AuditException {
        rule: "backend named",
        place: "crates/ktx/src/commands/setup/model.rs",
        reason: "setup writes the backend that the user names into `ktx.yaml`",
    },
    AuditException {
        rule: "backend named",
        place: "crates/ktx/src/commands/status/facts.rs",
        reason: "the backend of embeddings has the same name",
    },
    AuditException {
        rule: "backend named",
        place: "crates/usage-ledger/src/price.rs",
        reason: "price tables are keyed by the seller of tokens, which may have a backend's name",
    },
    AuditException {
        rule: "backend named",
        place: "crates/ktx/src/cli/setup.rs",
        reason: "the agent that ktx is attached to has the same name as the backend",
    },
];

/// Removes covered findings; an unused exception is a finding.
pub(crate) fn apply(findings: Vec<Finding>, exceptions: &[AuditException]) -> Vec<Finding> {
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

fn covers(exception: &AuditException, finding: &Finding) -> bool {
    let place = finding.path == exception.place
        || (exception.place.ends_with('/') && finding.path.starts_with(exception.place));
    place && finding.rule == exception.rule
}
