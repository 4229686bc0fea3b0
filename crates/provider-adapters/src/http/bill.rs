//! What one try costs: told before it is sent, grown from its stream, settled when it ends, also by
//! being dropped. It may say too much for a moment, never too little.

use std::sync::{Mutex, PoisonError};

use ktx_llm_runtime::{RuntimeEvent, TokenUsage, UsageFact, UsageKind, estimated_tokens};

use crate::wire::request::{CanonicalRequest, Delivery, Encoded, Target};
use crate::wire::response::Draft;

/// So many bytes of an answer are taken to be on their way, behind what has been read of it.
const ON_THE_WAY: usize = 1024;

/// Who pays for the tries of a call.
pub(crate) trait Payer: Send + Sync {
    /// A message that nothing is known of, under a name that no other one has.
    fn blank(&self) -> UsageFact;

    /// The name of a message in the ledger, by what its provider calls it.
    fn name(&self, draft: &Draft) -> String;

    /// Tells what was used.
    fn tell(&self, event: RuntimeEvent);
}

/// Whether a try that failed may be paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    /// Nothing was sent, or the provider refused it.
    None,
    /// It was sent, and nobody says that it is free.
    Possible,
    /// It has an answer that is whole, for all that it is of no use.
    Whole,
}

/// The bill of one try.
pub(super) struct Bill<'a> {
    payer: &'a dyn Payer,
    paid: &'a Mutex<Vec<UsageFact>>,
    /// As it was told last.
    begun: UsageFact,
    /// What is asked, as tokens.
    asked: TokenUsage,
    draft: Draft,
    /// Bytes of the answer that were seen.
    seen: usize,
    /// Bytes of the answer that what was told last has room for.
    covered: usize,
    state: BillState,
}

/// Whether the end of the message still has to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BillState {
    Open,
    Closed,
}

impl<'a> Bill<'a> {
    /// Tells that a message begins, with what it costs at least. Facts of what was paid for go to
    /// `paid` as well.
    pub(super) fn open(
        payer: &'a dyn Payer,
        paid: &'a Mutex<Vec<UsageFact>>,
        (request, target): (&CanonicalRequest, &Target<'_>),
        encoded: &Encoded,
    ) -> Self {
        let mut bill = Self {
            payer,
            paid,
            begun: payer.blank(),
            asked: asked(encoded),
            draft: Draft::default(),
            seen: 0,
            covered: ON_THE_WAY,
            state: BillState::Open,
        };
        bill.begun.usage = bill.so_far();
        if request.delivery == Delivery::Whole {
            // Nothing is seen of it before its end.
            let longest = target.output_limit(request).unwrap_or_default();
            bill.begun.usage.output = bill.begun.usage.output.max(longest);
        }
        payer.tell(RuntimeEvent::UsageBegun(bill.begun.clone()));
        bill
    }

    /// The answer has grown, or what is known of it. Told when it has outgrown what was told before.
    pub(super) fn grow(&mut self, draft: &Draft, seen: usize) {
        let counted = draft.usage != self.draft.usage;
        self.draft.clone_from(draft);
        self.seen = seen;
        if seen > self.covered || counted {
            self.covered = seen.saturating_add(ON_THE_WAY);
            self.begun.usage = self.so_far();
            self.payer
                .tell(RuntimeEvent::UsageBegun(self.begun.clone()));
        }
    }

    /// The whole answer is there. What the provider has not counted is estimated.
    pub(super) fn settle(mut self, draft: &Draft) -> TokenUsage {
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

    /// The try has failed. Gives what it cost, when it may be paid for.
    pub(super) fn cut(mut self, charge: Charge) -> Option<TokenUsage> {
        let began = self.draft.usage.total() > 0 || self.seen > 0;
        match charge {
            Charge::Whole => {
                let draft = self.draft.clone();
                Some(self.settle(&draft))
            }
            Charge::None if !began => {
                self.drop_it();
                None
            }
            Charge::None | Charge::Possible => Some(self.cut_off()),
        }
    }

    fn cut_off(&mut self) -> TokenUsage {
        let usage = self.so_far();
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
        self.payer.tell(RuntimeEvent::Usage(fact.clone()));
        if fact.message_id == self.begun.message_id {
            self.state = BillState::Closed;
        } else {
            // In this order: for a moment it stands there twice, never not at all.
            self.drop_it();
        }
        self.paid
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(fact);
    }

    fn drop_it(&mut self) {
        self.state = BillState::Closed;
        self.payer
            .tell(RuntimeEvent::UsageDropped(self.begun.clone()));
    }

    /// What is known, or estimated on the high side.
    fn so_far(&self) -> TokenUsage {
        let told = self.draft.usage;
        let input = if told.input_total() > 0 {
            told
        } else {
            self.asked
        };
        let seen = estimated_tokens(self.seen.saturating_add(ON_THE_WAY));
        TokenUsage {
            output: told.output.max(seen),
            ..input
        }
    }
}

/// A call that is given up in the middle, as by a program that ends at once, is paid for.
impl Drop for Bill<'_> {
    fn drop(&mut self) {
        if self.state == BillState::Open {
            self.cut_off();
        }
    }
}

/// The input, estimated from what is sent. What is to be cached counts as written to the cache, which is
/// the dearest that it can be.
fn asked(encoded: &Encoded) -> TokenUsage {
    let body = encoded.body.to_string();
    let tokens = estimated_tokens(body.len());
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
