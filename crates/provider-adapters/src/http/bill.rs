//! The bill of one attempt: too high for a moment, but never too low.

use std::sync::{Mutex, PoisonError};

use ktx_llm_runtime::{RuntimeEvent, TokenUsage, UsageFact, UsageKind, estimated_tokens};

use crate::wire::request::{CanonicalRequest, DeliveryMode, EncodedRequest, RequestTarget};
use crate::wire::response::MessageDraft;

/// Bytes that can be in transit.
const ON_THE_WAY: usize = 1024;

pub(crate) trait UsageReporter: Send + Sync {
    fn blank(&self) -> UsageFact;

    fn name(&self, draft: &MessageDraft) -> String;

    fn report(&self, event: RuntimeEvent);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    None,
    Possible,
    Whole,
}

pub(super) struct MessageBill<'a> {
    payer: &'a dyn UsageReporter,
    paid: &'a Mutex<Vec<UsageFact>>,
    begun: UsageFact,
    asked: TokenUsage,
    draft: MessageDraft,
    seen: usize,
    /// Bytes of the last report.
    covered: usize,
    state: BillState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BillState {
    Open,
    Closed,
}

impl<'a> MessageBill<'a> {
    pub(super) fn open(
        payer: &'a dyn UsageReporter,
        paid: &'a Mutex<Vec<UsageFact>>,
        request: &CanonicalRequest,
        target: &RequestTarget<'_>,
        encoded: &EncodedRequest,
    ) -> Self {
        let mut bill = Self {
            payer,
            paid,
            begun: payer.blank(),
            asked: estimate_input(encoded),
            draft: MessageDraft::default(),
            seen: 0,
            covered: ON_THE_WAY,
            state: BillState::Open,
        };
        bill.begun.usage = bill.usage_so_far();
        if request.delivery == DeliveryMode::Whole {
            // The output is visible only at the end.
            let longest = target.output_limit(request).unwrap_or_default();
            bill.begun.usage.output = bill.begun.usage.output.max(longest);
        }
        payer.report(RuntimeEvent::UsageBegun(bill.begun.clone()));
        bill
    }

    pub(super) fn grow(&mut self, draft: &MessageDraft, seen: usize) {
        let counted = draft.usage != self.draft.usage;
        self.draft.clone_from(draft);
        self.seen = seen;
        if seen > self.covered || counted {
            self.covered = seen.saturating_add(ON_THE_WAY);
            self.begun.usage = self.usage_so_far();
            self.payer
                .report(RuntimeEvent::UsageBegun(self.begun.clone()));
        }
    }

    /// Estimates missing counters.
    pub(super) fn settle(mut self, draft: &MessageDraft) -> TokenUsage {
        let mut usage = draft.usage;
        if usage.input_total() == 0 {
            usage = TokenUsage {
                output: usage.output,
                ..self.asked
            };
        }
        if usage.output == 0 {
            usage.output = estimated_tokens(draft.seen);
        }
        self.draft.clone_from(draft);
        let kind = if usage == draft.usage {
            UsageKind::Message
        } else {
            UsageKind::Estimated
        };
        let name = self.payer.name(&self.draft);
        self.close(kind, name, usage);
        usage
    }

    /// `None` if not billed.
    pub(super) fn cut(mut self, charge: Charge) -> Option<TokenUsage> {
        let began = self.draft.usage.total() > 0 || self.seen > 0;
        match charge {
            Charge::Whole => {
                let draft = self.draft.clone();
                Some(self.settle(&draft))
            }
            Charge::None if !began => {
                self.drop_bill();
                None
            }
            Charge::None | Charge::Possible => Some(self.cut_off()),
        }
    }

    fn cut_off(&mut self) -> TokenUsage {
        let usage = self.usage_so_far();
        let name = match self.draft.id {
            Some(_) => self.payer.name(&self.draft),
            None => self.begun.message_id.clone(),
        };
        self.close(UsageKind::Incomplete, name, usage);
        usage
    }

    fn close(&mut self, kind: UsageKind, name: String, usage: TokenUsage) {
        let fact = UsageFact {
            kind,
            model: self
                .draft
                .model
                .clone()
                .unwrap_or_else(|| self.begun.model.clone()),
            message_id: name,
            usage,
            ..self.begun.clone()
        };
        self.payer.report(RuntimeEvent::Usage(fact.clone()));
        if fact.message_id == self.begun.message_id {
            self.state = BillState::Closed;
        } else {
            // The message counts twice for a moment rather than never.
            self.drop_bill();
        }
        self.paid
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(fact);
    }

    fn drop_bill(&mut self) {
        self.state = BillState::Closed;
        self.payer
            .report(RuntimeEvent::UsageDropped(self.begun.clone()));
    }

    fn usage_so_far(&self) -> TokenUsage {
        let reported = self.draft.usage;
        let input = if reported.input_total() > 0 {
            reported
        } else {
            self.asked
        };
        let seen = estimated_tokens(self.seen.saturating_add(ON_THE_WAY));
        TokenUsage {
            output: reported.output.max(seen),
            ..input
        }
    }
}

/// A dropped call may have been billed.
impl Drop for MessageBill<'_> {
    fn drop(&mut self) {
        if self.state == BillState::Open {
            self.cut_off();
        }
    }
}

/// Parts to be cached count as cache writes, the most expensive kind.
fn estimate_input(encoded: &EncodedRequest) -> TokenUsage {
    let body = encoded.body.to_string();
    let tokens = estimated_tokens(body.len().saturating_add(encoded.stored));
    let mut usage = TokenUsage::default();
    if !body.contains("\"cache_control\"") {
        usage.input = tokens;
    } else if body.contains("\"ttl\":\"1h\"") {
        usage.cache_write_1h = tokens;
    } else {
        usage.cache_write_5m = tokens;
    }
    usage
}
