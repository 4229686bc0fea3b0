//! The wall clock as a value.

use std::sync::Arc;

/// Unix seconds. Cheap to clone.
#[derive(Clone)]
pub struct UnixClock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl UnixClock {
    pub fn new(read: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn now(&self) -> u64 {
        (self.0)()
    }
}

impl Default for UnixClock {
    fn default() -> Self {
        Self::new(|| u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default())
    }
}

impl std::fmt::Debug for UnixClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UnixClock").field(&self.now()).finish()
    }
}
