//! Configures coding agents. Never copies variables or keys of the user.

mod remote;

use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure};
use serde_json::{Map, Value, json};

use super::{SetupStep, StepState};
use crate::cli::{AgentTarget, SetupArgs};
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};
use crate::shell::quoted;

pub(super) fn step(
    args: &SetupArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<SetupStep> {
    let Some(target) = args.target else {
        let step = SetupStep::new("agents", StepState::Skipped, "none was named");
        return Ok(if args.skip_agents {
            step
        } else {
            step.hint("`--agents --target claude-code` attaches one")
        });
    };
    if args.http {
        return remote::step(args, target, invocation, project);
    }
    let server = Server::of(invocation, project);
    let folder = folder(args, invocation, project);
    match target {
        AgentTarget::Claude if args.global => Ok(by_hand(
            "Claude Code keeps the user's own settings; run:",
            &format!("claude mcp add --scope user ktx -- {}", server.line()),
        )),
        AgentTarget::Claude => merged(
            &folder.join(".mcp.json"),
            server.json(),
            FileSecrecy::NoSecret,
        ),
        AgentTarget::Cursor => {
            let file = cursor(args, invocation, &folder)?;
            merged(&file, server.json(), FileSecrecy::NoSecret)
        }
        AgentTarget::Desktop => merged(&desktop(invocation)?, server.json(), FileSecrecy::NoSecret),
        AgentTarget::Codex => Ok(by_hand(
            "add to the `config.toml` of Codex:",
            &server.toml(),
        )),
        AgentTarget::Opencode => Ok(by_hand(
            "add to `opencode.json`:",
            &json!({ "mcp": { "ktx": {
                "type": "local", "command": server.words(), "enabled": true,
            } } })
            .to_string(),
        )),
        AgentTarget::Universal => Ok(by_hand("let the MCP client start:", &server.line())),
    }
}

fn folder(args: &SetupArgs, invocation: &Invocation, project: &OpenProject) -> PathBuf {
    let named = args.install_dir.as_ref();
    named.map_or_else(|| project.dir.clone(), |dir| invocation.current.join(dir))
}

fn cursor(args: &SetupArgs, invocation: &Invocation, folder: &Path) -> Outcome<PathBuf> {
    let home = if args.global {
        home(invocation)?
    } else {
        folder.to_owned()
    };
    Ok(home.join(".cursor/mcp.json"))
}

struct Server {
    program: String,
    dir: String,
}

impl Server {
    fn of(invocation: &Invocation, project: &OpenProject) -> Self {
        let program = invocation.program.as_ref();
        Self {
            program: program.map_or_else(|| "ktx".to_owned(), |path| path.display().to_string()),
            dir: project.dir.display().to_string(),
        }
    }

    fn arguments(&self) -> [&str; 4] {
        ["--project-dir", &self.dir, "mcp", "stdio"]
    }

    fn words(&self) -> Vec<&str> {
        std::iter::once(self.program.as_str())
            .chain(self.arguments())
            .collect()
    }

    fn line(&self) -> String {
        let words = self.words().into_iter().map(quoted);
        words.collect::<Vec<_>>().join(" ")
    }

    fn json(&self) -> Value {
        json!({ "command": self.program, "args": self.arguments() })
    }

    /// JSON strings are valid TOML basic strings.
    fn toml(&self) -> String {
        format!(
            "[mcp_servers.ktx]\ncommand = {}\nargs = {}",
            json!(self.program),
            json!(self.arguments())
        )
    }
}

fn by_hand(what: &str, text: &str) -> SetupStep {
    let step = SetupStep::new("agents", StepState::Ready, what);
    text.lines().fold(step, SetupStep::hint)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSecrecy {
    NoSecret,
    Secret,
}

const SERVERS: &str = "mcpServers";

fn merged(file: &Path, server: Value, holds: FileSecrecy) -> Outcome<SetupStep> {
    let failed = |what: String| {
        Failure::new(Code::AgentSettings, what)
            .hint("correct the file or move it away, then run the command again")
    };
    let mut settings = match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str::<Map<String, Value>>(&text).map_err(|error| {
            failed(format!(
                "`{}` is not a JSON object: {error}",
                file.display()
            ))
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
        Err(error) => {
            let what = format!("`{}` cannot be read: {error}", file.display());
            return Err(failed(what));
        }
    };
    let servers = settings
        .entry(SERVERS)
        .or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(servers) = servers else {
        let what = format!("`{SERVERS}` in `{}` is not an object", file.display());
        return Err(failed(what));
    };
    let name = file.display().to_string();
    if servers.get("ktx") == Some(&server) {
        return Ok(SetupStep::new("agents", StepState::Ready, name));
    }
    servers.insert("ktx".to_owned(), server);
    let text = format!("{:#}\n", Value::Object(settings));
    let written = match holds {
        FileSecrecy::NoSecret => ktx_project_store::write_atomically(file, text.as_bytes()),
        FileSecrecy::Secret => ktx_project_store::write_privately(file, text.as_bytes()),
    };
    written.map_err(|error| Failure::from_error(Code::AgentState, &error))?;
    Ok(SetupStep::new("agents", StepState::Done, name).hint("restart the agent to see it"))
}

fn home(invocation: &Invocation) -> Outcome<PathBuf> {
    let home = invocation.environment.home().map(Path::to_owned);
    home.ok_or_else(|| {
        Failure::new(Code::NoHome, "the home folder of the user is not known").hint("set `HOME`")
    })
}

fn desktop(invocation: &Invocation) -> Outcome<PathBuf> {
    let folder = if cfg!(target_os = "macos") {
        "Library/Application Support/Claude"
    } else if cfg!(windows) {
        "AppData/Roaming/Claude"
    } else {
        ".config/Claude"
    };
    Ok(home(invocation)?
        .join(folder)
        .join("claude_desktop_config.json"))
}
