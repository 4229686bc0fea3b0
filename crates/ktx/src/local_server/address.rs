//! The HTTP server as agents' settings name it.

use std::path::PathBuf;

use ktx_diagnostics::{Code, Failure};
use ktx_secrets::Secret;

use super::state::{Seen, look};
use super::token::own_token;
use crate::invocation::{Invocation, OpenProject};
use crate::report::Outcome;

/// The default URL of a server.
const USUAL: &str = "http://127.0.0.1:7878/mcp";

/// The server's URL, and the token for it.
#[derive(Debug)]
pub(crate) struct ServerAddress {
    /// Its address.
    pub url: String,
    pub runs: bool,
    /// The required token; `None` if it was started without one.
    pub token: Option<Secret>,
    pub token_file: PathBuf,
}

impl ServerAddress {
    /// Returns the running server, else the one that `ktx mcp start` would start.
    pub(crate) fn of(invocation: &Invocation, project: &OpenProject) -> Outcome<Self> {
        let token_file = project.store.layout().server_token();
        let Seen::Running(Some(state), _) = look(project)? else {
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
                    "the server that runs asks for a token that is not known here",
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
