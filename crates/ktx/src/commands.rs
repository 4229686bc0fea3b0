//! One file per command: load, call one library function, print.

mod admin;
mod agent;
mod completion;
mod connection;
mod demo;
pub(crate) mod ingest;
mod llm;
mod man;
pub(crate) mod mcp;
pub(crate) mod reference;
mod scan;
mod setup;
mod sl;
mod sql;
mod status;
mod usage;
mod wiki;

use clap::CommandFactory as _;
use ktx_diagnostics::Exit;

use crate::cli::{Cli, Command};
use crate::report::Outcome;
use crate::session::Session;

pub(crate) fn run(command: Option<Command>, session: &Session) -> Outcome {
    match command {
        None => help(),
        Some(Command::Demo(args)) => demo::run(&args, session),
        Some(Command::Setup(args)) => setup::run(&args, session),
        Some(Command::Status(args)) => status::run(&args, session),
        Some(Command::Connection(args)) => connection::run(&args, session),
        Some(Command::Scan(args)) => scan::run(&args, session),
        Some(Command::Ingest(args)) => ingest::run(&args, session),
        Some(Command::Sl(args)) => sl::run(&args, session),
        Some(Command::Sql(args)) => sql::run(&args, session),
        Some(Command::Wiki(args)) => wiki::run(&args, session),
        Some(Command::Usage(args)) => usage::run(&args, session),
        Some(Command::Llm(args)) => llm::run(&args, session),
        Some(Command::Agent(args)) => agent::run(&args, session),
        Some(Command::Mcp(args)) => mcp::run(&args, session),
        Some(Command::Admin(args)) => admin::run(&args, session),
        Some(Command::Completion(args)) => completion::run(&args),
        Some(Command::Complete(args)) => completion::complete(&args, session),
        Some(Command::Man(args)) => man::run(&args),
    }
}

fn help() -> Outcome {
    let text = Cli::command().render_help();
    crate::printer::stdout(&text.to_string())?;
    Ok(Exit::Success)
}
