//! Configures agents for `ktx mcp start`. Shared settings name a variable, not the token.

use std::path::Path;

use ktx_diagnostics::{Code, Failure};
use serde_json::{Value, json};

use super::super::SetupStep;
use super::{FileSecrecy, by_hand, cursor, folder, merged};
use crate::cli::{AgentTarget, SetupArgs};
use crate::invocation::{Invocation, OpenProject};
use crate::local_server::address::ServerAddress;
use crate::report::Outcome;

pub(super) fn step(
    args: &SetupArgs,
    target: AgentTarget,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<SetupStep> {
    if target == AgentTarget::Desktop {
        let message = "Claude Desktop can start a command, but not contact a URL";
        return Err(Failure::new(Code::Usage, message).hint("leave `--http` out"));
    }
    let server = ServerAddress::of(invocation, project)?;
    let file = || server.token_file.display().to_string();
    let step = match target {
        AgentTarget::Claude if args.global => {
            let header = if server.token.is_some() {
                format!(
                    " --header \"Authorization: Bearer $(cat {})\"",
                    shell(&file())
                )
            } else {
                String::new()
            };
            let line = format!(
                "claude mcp add --transport http --scope user ktx {}{header}",
                server.url
            );
            by_hand("Claude Code keeps the user's own settings; run:", &line)
        }
        AgentTarget::Claude => {
            let place = folder(args, invocation, project).join(".mcp.json");
            let mut entry = entry(&server, &place, "${KTX_MCP_TOKEN}");
            if let Some(entry) = entry.as_object_mut() {
                entry.insert("type".to_owned(), json!("http"));
            }
            put(&server, &place, entry)?
        }
        AgentTarget::Cursor => {
            let place = cursor(args, invocation, &folder(args, invocation, project))?;
            let entry = entry(&server, &place, "${env:KTX_MCP_TOKEN}");
            put(&server, &place, entry)?
        }
        AgentTarget::Codex => {
            let token = if server.token.is_some() {
                "\nbearer_token_env_var = \"KTX_MCP_TOKEN\""
            } else {
                ""
            };
            let text = format!("[mcp_servers.ktx]\nurl = {}{token}", json!(server.url));
            named(
                &server,
                by_hand("add to the `config.toml` of Codex:", &text),
            )
        }
        AgentTarget::Opencode => {
            let mut entry = json!({ "type": "remote", "url": server.url, "enabled": true });
            if let Some(entry) = entry.as_object_mut()
                && server.token.is_some()
            {
                let headers = json!({ "Authorization": "Bearer {env:KTX_MCP_TOKEN}" });
                entry.insert("headers".to_owned(), headers);
            }
            let text = json!({ "mcp": { "ktx": entry } }).to_string();
            named(&server, by_hand("add to `opencode.json`:", &text))
        }
        AgentTarget::Universal | AgentTarget::Desktop => {
            let token = if server.token.is_some() {
                format!("\nAuthorization: Bearer <the text in {}>", file())
            } else {
                String::new()
            };
            let text = format!("{}{token}", server.url);
            by_hand("let the MCP client connect to:", &text)
        }
    };
    Ok(if server.runs {
        step
    } else {
        step.hint("`ktx mcp start` starts the server")
    })
}

fn shell(text: &str) -> String {
    crate::shell::quoted(text)
}

fn entry(server: &ServerAddress, file: &Path, variable: &str) -> Value {
    let mut entry = json!({ "url": server.url });
    if let (Some(entry), Some(token)) = (entry.as_object_mut(), &server.token) {
        let shown = match holds(file) {
            FileSecrecy::Secret => token.expose(),
            FileSecrecy::NoSecret => variable,
        };
        let headers = json!({ "Authorization": format!("Bearer {shown}") });
        entry.insert("headers".to_owned(), headers);
    }
    entry
}

fn put(server: &ServerAddress, file: &Path, entry: Value) -> Outcome<SetupStep> {
    let holds = holds(file);
    let step = merged(file, entry, holds)?;
    Ok(match holds {
        FileSecrecy::Secret => step,
        FileSecrecy::NoSecret => named(server, step),
    })
}

fn named(server: &ServerAddress, step: SetupStep) -> SetupStep {
    if server.token.is_none() {
        return step;
    }
    let file = server.token_file.display().to_string();
    step.hint(format!(
        "start the agent with the token: export KTX_MCP_TOKEN=$(cat {})",
        shell(&file)
    ))
}

/// A file in a repository can be committed.
fn holds(file: &Path) -> FileSecrecy {
    let in_repository = file.ancestors().any(|folder| folder.join(".git").exists());
    if in_repository {
        FileSecrecy::NoSecret
    } else {
        FileSecrecy::Secret
    }
}
