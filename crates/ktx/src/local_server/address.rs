//! The server's address for agent settings.

use std::path::PathBuf;

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::LocalServer;
use ktx_secrets::Secret;

use super::state::{ServerStatus, look};
use super::token::own_token;
use crate::invocation::{Invocation, OpenProject};
use crate::report::Outcome;

const USUAL: &str = "http://127.0.0.1:7878/mcp";

#[derive(Debug)]
pub(crate) struct ServerAddress {
    pub url: String,
    pub runs: bool,
    /// `None` if the server needs none.
    pub token: Option<Secret>,
    pub token_file: PathBuf,
}

impl ServerAddress {
    pub(crate) fn of(invocation: &Invocation, project: &OpenProject) -> Outcome<Self> {
        let token_file = project.store.layout().server_token();
        let ServerStatus::Running(Some(state), _) = look(project, LocalServer::Mcp)? else {
            return Ok(Self {
                url: USUAL.to_owned(),
                runs: false,
                token: Some(own_token(project)?),
                token_file,
            });
        };
        let token = if state.token_auth {
            let given = invocation.environment.text(ktx_mcp_server::TOKEN_VARIABLE);
            let known = [given.map(Secret::new), Some(own_token(project)?)];
            let taken = known.into_iter().flatten().find(|token| state.takes(token));
            Some(taken.ok_or_else(|| {
                Failure::new(
                    Code::McpToken,
                    "the running server requires a token that ktx does not know",
                )
                .hint("set `KTX_MCP_TOKEN` to the token that the server was started with")
            })?)
        } else {
            None
        };
        Ok(Self {
            url: state.url(),
            runs: true,
            token,
            token_file,
        })
    }
}
