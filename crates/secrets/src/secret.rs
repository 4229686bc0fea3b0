//! A value that cannot be printed by accident.

use zeroize::Zeroizing;

/// A text that is wiped when dropped and shown as `***` by `Debug`. Has no `Display` and cannot be
/// serialized.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// Call it only where the value leaves the process.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}
