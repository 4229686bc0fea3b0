//! A foreign `rmcp` server on standard streams, Streamable HTTP or SSE. The first argument selects
//! its behavior.
#![expect(
    clippy::disallowed_methods,
    reason = "a program that starts a child, reads its environment and does not end"
)]

mod legacy;
mod loopback;
mod tools;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rmcp::ServiceExt as _;

pub use loopback::{HttpServer, TransportStyle};
use tools::Tools;

pub fn executable() -> anyhow::Result<PathBuf> {
    crate::fake_claude::executable_of("mcp-fake", "mcp_fake")
}

/// Behaviors: `good`; `stubborn` starts a child and survives end of input and a signal to itself;
/// `nonsense` prints no JSON; `exits` fails; `silent` never answers; `huge` answers with 50 MB.
pub fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("good") => serve(),
        Some("stubborn") => {
            let child = sleeper();
            serve();
            wait_forever(child.ok())
        }
        Some("nonsense") => {
            drop(writeln!(std::io::stdout(), "Welcome to the server!"));
            wait_forever(None)
        }
        Some("exits") => {
            let key = std::env::var("TOKEN").unwrap_or_default();
            drop(writeln!(std::io::stderr(), "the key {key} is wrong"));
            ExitCode::from(3)
        }
        Some("silent") => wait_forever(None),
        Some("huge") => {
            let mut stdout = std::io::stdout().lock();
            let piece = vec![b'x'; 1024 * 1024];
            let begun = stdout.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":\"");
            let written = begun.and_then(|()| (0..50).try_for_each(|_| stdout.write_all(&piece)));
            drop(written);
            wait_forever(None)
        }
        _ => ExitCode::from(2),
    }
}

fn sleeper() -> std::io::Result<std::process::Child> {
    Command::new("sleep").arg("600").spawn()
}

fn wait_forever(child: Option<std::process::Child>) -> ExitCode {
    std::thread::sleep(Duration::from_mins(10));
    drop(child);
    ExitCode::SUCCESS
}

fn serve() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    runtime.block_on(async {
        let pipes = (tokio::io::stdin(), tokio::io::stdout());
        match Tools::default().serve(pipes).await {
            Ok(session) => {
                drop(session.waiting().await);
                ExitCode::SUCCESS
            }
            Err(_) => ExitCode::FAILURE,
        }
    })
}
