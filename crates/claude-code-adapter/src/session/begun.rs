//! Messages that are being written: told when they begin, and told when their call is given up.

use ktx_llm_runtime::{RuntimeEvent, UsageFact};

use crate::call::Call;
use crate::turns::MessageUsage;

/// The messages of one child that have no end yet. A call that is dropped in the middle, as a program
/// that ends at once does, has paid for them: dropping this tells of them with what is known.
pub(super) struct Begun<'a> {
    call: Call<'a>,
    open: Vec<UsageFact>,
}

impl<'a> Begun<'a> {
    pub(super) fn new(call: Call<'a>) -> Self {
        Self {
            call,
            open: Vec::new(),
        }
    }

    /// A message has begun, or has grown.
    pub(super) fn begin(&mut self, message: &MessageUsage) {
        let fact = self.call.caller.usage_fact(message);
        self.close(&fact);
        self.open.push(fact.clone());
        self.call.host.tell(RuntimeEvent::UsageBegun(fact));
    }

    /// Nothing more will be heard of a message.
    pub(super) fn end(&mut self, message: &MessageUsage) {
        let fact = self.call.caller.usage_fact(message);
        self.close(&fact);
        self.call.host.tell(RuntimeEvent::Usage(fact));
    }

    fn close(&mut self, fact: &UsageFact) {
        self.open.retain(|open| open.message_id != fact.message_id);
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        for fact in self.open.drain(..) {
            self.call.host.tell(RuntimeEvent::Usage(fact));
        }
    }
}
