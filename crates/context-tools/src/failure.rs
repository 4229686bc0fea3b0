//! Failures of the uses, and how a tool prints one.

use ktx_config::Driver;
use ktx_diagnostics::{Code, Failure, excerpt, nearest};
use ktx_vocabulary::ConnectionId;

/// A connection that is not in `ktx.yaml`.
pub(crate) fn unknown_connection<'a>(
    text: &str,
    known: impl IntoIterator<Item = &'a ConnectionId>,
) -> Failure {
    let known: Vec<&str> = known.into_iter().map(ConnectionId::as_str).collect();
    let near = nearest(text, known.iter().copied());
    let names = if near.is_empty() { known } else { near };
    Failure::new(
        Code::UnknownConnection,
        format!("there is no connection `{}`", excerpt(text)),
    )
    .try_one_of(names)
}

/// A context source where a warehouse is needed.
pub(crate) fn not_a_warehouse(id: &ConnectionId, driver: Driver) -> Failure {
    Failure::new(
        Code::NotAWarehouse,
        format!("`{id}` is a context source (`{driver}`), not a warehouse"),
    )
}

/// The failure on one line per fact: `code: message`, then `hint: …` lines.
pub(crate) fn to_text(failure: &Failure) -> String {
    let mut text = format!("{}: {}", failure.code, failure.message);
    for hint in &failure.hints {
        text.push_str("\nhint: ");
        text.push_str(hint.as_str());
    }
    text
}
