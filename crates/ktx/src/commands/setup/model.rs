//! Writes a backend after an isolated test turn.

use ktx_diagnostics::{Code, Failure};
use std::sync::Arc;

use ktx_config::edit::set;
use ktx_llm_runtime::ProbeReport;
use ktx_vocabulary::{Backend, ModelRole};
use serde_json::Value;

use super::{SetupStep, StepState};
use crate::cli::SetupArgs;
use crate::compose;
use crate::connections::config_file::{current, edit_failure, meaning, write};
use crate::invocation::{Invocation, OpenProject};
use crate::locking::lock;
use crate::report::Outcome;
use crate::scanning::require_usable_now;

pub(super) fn step(
    args: &SetupArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<SetupStep> {
    if let Some(name) = &args.llm_backend {
        let backend = compose::named_backend(name)?;
        return configure(args, backend, invocation, project);
    }
    if args.skip_llm {
        return Ok(SetupStep::new(
            "model",
            StepState::Skipped,
            "scan, search and query need none",
        ));
    }
    compose::usable_settings(&project.config)?;
    if project.config.llm.backend == Backend::None {
        let step = SetupStep::new(
            "model",
            StepState::Missing,
            "descriptions and memory need one",
        );
        return Ok(step
            .hint("`--llm-backend claude-code` uses your own local Claude Code session")
            .hint("`--llm-backend anthropic --anthropic-api-key-env ANTHROPIC_API_KEY` uses a key")
            .hint("`--skip-llm` skips this step"));
    }
    let report = prove(args, invocation, project)?;
    Ok(described(StepState::Ready, project, report.as_ref()))
}

/// Flags of other backends must not be ignored.
pub(super) fn fitting(args: &SetupArgs) -> Outcome<()> {
    let groups = [
        (
            "anthropic",
            "--anthropic-api-key-…",
            args.anthropic_api_key_env.is_some() || args.anthropic_api_key_file.is_some(),
        ),
        (
            "vertex",
            "--vertex-…",
            args.vertex_project.is_some() || args.vertex_location.is_some(),
        ),
    ];
    for (backend, flags, given) in groups {
        if given && args.llm_backend.as_deref() != Some(backend) {
            return Err(Failure::new(
                Code::ConflictingFlags,
                format!("`{flags}` belongs to `--llm-backend {backend}`"),
            )
            .hint("leave the flag out, or choose that backend"));
        }
    }
    Ok(())
}

fn configure(
    args: &SetupArgs,
    backend: Backend,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<SetupStep> {
    let held = lock(project, "ktx setup")?;
    let current = current(project)?;
    let mut text = current.text;
    for (path, value) in settings(args, backend) {
        text = set(&text, &path, &Value::String(value)).map_err(|error| edit_failure(&error))?;
    }
    let edited = OpenProject {
        store: project.store.clone(),
        dir: project.dir.clone(),
        config: meaning(&text)?,
        warnings: Vec::new(),
        lock_wait: project.lock_wait,
        waited: std::sync::Mutex::default(),
    };
    let report = prove(args, invocation, &edited)?;
    write(project, &text)?;
    drop(held);
    let step = described(StepState::Done, &edited, report.as_ref());
    Ok(step.hint("ktx.yaml has uncommitted changes"))
}

fn settings(args: &SetupArgs, backend: Backend) -> Vec<(Vec<&'static str>, String)> {
    let provider = |key| vec!["llm", "provider", key];
    let mut settings = vec![(provider("backend"), backend.as_str().to_owned())];
    if let Some(model) = &args.llm_model {
        settings.push((vec!["llm", "models", "default"], model.clone()));
    }
    let reference = match (&args.anthropic_api_key_env, &args.anthropic_api_key_file) {
        (Some(name), _) => Some(format!("env:{name}")),
        (None, Some(path)) => Some(format!("file:{path}")),
        (None, None) => None,
    };
    if let Some(reference) = reference {
        settings.push((vec!["llm", "provider", "anthropic", "api_key"], reference));
    }
    if let Some(project) = &args.vertex_project {
        settings.push((
            vec!["llm", "provider", "vertex", "project"],
            project.clone(),
        ));
    }
    if let Some(location) = &args.vertex_location {
        let path = vec!["llm", "provider", "vertex", "location"];
        settings.push((path, location.clone()));
    }
    settings
}

fn prove(
    args: &SetupArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Option<ProbeReport>> {
    let printer = invocation.printer(&args.output)?;
    let sink = Arc::new(compose::ProbeSink::new(invocation, project, &printer));
    let runtime = compose::llm_to_try(invocation, project, &sink)?;
    let report = runtime.map(|runtime| require_usable_now(&runtime, invocation));
    sink.finish();
    report.transpose()
}

fn described(state: StepState, project: &OpenProject, report: Option<&ProbeReport>) -> SetupStep {
    let backend = project.config.llm.backend.as_str();
    let detail = match project.config.model(ModelRole::Default) {
        Some(model) => format!("{backend}, model {model}: one turn was answered"),
        None => format!("{backend}: one turn was answered"),
    };
    let mut step = SetupStep::new("model", state, detail);
    for (label, value) in report.iter().flat_map(|report| &report.facts) {
        step = step.hint(format!("{label}: {value}"));
    }
    for warning in report.iter().flat_map(|report| &report.warnings) {
        step = step.hint(format!("warning: {warning}"));
    }
    match compose::ignored_caching_text(&project.config) {
        Some(text) => step.hint(format!("warning: {text}")),
        None => step,
    }
}
