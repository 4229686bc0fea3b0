//! Account limits in the local state.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use ktx_usage_ledger::{AccountLimit, LimitBook, LimitedAccount};

use crate::invocation::{Invocation, OpenProject};

pub(super) fn book(invocation: &Invocation, project: &OpenProject) -> LimitBook {
    LimitBook::new(path(project), account(invocation, project))
}

pub(crate) fn known_limit(invocation: &Invocation, project: &OpenProject) -> Option<AccountLimit> {
    book(invocation, project).known(Timestamp::now())
}

pub(super) fn refused_for(
    invocation: &Invocation,
    project: &OpenProject,
) -> Option<(String, Duration)> {
    let now = Timestamp::now();
    let limit = book(invocation, project).known(now)?;
    let wait = limit.refused_for(now)?;
    Some((limit.window, wait))
}

/// The account's next answer is newer.
pub(super) fn forget_refusal(invocation: &Invocation, project: &OpenProject) {
    if let Err(reason) = book(invocation, project).forget_refusal() {
        tracing::warn!(reason, "the refusal of an account is not forgotten");
    }
}

fn path(project: &OpenProject) -> PathBuf {
    project.store.layout().state().join("rate-limits.json")
}

/// Unresolved values do not matter: no call uses them.
fn account(invocation: &Invocation, project: &OpenProject) -> LimitedAccount {
    LimitedAccount {
        backend: project.config.llm.backend.as_str(),
        identity: super::http::identity(invocation, &project.dir, &project.config)
            .unwrap_or_default(),
    }
}
