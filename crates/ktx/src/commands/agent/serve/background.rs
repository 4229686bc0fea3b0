//! Starts and stops the background server and shows its status.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_mcp_server::start_server;
use ktx_project_store::{LocalServer, LockError};
use serde_json::json;

use crate::cli::{AgentServeArgs, OutputArgs};
use crate::invocation::{Invocation, OpenProject};
use crate::local_server::ending::{clear, not_started, stop as stop_server};
use crate::local_server::state::{ServerState, ServerStatus, lock_failure, look};
use crate::local_server::token::Token;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};

/// Time for turns and server to end.
const GRACE: Duration = Duration::from_secs(45);

pub(super) fn start(
    args: &AgentServeArgs,
    invocation: &Invocation,
    project: &OpenProject,
    token: &Token,
    printer: &Printer,
) -> Outcome {
    if let ServerStatus::Running(_, holder) = look(project, LocalServer::Agents)? {
        let held = LockError::Held { holder };
        return Err(lock_failure(LocalServer::Agents, &held));
    }
    let program = invocation.program.as_deref().ok_or_else(|| {
        Failure::new(Code::McpStart, "the path of this program is not known")
            .hint("`ktx agent serve` without `--background` needs no second process")
    })?;
    let log = project.store.open_server_log(LocalServer::Agents);
    let log = log.map_err(|error| Failure::from_error(Code::Log, &error))?;
    let begin = log.metadata().map_or(0, |metadata| metadata.len());
    let words = arguments(args, &project.dir);
    let started = start_server(program, &words, token.secret(), &project.dir, log);
    let started = started.map_err(|error| {
        Failure::from_error(Code::McpStart, &error).context("the server cannot be started")
    })?;
    match serde_json::from_str::<ServerState>(&started.report) {
        Ok(state) => print_state(&state, project, printer)?,
        Err(_) => {
            return Err(not_started(started, project, LocalServer::Agents, begin)
                .hint("`ktx agent serve` without `--background` shows what it does"));
        }
    }
    Ok(Exit::Success)
}

fn arguments(args: &AgentServeArgs, dir: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--project-dir".into(), dir.into()];
    words.extend(["agent", "serve", "--detached"].map(OsString::from));
    let mut give = |text: String| words.push(text.into());
    give(format!("--host={}", args.host));
    give(format!("--port={}", args.port));
    give(format!("--max-agents={}", args.max_agents));
    if args.no_token {
        give("--no-token".to_owned());
    }
    if args.no_schedule {
        give("--no-schedule".to_owned());
    }
    if let Some(most) = args.max_running {
        give(format!("--max-running={most}"));
    }
    if let Some(dollars) = args.spending.max_usd {
        give(format!("--max-usd={dollars}"));
    }
    if let Some(tokens) = args.spending.max_tokens {
        give(format!("--max-tokens={tokens}"));
    }
    if let Some(minutes) = args.spending.max_minutes {
        give(format!("--max-minutes={minutes}"));
    }
    for host in &args.allowed_host {
        give(format!("--allowed-host={host}"));
    }
    for origin in &args.allowed_origin {
        give(format!("--allowed-origin={origin}"));
    }
    words
}

fn print_state(state: &ServerState, project: &OpenProject, printer: &Printer) -> Outcome<()> {
    if printer.mode == Mode::Json {
        return printer.json_line(
            &json!({ "url": state.base(), "pid": state.pid, "token": state.token_auth }),
        );
    }
    printer.line(&format!("started: {}", state.base()))?;
    printer.line(&format!("process: {}", state.pid))?;
    printer.line(&format!("log: {}", state.log_path))?;
    if state.token_auth {
        let file = project.store.layout().server_token();
        printer.line(&format!("token: in {}", file.display()))?;
    }
    printer.note("`ktx agent serve stop` ends the server");
    Ok(())
}

pub(super) fn stop(invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&OutputArgs::default())?;
    let project = open_project(invocation, &printer)?;
    let ended = stop_server(&project, LocalServer::Agents, GRACE)?;
    clear(
        &look(&project, LocalServer::Agents)?,
        &project,
        LocalServer::Agents,
    );
    match ended {
        Some(process) => printer.line(&format!("stopped: process {process}"))?,
        None => printer.line("stopped: no server runs")?,
    }
    Ok(Exit::Success)
}

pub(super) fn status(output: &OutputArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(output)?;
    let project = open_project(invocation, &printer)?;
    let seen = look(&project, LocalServer::Agents)?;
    let word = seen.word();
    let state = seen.state();
    if printer.mode == Mode::Json {
        let data = json!({
            "state": word,
            "url": state.map(ServerState::base),
            "pid": state.map(|state| state.pid),
            "started_at": state.map(|state| &state.started_at),
            "log": state.map(|state| &state.log_path),
        });
        let meta = json!({ "command": "agent serve status" });
        printer.json(&json!({ "kind": "agent_server", "data": data, "meta": meta }))?;
        return Ok(Exit::Success);
    }
    match (word, state) {
        ("stale", _) => printer
            .line("stale: the server crashed or was killed; `ktx agent serve --background` starts another, which continues its turns")?,
        (word, Some(state)) => {
            printer.line(&format!("{word}: {}", state.base()))?;
            printer.line(&format!(
                "process: {}, since {}",
                state.pid, state.started_at
            ))?;
            printer.line(&format!("log: {}", state.log_path))?;
        }
        ("stopped", None) => printer
            .line("stopped: no server runs; `ktx agent serve --background` starts one")?,
        (word, None) => printer.line(&format!("{word}: a server is starting or stopping"))?,
    }
    Ok(Exit::Success)
}
