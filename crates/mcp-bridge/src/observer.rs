//! Who hears of the calls of tools.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Hears of every call of a tool. Must return at once.
pub trait CallObserver: Send + Sync {
    /// A call has ended.
    fn ended(&self, call: &EndedCall<'_>);
}

/// A call that has ended. Observers never get its arguments or its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedCall<'a> {
    /// The tool; `None` if there is none of the name that was called.
    pub tool: Option<&'a str>,
    pub end: CallEnd,
    pub took: Duration,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    Answered,
    Refused,
    /// The client canceled it or left.
    Cancelled,
}

impl CallEnd {
    /// The word for it in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Reports a call when it is dropped, so that one whose task is aborted is reported, too.
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
