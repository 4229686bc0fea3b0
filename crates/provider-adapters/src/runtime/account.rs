//! The ledger account of an operation's messages.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use ktx_llm_runtime::{CallLabel, RuntimeEvent, SourceSystem, UsageFact, UsageKind};
use ktx_vocabulary::ModelRole;

use super::Inner;
use super::lane::Lane;
use crate::http::bill::Payer;
use crate::wire::response::Draft;

/// Number of messages that this process has begun, so that names are unique.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The caller, the operation and the model.
#[derive(Clone, Copy)]
pub(super) struct Account<'a> {
    pub(super) inner: &'a Inner,
    pub(super) lane: &'a Lane,
    pub(super) role: ModelRole,
    pub(super) label: &'a CallLabel,
}

impl Payer for Account<'_> {
    fn blank(&self) -> UsageFact {
        let number = BEGUN.fetch_add(1, Ordering::Relaxed) + 1;
        UsageFact {
            kind: UsageKind::Incomplete,
            run_id: self.label.run_id.clone(),
            attempt: 0,
            message_id: format!("call-{number}"),
            source_system: SourceSystem::Provider(self.inner.provider),
            model: self.lane.facts.id.clone(),
            location: self.lane.location().map(str::to_owned),
            role: self.role,
            stage: self.label.stage.clone(),
            unit: self.label.unit.clone(),
            connection: self.label.connection.clone(),
            usage: ktx_llm_runtime::TokenUsage::default(),
        }
    }

    /// Every answer is a separate message, so this is called once for each.
    fn name(&self, draft: &Draft) -> String {
        self.inner
            .names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .name(&self.label.run_id, draft.id.as_deref(), self.inner.provider)
    }

    fn tell(&self, event: RuntimeEvent) {
        self.inner.events.event(event);
    }
}
