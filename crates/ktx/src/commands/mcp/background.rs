//! The background MCP server: start, status, logs and stop.

use ktx_diagnostics::{Code, Exit, Failure};
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use ktx_mcp_server::start_server;
use ktx_project_store::{Holder, LocalServer, LockError};
use serde_json::{Value, json};

use crate::cli::{McpStartArgs, McpTools, OutputArgs};
use crate::invocation::{Invocation, OpenProject, load};
use crate::local_server::ending::{self, not_started};
use crate::local_server::state::{ServerState, ServerStatus, lock_failure, look};
use crate::local_server::token::Token;
use crate::printer::{Mode, stderr_line, stdout};
use crate::report::{Outcome, Report as _};

const GRACE: Duration = Duration::from_secs(10);

const OLDER: &str = "note: `.ktx/mcp.json` belongs to a server of KTX 0.12; if it still runs, stop it with that version";

const OPEN: &str = "warning: without a token every user and every program of this machine can read through \
     the server what the logins of this project can read";

pub(super) fn start(args: &McpStartArgs, invocation: &Invocation) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let token = Token::of(args.into(), invocation, &project)?;
    if args.foreground {
        return super::server::serve(args, (invocation, &project), token.secret(), |state| {
            told(state, "listening", (&token, &project))
        });
    }
    if let ServerStatus::Running(state, holder) = look(&project, LocalServer::Mcp)? {
        return already(state, holder, args, (&token, &project));
    }
    let program = invocation.program.as_deref().ok_or_else(|| {
        Failure::new(Code::McpStart, "the path of this program is not known")
            .hint("`ktx mcp start --foreground` needs no second process")
    })?;
    let log = project.store.open_server_log(LocalServer::Mcp);
    let log = log.map_err(|error| Failure::from_error(Code::Log, &error))?;
    let begin = log.metadata().map_or(0, |metadata| metadata.len());
    let started = start_server(program, &arguments(args, &dir), token.secret(), &dir, log);
    let started = started.map_err(|error| {
        Failure::from_error(Code::McpStart, &error).context("the server cannot be started")
    })?;
    match serde_json::from_str(&started.report) {
        Ok(state) => told(&state, "started", (&token, &project)),
        Err(_) => Err(not_started(started, &project, LocalServer::Mcp, begin)),
    }?;
    Ok(Exit::Success)
}

pub(super) fn inner(args: &McpStartArgs, invocation: &Invocation) -> Outcome {
    ktx_mcp_server::leave_terminal();
    let dir = invocation.project_dir()?;
    let served = load(&dir, &invocation.environment).and_then(|project| {
        let token = Token::of(args.into(), invocation, &project)?;
        super::server::serve(args, (invocation, &project), token.secret(), |state| {
            let text = serde_json::to_string(state).unwrap_or_default();
            ktx_mcp_server::report_start(&text).map_err(|error| {
                Failure::from_error(Code::McpStart, &error)
                    .context("no process waits for the server anymore")
            })
        })
    });
    if let Err(failure) = &served {
        // Fails after the start, when no parent is waiting.
        ktx_mcp_server::report_start(&failure.to_json().to_string()).unwrap_or_default();
    }
    served
}

fn arguments(args: &McpStartArgs, dir: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--project-dir".into(), dir.into()];
    words.extend(["mcp", "serve-internal", "--host"].map(OsString::from));
    words.push((&args.host).into());
    words.push(format!("--port={}", args.port).into());
    let socket = super::server::socket(args);
    words.extend(socket.map(|path| {
        let mut word = OsString::from("--socket=");
        word.push(path);
        word
    }));
    words.extend((args.offer.tools == McpTools::Core).then(|| "--tools=core".into()));
    words.extend(args.no_token.then(|| "--no-token".into()));
    let hosts = args.allowed_host.iter();
    words.extend(hosts.map(|host| format!("--allowed-host={host}").into()));
    let origins = args.allowed_origin.iter();
    words.extend(origins.map(|origin| format!("--allowed-origin={origin}").into()));
    words
}

fn told(state: &ServerState, how: &str, (token, project): (&Token, &OpenProject)) -> Outcome<()> {
    let (place, header) = match token {
        Token::Own(_) => (
            format!(
                "token: in {}\n",
                project.store.layout().server_token().display()
            ),
            " and the header `Authorization: Bearer <token>`",
        ),
        Token::Given(_) => (
            String::new(),
            " and the header `Authorization: Bearer <token>`",
        ),
        Token::Nothing => (String::new(), ""),
    };
    let socket = state.socket.as_ref();
    let socket = socket.map_or_else(String::new, |path| format!("socket: {path}\n"));
    stdout(&format!(
        "{how}: {}\n{socket}process: {}\nlog: {}\n{place}next: give your agent the URL{header}; `ktx mcp stop` ends the server\n",
        state.url(),
        state.pid,
        state.log_path
    ))?;
    if matches!(token, Token::Nothing) {
        stderr_line(OPEN);
    }
    Ok(())
}

/// A different running server must end first.
fn already(
    state: Option<ServerState>,
    holder: Option<Holder>,
    args: &McpStartArgs,
    (token, project): (&Token, &OpenProject),
) -> Outcome {
    let Some(state) = state else {
        return Err(lock_failure(LocalServer::Mcp, &LockError::Held { holder }));
    };
    let same = state.host == args.host
        && (args.port == 0 || args.port == state.port)
        && state.allowed_hosts == args.allowed_host
        && state.allowed_origins == args.allowed_origin
        && state.tools == args.offer.tools
        && state.socket == super::server::socket(args).map(|path| path.display().to_string())
        && state.token_auth == token.secret().is_some();
    if same && token.secret().is_none_or(|token| state.takes(token)) {
        told(&state, "already running", (token, project))?;
        return Ok(Exit::Success);
    }
    Err(Failure::new(
        Code::McpRunning,
        format!(
            "a server with other settings runs for this project: {} (process {})",
            state.url(),
            state.pid
        ),
    )
    .hint("run `ktx mcp stop` first"))
}

pub(super) fn stop(invocation: &Invocation) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let ended = ending::stop(&project, LocalServer::Mcp, GRACE)?;
    match ended {
        Some(process) => stdout(&format!("stopped: process {process}\n"))?,
        None => stdout("stopped: no server runs\n")?,
    }
    clear(&look(&project, LocalServer::Mcp)?, &project);
    Ok(Exit::Success)
}

fn clear(seen: &ServerStatus, project: &OpenProject) {
    match seen {
        ServerStatus::Stopped { is_older: true } => stderr_line(OLDER),
        seen => ending::clear(seen, project, LocalServer::Mcp),
    }
}

pub(super) fn status(output: &OutputArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(output)?;
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let seen = look(&project, LocalServer::Mcp)?;
    let (word, state) = (seen.word(), seen.state());
    if printer.mode == Mode::Json {
        let mut data = state.map_or_else(|| json!({}), |state| json!(state));
        if let Value::Object(data) = &mut data {
            data.insert("state".to_owned(), json!(word));
            data.insert("url".to_owned(), json!(state.map(ServerState::url)));
        }
        printer
            .json(&json!({ "kind": "mcp", "data": data, "meta": { "command": "mcp status" } }))?;
        return Ok(Exit::Success);
    }
    match (word, state) {
        ("stopped", _) => {
            printer.line("stopped: no server runs; `ktx mcp start` starts one, and each agent can start its own `ktx mcp stdio`")?;
        }
        ("stale", _) => {
            printer
                .line("stale: the server crashed or was killed; `ktx mcp start` starts another")?;
        }
        (word, Some(state)) => {
            printer.line(&format!("{word}: {}", state.url()))?;
            if let Some(socket) = &state.socket {
                printer.line(&format!("socket: {socket}"))?;
            }
            printer.line(&format!(
                "process: {}, since {}",
                state.pid, state.started_at
            ))?;
            let token = if state.token_auth {
                "asked for"
            } else {
                "none"
            };
            printer.line(&format!("token: {token}"))?;
            printer.line(&format!("project: {}", state.project_dir))?;
            printer.line(&format!("log: {}", state.log_path))?;
        }
        (word, None) => printer.line(&format!("{word}: a server is starting or stopping"))?,
    }
    if matches!(seen, ServerStatus::Stopped { is_older: true }) {
        stderr_line(OLDER);
    }
    Ok(Exit::Success)
}

pub(super) fn logs(follow: bool, invocation: &Invocation) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let path = project.store.layout().server_log(LocalServer::Mcp);
    if !path.is_file() {
        return Err(Failure::new(
            Code::NoLog,
            "there is no log: no server was started in the background",
        )
        .hint("`ktx mcp start` starts one"));
    }
    let unread = |error: std::io::Error| {
        Failure::from_error(Code::Log, &error)
            .context(format!("`{}` cannot be read", path.display()))
    };
    let mut file = File::open(&path).map_err(unread)?;
    stdout(&std::io::read_to_string(&mut file).map_err(unread)?)?;
    if !follow {
        return Ok(Exit::Success);
    }
    crate::compose::block_on(|cancel| async move {
        let mut look = tokio::time::interval(Duration::from_millis(300));
        loop {
            tokio::select! {
                () = cancel.cancelled() => return Ok(()),
                _ = look.tick() => {}
            }
            stdout(&std::io::read_to_string(&mut file).map_err(unread)?)?;
        }
    })?;
    crate::compose::was_served();
    Ok(Exit::Success)
}
