//! A question with a streamed answer.

use std::pin::Pin;

use ktx_session_log::Record;
use serde_json::Value;

use super::AgentSessionError;
use crate::execution::ExecutionResult;
use crate::session::Subscription;

type Answered<'s> =
    Pin<Box<dyn Future<Output = Result<ExecutionResult, AgentSessionError>> + Send + 's>>;

/// A running turn. It runs only while it is read; dropping it stops it.
pub struct Exchange<'s> {
    answered: Answered<'s>,
    heard: Subscription,
    result: Option<Result<ExecutionResult, AgentSessionError>>,
}

impl std::fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}

impl<'s> Exchange<'s> {
    pub(super) const fn new(answered: Answered<'s>, heard: Subscription) -> Self {
        Self {
            answered,
            heard,
            result: None,
        }
    }

    /// Returns the next record; `None` after the turn's last one. Skips unreadable records.
    pub async fn next_record(&mut self) -> Option<Record> {
        while self.result.is_none() {
            tokio::select! {
                result = &mut self.answered => self.result = Some(result),
                Ok(Some(record)) = self.heard.next_record() => return Some(record),
            }
        }
        self.heard.next_written().ok().flatten()
    }

    /// Returns the next piece of text; `None` after the last one.
    pub async fn next_text(&mut self) -> Option<String> {
        loop {
            let record = self.next_record().await?;
            if record.kind() != "text_chunk" {
                continue;
            }
            if let Some(Value::String(delta)) = record.event.get("delta") {
                return Some(delta.clone());
            }
        }
    }

    /// Returns the turn's result. Drops unread records.
    pub async fn finish(self) -> Result<ExecutionResult, AgentSessionError> {
        match self.result {
            Some(result) => result,
            None => self.answered.await,
        }
    }
}
