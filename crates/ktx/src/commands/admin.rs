//! `ktx admin`.

mod reindex;

use std::path::Path;

use ktx_context_tools::Reindexing;
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_project_store::Force;
use serde_json::{Value, json};

use crate::cli::{AdminArgs, AdminCommand, OutputArgs};
use crate::invocation::{Invocation, init_project};
use crate::printer::Mode;
use crate::report::{Outcome, Report as _};

pub(crate) fn run(args: &AdminArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        AdminCommand::Init { dir, force, output } => {
            let dir = dir.as_ref().map_or_else(
                || invocation.init_dir(),
                |dir| Ok(invocation.current.join(dir)),
            )?;
            let force = if *force { Force::Yes } else { Force::No };
            init_folder(&dir, force, output, invocation)
        }
        AdminCommand::Reindex { force, output } => {
            let reindexing = if *force {
                Reindexing::Everything
            } else {
                Reindexing::Changed
            };
            reindex::run(reindexing, output, invocation)
        }
        AdminCommand::Runtime(other) => runtime(&other.words),
        AdminCommand::Schema {
            sources,
            agent,
            events,
            output,
        } => {
            let schema = match (*sources, *agent, *events) {
                (true, ..) => ktx_semantic_layer::source_schema(),
                (_, true, _) => ktx_agent_file::schema(),
                (.., true) => ktx_agent_session::event_schema(),
                _ => ktx_config::schema(),
            };
            print_schema(&schema, output.as_deref(), invocation)
        }
    }
}

fn init_folder(dir: &Path, force: Force, output: &OutputArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(output)?;
    let initialized = init_project(dir, force, invocation)?;
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "projectDir": dir.display().to_string(),
            "config": dir.join(ktx_config::FILE_NAME).display().to_string(),
            "commit": initialized.commit,
        }))?;
    } else {
        printer.line(&format!("Initialized ktx project at {}", dir.display()))?;
        printer.line(&format!(
            "Config: {}",
            dir.join(ktx_config::FILE_NAME).display()
        ))?;
        printer.line(&format!(
            "Commit: {}",
            initialized.commit.as_deref().unwrap_or("nothing to commit")
        ))?;
        printer.note(
            "next: add a connection to ktx.yaml, then run `ktx connection test` and `ktx scan`",
        );
    }
    Ok(Exit::Success)
}

/// Rejects the runtime commands of KTX 0.12.
fn runtime(words: &[String]) -> Outcome {
    let detail = "ktx is one program: there is no separate runtime to install, start or stop";
    let json = words.iter().any(|word| word == "--json");
    crate::printer::stdout(&if json {
        let answer = json!({ "kind": "ready", "detail": detail, "checks": [] });
        format!("{answer:#}\n")
    } else {
        format!("{detail}\n")
    })?;
    Ok(Exit::Success)
}

fn print_schema(schema: &Value, file: Option<&Path>, invocation: &Invocation) -> Outcome {
    let text = format!("{schema:#}\n");
    match file {
        None => crate::printer::stdout(&text)?,
        Some(file) => {
            let file = invocation.current.join(file);
            ktx_project_store::write_atomically(&file, text.as_bytes())
                .map_err(|error| Failure::from_error(Code::Output, &error))?;
        }
    }
    Ok(Exit::Success)
}
