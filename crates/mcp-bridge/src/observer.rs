//! Observers of tool calls.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Must return at once.
pub trait CallObserver: Send + Sync {
    fn ended(&self, call: &EndedCall<'_>);
}

/// Holds neither arguments nor result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedCall<'a> {
    /// `None` for an unknown tool.
    pub tool: Option<&'a str>,
    pub end: CallEnd,
    pub took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    Answered,
    Refused,
    Cancelled,
}

impl CallEnd {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Reports on drop, even if the call's task was aborted.
pub(crate) struct CallRecord {
    observer: Option<Arc<dyn CallObserver>>,
    tool: Option<String>,
    begun: Instant,
    pub(crate) end: CallEnd,
}

impl CallRecord {
    pub(crate) fn begin(observer: Option<Arc<dyn CallObserver>>, tool: Option<String>) -> Self {
        Self {
            observer,
            tool,
            begun: Instant::now(),
            end: CallEnd::Cancelled,
        }
    }

    pub(crate) fn took(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        if let Some(observer) = &self.observer {
            observer.ended(&EndedCall {
                tool: self.tool.as_deref(),
                end: self.end,
                took: self.took(),
            });
        }
    }
}
