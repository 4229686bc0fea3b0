//! `ktx setup`: project, model, warehouse, context source and agent, each tried at once.
//!
//! Setup keeps no state of its own: what is configured is done, what is missing is named with the
//! flags that add it, and the command can be run again at any time.

mod agents;
mod connect;
mod database;
mod history;
mod model;
mod source;

use ktx_project_store::Force;
use serde_json::{Value, json};

use super::admin;
use crate::cli::SetupArgs;
use crate::exit::Exit;
use crate::printer::{Mode, Printer};
use crate::report::{Failure, Outcome};
use crate::session::{Opened, Session, load};

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// This run did it.
    Done,
    /// It was in place, and it works.
    Ready,
    /// The user wants to do without.
    Skipped,
    /// It is not there, and nothing said how to add it.
    Missing,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Ready => "ready",
            Self::Skipped => "skipped",
            Self::Missing => "missing",
        }
    }
}

/// One part of a working project.
pub(super) struct Step {
    pub name: &'static str,
    pub state: State,
    pub detail: String,
    /// What else there is to know or to do.
    pub hints: Vec<String>,
}

impl Step {
    pub(super) fn new(name: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self {
            name,
            state,
            detail: detail.into(),
            hints: Vec::new(),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    fn to_json(&self) -> Value {
        json!({
            "step": self.name,
            "status": self.state.as_str(),
            "detail": self.detail,
            "hints": self.hints,
        })
    }
}

/// Does what the flags say and tells what is missing.
pub(crate) fn run(args: &SetupArgs, session: &Session) -> Outcome {
    let printer = session.printer(&args.output)?;
    model::fitting(args)?;
    database::fitting(args)?;
    source::fitting(args)?;
    let (project, opened) = project(args, session)?;
    let mut steps = Vec::new();
    report(&printer, &mut steps, project)?;
    report(&printer, &mut steps, model::step(args, session, &opened)?)?;
    let opened = load(&opened.dir, &session.environment)?;
    report(
        &printer,
        &mut steps,
        database::step(args, session, &opened)?,
    )?;
    let opened = load(&opened.dir, &session.environment)?;
    if let Some(step) = history::step(args, session, &opened)? {
        report(&printer, &mut steps, step)?;
    }
    let opened = load(&opened.dir, &session.environment)?;
    if let Some(step) = source::step(args, session, &opened)? {
        report(&printer, &mut steps, step)?;
    }
    let opened = load(&opened.dir, &session.environment)?;
    report(&printer, &mut steps, agents::step(args, session, &opened)?)?;
    finish(&printer, &steps, &opened)
}

/// Tells a step at once: the next one may take its time or fail.
fn report(printer: &Printer, steps: &mut Vec<Step>, step: Step) -> Outcome<()> {
    if printer.mode != Mode::Json {
        let (name, state) = (step.name, step.state.as_str());
        printer.line(&format!("{name:<9} {state:<8} {}", step.detail))?;
        for hint in &step.hints {
            printer.line(&format!("{:<18} {hint}", ""))?;
        }
    }
    steps.push(step);
    Ok(())
}

fn finish(printer: &Printer, steps: &[Step], opened: &Opened) -> Outcome {
    let missing = steps.iter().any(|step| step.state == State::Missing);
    let next = next(steps, opened);
    if printer.mode == Mode::Json {
        let steps: Vec<Value> = steps.iter().map(Step::to_json).collect();
        printer.json(&json!({
            "projectDir": opened.dir.display().to_string(),
            "ready": !missing,
            "steps": steps,
            "nextActions": next,
        }))?;
    } else {
        for action in next {
            printer.line(&format!("next: {action}"))?;
        }
    }
    Ok(if missing {
        Exit::Partial
    } else {
        Exit::Success
    })
}

fn next(steps: &[Step], opened: &Opened) -> Vec<&'static str> {
    let is_there = |name: &str| {
        let mut states = steps.iter().filter(|step| step.name == name);
        states.any(|step| matches!(step.state, State::Done | State::Ready))
    };
    let mut next = Vec::new();
    if is_there("database") && !opened.dir.join("semantic-layer").is_dir() {
        next.push(if is_there("model") {
            "run `ktx ingest` to read the warehouse and describe it"
        } else {
            "run `ktx scan` to read the warehouse"
        });
    }
    next.push("run `ktx status` to see what works");
    next
}

fn project(args: &SetupArgs, session: &Session) -> Outcome<(Step, Opened)> {
    let dir = session.project_dir()?;
    match load(&dir, &session.environment) {
        Ok(opened) => {
            let step = Step::new("project", State::Ready, dir.display().to_string());
            Ok((step, opened))
        }
        Err(failure) if failure.code == "missing_project" && args.yes => {
            let dir = session.init_dir()?;
            admin::make(&dir, Force::No, session)?;
            let step = Step::new("project", State::Done, dir.display().to_string());
            Ok((step, load(&dir, &session.environment)?))
        }
        Err(failure) if failure.code == "missing_project" => Err(Failure {
            hints: vec![
                "add `--yes` to make one in this folder".to_owned(),
                "name another folder with `--project-dir`".to_owned(),
            ],
            ..failure
        }),
        Err(failure) => Err(failure),
    }
}
