//! The tools that the tests serve.

use std::sync::Arc;

use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
    handler_fn,
};
use serde_json::{Value, json};

fn descriptor(name: &str, effect: WriteEffect, handler: Arc<dyn ToolHandler>) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: format!("The {name}"),
        description: format!("Does {name}."),
        input_schema: json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "additionalProperties": false,
        }),
        output_schema: Some(json!({"type": "object", "properties": {"text": {"type": "string"}}})),
        effect,
        handler,
    }
}

struct Waits;

#[async_trait::async_trait]
impl ToolHandler for Waits {
    async fn call(&self, _arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        context.cancel.cancelled().await;
        Err(ToolError::new("never sent"))
    }
}

pub(crate) fn tools() -> ToolSet {
    let echo = handler_fn(|arguments: Value, context: CallContext| {
        context.progress.report(0.0, "Starting");
        context.progress.report(1.0, "Done");
        Ok(ToolOutput::new("what the model sees", arguments))
    });
    let fail = handler_fn(|_, _| Err(ToolError::new("no such page; try `wiki_search`")));
    let crash = handler_fn(|arguments: Value, _| {
        assert!(arguments.get("text").is_some(), "as planned");
        Ok(ToolOutput::text("not reached"))
    });
    ToolSet::new(vec![
        descriptor("wait", WriteEffect::ReadOnly, Arc::new(Waits)),
        descriptor("fail", WriteEffect::Writes, fail),
        descriptor("echo", WriteEffect::Idempotent, echo),
        descriptor("crash", WriteEffect::ReadOnly, crash),
    ])
    .expect("the tools are well formed")
}
