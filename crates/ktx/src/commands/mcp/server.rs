//! The HTTP server.

use std::path::PathBuf;

use ktx_config::DEFAULT_CLIENT;
use ktx_context_tools::{ReloadedContext, ToolProfile};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_mcp_server::{Access, HttpServer, ServedTools};
use ktx_project_store::{LocalServer, Wait, write_atomically};
use ktx_secrets::Secret;
use ktx_tool_descriptors::ToolDescriptor;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::reloading::{self, Who};
use super::{profile, served, with_desk};
use crate::cli::McpStartArgs;
use crate::invocation::{Invocation, OpenProject};
use crate::local_server::listening::{bind, bind_socket, log, remove_socket, with_timestamp};
use crate::local_server::state::{ServerState, lock_failure};
use crate::printer::stderr_line;
use crate::report::{Outcome, Report as _};
use crate::{clients, compose};

/// Maximum wait for the lock of a server that ends or is inspected.
const MOMENT: std::time::Duration = std::time::Duration::from_secs(1);

/// Calls `announce` once the server is reachable.
pub(super) fn serve(
    args: &McpStartArgs,
    (invocation, project): (&Invocation, &OpenProject),
    token: Option<&Secret>,
    announce: impl FnOnce(&ServerState) -> Outcome<()>,
) -> Outcome {
    let lock = project.store.serve(LocalServer::Mcp, Wait::AtMost(MOMENT));
    let lock = lock.map_err(|error| lock_failure(LocalServer::Mcp, &error))?;
    let file = project.store.layout().server_state(LocalServer::Mcp);
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
    announce: impl FnOnce(&ServerState) -> Outcome<()>,
) -> Outcome<()> {
    let clients = OpenClients::of(invocation, project)?;
    let tokens = clients.named.iter().map(|one| &one.token);
    let access = Access::new(&hosts(args), &args.allowed_origin, token).with_clients(tokens);
    with_desk(invocation, project, |desk| {
        compose::block_on(|cancel: CancellationToken| async move {
            let (listener, address) = bind(&args.host, args.port).await?;
            let local = socket(args).map(|path| bind_socket(&path)).transpose()?;
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
            let offer = clients.offer(&desk, profile(&args.offer), project);
            let server =
                HttpServer::for_clients(listener, access, health.to_string(), offer, log, &cancel)
                    .also_on(local);
            announce(&state)?;
            stderr_line(&with_timestamp(&format!("listening on {}", state.url())));
            if let Some(socket) = &state.socket {
                stderr_line(&with_timestamp(&format!("listening on {socket}")));
            }
            server.serve(cancel).await;
            if let Some(path) = socket(args) {
                remove_socket(&path)?;
            }
            stderr_line(&with_timestamp("ended"));
            Ok(())
        })
    })
}

struct OpenClients {
    /// Clients without their own token.
    others: ReloadedContext,
    named: Vec<NamedClient>,
}

struct NamedClient {
    name: String,
    token: Secret,
    context: ReloadedContext,
}

impl OpenClients {
    fn of(invocation: &Invocation, project: &OpenProject) -> Outcome<Self> {
        let named = clients::named_clients(invocation, project)?.into_iter();
        let named = named.map(|(client, token)| {
            let name = client.name.clone();
            let who = Who::Named {
                name: name.clone(),
                token: token.clone(),
            };
            Ok(NamedClient {
                name,
                token,
                context: reloading::context(invocation, project, who)?,
            })
        });
        Ok(Self {
            others: reloading::context(invocation, project, Who::Default)?,
            named: named.collect::<Outcome<Vec<_>>>()?,
        })
    }

    fn offer(
        &self,
        desk: &[ToolDescriptor],
        usual: ToolProfile,
        project: &OpenProject,
    ) -> (ServedTools<'static>, Vec<ServedTools<'static>>) {
        let named = self.named.iter().map(|one| {
            let name = one.name.as_str();
            served(&one.context, desk.to_vec(), usual, (name, project))
        });
        let others = (DEFAULT_CLIENT, project);
        (
            served(&self.others, desk.to_vec(), usual, others),
            named.collect(),
        )
    }
}

/// Absolute, for a process in another folder.
pub(super) fn socket(args: &McpStartArgs) -> Option<PathBuf> {
    let path = args.socket.as_ref()?;
    Some(std::path::absolute(path).unwrap_or_else(|_| path.clone()))
}

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
) -> ServerState {
    ServerState {
        schema_version: 1,
        pid: std::process::id(),
        host: args.host.clone(),
        port,
        token_auth,
        project_dir: project.dir.display().to_string(),
        started_at: invocation.now.to_string(),
        log_path: project
            .store
            .layout()
            .server_log(LocalServer::Mcp)
            .display()
            .to_string(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        allowed_hosts: args.allowed_host.clone(),
        allowed_origins: args.allowed_origin.clone(),
        tools: args.offer.tools,
        socket: socket(args).map(|path| path.display().to_string()),
    }
}

fn unwritten(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::from_error(Code::McpState, error).context("the state of the server cannot be written")
}
