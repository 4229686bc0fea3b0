//! `ktx sl export` and `import`.

mod existing;

use ktx_diagnostics::{Code, Exit, Failure};
use std::path::Path;
use std::sync::Arc;

use ktx_context_tools::{ProjectContext, warehouse_of};
use ktx_project_store::ProjectPath;
use ktx_semantic_layer::Catalog;
use ktx_semantic_tools::{InterchangeError, Loss, export_osi, import_osi};
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use crate::cli::{InterchangeFormat, SlExportArgs, SlImportArgs};
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::locking::lock;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};

use existing::{ExistingSources, ImportPlan};

pub(crate) struct ExchangeContext<'a> {
    pub(crate) invocation: &'a Invocation,
    pub(crate) project: &'a OpenProject,
    pub(crate) connection: Option<&'a str>,
}

impl ExchangeContext<'_> {
    fn catalog(&self, context: &dyn ProjectContext) -> Outcome<(ConnectionId, Arc<Catalog>)> {
        compose::block_on(|_| async {
            let warehouse = warehouse_of(context, self.connection).await?;
            let catalog = context.catalog(&warehouse.id).await?;
            Ok((warehouse.id, catalog))
        })
    }
}

fn broken(error: &InterchangeError) -> Failure {
    let code = match error {
        InterchangeError::NotYaml { .. } | InterchangeError::NoModel => Code::InvalidInterchange,
        InterchangeError::Write { .. } | InterchangeError::Extension { .. } => Code::Internal,
    };
    Failure::from_error(code, error).ending(Exit::Config)
}

pub(crate) fn export(
    args: &SlExportArgs,
    exchange: &ExchangeContext<'_>,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let InterchangeFormat::Osi = args.format;
    let (id, catalog) = exchange.catalog(context)?;
    let exported = export_osi(&catalog, id.as_str()).map_err(|error| broken(&error))?;
    if let Some(file) = &args.file {
        let file = exchange.invocation.current.join(file);
        ktx_project_store::write_atomically(&file, exported.text.as_bytes())
            .map_err(|error| Failure::from_error(Code::Output, &error))?;
    }
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "connectionId": id.as_str(),
            "format": "osi",
            "file": args.file.as_ref().map(|file| file.display().to_string()),
            "document": args.file.is_none().then_some(&exported.text),
            "losses": exported.losses,
        }))?;
        return Ok(Exit::Success);
    }
    match &args.file {
        None => printer.out(&exported.text)?,
        Some(file) => {
            let count = catalog.sources().len();
            printer.line(&format!(
                "{count} sources of {id} are in {}",
                file.display()
            ))?;
        }
    }
    // The file can go to stdout, so the report goes to stderr.
    report(&exported.losses, printer);
    Ok(Exit::Success)
}

fn report(losses: &[Loss], printer: &Printer) {
    for loss in losses {
        printer.note(&format!(
            "{}: {}: {}: {}",
            loss.fate.name(),
            loss.place,
            loss.construct,
            loss.message
        ));
    }
    if losses.is_empty() {
        printer.note("nothing is lost");
    }
}

/// Creates all sources, or none if one is invalid.
pub(crate) fn import(
    args: &SlImportArgs,
    exchange: &ExchangeContext<'_>,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let InterchangeFormat::Osi = args.format;
    let text = read(args, exchange.invocation)?;
    // Checked files must not change before writing.
    let held = if args.dry_run {
        None
    } else {
        Some(lock(exchange.project, "ktx sl import")?)
    };
    let (id, catalog) = exchange.catalog(context)?;
    let imported = import_osi(&text, &catalog).map_err(|error| broken(&error))?;
    let existing = ExistingSources::read(&id, exchange.project, &catalog)?;
    let plan = existing.plan(&imported, args);
    let problems = existing.check(&plan, &catalog);
    let writes = !args.dry_run && (problems.is_empty() || args.allow_invalid);
    if writes {
        for fresh in &plan.fresh {
            let path = ProjectPath::parse(&existing.in_project(&fresh.path))
                .map_err(|error| Failure::from_error(Code::Internal, &error))?;
            let written = exchange.project.store.write(&path, fresh.text.as_bytes());
            written.map_err(|error| Failure::from_error(Code::Output, &error))?;
        }
    }
    drop(held);
    let told = ImportSummary {
        existing: &existing,
        plan: &plan,
        problems: &problems,
        writes,
    };
    told.print(args, printer)?;
    Ok(if !problems.is_empty() {
        Exit::Config
    } else if plan.there.is_empty() {
        Exit::Success
    } else {
        Exit::Partial
    })
}

struct ImportSummary<'a> {
    existing: &'a ExistingSources,
    plan: &'a ImportPlan,
    problems: &'a [String],
    writes: bool,
}

impl ImportSummary<'_> {
    fn print(&self, args: &SlImportArgs, printer: &Printer) -> Outcome<()> {
        let fresh = self.plan.fresh.iter();
        let fresh = fresh.map(|fresh| (self.existing.in_project(&fresh.path), fresh));
        if printer.mode == Mode::Json {
            return printer.json(&json!({
                "connectionId": self.existing.id.as_str(),
                "format": "osi",
                "written": self.writes,
                "sources": fresh.map(|(path, source)| json!({
                    "name": source.name,
                    "path": path,
                    "text": (!self.writes).then_some(&source.text),
                })).collect::<Vec<_>>(),
                "leftAlone": self.plan.there,
                "losses": self.plan.losses,
                "problems": self.problems,
            }));
        }
        let word = match (self.writes, args.dry_run) {
            (true, _) => Some("wrote"),
            (false, true) => Some("would write"),
            (false, false) => None,
        };
        if let Some(word) = word {
            for (path, _) in fresh {
                printer.line(&format!("{word} {path}"))?;
            }
        }
        for name in &self.plan.there {
            printer.note(&format!(
                "left alone: {name} already exists; `--replace` replaces it"
            ));
        }
        report(&self.plan.losses, printer);
        for problem in self.problems {
            printer.note(&format!("error: {problem}"));
        }
        if word.is_none() {
            printer.note(
                "nothing was written; correct the file, or write it as it is with `--allow-invalid`",
            );
        }
        Ok(())
    }
}

fn read(args: &SlImportArgs, invocation: &Invocation) -> Outcome<String> {
    let text = if args.file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(invocation.current.join(&args.file))
    };
    text.map_err(|error| {
        Failure::from_error(Code::ImportFile, &error)
            .context(format!("the file `{}` cannot be read", args.file.display()))
    })
}
