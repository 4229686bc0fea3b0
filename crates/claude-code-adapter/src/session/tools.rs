//! One tool call, bounded and concurrent with reading.

use std::sync::Arc;
use std::time::Duration;

use ktx_tool_descriptors::{CallContext, NoProgress, ToolError, ToolOutput, ToolSet};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

pub(super) struct RunningCall {
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) id: String,
    pub(super) cancel: CancellationToken,
    pub(super) limit: Duration,
}

/// Panics and timeouts fail only this call.
pub(super) async fn run(tools: ToolSet, call: RunningCall) -> Result<ToolOutput, ToolError> {
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
            tracing::error!(%error, "a tool panicked");
            Err(ToolError::broke_down())
        }
        Err(_) => {
            call.cancel.cancel();
            Err(ToolError::too_late(call.limit))
        }
    }
}
