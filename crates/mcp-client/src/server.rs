//! A server from start to end, and its tools.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ktx_tool_descriptors::{ToolDescriptor, ToolSet, WriteEffect};
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{ClientInitializeError, RoleClient, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::Value;
use tokio::time::timeout;

use crate::address::{Address, transport_cause};
use crate::connection::{Connection, ForeignTool, Listener, output_fault, too_late};
use crate::fault::{McpFault, quoted, root_cause};
use crate::legacy_sse::LegacySse;
use crate::lines::{BoundedLines, Watched};
use crate::naming::tool_name;
use crate::process::{self, Epitaph, ServerProcess};
use crate::settings::{
    Access, Annotations, MOST_MESSAGE_BYTES, MOST_TOOLS, Resolved, ServerSettings,
};

const HANDSHAKE: &str = "initialize";

const LIST: &str = "tools/list";

const GOODBYE: Duration = Duration::from_secs(2);

/// In characters.
const LONGEST_DESCRIPTION: usize = 2_048;

/// In bytes.
const MOST_SCHEMA_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub struct Offer {
    pub tools: Vec<ToolDescriptor>,
    /// Patterns that fit no tool.
    pub warnings: Vec<String>,
}

/// A connected server. Dropping it kills its process and the processes that it started.
pub struct Server {
    settings: ServerSettings,
    service: RunningService<RoleClient, Listener>,
    connection: Arc<Connection>,
    /// Absent over HTTP.
    process: Option<ServerProcess>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.settings.name)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Begins a session. A failed start leaves no process.
    pub async fn start(resolved: Resolved) -> Result<Self, McpFault> {
        let watched = Watched::default();
        let mut process = None;
        let limit = resolved.settings.request_timeout;
        let begun = timeout(limit, begin(&resolved, &watched, &mut process)).await;
        let fault = match begun {
            Ok(Ok(service)) => return Ok(Self::new(resolved, watched, service, process)),
            Ok(Err(Refusal::Settings(fault))) => fault,
            Ok(Err(Refusal::Handshake(error))) => {
                let epitaph = match &mut process {
                    Some(process) => Some(process.epitaph().await),
                    None => None,
                };
                handshake_fault(&resolved, &watched, epitaph, &error)
            }
            Err(_) => {
                let name = &resolved.settings.name;
                let said = output_fault(name, &watched, &resolved.redactor);
                said.unwrap_or_else(|| too_late(name, HANDSHAKE, limit))
            }
        };
        if let Some(process) = process {
            process.end().await;
        }
        Err(fault)
    }

    fn new(
        resolved: Resolved,
        watched: Watched,
        service: RunningService<RoleClient, Listener>,
        process: Option<ServerProcess>,
    ) -> Self {
        let connection = Connection {
            server: resolved.settings.name.clone(),
            peer: service.peer().clone(),
            request_timeout: resolved.settings.request_timeout,
            redactor: resolved.redactor,
            watched,
        };
        Self {
            settings: resolved.settings,
            service,
            connection: Arc::new(connection),
            process,
        }
    }

    /// Reads the server's list of tools.
    pub async fn offer(&self) -> Result<Offer, McpFault> {
        self.service
            .service()
            .has_changed
            .store(false, Ordering::Release);
        let listed = timeout(self.settings.request_timeout, self.listed()).await;
        let listed = listed.map_err(|_| self.connection.too_late(LIST))??;
        let mut tools = Vec::new();
        for tool in listed
            .iter()
            .filter(|tool| self.settings.offers(&tool.name))
        {
            tools.push(self.descriptor(tool)?);
        }
        let mut warnings = Vec::new();
        let lists = [
            ("include", &self.settings.include),
            ("exclude", &self.settings.exclude),
        ];
        for (key, patterns) in lists {
            for pattern in patterns {
                let fits = |tool: &Tool| ktx_tool_descriptors::matches_name(pattern, &tool.name);
                if pattern != "*" && !listed.iter().any(fits) {
                    warnings.push(format!(
                        "the MCP server `{}` has no tool that `{key}: {pattern}` names",
                        self.settings.name
                    ));
                }
            }
        }
        Ok(Offer { tools, warnings })
    }

    async fn listed(&self) -> Result<Vec<Tool>, McpFault> {
        let mut tools = Vec::new();
        let mut cursor = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.list_tools(Some(page)).await;
            let page = page.map_err(|error| self.connection.fault(LIST, &error))?;
            let is_empty = page.tools.is_empty();
            tools.extend(page.tools);
            if tools.len() > MOST_TOOLS {
                return Err(McpFault::new(
                    &self.settings.name,
                    format!("lists more than {MOST_TOOLS} tools"),
                    "use a server with fewer tools",
                ));
            }
            cursor = page.next_cursor;
            // An empty page with a successor would never end.
            if cursor.is_none() || is_empty {
                return Ok(tools);
            }
        }
    }

    fn descriptor(&self, tool: &Tool) -> Result<ToolDescriptor, McpFault> {
        let server = &self.settings.name;
        let unusable = |why: String| {
            McpFault::new(
                server,
                format!(
                    "has a tool that cannot be offered: `{}`: {why}",
                    quoted(&tool.name)
                ),
                "leave it out with `exclude`",
            )
        };
        let schema = Value::Object((*tool.input_schema).clone());
        if schema.to_string().len() > MOST_SCHEMA_BYTES {
            return Err(unusable(format!(
                "its schema has more than {} KiB",
                MOST_SCHEMA_BYTES >> 10
            )));
        }
        let words = tool.description.as_deref().unwrap_or_default();
        let words: String = words.chars().take(LONGEST_DESCRIPTION).collect();
        let descriptor = ToolDescriptor {
            name: tool_name(server, &tool.name),
            title: tool.title.clone().unwrap_or_else(|| tool.name.to_string()),
            description: format!("(Described by the MCP server `{server}`.) {words}"),
            input_schema: schema,
            // Results are shown even if they violate the server's own schema.
            output_schema: None,
            effect: self.effect(tool),
            handler: Arc::new(ForeignTool {
                connection: Arc::clone(&self.connection),
                name: tool.name.to_string(),
            }),
        };
        match ToolSet::new(vec![descriptor.clone()]) {
            Ok(_) => Ok(descriptor),
            Err(error) => Err(unusable(quoted(&root_cause(&error)))),
        }
    }

    fn effect(&self, tool: &Tool) -> WriteEffect {
        let reads = tool.annotations.as_ref().and_then(|it| it.read_only_hint);
        match (self.settings.annotations, reads) {
            (Annotations::Trusted, Some(true)) => WriteEffect::ReadOnly,
            _ => WriteEffect::Writes,
        }
    }

    pub fn has_changed(&self) -> bool {
        self.service.service().has_changed.load(Ordering::Acquire)
    }

    pub fn is_closed(&self) -> bool {
        self.service.is_closed()
    }

    /// Ends the session, and the server if ktx started it.
    pub async fn close(mut self) {
        if let Err(error) = self.service.close_with_timeout(GOODBYE).await {
            tracing::debug!(%error, "the session with an MCP server broke at its end");
        }
        if let Some(process) = self.process.take() {
            process.end().await;
        }
    }
}

enum Refusal {
    Settings(McpFault),
    Handshake(Box<ClientInitializeError>),
}

/// Puts a started process into `process` at once, so that the caller can end it after a failure.
async fn begin(
    resolved: &Resolved,
    watched: &Watched,
    process: &mut Option<ServerProcess>,
) -> Result<RunningService<RoleClient, Listener>, Refusal> {
    let name = &resolved.settings.name;
    let listener = Listener::default();
    let service = match &resolved.access {
        Access::Stdio {
            command,
            args,
            variables,
            folder,
        } => {
            let started = process::start(command, args, variables, folder);
            let (started, pipes) =
                started.map_err(|error| Refusal::Settings(not_started(name, command, &error)))?;
            *process = Some(started);
            let lines = BoundedLines::new(pipes.stdout, watched.clone());
            let transport = AsyncRwTransport::<RoleClient, _, _>::new(lines, pipes.stdin);
            serve_client(listener, transport.with_max_line_length(MOST_MESSAGE_BYTES)).await
        }
        Access::Http { url, headers } => {
            let address = Address::new(name, url, headers).map_err(Refusal::Settings)?;
            let config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
                .custom_headers(address.headers)
                .max_sse_event_size(MOST_MESSAGE_BYTES);
            let transport = StreamableHttpClientTransport::with_client(address.client, config);
            serve_client(listener, transport).await
        }
        Access::Sse { url, headers } => {
            let address = Address::new(name, url, headers).map_err(Refusal::Settings)?;
            let transport = LegacySse::open(address, watched.clone()).await;
            let transport = transport.map_err(|error| {
                let said = quoted(&resolved.redactor.redact(&root_cause(&error)));
                Refusal::Settings(unreachable_server(name, &said))
            })?;
            serve_client(listener, transport).await
        }
    };
    service.map_err(|error| Refusal::Handshake(Box::new(error)))
}

fn not_started(server: &str, command: &str, error: &std::io::Error) -> McpFault {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "install it, or write its whole path in `command`",
        std::io::ErrorKind::PermissionDenied => "make the file executable (`chmod +x`)",
        _ => "run the command again",
    };
    McpFault::new(
        server,
        format!("does not start: `{}`: {error}", quoted(command)),
        hint,
    )
}

fn unreachable_server(server: &str, said: &str) -> McpFault {
    McpFault::new(
        server,
        format!("cannot be reached: {said}"),
        "check `url` and `transport`, and that the server runs",
    )
}

fn handshake_fault(
    resolved: &Resolved,
    watched: &Watched,
    epitaph: Option<Epitaph>,
    error: &ClientInitializeError,
) -> McpFault {
    let name = &resolved.settings.name;
    if let Some(fault) = output_fault(name, watched, &resolved.redactor) {
        return fault;
    }
    let says = |text: &str| quoted(&resolved.redactor.redact(text));
    if let Some(epitaph) = epitaph
        && let Some(status) = epitaph.status
    {
        let last = epitaph.complaint.map(|line| format!(": `{}`", says(&line)));
        return McpFault::new(
            name,
            format!(
                "ended before its session began ({status}){}",
                last.unwrap_or_default()
            ),
            "run its `command` yourself to see what is missing; it gets only PATH, HOME and what `env` names",
        );
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => McpFault::new(
            name,
            format!("refused `{HANDSHAKE}`: {}", says(&error.message)),
            "see the documentation of the server",
        ),
        ClientInitializeError::TransportError { error, .. } => {
            unreachable_server(name, &says(&transport_cause(error.error.as_ref())))
        }
        ClientInitializeError::ConnectionClosed(_) => McpFault::new(
            name,
            "closed the connection before its session began",
            "check `transport`, and that the server speaks MCP",
        ),
        other => McpFault::new(
            name,
            format!(
                "does not speak MCP as ktx does: {}",
                says(&root_cause(other))
            ),
            "update the server",
        ),
    }
}
