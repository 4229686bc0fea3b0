//! Listens and logs.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use jiff::Timestamp;
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_server::{HttpEvent, LocalSocket, SocketError};
use tokio::net::TcpListener;

use crate::printer::stderr_line;
use crate::report::{Outcome, Report as _};

/// Returns the actual port.
pub(crate) async fn bind(host: &str, port: u16) -> Outcome<(TcpListener, SocketAddr)> {
    let failed = |error| not_bound(host, port, &error);
    let listener = TcpListener::bind((host, port)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Replaces a dead socket. Of concurrent servers, only one listens.
pub(crate) fn bind_socket(path: &Path) -> Outcome<LocalSocket> {
    let _alone = lock_folder_of(path);
    let bound = match LocalSocket::bind(path) {
        Err(SocketError::Stale { path }) => {
            remove(&path)?;
            LocalSocket::bind(&path)
        }
        bound => bound,
    };
    bound.map_err(|error| {
        let failure = Failure::from_error(Code::McpAddress, &error);
        failure.hint(match &error {
            SocketError::TooLong { .. } => "choose a shorter path",
            SocketError::InUse { .. } | SocketError::Stale { .. } => {
                "choose another path, or end the other server: `ktx --project-dir <folder> mcp stop`"
            }
            SocketError::NoSocket { .. } => "choose another path, or remove the file",
            SocketError::Failed { .. } => "choose a path in a folder that you can write to",
        })
    })
}

/// Keeps a socket that another server uses.
pub(crate) fn remove_socket(path: &Path) -> Outcome<()> {
    let _alone = lock_folder_of(path);
    if LocalSocket::is_stale(path) {
        remove(path)?;
    }
    Ok(())
}

/// Locks the folder until the file closes; continues if that is impossible, as on network folders.
fn lock_folder_of(path: &Path) -> Option<File> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let folder = File::open(folder).ok()?;
    folder.lock().ok().map(|()| folder)
}

fn remove(path: &Path) -> Outcome<()> {
    ktx_project_store::remove(path)
        .map(drop)
        .map_err(|error| Failure::from_error(Code::McpAddress, &error))
}

/// Logs repeated errors ever less often.
pub(crate) fn log(event: &HttpEvent) {
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
        stderr_line(&with_timestamp(&format!("{text}; {count} so far")));
    }
}

pub(crate) fn with_timestamp(text: &str) -> String {
    let now = Timestamp::now();
    let now = now.round(jiff::Unit::Second).unwrap_or(now);
    format!("{now} {text}")
}

fn not_bound(host: &str, port: u16, error: &std::io::Error) -> Failure {
    let failure = Failure::from_error(Code::McpAddress, error)
        .context(format!("cannot listen on {host}:{port}"));
    match error.kind() {
        std::io::ErrorKind::AddrInUse => failure
            .hint("choose another port with `--port`; 0 picks a free one")
            .hint(
                "the server of another project may use it: `ktx --project-dir <folder> mcp status`",
            ),
        std::io::ErrorKind::PermissionDenied => failure.hint("choose a port above 1023"),
        _ => failure.hint("`--host` names an address of this machine"),
    }
}

#[cfg(all(test, unix))]
mod tests;
