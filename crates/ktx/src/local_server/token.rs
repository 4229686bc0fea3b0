//! The token that agents send to the local server.

use ktx_diagnostics::{Code, Failure};
use ktx_secrets::{Secret, SecretRef, is_loopback};
use uuid::Uuid;

use crate::cli::McpStartArgs;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

/// The minimum length of a user's token.
const SHORTEST: usize = 16;

/// The token that agents must send.
#[derive(Debug)]
pub(crate) enum Token {
    /// Chosen by the user.
    Given(Secret),
    /// The project's own.
    Own(Secret),
    /// None.
    Nothing,
}

impl Token {
    /// Returns the token of a server that is about to start: the flag's, else `KTX_MCP_TOKEN`, else
    /// the project's own.
    pub(crate) fn of(
        args: &McpStartArgs,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<Self> {
        if args.no_token {
            return nothing(args);
        }
        if let Some(text) = args.token.as_deref() {
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

/// Returns the project's own token, created on first use.
pub(crate) fn own_token(project: &OpenProject) -> Outcome<Secret> {
    let fresh = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let token = project.store.server_token(&Secret::new(fresh));
    let token = token.map_err(|error| Failure::from_error(Code::McpTokenFile, &error))?;
    checked(token).map_err(|failure| {
        let file = project.store.layout().server_token();
        failure
            .context(format!("`{}` cannot be used", file.display()))
            .hint("remove the file: the next start makes another token")
    })
}

fn nothing(args: &McpStartArgs) -> Outcome<Token> {
    if is_loopback(&args.host) {
        return Ok(Token::Nothing);
    }
    let host = &args.host;
    let message =
        format!("`--host {host}` can be reached by other machines, so agents must show a token");
    Err(Failure::new(Code::Usage, message).hint("leave `--no-token` out"))
}

fn checked(token: Secret) -> Outcome<Secret> {
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
        return Err(usage(&message).hint("without one, `ktx mcp start` makes a token of its own"));
    }
    Ok(token)
}
