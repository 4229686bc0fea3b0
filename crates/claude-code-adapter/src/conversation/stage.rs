//! The stages before the prompt and between turns.

use super::{Action, Conversation, ConversationNote};
use crate::invocation::Query;
use crate::surface::PayingAccount;

const MOST_HOOKS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptTiming {
    /// After the account check.
    Once,
    /// Also after [`Conversation::release`].
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConversationStage {
    Opening,
    Ready(PayingAccount),
    Prompted,
}

impl Conversation {
    pub(crate) fn is_prompted(&self) -> bool {
        self.stage == ConversationStage::Prompted
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.stage, ConversationStage::Ready(_))
    }

    pub(crate) fn release(&mut self, query: Query) -> Vec<Action> {
        self.server.serve(query.tools());
        self.query = query;
        self.prompt_at = PromptTiming::Once;
        let mut actions = Vec::new();
        if let ConversationStage::Ready(account) = &self.stage {
            let account = account.clone();
            self.prompt(account, &mut actions);
        }
        actions
    }

    pub(super) fn prompt(&mut self, account: PayingAccount, actions: &mut Vec<Action>) {
        self.stage = ConversationStage::Prompted;
        let hooks = std::mem::take(&mut self.hooks).into_iter();
        actions.extend(hooks.map(ConversationNote::Hook).map(Action::Note));
        if let Some(warning) = account.warning() {
            actions.push(Action::Note(ConversationNote::Warning(warning)));
        }
        actions.push(Action::Note(ConversationNote::Payer(account.payer)));
        actions.push(Action::Send(self.query.prompt_line()));
    }

    pub(super) fn on_hook(&mut self, event: String, actions: &mut Vec<Action>) {
        if self.is_prompted() {
            actions.push(Action::Note(ConversationNote::Hook(event)));
        } else if self.hooks.len() < MOST_HOOKS {
            self.hooks.insert(event);
        }
    }

    pub(crate) fn stop_reason(&self) -> Option<ktx_llm_runtime::StopReason> {
        self.result.as_ref().map(crate::outcome::stop_reason_of)
    }

    /// If the program will refuse the object.
    pub(super) fn on_whole_message(&self, actions: &mut Vec<Action>) {
        let refused = self.query.schema().is_some_and(|schema| {
            let mut objects = self.objects.values();
            objects.any(|object| !schema.violations(object).is_empty())
        });
        if refused {
            actions.push(Action::Note(ConversationNote::FurtherTurn));
        }
    }
}
