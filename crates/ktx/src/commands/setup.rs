//! `ktx setup`, which stores no state and can be repeated. A failed step does not stop later ones.

mod agents;
mod connect;
mod database;
mod history;
mod model;
mod source;

use ktx_diagnostics::{Code, Exit, Failure, Hint};
use ktx_project_store::Force;
use serde_json::{Value, json};

use crate::cli::SetupArgs;
use crate::foreign::one_line;
use crate::invocation::{Invocation, OpenProject, init_project, load};
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepState {
    Done,
    Ready,
    Skipped,
    /// Not configured; no flag adds it.
    Missing,
    Failed,
}

impl StepState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Ready => "ready",
            Self::Skipped => "skipped",
            Self::Missing => "missing",
            Self::Failed => "failed",
        }
    }
}

pub(super) struct SetupStep {
    pub name: &'static str,
    pub state: StepState,
    pub detail: String,
    code: Option<Code>,
    pub hints: Vec<Hint>,
}

impl SetupStep {
    pub(super) fn new(name: &'static str, state: StepState, detail: impl Into<String>) -> Self {
        Self {
            name,
            state,
            detail: detail.into(),
            code: None,
            hints: Vec::new(),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(Hint::new(hint));
        self
    }

    fn failed(name: &'static str, failure: &Failure) -> Self {
        let parts = std::iter::once(&failure.message).chain(&failure.causes);
        let detail: Vec<&str> = parts.map(String::as_str).collect();
        Self {
            code: Some(failure.code),
            hints: failure.hints.clone(),
            ..Self::new(name, StepState::Failed, detail.join(": "))
        }
    }

    fn to_json(&self) -> Value {
        let mut step = json!({
            "step": self.name,
            "status": self.state.as_str(),
            "detail": self.detail,
            "hints": self.hints,
        });
        if let (Value::Object(map), Some(code)) = (&mut step, &self.code) {
            map.insert("code".to_owned(), json!(code));
        }
        step
    }
}

/// Prints each step immediately: the next one can be slow or fail.
struct SetupSteps<'a> {
    printer: &'a Printer,
    all: Vec<SetupStep>,
    failure: Option<Failure>,
}

impl SetupSteps<'_> {
    /// Only usage errors and interrupts end the command.
    fn take(&mut self, name: &'static str, step: Outcome<Option<SetupStep>>) -> Outcome<()> {
        let step = match step {
            Ok(None) => return Ok(()),
            Ok(Some(step)) => step,
            Err(failure) if matches!(failure.exit, Exit::Usage | Exit::Interrupted) => {
                return Err(failure);
            }
            Err(failure) => {
                let step = SetupStep::failed(name, &failure);
                self.failure.get_or_insert(failure);
                step
            }
        };
        if self.printer.mode != Mode::Json {
            let (name, state) = (step.name, step.state.as_str());
            self.printer
                .line(&format!("{name:<9} {state:<8} {}", one_line(&step.detail)))?;
            for hint in &step.hints {
                self.printer.line(&format!("{:<18} {hint}", ""))?;
            }
        }
        self.all.push(step);
        Ok(())
    }

    fn names(&self, state: StepState) -> Vec<&'static str> {
        let found = self.all.iter().filter(|step| step.state == state);
        found.map(|step| step.name).collect()
    }
}

pub(crate) fn run(args: &SetupArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    model::fitting(args)?;
    database::fitting(args)?;
    source::fitting(args)?;
    let (opened, project) = project(args, invocation)?;
    let mut steps = SetupSteps {
        printer: &printer,
        all: Vec::new(),
        failure: None,
    };
    steps.take("project", Ok(Some(opened)))?;
    steps.take("model", model::step(args, invocation, &project).map(Some))?;
    let project = load(&project.dir, &invocation.environment)?;
    let database = database::step(args, invocation, &project);
    steps.take("database", database.map(Some))?;
    let project = load(&project.dir, &invocation.environment)?;
    steps.take("history", history::step(args, invocation, &project))?;
    let project = load(&project.dir, &invocation.environment)?;
    steps.take("source", source::step(args, invocation, &project))?;
    let project = load(&project.dir, &invocation.environment)?;
    let agents = agents::step(args, invocation, &project);
    steps.take("agents", agents.map(Some))?;
    finish(steps, &project)
}

fn finish(steps: SetupSteps<'_>, project: &OpenProject) -> Outcome {
    let printer = steps.printer;
    let failed = steps.names(StepState::Failed);
    let is_whole = failed.is_empty() && steps.names(StepState::Missing).is_empty();
    let next = next(&steps.all, project);
    if printer.mode == Mode::Json {
        let items: Vec<Value> = steps.all.iter().map(SetupStep::to_json).collect();
        printer.json(&json!({
            "projectDir": project.dir.display().to_string(),
            "ready": is_whole,
            "steps": items,
            "nextActions": next,
        }))?;
    } else {
        for action in next {
            printer.line(&format!("next: {action}"))?;
        }
    }
    match steps.failure {
        Some(failure) if printer.mode == Mode::Json => Ok(failure.exit),
        Some(failure) => Err(Failure {
            message: format!("setup is not finished: {} failed", failed.join(", ")),
            causes: Vec::new(),
            hints: vec![Hint::new("fix that and run the command again")],
            ..failure
        }),
        None if is_whole => Ok(Exit::Success),
        None => Ok(Exit::Partial),
    }
}

fn next(steps: &[SetupStep], project: &OpenProject) -> Vec<&'static str> {
    let is_there = |name: &str| {
        let mut states = steps.iter().filter(|step| step.name == name);
        states.any(|step| matches!(step.state, StepState::Done | StepState::Ready))
    };
    let mut next = Vec::new();
    if is_there("database") && !project.dir.join("semantic-layer").is_dir() {
        next.push(if is_there("model") {
            "run `ktx ingest` to read the warehouse and describe it"
        } else {
            "run `ktx scan` to read the warehouse"
        });
    }
    next.push("run `ktx status` to see what works");
    next
}

fn project(args: &SetupArgs, invocation: &Invocation) -> Outcome<(SetupStep, OpenProject)> {
    let dir = invocation.project_dir()?;
    match load(&dir, &invocation.environment) {
        Ok(project) => {
            let step = SetupStep::new("project", StepState::Ready, dir.display().to_string());
            Ok((step, project))
        }
        Err(failure) if failure.code == Code::MissingProject && args.yes => {
            let dir = invocation.init_dir()?;
            init_project(&dir, Force::No, invocation)?;
            let step = SetupStep::new("project", StepState::Done, dir.display().to_string());
            Ok((step, load(&dir, &invocation.environment)?))
        }
        Err(failure) if failure.code == Code::MissingProject => Err(Failure {
            hints: vec![
                Hint::new("add `--yes` to create one in this folder"),
                Hint::new("name another folder with `--project-dir`"),
            ],
            ..failure
        }),
        Err(failure) => Err(failure),
    }
}
