//! The secrets that a connection refers to, and whether each can be resolved.

use ktx_config::Connection;
use ktx_secrets::{SecretRef, SecretSource};

use super::mask::{Reference, references};

/// A reference and why it cannot be resolved; `None` if it can.
pub(crate) struct Looked {
    pub reference: Reference,
    /// Why it cannot be resolved.
    pub problem: Option<String>,
}

pub(crate) fn look_up(connection: &Connection, source: &dyn SecretSource) -> Vec<Looked> {
    references(connection)
        .into_iter()
        .map(|reference| {
            let value = SecretRef::parse(&reference.written).resolve(source);
            Looked {
                problem: value
                    .err()
                    .map(|error| ktx_diagnostics::chain(&error).join(": ")),
                reference,
            }
        })
        .collect()
}
