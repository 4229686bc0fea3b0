//! A parent process for the tests: makes one call and ends, lives on with a spare, or is the guard.
#![expect(
    clippy::disallowed_methods,
    reason = "the program of a test looks at its own arguments and environment"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher, internal_guard};
use ktx_llm_runtime::{CallLabel, LlmRuntime as _, NoEvents, TextRequest};
use ktx_vocabulary::{ModelRole, RunId};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let outcome = match arguments.next() {
        Some(first) if first == "internal-guard" => {
            internal_guard();
            Ok(())
        }
        Some(first) if first == "text" => text(
            &arguments.map(PathBuf::from).collect::<Vec<_>>(),
            NextStep::Ends,
        ),
        Some(first) if first == "stay" => text(
            &arguments.map(PathBuf::from).collect::<Vec<_>>(),
            NextStep::Stays,
        ),
        _ => Err("driver text|stay <claude> <project> <state>".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            tracing::error!(reason);
            ExitCode::FAILURE
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Ends,
    Stays,
}

fn text(arguments: &[PathBuf], next_step: NextStep) -> Result<(), String> {
    let [program, project, state] = arguments else {
        return Err("three paths are needed".to_owned());
    };
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let mut settings = ClaudeCodeSettings::new(project.clone(), environment, "sonnet");
    settings.program = Some(program.clone());
    settings.state_dir = Some(state.clone());
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    settings.launcher = Launcher::Guarded(this);
    let runtime =
        ClaudeCodeRuntime::new(settings, Arc::new(NoEvents)).map_err(|error| error.message)?;
    let request = TextRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "Say hello.".to_owned(),
        cancel: CancellationToken::new(),
        label: CallLabel {
            run_id: RunId::parse("driver").map_err(|error| error.to_string())?,
            stage: "test".to_owned(),
            unit: None,
            connection: None,
        },
    };
    let threads = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let outcome = threads.block_on(async {
        let outcome = runtime.generate_text(request).await;
        if next_step == NextStep::Stays && outcome.is_ok() {
            std::future::pending::<()>().await;
        }
        outcome
    });
    outcome.map(|_| ()).map_err(|error| error.message)
}
