//! `ktx agent init`, `list` and `validate`.

use std::path::{Path, PathBuf};

use ktx_agent_file::{
    AgentFile, Capabilities, CaseFile, Embedding, FOLDER, ProjectFacts, agent_files, agent_path,
    has_cases,
};
use ktx_config::EmbeddingsBackend;
use ktx_diagnostics::{Code, Diagnostic, Exit, Failure, Severity, counted, nearest};
use ktx_project_store::write_atomically;
use ktx_vocabulary::Backend;
use serde_json::{Value, json};

use super::agents::WRITES;
use crate::cli::{AgentInitArgs, AgentListArgs, AgentTemplate, AgentValidateArgs};
use crate::context;
use crate::invocation::{Invocation, OpenProject};
use crate::lists::envelope;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::Report as Table;

const PLACEHOLDER: &str = "AGENT_NAME";

impl AgentTemplate {
    const fn text(self) -> &'static str {
        match self {
            Self::Analyst => include_str!("files/templates/analyst.yaml"),
            Self::Reviewer => include_str!("files/templates/reviewer.yaml"),
            Self::Reporter => include_str!("files/templates/reporter.yaml"),
        }
    }
}

pub(super) fn init(args: &AgentInitArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    if let Some(fault) = ktx_agent_file::name_fault(&args.name) {
        return Err(Failure::new(
            Code::InvalidName,
            format!("`{}` cannot be an agent's name: {fault}", args.name),
        ));
    }
    let path = agent_path(&project.dir, &args.name);
    let shown = relative(&path, &project.dir);
    if path.exists() {
        return Err(
            Failure::new(Code::AgentExists, format!("`{shown}` exists already"))
                .hint(format!("check it with `ktx agent validate {}`", args.name))
                .hint("choose another name"),
        );
    }
    let text = args.from.text().replace(PLACEHOLDER, &args.name);
    write_atomically(&path, text.as_bytes())
        .map_err(|error| Failure::from_error(Code::File, &error))?;
    if printer.mode == Mode::Json {
        printer.json(&json!({ "path": shown }))?;
    } else {
        printer.line(&format!("Created {shown}"))?;
        printer.note(&format!(
            "next: edit it, then run `ktx agent validate {}`",
            args.name
        ));
    }
    Ok(Exit::Success)
}

pub(super) fn list(args: &AgentListArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let around = surroundings(invocation, &project, Capabilities::Refused)?;
    let files = all(&project)?;
    let rows: Vec<Row> = files
        .iter()
        .map(|path| Row::of(path, &project.dir, &around))
        .collect();
    if printer.mode == Mode::Json {
        let items: Vec<Value> = rows.iter().map(Row::to_json).collect();
        printer.json(&envelope(&items, "agent list"))?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        printer.note("no agents yet; make one with `ktx agent init analyst`");
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["name", "path", "tools", "state", "description"]);
    for row in &rows {
        let agent = row.agent.as_ref();
        let tools = agent.map_or(String::new(), |agent| agent.tools.len().to_string());
        let description = agent.and_then(|agent| agent.description.as_deref());
        table.row([
            &row.name,
            &row.path,
            &tools,
            &state(&row.faults),
            description.unwrap_or_default(),
        ]);
    }
    table.print(&printer)?;
    Ok(Exit::Success)
}

pub(super) fn listed(invocation: &Invocation, project: &OpenProject) -> Outcome<Value> {
    let around = surroundings(invocation, project, Capabilities::Refused)?;
    let files = all(project)?;
    let rows = files
        .iter()
        .map(|path| Row::of(path, &project.dir, &around).to_json());
    Ok(envelope(&rows.collect::<Vec<Value>>(), "agent list"))
}

pub(super) fn with_schedule(
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<(String, AgentFile)>> {
    let around = surroundings(invocation, project, Capabilities::Refused)?;
    let mut found = Vec::new();
    for path in all(project)? {
        let row = Row::of(&path, &project.dir, &around);
        match row.agent {
            Some(agent) if !agent.schedule.is_empty() => found.push((row.name, agent)),
            Some(_) => {}
            None => printer.note(&format!(
                "warning: `{}` cannot be used; `ktx agent validate {}` says why",
                row.path, row.name
            )),
        }
    }
    Ok(found)
}

struct Row {
    name: String,
    path: String,
    agent: Option<AgentFile>,
    faults: Vec<Diagnostic>,
}

impl Row {
    fn of(path: &Path, project: &Path, around: &ProjectFacts) -> Self {
        let checked = AgentFile::check(path, project, around);
        let stem = path.file_stem().unwrap_or_default();
        Self {
            name: stem.to_string_lossy().into_owned(),
            path: relative(path, project),
            agent: checked.value,
            faults: checked.faults,
        }
    }

    fn to_json(&self) -> Value {
        let of = |severity: Severity| {
            let faults = self.faults.iter();
            let faults = faults.filter(|fault| fault.severity == severity);
            faults.map(fault_json).collect::<Vec<_>>()
        };
        json!({
            "name": self.name,
            "path": self.path,
            "description": self.agent.as_ref().and_then(|agent| agent.description.clone()),
            "valid": self.agent.is_some(),
            "errors": of(Severity::Error),
            "warnings": of(Severity::Warning),
        })
    }
}

pub(super) fn validate(args: &AgentValidateArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let capabilities = if args.allow_ignored_capabilities {
        Capabilities::Ignored
    } else {
        Capabilities::Refused
    };
    let around = surroundings(invocation, &project, capabilities)?;
    let files = if args.files.is_empty() {
        all(&project)?
    } else {
        let named = args.files.iter();
        named
            .map(|name| named_file(name, invocation, &project))
            .collect::<Outcome<Vec<PathBuf>>>()?
    };
    let checked: Vec<Validated> = files
        .iter()
        .map(|path| Validated::of(path, &project, &around))
        .collect();
    let faults = checked.iter().flat_map(|file| &file.faults);
    if printer.mode == Mode::Json {
        let items: Vec<Value> = faults.clone().map(fault_json).collect();
        let mut answer = envelope(&items, "agent validate");
        if let Some(Value::Object(data)) = answer.get_mut("data") {
            let agents: Vec<Value> = checked.iter().filter_map(Validated::agent_json).collect();
            data.insert("agents".to_owned(), json!(agents));
        }
        printer.json(&answer)?;
    } else {
        print(&checked, &printer)?;
    }
    let has_errors = faults
        .into_iter()
        .any(|fault| fault.severity == Severity::Error);
    Ok(if has_errors {
        Exit::Config
    } else {
        Exit::Success
    })
}

struct Validated {
    path: String,
    backend: Option<Backend>,
    faults: Vec<Diagnostic>,
}

impl Validated {
    fn of(path: &Path, project: &OpenProject, around: &ProjectFacts) -> Self {
        let (backend, faults) = if has_cases(path) {
            (None, CaseFile::check(path, &project.dir, around).faults)
        } else {
            let checked = AgentFile::check(path, &project.dir, around);
            let agent = checked.value.as_ref();
            let backend = agent.map(|agent| agent.model.backend(project.config.llm.backend));
            (backend, checked.faults)
        };
        Self {
            path: relative(path, &project.dir),
            backend,
            faults,
        }
    }

    fn agent_json(&self) -> Option<Value> {
        let backend = self.backend?;
        Some(json!({ "path": self.path, "backend": backend.as_str() }))
    }
}

fn print(checked: &[Validated], printer: &Printer) -> Outcome<()> {
    if checked.is_empty() {
        printer.note("no agents yet; make one with `ktx agent init analyst`");
    }
    for Validated { path, faults, .. } in checked {
        for fault in faults {
            printer.note(&format!("{}: {fault}", fault.severity));
            for hint in &fault.hints {
                printer.note(&format!("  hint: {hint}"));
            }
        }
        printer.line(&format!("{path}: {}", state(faults)))?;
    }
    Ok(())
}

fn state(faults: &[Diagnostic]) -> String {
    let count = |severity| {
        let faults = faults.iter();
        faults.filter(|fault| fault.severity == severity).count()
    };
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => "valid".to_owned(),
        (0, warnings) => format!("valid, {}", counted(warnings, "warning")),
        (errors, 0) => counted(errors, "error"),
        (errors, warnings) => format!(
            "{}, {}",
            counted(errors, "error"),
            counted(warnings, "warning")
        ),
    }
}

fn fault_json(fault: &Diagnostic) -> Value {
    let position = fault.location.as_ref().and_then(|place| place.position);
    json!({
        "path": fault.location.as_ref().map(|place| place.file.clone()),
        "line": position.map(|position| position.line),
        "column": position.map(|position| position.column),
        "severity": fault.severity,
        "code": fault.code,
        "message": fault.message,
        "hint": fault.hints.first().map(ToString::to_string),
    })
}

fn all(project: &OpenProject) -> Outcome<Vec<PathBuf>> {
    agent_files(&project.dir).map_err(|error| {
        Failure::from_error(Code::FileUnreadable, &error)
            .context(format!("`{FOLDER}` cannot be listed"))
    })
}

pub(super) fn named_file(
    name: &str,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<PathBuf> {
    let path = invocation.current.join(name);
    if path.is_file() {
        return Ok(path);
    }
    let by_name = agent_path(&project.dir, name);
    if ktx_agent_file::name_fault(name).is_none() && by_name.is_file() {
        return Ok(by_name);
    }
    let files = all(project)?;
    let stems: Vec<String> = files
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    let failure = Failure::new(
        Code::AgentNotFound,
        format!("there is no agent or file `{name}`"),
    );
    let near = nearest(name, stems.iter().map(String::as_str));
    Err(match near.first() {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("list the agents with `ktx agent list`"),
    })
}

pub(super) fn surroundings(
    invocation: &Invocation,
    project: &OpenProject,
    capabilities: Capabilities,
) -> Outcome<ProjectFacts> {
    let context = context::open_for_agent(invocation, project)?;
    let tools = super::agents::project_tools(&context, project)?;
    let writes = WRITES.iter().map(|name| (*name).to_owned());
    let names = tools.iter().map(|tool| tool.name.clone());
    let names = names.chain(writes).collect();
    let connections = project.config.warehouses();
    let connections = connections
        .map(|connection| connection.id.to_string())
        .collect();
    let embedding = match project.config.ingest.embeddings.backend {
        EmbeddingsBackend::None => Embedding::Absent,
        EmbeddingsBackend::OpenAi
        | EmbeddingsBackend::SentenceTransformers
        | EmbeddingsBackend::Table => Embedding::Configured,
    };
    Ok(ProjectFacts {
        tools: Some(names),
        connections: Some(connections),
        backend: Some(project.config.llm.backend),
        embedding,
        capabilities,
    })
}

fn relative(path: &Path, project: &Path) -> String {
    let shown = path.strip_prefix(project).unwrap_or(path);
    shown.display().to_string()
}
