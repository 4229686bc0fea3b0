//! Secret values, references to them, and redaction of text.

mod place;
mod redact;
mod reference;
mod secret;

pub use place::is_loopback;
pub use redact::{Redactor, redact_url};
pub use reference::{SecretError, SecretRef, SecretSource};
pub use secret::Secret;

#[cfg(test)]
mod tests;
