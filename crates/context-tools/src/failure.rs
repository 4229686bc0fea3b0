//! Failures of the uses.

use ktx_config::Driver;
use ktx_diagnostics::{Code, Failure, excerpt, nearest};
use ktx_vocabulary::ConnectionId;

pub(crate) const ADD_CONNECTION: &str =
    "add a connection to `ktx.yaml`, for example with `ktx setup`";

pub fn unknown_connection<'a>(
    text: &str,
    known: impl IntoIterator<Item = &'a ConnectionId>,
) -> Failure {
    let known: Vec<&str> = known.into_iter().map(ConnectionId::as_str).collect();
    let near = nearest(text, known.iter().copied());
    let failure = Failure::new(
        Code::UnknownConnection,
        format!("there is no connection `{}`", excerpt(text)),
    );
    match (known.is_empty(), near.is_empty()) {
        (true, _) => failure.hint(ADD_CONNECTION),
        (false, true) => failure.try_one_of(known),
        (false, false) => failure.try_one_of(near),
    }
}

pub(crate) fn not_a_warehouse(id: &ConnectionId, driver: Driver) -> Failure {
    Failure::new(
        Code::NotAWarehouse,
        format!("`{id}` is a context source (`{driver}`), not a warehouse"),
    )
}
