//! Secret references of a connection.

use ktx_config::Connection;
use ktx_secrets::{SecretRef, SecretSource};

use super::mask::{WrittenReference, references};

pub(crate) struct ReferenceCheck {
    pub reference: WrittenReference,
    pub problem: Option<String>,
}

pub(crate) fn check_references(
    connection: &Connection,
    source: &dyn SecretSource,
) -> Vec<ReferenceCheck> {
    references(connection)
        .into_iter()
        .map(|reference| {
            let value = SecretRef::parse(&reference.written).resolve(source);
            ReferenceCheck {
                problem: value
                    .err()
                    .map(|error| ktx_diagnostics::chain(&error).join(": ")),
                reference,
            }
        })
        .collect()
}
