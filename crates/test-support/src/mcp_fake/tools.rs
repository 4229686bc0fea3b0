//! Tools of the fake server.
#![expect(
    clippy::disallowed_methods,
    reason = "a tool names the variables that the server sees"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default)]
pub(super) struct Tools {
    has_grown: Arc<AtomicBool>,
}

fn tool(name: &'static str, description: &'static str, properties: &Value) -> Tool {
    let schema = json!({ "type": "object", "properties": properties });
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, Arc::new(schema))
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let number = json!({ "type": "integer" });
        let reads = ToolAnnotations::from_raw(None, Some(true), None, None, None);
        let mut tools = vec![
            tool(
                "add",
                "Adds two numbers.",
                &json!({ "a": number, "b": number }),
            )
            .with_annotations(reads),
            tool(
                "environment",
                "Names the variables that the server sees.",
                &json!({}),
            ),
            tool(
                "repeat",
                "Says `x` this many times.",
                &json!({ "times": number }),
            ),
            tool("wait", "Never answers.", &json!({})),
            tool("grow", "Adds a tool.", &json!({})),
            tool("admin_reset", "Deletes everything.", &json!({})),
        ];
        if self.has_grown.load(Ordering::SeqCst) {
            tools.push(tool("grown", "Is new.", &json!({})));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let number = |name: &str| {
            let number = arguments[name].as_i64();
            number.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is missing"), None))
        };
        let text = match request.name.as_ref() {
            "add" => (number("a")? + number("b")?).to_string(),
            "environment" => {
                let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                names.sort();
                names.join(" ")
            }
            "repeat" => "x".repeat(usize::try_from(number("times")?).unwrap_or_default()),
            "wait" => std::future::pending().await,
            "grow" => {
                self.has_grown.store(true, Ordering::SeqCst);
                drop(context.peer.notify_tool_list_changed().await);
                "grown".to_owned()
            }
            other => {
                return Err(ErrorData::invalid_params(
                    format!("there is no tool `{other}`"),
                    None,
                ));
            }
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}
