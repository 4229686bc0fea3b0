//! The redactor of logs and spans.

use std::sync::{Arc, PoisonError, RwLock};

use ktx_secrets::{Redactor, Secret};

/// Clones learn the same secrets.
#[derive(Debug, Clone, Default)]
pub struct SharedRedactor {
    known: Arc<RwLock<Redactor>>,
}

impl SharedRedactor {
    pub fn learn(&self, secret: &Secret) {
        // Stays usable after a poisoned lock.
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .learn(secret);
    }

    pub fn redact(&self, text: &str) -> String {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .redact(text)
    }
}
