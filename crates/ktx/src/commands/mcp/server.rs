//! The server over HTTP: its settings and its life cycle.

use jiff::Timestamp;
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_mcp_server::{Access, HttpEvent, HttpServer, ServedTools};
use ktx_project_store::{Wait, write_atomically};
use ktx_secrets::Secret;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{profile, with_desk};
use crate::cli::McpStartArgs;
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::local_server::state::{State, lock_failure};
use crate::printer::stderr_line;
use crate::report::{Outcome, Report as _};

/// Wait for the lock of a server that is about to end, or is being inspected.
const MOMENT: std::time::Duration = std::time::Duration::from_secs(1);

/// Serves until it is asked to end. Calls `announce` with its address once it is reachable.
pub(super) fn serve(
    args: &McpStartArgs,
    (invocation, project): (&Invocation, &OpenProject),
    token: Option<&Secret>,
    announce: impl FnOnce(&State) -> Outcome<()>,
) -> Outcome {
    let lock = project.store.serve(Wait::AtMost(MOMENT));
    let lock = lock.map_err(|error| lock_failure(&error))?;
    let file = project.store.layout().mcp_state();
    let served = serve_locked(args, (invocation, project), token, |state| {
        let text = serde_json::to_vec_pretty(state).map_err(|error| unwritten(&error))?;
        write_atomically(&file, &text).map_err(|error| unwritten(&error))?;
        announce(state)
    });
    if let Err(error) = ktx_project_store::remove(&file) {
        tracing::warn!(%error, "the state of the server could not be removed");
    }
    drop(lock);
    served?;
    compose::was_served();
    Ok(Exit::Success)
}

fn serve_locked(
    args: &McpStartArgs,
    (invocation, project): (&Invocation, &OpenProject),
    token: Option<&Secret>,
    announce: impl FnOnce(&State) -> Outcome<()>,
) -> Outcome<()> {
    let access = Access::new(&hosts(args), &args.allowed_origin, token);
    with_desk(invocation, project, |context, more| {
        compose::block_on(|cancel: CancellationToken| async move {
            let listener = TcpListener::bind((args.host.as_str(), args.port)).await;
            let listener = listener.map_err(|error| not_bound(args, &error))?;
            let address = listener
                .local_addr()
                .map_err(|error| not_bound(args, &error))?;
            let state = state(
                args,
                address.port(),
                (invocation, project),
                access.asks_for_token(),
            );
            let health = json!({
                "status": "ok",
                "projectDir": state.project_dir,
                "port": state.port,
                "pid": state.pid,
            });
            let server = HttpServer::new(
                listener,
                access,
                health.to_string(),
                ServedTools {
                    context,
                    more,
                    profile: profile(&args.offer),
                    version: env!("CARGO_PKG_VERSION"),
                },
                log,
                &cancel,
            );
            announce(&state)?;
            stderr_line(&stamped(&format!("listening on {}", state.url())));
            server.serve(cancel).await;
            stderr_line(&stamped("ended"));
            Ok(())
        })
    })
}

/// Returns the host names of the server besides this machine's own.
fn hosts(args: &McpStartArgs) -> Vec<String> {
    let mut hosts = args.allowed_host.clone();
    hosts.push(args.host.clone());
    hosts
}

fn state(
    args: &McpStartArgs,
    port: u16,
    (invocation, project): (&Invocation, &OpenProject),
    token_auth: bool,
) -> State {
    State {
        schema_version: 1,
        pid: std::process::id(),
        host: args.host.clone(),
        port,
        token_auth,
        project_dir: project.dir.display().to_string(),
        started_at: invocation.now.to_string(),
        log_path: project.store.layout().mcp_log().display().to_string(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        allowed_hosts: args.allowed_host.clone(),
        allowed_origins: args.allowed_origin.clone(),
        tools: args.offer.tools,
    }
}

/// Repeated errors are logged less and less often, so that they cannot fill the log.
fn log(event: &HttpEvent) {
    let (text, count) = match event {
        HttpEvent::Refused {
            status,
            reason,
            count,
        } => (format!("refused a request ({status}): {reason}"), count),
        HttpEvent::NotAccepted { error, count } => {
            (format!("could not accept a connection: {error}"), count)
        }
        HttpEvent::TurnedAway { count } => (
            "refused a connection: the server is at its limit".to_owned(),
            count,
        ),
    };
    if count.is_power_of_two() {
        stderr_line(&stamped(&format!("{text}; {count} so far")));
    }
}

/// Adds the time to a log line.
fn stamped(text: &str) -> String {
    let now = Timestamp::now();
    let now = now.round(jiff::Unit::Second).unwrap_or(now);
    format!("{now} {text}")
}

fn unwritten(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::from_error(Code::McpState, error).context("the state of the server cannot be written")
}

fn not_bound(args: &McpStartArgs, error: &std::io::Error) -> Failure {
    let failure = Failure::from_error(Code::McpAddress, error)
        .context(format!("cannot listen on {}:{}", args.host, args.port));
    match error.kind() {
        std::io::ErrorKind::AddrInUse => failure
            .hint("choose another port with `--port`; 0 takes a free one")
            .hint("another project's server may have it: `ktx --project-dir <folder> mcp status`"),
        std::io::ErrorKind::PermissionDenied => failure.hint("choose a port above 1023"),
        _ => failure.hint("`--host` names an address of this machine"),
    }
}
