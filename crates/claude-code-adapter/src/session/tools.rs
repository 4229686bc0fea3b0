//! One call of a tool of ours: beside the reading, bounded, and ended with whoever waits for it.

use std::sync::Arc;
use std::time::Duration;

use ktx_tool_descriptors::{CallContext, NoProgress, ToolError, ToolOutput, ToolSet};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// What the model asked for.
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) id: String,
    /// Ends the call.
    pub(super) cancel: CancellationToken,
    /// How long it may take.
    pub(super) limit: Duration,
}

/// Runs it. A tool that panics or never ends fails its call and nothing else.
pub(super) async fn run(tools: ToolSet, call: Call) -> Result<ToolOutput, ToolError> {
    let context = CallContext {
        call_id: call.id,
        cancel: call.cancel.clone(),
        progress: Arc::new(NoProgress),
    };
    let (name, arguments) = (call.name, call.arguments);
    let work = tokio::spawn(async move { tools.call(&name, arguments, context).await });
    match tokio::time::timeout(call.limit, AbortOnDropHandle::new(work)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => {
            tracing::error!(%error, "a tool broke down");
            Err(ToolError::broke_down())
        }
        Err(_) => {
            call.cancel.cancel();
            Err(ToolError::too_late(call.limit))
        }
    }
}
