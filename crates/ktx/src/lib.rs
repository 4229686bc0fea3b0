//! The context layer for data agents: one binary.
//!
//! Arguments, composition, printing, prompts, progress, exit codes. A command loads, calls one
//! library function, and prints; logic lives on the floors below.

mod audit;
mod cli;
mod commands;
mod compose;
mod context;
mod demo;
mod exit;
mod printer;
mod progress;
mod report;
mod scanning;
mod session;
mod tables;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use ktx_config::Environment;

pub use cli::Cli;
pub use exit::{Exit, reference_markdown as exit_codes_markdown};

use crate::compose::Telemetry;
use crate::printer::{Mode, print_detail, print_failure};
use crate::report::Failure;
use crate::session::Session;

/// Runs the program with these arguments (the first is its name) and the process's environment.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    // Before anything else starts: the guard is one more process of every command with a model.
    if arguments
        .get(1)
        .is_some_and(|word| word == "internal-guard")
    {
        compose::internal_guard();
        return ExitCode::SUCCESS;
    }
    let json = wants_json(&arguments);
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, json),
    };
    let environment = Environment::from_process();
    let mode = if json || environment.text("KTX_OUTPUT") == Some("json") {
        Mode::Json
    } else {
        Mode::Plain
    };
    let debug = cli.global.debug;
    let telemetry = Telemetry::install(&environment);
    let outcome = Session::start(&cli, environment, telemetry.clone())
        .and_then(|session| commands::run(cli.command, &session));
    telemetry.finish();
    match outcome {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => {
            print_failure(&failure, mode);
            if debug {
                print_detail(&failure);
            }
            ExitCode::from(failure.exit.code())
        }
    }
}

/// Whether failures are wanted as JSON, judged before the arguments are parsed, so that a wrong
/// command line is reported in the form that was asked for.
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

/// Help and version go to stdout and succeed; everything else is a usage error.
fn usage(error: &clap::Error, json: bool) -> ExitCode {
    use clap::error::ErrorKind;
    let shown = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if shown || !json {
        // Nobody is left to tell when the streams are closed.
        error.print().unwrap_or_default();
        let exit = if error.use_stderr() {
            Exit::Usage
        } else {
            Exit::Success
        };
        return ExitCode::from(exit.code());
    }
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    let message = line.strip_prefix("error: ").unwrap_or(line);
    let failure =
        Failure::new(Exit::Usage, "usage", message).hint("run `ktx help` for the commands");
    print_failure(&failure, Mode::Json);
    ExitCode::from(failure.exit.code())
}

/// The reference page of all commands, made from their help.
pub fn cli_markdown() -> String {
    commands::reference::markdown(&mut Cli::command())
}

/// The reference page of `ktx.yaml`.
pub fn config_markdown() -> String {
    ktx_config::reference_markdown()
}

/// The reference page of the environment variables.
pub fn environment_markdown() -> String {
    ktx_config::env::reference_markdown()
}

/// The catalogue of the MCP tools.
pub fn tools_markdown() -> String {
    ktx_context_tools::tool_catalogue_markdown()
}
