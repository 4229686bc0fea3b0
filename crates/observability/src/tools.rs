//! Tool sets whose calls are spans.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_llm_runtime::SPANS;
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet};
use serde_json::Value;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::settings::ContentCapture;

/// Each call is a span below `call`, wherever the backend runs it.
pub(crate) fn traced(tools: &ToolSet, call: &Span, capture: ContentCapture) -> ToolSet {
    if call.is_disabled() || tools.is_empty() {
        return tools.clone();
    }
    tools.with_handlers(|tool| {
        Arc::new(TracedTool {
            inner: Arc::clone(&tool.handler),
            name: tool.name.clone(),
            call: call.clone(),
            capture,
        })
    })
}

/// Each call is its own trace.
pub fn traced_calls(tools: &ToolSet) -> ToolSet {
    tools.with_handlers(|tool| {
        Arc::new(TracedTool {
            inner: Arc::clone(&tool.handler),
            name: tool.name.clone(),
            call: Span::none(),
            capture: ContentCapture::Off,
        })
    })
}

struct TracedTool {
    inner: Arc<dyn ToolHandler>,
    name: String,
    call: Span,
    capture: ContentCapture,
}

#[async_trait]
impl ToolHandler for TracedTool {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let span = tracing::info_span!(
            target: SPANS,
            parent: &self.call,
            "execute_tool",
            otel.name = format!("execute_tool {}", self.name),
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = self.name,
            gen_ai.tool.type = "function",
            gen_ai.tool.call.id = context.call_id,
            gen_ai.tool.call.arguments = Empty,
            gen_ai.tool.call.result = Empty,
            error.type = Empty,
            otel.status_description = Empty,
        );
        if self.capture == ContentCapture::On {
            span.record("gen_ai.tool.call.arguments", arguments.to_string());
        }
        let answer = self
            .inner
            .call(arguments, context)
            .instrument(span.clone())
            .await;
        match &answer {
            Ok(output) if self.capture == ContentCapture::On => {
                span.record("gen_ai.tool.call.result", output.markdown.as_str());
            }
            Ok(_) => {}
            Err(error) => {
                span.record("error.type", "tool_error");
                // A tool's error can quote data.
                let words = match self.capture {
                    ContentCapture::On => error.message.as_str(),
                    ContentCapture::Off => "the tool failed",
                };
                span.record("otel.status_description", words);
            }
        }
        answer
    }

    async fn workable(&self, arguments: Value) -> Vec<Value> {
        self.inner.workable(arguments).await
    }
}
