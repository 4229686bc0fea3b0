//! `ktx demo`.

mod folder;
mod story;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ktx_config::FILE_NAME;
use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_project_store::{Change, Force, ProjectPath, PublishRequest, Store};
use ktx_scan::{ScanMode, Writing};
use ktx_usage_ledger::Limits;
use ktx_vocabulary::Backend;
use serde_json::{Value, json};

use crate::cli::DemoArgs;
use crate::compose;
use crate::connections;
use crate::demo::{files, warehouse};
use crate::ingesting;
use crate::invocation::{Invocation, OpenProject, init_project, load};
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::scanning::{Job, paused, require_usable_now, scan_all};
use crate::shell::quoted;
use folder::{DemoFolder, DemoState, EarlierDemo, Overwrite};

pub(crate) fn run(args: &DemoArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    // Moved folders must be restored from the first step on.
    compose::listen();
    let place = DemoFolder::new(plain(&invocation.current.join(&args.dir)), invocation);
    // Refuses before any change or cost.
    let overwrite = if args.force {
        Overwrite::Allowed
    } else {
        Overwrite::Refused
    };
    for note in place.recover(overwrite)? {
        printer.note(&note);
    }
    let earlier = place.refuse_occupied(overwrite)?;
    place.refuse_committed()?;
    let event_buffer = Arc::<compose::EventBuffer>::default();
    let outcome = build_in(&place, earlier, args, &event_buffer, invocation, &printer);
    if outcome.is_err()
        && earlier == EarlierDemo::Replace
        && let Ok(project) = load(place.dir(), &invocation.environment)
    {
        pass_on(&event_buffer, invocation, &project, &printer);
    }
    outcome
}

/// A path with `.` or `..` cannot be renamed.
fn plain(path: &Path) -> PathBuf {
    let has_parents = path
        .components()
        .any(|part| part == std::path::Component::ParentDir);
    match path.canonicalize() {
        Ok(found) if has_parents => found,
        _ => path.components().collect(),
    }
}

fn build_in(
    place: &DemoFolder<'_>,
    earlier: EarlierDemo,
    args: &DemoArgs,
    event_buffer: &Arc<compose::EventBuffer>,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome {
    // A failed login must not change anything.
    let probed_backend = args
        .backend
        .as_deref()
        .map(|name| probed_backend(name, event_buffer, invocation));
    let probed_backend = probed_backend.transpose()?;
    let teller = StoryPrinter {
        printer: printer.clone(),
    };
    let build = || {
        build(
            place,
            earlier,
            probed_backend.as_ref(),
            invocation,
            printer,
            &teller,
        )
    };
    match earlier {
        EarlierDemo::None => build(),
        EarlierDemo::Replace => place.replaced(build),
    }
}

fn pass_on(
    event_buffer: &compose::EventBuffer,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) {
    let sink = compose::ProbeSink::new(invocation, project, printer);
    event_buffer.pass_on(&sink);
    sink.finish();
}

struct ProbedBackend {
    backend: Backend,
    event_buffer: Arc<compose::EventBuffer>,
}

fn probed_backend(
    name: &str,
    event_buffer: &Arc<compose::EventBuffer>,
    invocation: &Invocation,
) -> Outcome<ProbedBackend> {
    let backend = compose::named_backend(name)?;
    // No project exists yet, and the model must not see the current folder.
    let nowhere = tempfile::tempdir().map_err(|error| {
        Failure::from_error(Code::DemoFiles, &error).context("no temporary folder can be created")
    })?;
    let event_buffer = Arc::clone(event_buffer);
    let events = Arc::clone(&event_buffer);
    let runtime = compose::llm_for(invocation, nowhere.path(), backend, events)?;
    require_usable_now(&runtime, invocation)?;
    Ok(ProbedBackend {
        backend,
        event_buffer,
    })
}

fn build(
    place: &DemoFolder<'_>,
    earlier: EarlierDemo,
    probed_backend: Option<&ProbedBackend>,
    invocation: &Invocation,
    printer: &Printer,
    teller: &StoryPrinter,
) -> Outcome {
    let dir = place.dir();
    teller.say(&format!("1  a project in {}", dir.display()));
    place.record(earlier, DemoState::Begun)?;
    let project = make(
        dir,
        probed_backend.map(|probed_backend| probed_backend.backend),
        invocation,
    )?;
    if let Some(probed_backend) = probed_backend {
        pass_on(&probed_backend.event_buffer, invocation, &project, printer);
    }
    project.store.failpoint("demo:made");
    teller.say("2  a warehouse: an online coffee shop with the usual traps");
    let rows = fill(&project)?;
    teller.say(&format!("   13 tables, {rows} rows"));
    teller.say("3  scan: structure, values and joins, without a model");
    let scan = scan(invocation, &project, printer)?;
    teller.say(&format!("   {}", scan.line()));
    let (model, described) = match probed_backend {
        None => (Value::Null, Exit::Success),
        Some(_) => describe(invocation, &project, printer, teller)?,
    };
    // From here on the paid result stays, even if the story fails.
    place.record(earlier, DemoState::Whole)?;
    project.store.failpoint("demo:whole");
    let story = story::tell(invocation, &project, teller)?;
    let attach = attach(dir, invocation);
    let tests = tests(dir, invocation);
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "projectDir": dir.display().to_string(),
            "warehouse": { "tables": 13, "rows": rows },
            "scan": scan.json(),
            "model": model,
            "validation": story.validation,
            "search": story.search,
            "question": story.question,
            "attach": attach,
            "test": tests,
        }))?;
    } else {
        printer.line("")?;
        printer.line("attach an agent:")?;
        printer.line(&format!(
            "  {}",
            attach["claude"].as_str().unwrap_or_default()
        ))?;
        printer.line("or let any MCP client start:")?;
        printer.line(&format!(
            "  {}",
            attach["command"].as_str().unwrap_or_default()
        ))?;
        printer.line("run the 30 test cases of its agent, without a model:")?;
        printer.line(&format!(
            "  {}",
            tests["cases"].as_str().unwrap_or_default()
        ))?;
        printer.line("or ask a model, once `ktx setup` has connected one, and see whether the layer helps it:")?;
        printer.line(&format!(
            "  {}",
            tests["ablation"].as_str().unwrap_or_default()
        ))?;
    }
    Ok(if story.agrees {
        described
    } else {
        Exit::Failure
    })
}

#[derive(Clone)]
pub(crate) struct StoryPrinter {
    printer: Printer,
}

impl StoryPrinter {
    pub(crate) fn say(&self, text: &str) {
        if self.printer.mode != Mode::Json && self.printer.line(text).is_err() {
            // The reader is gone; the project is still created.
        }
    }
}

fn make(dir: &Path, backend: Option<Backend>, invocation: &Invocation) -> Outcome<OpenProject> {
    let store = init_project(dir, Force::No, invocation)?.store;
    let publisher = store
        .publisher()
        .map_err(|error| Failure::from_error(Code::PublishFailed, &error).with_hints(&error))?;
    let failed = |error: ktx_project_store::PublishError| {
        Failure::from_error(Code::PublishFailed, &error).with_hints(&error)
    };
    let base = publisher.begin().map_err(failed)?;
    let mut changes = Vec::new();
    for (path, text) in files::FILES {
        let text = match backend {
            Some(backend) if path == FILE_NAME => configured(text, backend)?,
            _ => text.to_owned(),
        };
        changes.push(Change::write(project_path(path)?, text));
    }
    changes.push(Change::write(project_path(".gitignore")?, "warehouse.db\n"));
    let message = "ktx demo: a sample project\n";
    let request = PublishRequest {
        changes: &changes,
        message,
        at: invocation.now,
    };
    publisher.publish(&base, &request).map_err(failed)?;
    load(dir, &invocation.environment)
}

fn configured(text: &str, backend: Backend) -> Outcome<String> {
    let edited = ktx_config::edit::set(
        text,
        &["llm", "provider", "backend"],
        &Value::String(backend.as_str().to_owned()),
    );
    edited.map_err(|error| Failure::from_error(Code::Internal, &error))
}

fn project_path(text: &str) -> Outcome<ProjectPath> {
    ProjectPath::parse(text).map_err(|error| Failure::from_error(Code::Internal, &error))
}

/// Renames the database when complete.
fn fill(project: &OpenProject) -> Outcome<i64> {
    let place = database(&project.store);
    let failed = |error: &(dyn std::error::Error + 'static)| {
        Failure::from_error(Code::DemoWarehouse, error)
            .context("the sample warehouse cannot be created")
    };
    ktx_project_store::remove(&place).map_err(|error| failed(&error))?;
    warehouse::create(&place).map_err(|error| failed(&error))
}

fn database(store: &Store) -> PathBuf {
    store.layout().root().join("warehouse.db")
}

struct ScanFacts {
    tables: u64,
    joins: usize,
    review: usize,
    commit: Option<String>,
}

impl ScanFacts {
    fn line(&self) -> String {
        format!(
            "{}, {} found, {} to review",
            counted(self.tables, "table"),
            counted(self.joins, "join"),
            self.review
        )
    }

    fn json(&self) -> Value {
        json!({
            "tables": self.tables,
            "joinsAccepted": self.joins,
            "joinsToReview": self.review,
            "commit": self.commit,
        })
    }
}

fn scan(invocation: &Invocation, project: &OpenProject, printer: &Printer) -> Outcome<ScanFacts> {
    let quiet = Printer {
        interactive: false,
        mode: Mode::Json,
    };
    let printer = if printer.interactive { printer } else { &quiet };
    let connection = connections::warehouse(&project.config, None)?;
    let job = Job {
        connection,
        mode: ScanMode::Relationships,
        writing: Writing::Publish,
        runtime: None,
        reuse: ktx_scan::Reuse::Unchanged,
        budget: ktx_scan::Budget::default(),
        history: crate::cli::QueryHistoryArgs::default(),
    };
    let results = scan_all("ktx demo", vec![job], invocation, project, printer)?;
    let Some((_, result)) = results.into_iter().next() else {
        return Err(Failure::new(Code::Internal, "nothing was scanned"));
    };
    let scanned = result?;
    let report = &scanned.outcome.report;
    let diff = &report.diff_summary;
    let count = diff.tables_added + diff.tables_modified + diff.tables_unchanged;
    Ok(ScanFacts {
        tables: u64::try_from(count).unwrap_or(u64::MAX),
        joins: report.relationships.accepted,
        review: report.relationships.review,
        commit: scanned.published.and_then(|published| published.commit),
    })
}

fn describe(
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
    teller: &StoryPrinter,
) -> Outcome<(Value, Exit)> {
    teller.say(&format!(
        "   descriptions by {}",
        project.config.llm.backend.as_str()
    ));
    let invocation = invocation.next_run()?;
    let results = ingesting::describe_all(Limits::default(), &invocation, project, printer)?;
    let (exit, event_buffer) = match paused(&results) {
        Some(paused) => (
            ingesting::pause_exit(paused),
            Some(ingesting::pause_text(paused)),
        ),
        None if ingesting::undescribed(&results) => {
            (Exit::Partial, Some(ingesting::ASK_AGAIN.to_owned()))
        }
        None => (Exit::Success, None),
    };
    let Some((_, result)) = results.into_iter().next() else {
        return Err(Failure::new(Code::Internal, "nothing was ingested"));
    };
    let scanned = result?;
    let commit = scanned.published.and_then(|published| published.commit);
    teller.say(&format!(
        "   {} model calls, one commit",
        scanned.outcome.model_calls
    ));
    for warning in &scanned.outcome.report.warnings {
        printer.note(&format!("warning: {}", warning.message));
    }
    if let Some(event_buffer) = event_buffer {
        printer.notes(event_buffer.trim_end());
    }
    let model = json!({
        "backend": project.config.llm.backend.as_str(),
        "modelCalls": scanned.outcome.model_calls,
        "commit": commit,
    });
    Ok((model, exit))
}

fn started(dir: &Path, invocation: &Invocation) -> String {
    let program = invocation
        .program
        .as_ref()
        .map_or_else(|| "ktx".to_owned(), |program| program.display().to_string());
    format!(
        "{} --project-dir {}",
        quoted(&program),
        quoted(&dir.display().to_string())
    )
}

fn attach(dir: &Path, invocation: &Invocation) -> Value {
    let serve = format!("{} mcp stdio", started(dir, invocation));
    json!({ "command": serve, "claude": format!("claude mcp add ktx -- {serve}") })
}

fn tests(dir: &Path, invocation: &Invocation) -> Value {
    let test = format!("{} agent test", started(dir, invocation));
    json!({
        "cases": format!("{test} --runner planner"),
        "ablation": format!("{test} --ablation"),
    })
}
