//! `ktx agent serve`: sessions over HTTP (KODE-70) with schedules (KODE-66).

mod background;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ktx_agent_server::{AgentRoutes, Catalog};
use ktx_agent_session::{Pool, PoolError, PoolLimits, SessionReport, ShutdownReport};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_mcp_server::{Access, HttpServer, leave_terminal, report_start};
use ktx_project_store::{LocalServer, Wait, write_atomically};
use ktx_session_log::SessionId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::failures::session_failure;
use super::hosting::{ProjectHost, pool_failure};
use super::sessions::{Shown, listed, promised};
use super::{decide, files, schedule, session_store};
use crate::cli::{AgentServeArgs, McpTools, ServeCommand};
use crate::compose;
use crate::invocation::{Invocation, OpenProject, load};
use crate::local_server::listening::{bind, log};
use crate::local_server::state::{ServerState, lock_failure};
use crate::local_server::token::{Token, TokenChoice};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};

/// Time for running turns when the server ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum wait for the lock of a server that ends or is inspected.
const MOMENT: Duration = Duration::from_secs(1);

const TICKS: Duration = Duration::from_secs(15);

pub(super) fn run(args: &AgentServeArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        Some(ServeCommand::Status { output }) => return background::status(output, invocation),
        Some(ServeCommand::Stop) => return background::stop(invocation),
        None => {}
    }
    if args.detached {
        leave_terminal();
    }
    let served = serve(args, invocation);
    if let (true, Err(failure)) = (args.detached, &served) {
        // Fails after the start, when no parent is waiting.
        report_start(&failure.to_json().to_string()).unwrap_or_default();
    }
    served
}

fn serve(args: &AgentServeArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let limits = compose::limits_of(&args.spending)?;
    let project = open_project(invocation, &printer)?;
    compose::usable_settings(&project.config)?;
    let choice = TokenChoice {
        host: &args.host,
        token: args.token.as_deref(),
        no_token: args.no_token,
    };
    let token = Token::of(choice, invocation, &project)?;
    if args.background {
        return background::start(args, invocation, &project, &token, &printer);
    }
    let lock = project
        .store
        .serve(LocalServer::Agents, Wait::AtMost(MOMENT));
    let _lock = lock.map_err(|error| lock_failure(LocalServer::Agents, &error))?;
    let mut hosts = args.allowed_host.clone();
    hosts.push(args.host.clone());
    let access = Access::new(&hosts, &args.allowed_origin, token.secret());
    let host = ProjectHost {
        invocation: invocation.clone(),
        dir: project.dir.clone(),
        printer: printer.clone(),
        limits,
    };
    let running = args
        .max_running
        .unwrap_or_else(|| compose::usual_conversations(&project.config));
    let pool = Pool::new(
        session_store::sessions(invocation, &project.dir),
        Arc::new(host),
        PoolLimits {
            agents: args.max_agents,
            running,
        },
    );
    let report = compose::block_on(|cancel| {
        let server = Server {
            args,
            invocation,
            project: &project,
            printer: &printer,
            pool,
        };
        async move { server.serve(access, &token, cancel).await }
    })?;
    compose::was_served();
    let state = project.store.layout().server_state(LocalServer::Agents);
    if let Err(error) = ktx_project_store::remove(&state) {
        tracing::warn!(%error, "the state of the server could not be removed");
    }
    if printer.mode == Mode::Json {
        printer.json_line(&json!({ "ended": report }))?;
    } else {
        printer.note(&format!(
            "ended; turns that ran: {} completed, {} interrupted, {} failed",
            report.completed, report.interrupted, report.failed
        ));
    }
    Ok(Exit::Success)
}

struct Server<'a> {
    args: &'a AgentServeArgs,
    invocation: &'a Invocation,
    project: &'a OpenProject,
    printer: &'a Printer,
    pool: Pool,
}

impl Server<'_> {
    async fn serve(
        self,
        access: Access,
        token: &Token,
        cancel: CancellationToken,
    ) -> Outcome<ShutdownReport> {
        let (listener, address) = bind(&self.args.host, self.args.port).await?;
        let ending = CancellationToken::new();
        let catalog = ProjectCatalog {
            invocation: self.invocation.clone(),
            printer: self.printer.clone(),
            pool: self.pool.clone(),
            dir: self.project.dir.clone(),
        };
        let routes = AgentRoutes::new(self.pool.clone(), Arc::new(catalog), ending.clone());
        let health = json!({
            "status": "ok",
            "projectDir": self.project.dir.display().to_string(),
            "port": address.port(),
            "pid": std::process::id(),
        });
        let server = HttpServer::serving(listener, access, health.to_string(), routes, log);
        self.announce(address.port(), token)?;
        self.continue_promised()?;
        let serving = tokio::spawn(server.serve(ending.clone()));
        tokio::select! {
            () = cancel.cancelled() => {}
            () = self.tick() => {}
        }
        // Clients see how their turns end.
        let report = self.pool.shutdown(PATIENCE).await;
        ending.cancel();
        serving
            .await
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        Ok(report)
    }

    /// Records the address for other commands and prints it.
    fn announce(&self, port: u16, token: &Token) -> Outcome<()> {
        let layout = self.project.store.layout();
        let file = layout.server_token();
        let state = self.state(port, token);
        let text = serde_json::to_vec_pretty(&state)
            .map_err(|error| Failure::from_error(Code::McpState, &error))?;
        write_atomically(&layout.server_state(LocalServer::Agents), &text)
            .map_err(|error| Failure::from_error(Code::McpState, &error))?;
        if self.args.detached {
            let text = String::from_utf8_lossy(&text);
            return report_start(&text).map_err(|error| {
                Failure::from_error(Code::McpStart, &error)
                    .context("no process waits for the server anymore")
            });
        }
        let url = state.base();
        if self.printer.mode == Mode::Json {
            let told =
                json!({ "url": url, "pid": std::process::id(), "token": token.secret().is_some() });
            return self.printer.json_line(&told);
        }
        self.printer.line(&format!("listening: {url}"))?;
        match token {
            Token::Own(_) => self.printer.line(&format!("token: in {}", file.display()))?,
            Token::Given(_) => {}
            Token::Nothing => self.printer.note(
                "warning: without a token every user and every program of this machine can use the agents",
            ),
        }
        self.printer.note("Ctrl-C ends the server");
        Ok(())
    }

    fn state(&self, port: u16, token: &Token) -> ServerState {
        let layout = self.project.store.layout();
        ServerState {
            schema_version: 1,
            pid: std::process::id(),
            host: self.args.host.clone(),
            port,
            token_auth: token.secret().is_some(),
            project_dir: self.project.dir.display().to_string(),
            started_at: self.invocation.now.to_string(),
            log_path: layout.server_log(LocalServer::Agents).display().to_string(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            allowed_hosts: self.args.allowed_host.clone(),
            allowed_origins: self.args.allowed_origin.clone(),
            socket: None,
            tools: McpTools::default(),
        }
    }

    /// Continues turns that a killed server had accepted.
    fn continue_promised(&self) -> Outcome<()> {
        for id in promised(self.pool.sessions(), self.project, self.printer)? {
            if let Err(error) = self.pool.resume_all(std::slice::from_ref(&id)) {
                let failure = pool_failure(error);
                self.printer.note(&format!(
                    "warning: the session `{id}` is not continued: {failure}"
                ));
            }
        }
        Ok(())
    }

    /// Reports failures and continues.
    async fn tick(&self) {
        let alone = schedule::scheduler(self.invocation, self.project).alone();
        let _alone = match alone {
            Ok(Some(alone)) if !self.args.no_schedule => alone,
            Ok(Some(_)) => return std::future::pending().await,
            Ok(None) => {
                let note = "another process asks what is due; this server does not";
                self.printer.note(note);
                return std::future::pending().await;
            }
            Err(error) => {
                self.printer
                    .note(&format!("warning: {}", session_failure(error)));
                return std::future::pending().await;
            }
        };
        loop {
            let tick = tokio::task::block_in_place(|| {
                schedule::due(
                    self.invocation,
                    self.project,
                    self.printer,
                    Timestamp::now(),
                )
            });
            match tick {
                Ok(tick) => {
                    for firing in tick.fired {
                        if let Err(error) =
                            self.pool.resume_all(std::slice::from_ref(&firing.session))
                        {
                            self.printer
                                .note(&format!("warning: {}", pool_failure(error)));
                        }
                    }
                }
                Err(failure) => self.printer.note(&format!("warning: {failure}")),
            }
            tokio::time::sleep(TICKS).await;
        }
    }
}

struct ProjectCatalog {
    invocation: Invocation,
    printer: Printer,
    pool: Pool,
    dir: std::path::PathBuf,
}

impl ProjectCatalog {
    fn project(&self) -> Outcome<OpenProject> {
        load(&self.dir, &self.invocation.environment)
    }
}

impl Catalog for ProjectCatalog {
    fn agents(&self) -> Result<Value, Failure> {
        files::listed(&self.invocation, &self.project()?)
    }

    fn sessions(&self) -> Result<Value, Failure> {
        listed(self.pool.sessions(), &self.project()?, &self.printer)
    }

    fn session(&self, id: &SessionId) -> Result<Value, Failure> {
        let report: SessionReport = self.pool.sessions().read(id).map_err(session_failure)?;
        let shown = Shown::of(&report, self.pool.sessions());
        serde_json::to_value(shown).map_err(|error| Failure::from_error(Code::Internal, &error))
    }

    fn approvals(&self) -> Result<Value, Failure> {
        let project = self.project()?;
        let now = Timestamp::now();
        decide::listed(self.pool.sessions(), &project, &self.printer, now)
    }

    fn failure(&self, error: PoolError) -> Failure {
        pool_failure(error)
    }
}
