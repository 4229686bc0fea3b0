//! A child together with its conversation.

use std::sync::Arc;

use ktx_llm_runtime::LlmError;
use tokio::sync::OwnedSemaphorePermit;

use crate::conversation::{Conversation, PromptTiming};
use crate::invocation::Query;
use crate::process::{Guard, RunningChild, spawn};
use crate::protocol::{LineDecoder, MAX_LINE};
use crate::settings::ClaudeCodeSettings;

/// Dropping it kills the child.
#[derive(Debug)]
pub(crate) struct ChildLink {
    pub(crate) running: RunningChild,
    pub(crate) conversation: Conversation,
    pub(crate) decoder: LineDecoder,
    /// Must be the last field: the next child can start once the place is free.
    pub(crate) place: OwnedSemaphorePermit,
}

impl ChildLink {
    pub(crate) async fn open(
        settings: &ClaudeCodeSettings,
        guard: &Arc<Guard>,
        query: Query,
        prompt_at: PromptTiming,
        place: OwnedSemaphorePermit,
    ) -> Result<Self, LlmError> {
        let running = spawn(settings, guard, &query).await?;
        let conversation = Conversation::new(query, &settings.version, prompt_at);
        running.input.send(&conversation.begin());
        Ok(Self {
            running,
            conversation,
            decoder: LineDecoder::new(MAX_LINE),
            place,
        })
    }
}
