//! The MCP servers of an agent.

use std::path::Path;
use std::time::Duration;

use ktx_agent_file::{McpServer, McpTransport};
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_client::{Annotations, McpFault, ServerSettings, Transport};

use crate::report::Outcome;

#[derive(Debug)]
pub(super) struct ForeignServer {
    pub(super) settings: ServerSettings,
    pub(super) need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

pub(super) fn server(
    name: &str,
    server: McpServer,
    most: u64,
    project: &Path,
) -> Outcome<ForeignServer> {
    let seconds = server.request_timeout.min(most);
    Ok(ForeignServer {
        need: if server.optional {
            Need::Optional
        } else {
            Need::Required
        },
        settings: ServerSettings {
            name: name.to_owned(),
            transport: transport(&server, name, project)?,
            include: server.include,
            exclude: server.exclude,
            request_timeout: Duration::from_secs(seconds),
            annotations: if server.trust_annotations {
                Annotations::Trusted
            } else {
                Annotations::Ignored
            },
        },
    })
}

fn transport(server: &McpServer, name: &str, project: &Path) -> Outcome<Transport> {
    let absent = |key: &str| {
        Failure::new(
            Code::AgentSettings,
            format!("the MCP server `{name}` has no `{key}`"),
        )
        .hint(format!("write `{key}` into its entry under `tools`"))
    };
    let url = || server.url.clone().ok_or_else(|| absent("url"));
    let headers = || server.headers.clone();
    Ok(match server.transport {
        McpTransport::Stdio => Transport::Stdio {
            command: server.command.clone().ok_or_else(|| absent("command"))?,
            args: server.args.clone(),
            env: server.env.clone(),
            folder: project.to_owned(),
        },
        McpTransport::Http => Transport::Http {
            url: url()?,
            headers: headers(),
        },
        McpTransport::Sse => Transport::Sse {
            url: url()?,
            headers: headers(),
        },
    })
}

pub(super) fn unavailable(fault: &McpFault) -> Failure {
    Failure::new(Code::McpUnavailable, fault.to_string()).hint(fault.hint.clone())
}
