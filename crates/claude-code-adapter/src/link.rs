//! A child together with its conversation.

use std::sync::Arc;

use ktx_llm_runtime::LlmError;
use tokio::sync::OwnedSemaphorePermit;

use crate::conversation::{Conversation, PromptAt};
use crate::invocation::Query;
use crate::process::{Guard, Running, spawn};
use crate::protocol::{LineDecoder, MAX_LINE};
use crate::settings::ClaudeCodeSettings;

/// A child, its conversation and its place. Dropping it kills the child.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) running: Running,
    pub(crate) conversation: Conversation,
    /// The incomplete line that was read.
    pub(crate) decoder: LineDecoder,
    /// The child's place. Must be the last field: the next child may start once it is free.
    pub(crate) place: OwnedSemaphorePermit,
}

impl Link {
    /// Starts a child and sends it `initialize`.
    pub(crate) async fn open(
        settings: &ClaudeCodeSettings,
        guard: &Arc<Guard>,
        query: Query,
        prompt_at: PromptAt,
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
