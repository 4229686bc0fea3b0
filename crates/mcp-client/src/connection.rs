//! An open connection and its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ktx_secrets::Redactor;
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput};
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
};
use rmcp::service::{NotificationContext, Peer, RoleClient, ServiceError};
use serde_json::Value;
use tokio::time::timeout;

use crate::address::transport_cause;
use crate::fault::{McpFault, quoted, root_cause};
use crate::lines::Watched;
use crate::result::shown;
use crate::settings::MOST_MESSAGE_BYTES;

#[derive(Debug, Clone, Default)]
pub(crate) struct Listener {
    pub(crate) has_changed: Arc<AtomicBool>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let program = Implementation::new("ktx", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), program)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.has_changed.store(true, Ordering::Release);
    }
}

pub(crate) struct Connection {
    pub(crate) server: String,
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) request_timeout: Duration,
    pub(crate) redactor: Redactor,
    pub(crate) watched: Watched,
}

impl Connection {
    pub(crate) fn fault(&self, request: &str, error: &ServiceError) -> McpFault {
        if let Some(fault) = output_fault(&self.server, &self.watched, &self.redactor) {
            return fault;
        }
        let says = |text: &str| quoted(&self.redactor.redact(text));
        match error {
            ServiceError::McpError(error) => McpFault::new(
                &self.server,
                format!("refused `{request}`: {}", says(&error.message)),
                "see the documentation of the server",
            ),
            ServiceError::TransportClosed => McpFault::new(
                &self.server,
                format!("ended before it answered `{request}`"),
                "run the command again: ktx starts the server again",
            ),
            ServiceError::TransportSend(error) => McpFault::new(
                &self.server,
                format!(
                    "cannot be asked `{request}`: {}",
                    says(&transport_cause(error.error.as_ref()))
                ),
                "check that the server runs",
            ),
            other => McpFault::new(
                &self.server,
                format!("did not answer `{request}`: {}", says(&root_cause(other))),
                "check that the server runs and speaks MCP",
            ),
        }
    }

    pub(crate) fn too_late(&self, request: &str) -> McpFault {
        too_late(&self.server, request, self.request_timeout)
    }
}

pub(crate) fn too_late(server: &str, request: &str, limit: Duration) -> McpFault {
    McpFault::new(
        server,
        format!(
            "did not answer `{request}` within {} s",
            limit.as_secs_f64()
        ),
        "check the server, or raise `request_timeout`",
    )
}

pub(crate) fn output_fault(
    server: &str,
    watched: &Watched,
    redactor: &Redactor,
) -> Option<McpFault> {
    let output = watched.seen();
    if output.is_too_long {
        return Some(McpFault::new(
            server,
            format!(
                "sent a message of more than {} MiB",
                MOST_MESSAGE_BYTES >> 20
            ),
            "ask it for less, or leave the tool out with `exclude`",
        ));
    }
    if output.foreign > 0 {
        let first = String::from_utf8_lossy(&output.first_foreign);
        return Some(McpFault::new(
            server,
            format!(
                "writes lines that are not MCP: `{}`",
                quoted(&redactor.redact(&first))
            ),
            "start the server itself, and let it write its log to stderr",
        ));
    }
    None
}

pub(crate) struct ForeignTool {
    pub(crate) connection: Arc<Connection>,
    pub(crate) name: String,
}

#[async_trait]
impl ToolHandler for ForeignTool {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        // Tells the server that ktx has stopped waiting.
        drop(context);
        let connection = &self.connection;
        let mut request = CallToolRequestParams::new(self.name.clone());
        if let Value::Object(arguments) = arguments {
            request = request.with_arguments(arguments);
        }
        let answer = timeout(
            connection.request_timeout,
            connection.peer.call_tool_once(request),
        );
        let failed = |fault: McpFault| ToolError::new(format!("{fault}; {}", fault.hint));
        match answer.await {
            Err(_) => Err(failed(connection.too_late(&self.name))),
            Ok(Err(error)) => Err(failed(connection.fault(&self.name, &error))),
            Ok(Ok(CallToolResponse::Complete(result))) => {
                let output = shown(&connection.server, result);
                self.redacted(output)
            }
            Ok(Ok(_)) => Err(ToolError::new(format!(
                "the MCP server `{}` wants more than arguments for `{}`, which ktx does not give",
                connection.server, self.name
            ))),
        }
    }
}

impl ForeignTool {
    /// Servers know their secrets and can repeat them; the model and the log must not see them.
    fn redacted(&self, output: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        let redactor = &self.connection.redactor;
        match output {
            Ok(output) => Ok(ToolOutput {
                markdown: redactor.redact(&output.markdown),
                structured: output.structured.map(|data| redacted_data(redactor, data)),
            }),
            Err(error) => Err(ToolError::new(redactor.redact(&error.message))),
        }
    }
}

fn redacted_data(redactor: &Redactor, data: Value) -> Value {
    match data {
        Value::String(text) => Value::String(redactor.redact(&text)),
        Value::Array(items) => {
            let items = items.into_iter();
            Value::Array(items.map(|item| redacted_data(redactor, item)).collect())
        }
        Value::Object(object) => {
            let each = object.into_iter();
            let each =
                each.map(|(key, value)| (redactor.redact(&key), redacted_data(redactor, value)));
            Value::Object(each.collect())
        }
        other => other,
    }
}
