//! The ledger account of an operation's messages.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use ktx_llm_runtime::{CallLabel, RuntimeEvent, SourceSystem, UsageFact, UsageKind};
use ktx_vocabulary::ModelRole;

use super::RuntimeState;
use super::role_model::RoleModel;
use crate::http::bill::UsageReporter;
use crate::wire::response::MessageDraft;

static BEGUN: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy)]
pub(super) struct UsageAccount<'a> {
    pub(super) inner: &'a RuntimeState,
    pub(super) role_model: &'a RoleModel,
    pub(super) role: ModelRole,
    pub(super) label: &'a CallLabel,
}

impl UsageReporter for UsageAccount<'_> {
    fn blank(&self) -> UsageFact {
        let number = BEGUN.fetch_add(1, Ordering::Relaxed) + 1;
        UsageFact {
            kind: UsageKind::Incomplete,
            run_id: self.label.run_id.clone(),
            attempt: 0,
            message_id: format!("call-{number}"),
            source_system: SourceSystem::Provider(self.inner.provider),
            model: self.role_model.facts.id.clone(),
            location: self.role_model.location().map(str::to_owned),
            role: self.role,
            stage: self.label.stage.clone(),
            unit: self.label.unit.clone(),
            connection: self.label.connection.clone(),
            usage: ktx_llm_runtime::TokenUsage::default(),
        }
    }

    /// Call it once per answer.
    fn name(&self, draft: &MessageDraft) -> String {
        self.inner
            .names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .name(&self.label.run_id, draft.id.as_deref(), self.inner.provider)
    }

    fn report(&self, event: RuntimeEvent) {
        self.inner.events.event(event);
    }
}
