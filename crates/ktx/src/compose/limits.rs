//! The limits of the account that a project's backend uses, stored in the project's local state.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use ktx_usage_ledger::{Account, AccountLimit, LimitBook};

use crate::session::{Opened, Session};

/// Returns the book of the account that the project's backend uses.
pub(super) fn book(session: &Session, opened: &Opened) -> LimitBook {
    LimitBook::new(path(opened), account(session, opened))
}

/// Returns the current limit of the account that the project's backend uses.
pub(crate) fn known_limit(session: &Session, opened: &Opened) -> Option<AccountLimit> {
    book(session, opened).known(Timestamp::now())
}

/// Returns how long calls of the account are still refused, and by which window.
pub(super) fn refused_for(session: &Session, opened: &Opened) -> Option<(String, Duration)> {
    let now = Timestamp::now();
    let limit = book(session, opened).known(now)?;
    let wait = limit.refused_for(now)?;
    Some((limit.window, wait))
}

/// Deletes a stored refusal, because the account is asked anyway and its answer is newer.
pub(super) fn forget_refusal(session: &Session, opened: &Opened) {
    if let Err(reason) = book(session, opened).forget_refusal() {
        tracing::warn!(reason, "the refusal of an account is not forgotten");
    }
}

fn path(opened: &Opened) -> PathBuf {
    opened.store.layout().state().join("rate-limits.json")
}

/// Returns the account of the project's backend. Unresolved values do not matter, because no call
/// is made with them.
fn account(session: &Session, opened: &Opened) -> Account {
    Account {
        backend: opened.config.llm.backend.as_str(),
        identity: super::http::identity(session, &opened.dir, &opened.config).unwrap_or_default(),
    }
}
