//! One redactor for all side outputs of the program: logs and spans.

use std::sync::{Arc, PoisonError, RwLock};

use ktx_secrets::{Redactor, Secret};

/// A redactor that learns secrets at run time. Cheap to clone; clones know the same secrets.
#[derive(Debug, Clone, Default)]
pub struct SharedRedactor {
    known: Arc<RwLock<Redactor>>,
}

impl SharedRedactor {
    /// Learns one more secret.
    pub fn learn(&self, secret: &Secret) {
        // A poisoned lock holds a plain list, which stays usable.
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .learn(secret);
    }

    /// Removes every known secret and text that looks like one.
    pub fn redact(&self, text: &str) -> String {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .redact(text)
    }
}
