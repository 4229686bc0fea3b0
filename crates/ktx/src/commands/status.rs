//! `ktx status`: what works in this project and what is missing.

mod checks;
mod looks;
mod text;

use std::sync::Arc;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_llm_runtime::{ProbeReport, ProbeRequest};
use ktx_vocabulary::Backend;
use serde_json::{Value, json};

use crate::cli::StatusArgs;
use crate::compose;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;
use crate::scanning::probe_failure;
use crate::session::{Opened, Session};

pub(crate) use checks::ignored_caching_text;

/// The result of the model backend's probe.
pub(crate) enum Probe {
    /// No backend is configured.
    None,
    /// It was not asked.
    Skipped,
    Usable(ProbeReport),
    /// It cannot be used.
    Unusable(Failure),
}

pub(crate) fn run(args: &StatusArgs, session: &Session) -> Outcome {
    let printer = session.printer(&args.output)?;
    if args.validate {
        return validate(session, &printer);
    }
    let dir = session.project_dir()?;
    let opened = match crate::session::load(&dir, &session.environment) {
        Ok(opened) => opened,
        Err(failure) if failure.code == Code::MissingProject && printer.mode != Mode::Json => {
            printer.line("No project here yet.")?;
            for hint in &failure.hints {
                printer.note(&format!("hint: {hint}"));
            }
            return Ok(Exit::Success);
        }
        Err(failure) => return Err(failure),
    };
    let looks = if args.fast {
        looks::Looks::none(&opened)?
    } else {
        looks::Looks::take(session, &opened)?
    };
    let probe = probe(args, session, &opened, &printer)?;
    let status = checks::status(session, &opened, &probe, &looks);
    if printer.mode == Mode::Json {
        printer.json(&status)?;
    } else {
        printer.page(&text::render(&status, args.verbose))?;
    }
    Ok(match probe {
        Probe::Unusable(failure) if failure.exit == Exit::Config => Exit::Config,
        Probe::Unusable(_) => Exit::Model,
        // Every command that changes the project would fail on it.
        _ if looks.state_problem().is_some() => Exit::Failure,
        Probe::None | Probe::Skipped | Probe::Usable(_) => Exit::Success,
    })
}

/// Checks only `ktx.yaml`.
fn validate(session: &Session, printer: &Printer) -> Outcome {
    let dir = session.project_dir()?;
    let opened = crate::session::load(&dir, &session.environment)?;
    let warnings: Vec<Value> = opened.warnings.iter().map(checks::issue).collect();
    if printer.mode == Mode::Json {
        let mut answer = json!({ "ok": true, "projectDir": dir.display().to_string() });
        if let Value::Object(map) = &mut answer
            && !warnings.is_empty()
        {
            map.insert("warnings".to_owned(), json!(warnings));
        }
        printer.json(&answer)?;
    } else {
        for warning in &opened.warnings {
            printer.note(&format!("warning: {warning}"));
        }
        printer.line("ktx.yaml is valid")?;
    }
    Ok(Exit::Success)
}

fn probe(
    args: &StatusArgs,
    session: &Session,
    opened: &Opened,
    printer: &Printer,
) -> Outcome<Probe> {
    if let Err(failure) = compose::usable_settings(&opened.config) {
        return Ok(Probe::Unusable(failure));
    }
    if opened.config.llm.backend == Backend::None {
        return Ok(Probe::None);
    }
    if args.fast {
        return Ok(Probe::Skipped);
    }
    let sink = Arc::new(compose::ProbeSink::new(session, opened, printer));
    let spending = compose::Spending::PROBE;
    let runtime = match compose::llm(session, opened, &sink, spending) {
        Ok(Some(runtime)) => runtime,
        Ok(None) => return Ok(Probe::None),
        Err(failure) => return Ok(Probe::Unusable(failure)),
    };
    let run = &session.run_id;
    let probe = compose::block_on(|cancel| async move {
        let request = ProbeRequest::of(run).cancelled_by(cancel);
        Ok(match runtime.probe(request).await {
            Ok(report) => Probe::Usable(report),
            Err(error) => Probe::Unusable(probe_failure(error)),
        })
    });
    sink.finish();
    probe
}
