//! One file per command.

mod admin;
mod agent;
mod completion;
mod connection;
mod demo;
mod drift;
pub(crate) mod ingest;
mod llm;
mod man;
pub(crate) mod mcp;
pub(crate) mod reference;
mod report;
mod review;
mod runs;
mod scan;
mod setup;
mod sl;
mod sql;
mod status;
mod sync;
mod tools;
mod usage;
mod why;
mod wiki;

use clap::CommandFactory as _;
use ktx_diagnostics::Exit;

use crate::cli::{Cli, Command};
use crate::invocation::Invocation;
use crate::report::Outcome;

pub(crate) fn run(command: Option<Command>, invocation: &Invocation) -> Outcome {
    match command {
        None => help(),
        Some(Command::Demo(args)) => demo::run(&args, invocation),
        Some(Command::Setup(args)) => setup::run(&args, invocation),
        Some(Command::Status(args)) => status::run(&args, invocation),
        Some(Command::Connection(args)) => connection::run(&args, invocation),
        Some(Command::Scan(args)) => scan::run(&args, invocation),
        Some(Command::Ingest(args)) => ingest::run(&args, invocation),
        Some(Command::Sync(args)) => sync::run(&args, invocation, ingest::round),
        Some(Command::Sl(args)) => sl::run(&args, invocation),
        Some(Command::Sql(args)) => sql::run(&args, invocation),
        Some(Command::Report(args)) => report::run(&args, invocation),
        Some(Command::Wiki(args)) => wiki::run(&args, invocation),
        Some(Command::Why(args)) => why::run(&args, invocation),
        Some(Command::Runs(args)) => match runs::run(&args, invocation)? {
            runs::Rest::Ended(exit) => Ok(exit),
            runs::Rest::Retry(retry) => again(&retry, invocation),
        },
        Some(Command::Tools(args)) => tools::run(&args, invocation),
        Some(Command::Review(args)) => review::run(&args, invocation),
        Some(Command::Usage(args)) => usage::run(&args, invocation),
        Some(Command::Llm(args)) => llm::run(&args, invocation),
        Some(Command::Drift(args)) => drift::run(&args, invocation),
        Some(Command::Agent(args)) => agent::run(&args, invocation),
        Some(Command::Mcp(args)) => mcp::run(&args, invocation),
        Some(Command::Admin(args)) => admin::run(&args, invocation),
        Some(Command::Completion(args)) => completion::run(&args),
        Some(Command::Complete(args)) => completion::complete(&args, invocation),
        Some(Command::Man(args)) => man::run(&args),
    }
}

/// Runs the rest of an earlier run with the command that began it.
fn again(retry: &runs::Retry, invocation: &Invocation) -> Outcome {
    match retry {
        runs::Retry::Ingest(args, scope) => ingest::again(args, scope, invocation),
        runs::Retry::Scan(args, scope) => scan::again(args, scope, invocation),
    }
}

fn help() -> Outcome {
    let text = Cli::command().render_help();
    crate::printer::stdout(&text.to_string())?;
    Ok(Exit::Success)
}
