//! Exposes a tool set over MCP.

use std::pin::pin;
use std::sync::Arc;

use ktx_tool_descriptors::{
    CallContext, LONGEST_TWICE, ListedTool, NoProgress, ProgressSink, ToolDescriptor, ToolError,
    ToolOutput, ToolSetError, WriteEffect,
};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, JsonObject, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::caller::Caller;
use crate::lazy::LazyTools;
use crate::progress::{Reports, channel};
use crate::serve::ServerIdentity;

/// Maximum number of concurrent calls; further ones wait.
const RUNNING: usize = 16;

/// Methods that are answered if their parameters have the right shape.
const KNOWN: [&str; 3] = ["initialize", "ping", "tools/list"];

/// Answers one client.
#[derive(Debug, Clone)]
pub(crate) struct Bridge {
    tools: Arc<LazyTools>,
    identity: Arc<ServerIdentity>,
    running: Arc<Semaphore>,
    /// Canceled when the clients of this bridge have left for good.
    left: CancellationToken,
}

impl Bridge {
    pub(crate) fn new(tools: LazyTools, identity: ServerIdentity, left: CancellationToken) -> Self {
        Self {
            tools: Arc::new(tools),
            identity: Arc::new(identity),
            running: Arc::new(Semaphore::new(RUNNING)),
            left,
        }
    }

    async fn run(
        &self,
        call: CallToolRequestParams,
        request: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let token = request.meta.get_progress_token();
        let (progress, mut reports): (Arc<dyn ProgressSink>, Reports) = match &token {
            Some(_) => {
                let (sink, reports) = channel();
                (Arc::new(sink), reports)
            }
            None => (Arc::new(NoProgress), Reports::none()),
        };
        let caller = Caller::of(&request.extensions);
        caller.calls();
        let cancel = request.ct.child_token();
        let context = CallContext {
            call_id: request.id.to_string(),
            cancel: cancel.clone(),
            progress,
        };
        let tools = match self.tools.get() {
            Ok(tools) => tools.clone(),
            Err(error) => return failure(&ToolError::new(unavailable(error))),
        };
        let arguments = call.arguments.map_or(Value::Null, Value::Object);
        let name = call.name;
        // In its own task, a panic of the tool becomes an answer instead of ending the server.
        let running = Arc::clone(&self.running);
        let mut work = AbortOnDropHandle::new(tokio::spawn(async move {
            // The semaphore is never closed; without a permit the call would run all the same.
            let _turn = running.acquire_owned().await;
            tools.call(&name, arguments, context).await
        }));
        let mut nobody_waits = pin!(async {
            tokio::select! {
                () = self.left.cancelled() => {}
                () = caller.gone() => {}
            }
        });
        let outcome = loop {
            tokio::select! {
                biased;
                () = &mut nobody_waits, if !cancel.is_cancelled() => cancel.cancel(),
                Some(report) = reports.next() => report.send(&request.peer, token.as_ref()).await,
                outcome = &mut work => break outcome,
            }
        };
        while let Some(report) = reports.try_next() {
            report.send(&request.peer, token.as_ref()).await;
        }
        match outcome {
            Ok(Ok(output)) => success(output),
            Ok(Err(error)) => failure(&error),
            Err(_) => failure(&ToolError::new(
                "the tool stopped unexpectedly; this is a fault of ktx",
            )),
        }
    }
}

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        let identity = &self.identity;
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new(&identity.name, &identity.version).with_title(&identity.title),
            )
            .with_instructions(&identity.instructions)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // If the tools cannot be created, none has this name; the listing and the call report the
        // reason.
        let known = self.tools.get().ok()?.get(name)?;
        Some(tool(known, self.tools.listed(known)))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        match self.tools.get() {
            Ok(tools) => Ok(ListToolsResult::with_all_items(
                tools
                    .iter()
                    .map(|one| tool(one, self.tools.listed(one)))
                    .collect(),
            )),
            Err(error) => Err(ErrorData::internal_error(unavailable(error), None)),
        }
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.run(request, context).await.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A call whose parameters have the wrong shape arrives here.
        if request.method == "tools/call" {
            let text = "MCP error -32602: `params` must be {\"name\": text, \"arguments\": object}";
            return Ok(CustomResult::new(json!({
                "content": [{"type": "text", "text": text}],
                "isError": true,
            })));
        }
        if KNOWN.contains(&request.method.as_str()) {
            let text = format!(
                "the parameters of `{}` have the wrong shape",
                request.method
            );
            return Err(ErrorData::invalid_params(text, None));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            request.method,
            None,
        ))
    }
}

fn tool(descriptor: &ToolDescriptor, listed: ListedTool) -> Tool {
    let effect = descriptor.effect;
    let writes = effect == WriteEffect::Writes;
    // What is left out has the protocol's default; nothing is destroyed or repeated by a tool that only reads.
    let annotations = ToolAnnotations::from_raw(
        None,
        Some(!writes),
        writes.then_some(true),
        None,
        Some(false),
    );
    // A tool with an output schema must always give structure, also where text says it in fewer tokens.
    Tool::new(
        descriptor.name.clone(),
        listed.description,
        object(&listed.input_schema),
    )
    .with_title(&descriptor.title)
    .with_annotations(annotations)
}

/// Schemas of a checked tool set are objects.
fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

fn unavailable(error: &ToolSetError) -> String {
    format!("the tools cannot be offered: {error}; this is a fault of the program")
}

/// The text, and the structure unless both are long: the same data twice would cost a model its context.
fn success(output: ToolOutput) -> CallToolResult {
    let is_text_long = output.markdown.len() > LONGEST_TWICE;
    let is_long = |data: &Value| data.to_string().len() > LONGEST_TWICE;
    let structured = output
        .structured
        .filter(|data| !is_text_long || !is_long(data));
    let mut result = CallToolResult::success(vec![ContentBlock::text(output.markdown)]);
    result.structured_content = structured;
    result
}

fn failure(error: &ToolError) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.message.clone())]);
    result.structured_content.clone_from(&error.structured);
    result
}

#[cfg(test)]
mod tests;
