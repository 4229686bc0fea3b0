//! `ktx status`.

mod checks;
mod connections;
mod facts;
mod report;
mod text;
mod verdict;

use std::sync::Arc;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_llm_runtime::{ProbeReport, ProbeRequest};
use ktx_vocabulary::Backend;
use serde::Serialize;

use crate::cli::StatusArgs;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::{Mode, Printer};
use crate::report::Outcome;
use crate::scanning::probe_failure;
use crate::{clients, compose};

use checks::Checks;
use report::Issue;

pub(crate) enum ModelProbe {
    None,
    Skipped,
    Usable(ProbeReport),
    Unusable(Failure),
}

pub(crate) fn run(args: &StatusArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    if args.validate {
        return validate(invocation, &printer);
    }
    let dir = invocation.project_dir()?;
    let project = match crate::invocation::load(&dir, &invocation.environment) {
        Ok(project) => project,
        Err(failure) if failure.code == Code::MissingProject && printer.mode != Mode::Json => {
            printer.line("No project here yet.")?;
            for hint in &failure.hints {
                printer.note(&format!("hint: {hint}"));
            }
            return Ok(Exit::Success);
        }
        Err(failure) => return Err(failure),
    };
    let checks = if args.fast {
        Checks::none(&project)
    } else {
        clients::check_policies(invocation, &project)?;
        Checks::take(invocation, &project)?
    };
    let probe = probe(args, invocation, &project, &printer)?;
    let is_state_usable = checks.state_problem().is_none();
    let status = facts::status(invocation, &project, &probe, checks);
    if printer.mode == Mode::Json {
        printer.json(&status)?;
    } else {
        let verbosity = if args.verbose {
            text::Verbosity::Full
        } else {
            text::Verbosity::Summary
        };
        printer.page(&text::render(&status, verbosity))?;
    }
    Ok(match probe {
        ModelProbe::Unusable(failure) if failure.exit == Exit::Config => Exit::Config,
        ModelProbe::Unusable(_) => Exit::Model,
        // Every command that changes the project would fail.
        _ if !is_state_usable => Exit::Failure,
        ModelProbe::None | ModelProbe::Skipped | ModelProbe::Usable(_) => Exit::Success,
    })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Validation {
    ok: bool,
    project_dir: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Issue>,
}

fn validate(invocation: &Invocation, printer: &Printer) -> Outcome {
    let dir = invocation.project_dir()?;
    let project = crate::invocation::load(&dir, &invocation.environment)?;
    if printer.mode == Mode::Json {
        printer.json(&Validation {
            ok: true,
            project_dir: dir.display().to_string(),
            warnings: project.warnings.iter().map(Issue::from).collect(),
        })?;
    } else {
        for warning in &project.warnings {
            printer.note(&format!("warning: {warning}"));
        }
        printer.line("ktx.yaml is valid")?;
    }
    Ok(Exit::Success)
}

fn probe(
    args: &StatusArgs,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<ModelProbe> {
    if let Err(failure) = compose::usable_settings(&project.config) {
        return Ok(ModelProbe::Unusable(failure));
    }
    if project.config.llm.backend == Backend::None {
        return Ok(ModelProbe::None);
    }
    if args.fast {
        return Ok(ModelProbe::Skipped);
    }
    let sink = Arc::new(compose::ProbeSink::new(invocation, project, printer));
    let spending = compose::Spending::PROBE;
    let runtime = match compose::llm(invocation, project, &sink, spending) {
        Ok(Some(runtime)) => runtime,
        Ok(None) => return Ok(ModelProbe::None),
        Err(failure) => return Ok(ModelProbe::Unusable(failure)),
    };
    let run = &invocation.run_id;
    let probe = compose::block_on(|cancel| async move {
        let request = ProbeRequest::of(run).cancelled_by(cancel);
        Ok(match runtime.probe(request).await {
            Ok(report) => ModelProbe::Usable(report),
            Err(error) => ModelProbe::Unusable(probe_failure(error)),
        })
    });
    sink.finish();
    probe
}
