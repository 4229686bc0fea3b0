//! Unfinished messages, reported when they begin or are dropped.

use ktx_llm_runtime::{RuntimeEvent, UsageFact};

use crate::call::RuntimeCall;
use crate::turns::MessageUsage;

/// Dropped calls have cost their unfinished messages.
pub(super) struct OpenMessages<'a> {
    call: RuntimeCall<'a>,
    open: Vec<UsageFact>,
}

impl<'a> OpenMessages<'a> {
    pub(super) fn new(call: RuntimeCall<'a>) -> Self {
        Self {
            call,
            open: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, message: &MessageUsage) {
        let fact = self.call.caller.usage_fact(message);
        self.close(&fact);
        self.open.push(fact.clone());
        self.call.host.emit(RuntimeEvent::UsageBegun(fact));
    }

    pub(super) fn end(&mut self, message: &MessageUsage) {
        let fact = self.call.caller.usage_fact(message);
        self.close(&fact);
        self.call.host.emit(RuntimeEvent::Usage(fact));
    }

    fn close(&mut self, fact: &UsageFact) {
        self.open.retain(|open| open.message_id != fact.message_id);
    }
}

impl Drop for OpenMessages<'_> {
    fn drop(&mut self) {
        for fact in self.open.drain(..) {
            self.call.host.emit(RuntimeEvent::Usage(fact));
        }
    }
}
