//! The `ktx` command line.
//!
//! A command loads, calls one library function and prints; logic is in other crates.

mod audit;
mod call_log;
mod cli;
mod clients;
mod commands;
mod compose;
mod connections;
mod context;
mod custom_tools;
mod demo;
mod exit;
mod foreign;
mod ingesting;
mod input;
mod invocation;
mod links;
mod lists;
mod local_files;
mod local_server;
mod locking;
mod markdown;
mod opening;
mod printer;
mod proposals;
mod report;
mod run_records;
mod scanning;
mod schemas;
mod session_usage;
mod shell;
mod skipped_files;
mod sources;
mod tables;
mod telemetry;
mod totals;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use ktx_config::Environment;
use ktx_diagnostics::{Code, Exit, Failure, Hint, shortened};

pub use cli::Cli;
pub use exit::reference_markdown as exit_codes_markdown;

use crate::invocation::Invocation;
use crate::printer::{Mode, print_detail, print_failure};
use crate::report::Report as _;
use crate::telemetry::Telemetry;

/// The first argument is the name of the program.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    // The guard runs beside every command with a model, so it starts nothing.
    if arguments
        .get(1)
        .is_some_and(|word| word == "internal-guard")
    {
        compose::internal_guard();
        return ExitCode::SUCCESS;
    }
    let environment = Environment::from_process();
    let json = wants_json(&arguments);
    let all_json = json || environment.text("KTX_OUTPUT") == Some("json");
    let mode = if all_json { Mode::Json } else { Mode::Plain };
    let cli = match Cli::try_parse_from(cli::as_values(arguments)) {
        Ok(cli) => cli,
        Err(error) => return end_parsing(&error, mode),
    };
    let debug = cli.global.debug;
    let telemetry = Telemetry::install(&environment, compose::collector);
    let outcome = Invocation::start(&cli, environment, telemetry.clone()).and_then(|invocation| {
        let place = invocation.project_dir();
        commands::run(cli.command, &invocation).map_err(|failure| match place {
            Ok(project) => failure.seen_from(&project),
            // Already reported by the command.
            Err(_) => failure,
        })
    });
    telemetry.finish();
    let exit = match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            print_failure(&failure, mode);
            if debug {
                print_detail(&failure);
            }
            failure.exit
        }
    };
    // After Ctrl-C, no script should continue.
    if compose::was_asked_to_end() {
        return ExitCode::from(Exit::Interrupted.code());
    }
    ExitCode::from(exit.code())
}

/// Decided before the arguments are parsed, so that a usage error has the requested form.
fn wants_json(arguments: &[OsString]) -> bool {
    let mut before = "";
    for argument in arguments.iter().skip(1) {
        let argument = argument.to_str().unwrap_or_default();
        let json = argument == "--json"
            || argument == "--output=json"
            || argument == "--format=json"
            || (argument == "json" && (before == "--output" || before == "--format"));
        if json {
            return true;
        }
        before = argument;
    }
    false
}

/// A longer usage error repeats a long argument.
const LONGEST_USAGE: usize = 4_000;

/// Help and version go to stdout and succeed; everything else is a usage error.
fn end_parsing(error: &clap::Error, mode: Mode) -> ExitCode {
    use clap::error::ErrorKind;
    let is_requested = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if is_requested {
        return match printer::print_help(error) {
            Ok(()) => ExitCode::from(Exit::Success.code()),
            Err(failure) => {
                print_failure(&failure, Mode::Plain);
                ExitCode::from(failure.exit.code())
            }
        };
    }
    if mode == Mode::Json {
        print_failure(&usage_failure(error), Mode::Json);
    } else if error.render().to_string().len() > LONGEST_USAGE {
        print_failure(&usage_failure(error), Mode::Plain);
    } else {
        // A closed stderr cannot report this.
        error.print().unwrap_or_default();
    }
    ExitCode::from(Exit::Usage.code())
}

/// The first paragraph is the message, the tips are the hints.
fn usage_failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let line = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut failure = Failure::new(Code::Usage, "");
    let mut command = "ktx".to_owned();
    for part in text.split("\n\n") {
        if let Some(usage) = part.strip_prefix("Usage: ") {
            command = command_of(usage);
        } else if let Some(message) = part.strip_prefix("error: ") {
            failure.message = shortened(&line(message)).into_owned();
        } else if part.trim_start().starts_with("tip: ") {
            let tips = part.lines().map(str::trim);
            let tips = tips.map(|tip| line(tip.strip_prefix("tip: ").unwrap_or(tip)));
            let tips = tips.filter(|tip| !tip.is_empty());
            failure.hints.extend(tips.map(Hint::new));
        }
    }
    if failure.message.is_empty() {
        // The parser printed the whole help.
        let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
        command = command_of(usage.unwrap_or("ktx"));
        failure.message = format!("`{command}` needs a command");
    }
    failure.hint(format!("run `{command} --help` to see its arguments"))
}

/// The words before options and placeholders.
fn command_of(usage: &str) -> String {
    usage
        .split_whitespace()
        .take_while(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect::<Vec<_>>()
        .join(" ")
}

pub fn cli_markdown() -> String {
    commands::reference::markdown(&mut Cli::command())
}

pub fn config_markdown() -> String {
    ktx_config::reference_markdown()
}

pub fn agent_file_markdown() -> String {
    ktx_agent_file::reference_markdown()
}

pub fn environment_markdown() -> String {
    ktx_config::env::reference_markdown()
}

pub fn tools_markdown() -> String {
    ktx_context_tools::tool_catalogue_markdown(&commands::mcp::further_tools())
}
