//! The server in the background: start, status, logs and stop.

use ktx_diagnostics::{Code, Exit, Failure, Hint};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use ktx_mcp_server::{BackgroundEnding as Ending, Started, end_server, start_server};
use ktx_project_store::{Holder, LockError, Wait};
use serde_json::{Value, json};

use crate::cli::{McpStartArgs, McpTools, OutputArgs};
use crate::invocation::{Invocation, OpenProject, load};
use crate::local_server::state::{Seen, State, lock_failure, look};
use crate::local_server::token::Token;
use crate::printer::{Mode, stderr_line, stdout};
use crate::report::{Outcome, Report as _};

const GRACE: Duration = Duration::from_secs(10);

/// Time for the end of a killed server.
const LAST: Duration = Duration::from_secs(5);

/// The note about a state file of KTX 0.12.
const OLDER: &str =
    "note: `.ktx/mcp.json` is of a server of KTX 0.12; if it still runs, stop it with that version";

/// The warning about a server without a token.
const OPEN: &str = "warning: without a token every user and every program of this machine can read through \
     the server what the logins of this project can read";

pub(super) fn start(args: &McpStartArgs, invocation: &Invocation) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let token = Token::of(args, invocation, &project)?;
    if args.foreground {
        return super::server::serve(args, (invocation, &project), token.secret(), |state| {
            told(state, "listening", (&token, &project))
        });
    }
    if let Seen::Running(state, holder) = look(&project)? {
        return already(state, holder, args, (&token, &project));
    }
    let program = invocation.program.as_deref().ok_or_else(|| {
        Failure::new(Code::McpStart, "the place of this program is not known")
            .hint("`ktx mcp start --foreground` needs no second process")
    })?;
    let log = project.store.open_server_log();
    let log = log.map_err(|error| Failure::from_error(Code::Log, &error))?;
    let begin = log.metadata().map_or(0, |metadata| metadata.len());
    let started = start_server(program, &arguments(args, &dir), token.secret(), &dir, log);
    let started = started.map_err(|error| {
        Failure::from_error(Code::McpStart, &error).context("the server cannot be started")
    })?;
    match serde_json::from_str(&started.report) {
        Ok(state) => told(&state, "started", (&token, &project)),
        Err(_) => Err(not_started(started, &project, begin)),
    }?;
    Ok(Exit::Success)
}

/// Runs the server in the background and reports to the starting process.
pub(super) fn inner(args: &McpStartArgs, invocation: &Invocation) -> Outcome {
    ktx_mcp_server::leave_terminal();
    let dir = invocation.project_dir()?;
    let served = load(&dir, &invocation.environment).and_then(|project| {
        let token = Token::of(args, invocation, &project)?;
        super::server::serve(args, (invocation, &project), token.secret(), |state| {
            let text = serde_json::to_string(state).unwrap_or_default();
            ktx_mcp_server::report_start(&text).map_err(|error| {
                Failure::from_error(Code::McpStart, &error)
                    .context("nobody waits for the server any more")
            })
        })
    });
    if let Err(failure) = &served {
        // The waiting parent receives it; after the start there is none.
        ktx_mcp_server::report_start(&failure.to_json().to_string()).unwrap_or_default();
    }
    served
}

fn arguments(args: &McpStartArgs, dir: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--project-dir".into(), dir.into()];
    words.extend(["mcp", "serve-internal", "--host"].map(OsString::from));
    words.push((&args.host).into());
    words.push(format!("--port={}", args.port).into());
    words.extend((args.offer.tools == McpTools::Core).then(|| "--tools=core".into()));
    words.extend(args.no_token.then(|| "--no-token".into()));
    let hosts = args.allowed_host.iter();
    words.extend(hosts.map(|host| format!("--allowed-host={host}").into()));
    let origins = args.allowed_origin.iter();
    words.extend(origins.map(|origin| format!("--allowed-origin={origin}").into()));
    words
}

/// Prints the server's URL and the required token.
fn told(state: &State, how: &str, (token, project): (&Token, &OpenProject)) -> Outcome<()> {
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
    stdout(&format!(
        "{how}: {}\nprocess: {}\nlog: {}\n{place}next: give your agent the URL{header}; `ktx mcp stop` ends the server\n",
        state.url(),
        state.pid,
        state.log_path
    ))?;
    if matches!(token, Token::Nothing) {
        stderr_line(OPEN);
    }
    Ok(())
}

/// Handles a running server: it matches the request, or it has to end first.
fn already(
    state: Option<State>,
    holder: Option<Holder>,
    args: &McpStartArgs,
    (token, project): (&Token, &OpenProject),
) -> Outcome {
    let Some(state) = state else {
        return Err(lock_failure(&LockError::Held { holder }));
    };
    let same = state.host == args.host
        && (args.port == 0 || args.port == state.port)
        && state.allowed_hosts == args.allowed_host
        && state.allowed_origins == args.allowed_origin
        && state.tools == args.offer.tools
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

/// Returns the failure that the server reported, or the end of its log.
fn not_started(started: Started, project: &OpenProject, begin: u64) -> Failure {
    let value: Value = serde_json::from_str(&started.report).unwrap_or_default();
    let code = started.code();
    let exit = Exit::ALL
        .into_iter()
        .find(|exit| Some(i32::from(exit.code())) == code);
    let exit = exit
        .filter(|exit| *exit != Exit::Success)
        .unwrap_or(Exit::Failure);
    let error = value.get("error");
    let text = |key: &str| error?.get(key)?.as_str().map(str::to_owned);
    let texts = |key: &str| -> Vec<String> {
        let list = error.and_then(|error| error.get(key)?.as_array());
        let texts = list.into_iter().flatten();
        texts
            .filter_map(|text| Some(text.as_str()?.to_owned()))
            .collect()
    };
    if let (Some(code), Some(message)) = (text("code"), text("message")) {
        let code = Code::parse(&code).unwrap_or(Code::McpStart);
        let mut failure = Failure::new(code, message).ending(exit);
        failure.causes = texts("causes");
        failure.hints = texts("hints").into_iter().map(Hint::new).collect();
        if failure.hints.is_empty() {
            failure.hints.extend(text("hint").map(Hint::new));
        }
        return failure;
    }
    let log = project.store.layout().mcp_log();
    let said = read_from(&log, begin).unwrap_or_default();
    let mut failure =
        Failure::new(Code::McpStart, "the server ended before it was ready").ending(exit);
    failure.causes = said.lines().rev().take(3).map(str::to_owned).collect();
    failure.hint("`ktx mcp start --foreground` shows what it does")
}

pub(super) fn stop(invocation: &Invocation) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let holder = match look(&project)? {
        Seen::Running(_, Some(holder)) => holder,
        Seen::Running(_, None) => return Err(lock_failure(&LockError::Held { holder: None })),
        seen @ (Seen::Stale(_) | Seen::Stopped { .. }) => {
            stdout("stopped: no server runs\n")?;
            clear(&seen, &project);
            return Ok(Exit::Success);
        }
    };
    for (ending, wait) in [(Ending::Terminate, GRACE), (Ending::Kill, LAST)] {
        let is_it = || match project.store.is_not_served() {
            Err(LockError::Held { holder: Some(now) }) => now == holder,
            _ => false,
        };
        end_server(holder.pid, ending, is_it).map_err(|error| {
            Failure::from_error(Code::McpStop, &error)
                .context(format!("process {} cannot be ended", holder.pid))
        })?;
        // Its lock is free once it has ended, for whatever reason.
        if project.store.serve(Wait::AtMost(wait)).is_ok() {
            clear(&look(&project)?, &project);
            stdout(&format!("stopped: process {}\n", holder.pid))?;
            return Ok(Exit::Success);
        }
    }
    Err(Failure::new(
        Code::McpStop,
        format!("process {} does not end", holder.pid),
    ))
}

/// Removes the remainder of a server that ended abnormally.
fn clear(seen: &Seen, project: &OpenProject) {
    match seen {
        Seen::Stale(_) => {
            if let Err(error) = ktx_project_store::remove(&project.store.layout().mcp_state()) {
                tracing::warn!(%error, "the state of a server could not be removed");
            }
        }
        Seen::Stopped { is_older: true } => stderr_line(OLDER),
        Seen::Running(..) | Seen::Stopped { .. } => {}
    }
}

pub(super) fn status(output: &OutputArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(output)?;
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let seen = look(&project)?;
    let (word, state) = match &seen {
        Seen::Running(Some(state), _) if state.answers() => ("running", Some(state)),
        Seen::Running(state, _) => ("not answering", state.as_ref()),
        Seen::Stale(state) => ("stale", Some(state)),
        Seen::Stopped { .. } => ("stopped", None),
    };
    if printer.mode == Mode::Json {
        let mut data = state.map_or_else(|| json!({}), |state| json!(state));
        if let Value::Object(data) = &mut data {
            data.insert("state".to_owned(), json!(word));
            data.insert("url".to_owned(), json!(state.map(State::url)));
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
                .line("stale: the server ended without order; `ktx mcp start` starts another")?;
        }
        (word, Some(state)) => {
            printer.line(&format!("{word}: {}", state.url()))?;
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
        (word, None) => printer.line(&format!("{word}: a server begins or ends"))?,
    }
    if matches!(seen, Seen::Stopped { is_older: true }) {
        stderr_line(OLDER);
    }
    Ok(Exit::Success)
}

pub(super) fn logs(follow: bool, invocation: &Invocation) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let path = project.store.layout().mcp_log();
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

fn read_from(path: &Path, begin: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(begin))?;
    std::io::read_to_string(file)
}
