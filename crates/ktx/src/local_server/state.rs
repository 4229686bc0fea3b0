//! The background server as seen from outside.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv6Addr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{Holder, LocalServer, LockError};
use ktx_secrets::Secret;
use serde::{Deserialize, Serialize};

use crate::cli::McpTools;
use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

const PATIENCE: Duration = Duration::from_secs(2);

/// `.ktx/mcp.json`: KTX 0.12's format with additional keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerState {
    pub schema_version: u32,
    pub pid: u32,
    pub host: String,
    pub port: u16,
    pub token_auth: bool,
    pub project_dir: String,
    /// In UTC.
    pub started_at: String,
    pub log_path: String,
    /// `None` from KTX 0.12.
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
    #[serde(default)]
    pub allowed_origins: Vec<String>,
    #[serde(default)]
    pub tools: McpTools,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
}

#[derive(Debug)]
pub(crate) enum ServerStatus {
    /// Starting or stopping without a state.
    Running(Option<ServerState>, Option<Holder>),
    /// Crashed or killed.
    Stale(ServerState),
    /// KTX 0.12's file can claim a running server.
    Stopped {
        /// True if the state file has no version or cannot be parsed.
        is_older: bool,
    },
}

impl ServerStatus {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Running(Some(state), _) if state.answers() => "running",
            Self::Running(..) => "not answering",
            Self::Stale(_) => "stale",
            Self::Stopped { .. } => "stopped",
        }
    }

    pub(crate) const fn state(&self) -> Option<&ServerState> {
        match self {
            Self::Running(state, _) => state.as_ref(),
            Self::Stale(state) => Some(state),
            Self::Stopped { .. } => None,
        }
    }
}

impl ServerState {
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.base())
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.authority())
    }

    /// Host and port for local clients.
    fn authority(&self) -> String {
        let host = match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V4(host)) if host.is_unspecified() => "127.0.0.1".to_owned(),
            Ok(IpAddr::V6(host)) if host.is_unspecified() => format!("[{}]", Ipv6Addr::LOCALHOST),
            Ok(IpAddr::V6(host)) => format!("[{host}]"),
            _ => self.host.clone(),
        };
        format!("{host}:{}", self.port)
    }

    /// The health response must name the server's process.
    pub(crate) fn answers(&self) -> bool {
        let answer = self.ask("GET /health", None).unwrap_or_default();
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        let health: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        health.get("pid").and_then(serde_json::Value::as_u64) == Some(self.pid.into())
    }

    pub(crate) fn takes(&self, token: &Secret) -> bool {
        let answer = self.ask("GET /mcp", Some(token)).unwrap_or_default();
        !answer.starts_with("HTTP/1.1 401")
    }

    /// Sends no body. Returns at most 64 KiB of the response.
    fn ask(&self, line: &str, token: Option<&Secret>) -> std::io::Result<String> {
        let authority = self.authority();
        let address = authority.to_socket_addrs()?.next();
        let address = address.ok_or(std::io::ErrorKind::NotFound)?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let token = token.map(|token| format!("Authorization: Bearer {}\r\n", token.expose()));
        let token = token.unwrap_or_default();
        let head =
            format!("{line} HTTP/1.1\r\nHost: {authority}\r\n{token}Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        // Limits responses of other programs.
        stream.take(64 * 1024).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

/// The lock decides, because process ids are reused.
pub(crate) fn look(project: &OpenProject, server: LocalServer) -> Outcome<ServerStatus> {
    let free = project.store.check_not_served(server);
    let file = project.store.layout().server_state(server);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(Failure::from_error(Code::McpState, &error)
                .context(format!("`{}` cannot be read", file.display())));
        }
    };
    let state: Option<ServerState> = text
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .filter(|state: &ServerState| state.version.is_some());
    match free {
        Err(LockError::Held { holder }) => {
            let state = state.filter(|state| {
                let pid = holder.as_ref().map(|holder| holder.pid);
                pid.is_none_or(|pid| pid == state.pid)
            });
            Ok(ServerStatus::Running(state, holder))
        }
        Err(error) => Err(lock_failure(server, &error)),
        Ok(()) => Ok(match state {
            Some(state) => ServerStatus::Stale(state),
            None => ServerStatus::Stopped {
                is_older: text.is_some(),
            },
        }),
    }
}

pub(crate) fn lock_failure(server: LocalServer, error: &LockError) -> Failure {
    match error {
        LockError::Held { holder } => {
            let by = holder
                .as_ref()
                .map_or_else(String::new, |holder| format!(" (process {})", holder.pid));
            Failure::new(
                Code::McpRunning,
                format!("a server already runs for this project{by}"),
            )
            .hint(format!(
                "`{command} status` shows it, `{command} stop` ends it",
                command = server.command()
            ))
        }
        LockError::File { .. } => {
            let failure = Failure::from_error(Code::McpLock, error);
            failure.with_hints(error)
        }
    }
}
