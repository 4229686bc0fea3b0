//! Stops background servers and explains failed starts.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use ktx_diagnostics::{Code, Exit, Failure, Hint};
use ktx_mcp_server::{BackgroundEnding as Ending, Started, end_server};
use ktx_project_store::{LocalServer, LockError, Wait};
use serde_json::Value;

use super::state::{ServerStatus, lock_failure, look};
use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

/// Time for a killed server to end.
const LAST: Duration = Duration::from_secs(5);

/// Returns the process id; `None` if no server runs.
pub(crate) fn stop(
    project: &OpenProject,
    server: LocalServer,
    grace: Duration,
) -> Outcome<Option<u32>> {
    let holder = match look(project, server)? {
        ServerStatus::Running(_, Some(holder)) => holder,
        ServerStatus::Running(_, None) => {
            return Err(lock_failure(server, &LockError::Held { holder: None }));
        }
        ServerStatus::Stale(_) | ServerStatus::Stopped { .. } => return Ok(None),
    };
    for (ending, wait) in [(Ending::Terminate, grace), (Ending::Kill, LAST)] {
        let is_it = || match project.store.check_not_served(server) {
            Err(LockError::Held { holder: Some(now) }) => now == holder,
            _ => false,
        };
        end_server(holder.pid, ending, is_it).map_err(|error| {
            Failure::from_error(Code::McpStop, &error)
                .context(format!("process {} cannot be ended", holder.pid))
        })?;
        // A free lock proves the end.
        if project.store.serve(server, Wait::AtMost(wait)).is_ok() {
            return Ok(Some(holder.pid));
        }
    }
    Err(Failure::new(
        Code::McpStop,
        format!("process {} does not end", holder.pid),
    ))
}

/// Removes the state file of a crashed server.
pub(crate) fn clear(seen: &ServerStatus, project: &OpenProject, server: LocalServer) {
    if let ServerStatus::Stale(_) = seen
        && let Err(error) = ktx_project_store::remove(&project.store.layout().server_state(server))
    {
        tracing::warn!(%error, "the state of a server could not be removed");
    }
}

/// `begin` is the start of its log.
pub(crate) fn not_started(
    started: Started,
    project: &OpenProject,
    server: LocalServer,
    begin: u64,
) -> Failure {
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
    let log = project.store.layout().server_log(server);
    let log_text = read_from(&log, begin).unwrap_or_default();
    let mut failure =
        Failure::new(Code::McpStart, "the server ended before it was ready").ending(exit);
    failure.causes = log_text.lines().rev().take(3).map(str::to_owned).collect();
    failure.hint(match server {
        LocalServer::Mcp => "`ktx mcp start --foreground` shows what it does",
        LocalServer::Agents => "`ktx agent serve` without `--background` shows what it does",
    })
}

fn read_from(path: &Path, begin: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(begin))?;
    std::io::read_to_string(file)
}
