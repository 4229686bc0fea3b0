//! The server's token.

use ktx_diagnostics::{Code, Failure};
use ktx_secrets::{Secret, SecretRef, is_loopback};
use uuid::Uuid;

use crate::cli::McpStartArgs;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

const SHORTEST: usize = 16;

#[derive(Debug)]
pub(crate) enum Token {
    Given(Secret),
    /// Created for the project.
    Own(Secret),
    Nothing,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenChoice<'a> {
    pub host: &'a str,
    pub token: Option<&'a str>,
    pub no_token: bool,
}

impl<'a> From<&'a McpStartArgs> for TokenChoice<'a> {
    fn from(args: &'a McpStartArgs) -> Self {
        Self {
            host: &args.host,
            token: args.token.as_deref(),
            no_token: args.no_token,
        }
    }
}

impl Token {
    /// Prefers the flag, then `KTX_MCP_TOKEN`, then the project's own.
    pub(crate) fn of(
        choice: TokenChoice<'_>,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<Self> {
        if choice.no_token {
            return nothing(choice.host);
        }
        if let Some(text) = choice.token {
            let resolved = SecretRef::parse(text).resolve(&invocation.secrets(&project.dir));
            let token = resolved.map_err(|error| {
                Failure::from_error(Code::McpToken, &error).context("`--token` has no value")
            })?;
            return Ok(Self::Given(checked(token)?));
        }
        let variable = invocation.environment.text(ktx_mcp_server::TOKEN_VARIABLE);
        match variable.filter(|text| !text.is_empty()) {
            Some(text) => Ok(Self::Given(checked(Secret::new(text))?)),
            None => Ok(Self::Own(own_token(project)?)),
        }
    }

    pub(crate) fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Given(token) | Self::Own(token) => Some(token),
            Self::Nothing => None,
        }
    }
}

/// Created on first use.
pub(crate) fn own_token(project: &OpenProject) -> Outcome<Secret> {
    let fresh = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let token = project.store.server_token(&Secret::new(fresh));
    let token = token.map_err(|error| Failure::from_error(Code::McpTokenFile, &error))?;
    checked(token).map_err(|failure| {
        let file = project.store.layout().server_token();
        failure
            .context(format!("`{}` cannot be used", file.display()))
            .hint("remove the file: the next start creates a new token")
    })
}

fn nothing(host: &str) -> Outcome<Token> {
    if is_loopback(host) {
        return Ok(Token::Nothing);
    }
    let message =
        format!("`--host {host}` can be reached by other machines, so agents must show a token");
    Err(Failure::new(Code::Usage, message).hint("leave `--no-token` out"))
}

pub(crate) fn checked(token: Secret) -> Outcome<Secret> {
    let usage = |message: &str| Failure::new(Code::Usage, message);
    let text = token.expose();
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(usage(
            "a token consists of visible ASCII characters without spaces",
        ));
    }
    if text.len() < SHORTEST {
        let message =
            format!("a token has at least {SHORTEST} characters, so that it cannot be guessed");
        return Err(usage(&message).hint("without one, `ktx mcp start` creates its own token"));
    }
    Ok(token)
}
