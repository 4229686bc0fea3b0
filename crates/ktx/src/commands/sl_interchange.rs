//! `ktx sl export|import`: sources in the open interchange format, with a report of what is lost.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ktx_context_tools::{ProjectContext, warehouse_of};
use ktx_project_store::ProjectPath;
use ktx_semantic_layer::{
    Catalog, Imported, ImportedSource, InterchangeError, Loss, Origin, Part, SourceFile,
    export_osi, import_osi, place_of, validate,
};
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use crate::cli::{InterchangeFormat, SlExportArgs, SlImportArgs};
use crate::compose;
use crate::exit::Exit;
use crate::printer::{Mode, Printer};
use crate::report::{Failure, Outcome};
use crate::session::{Opened, Session};

/// Whose sources are read or written.
pub(crate) struct Place<'a> {
    pub(crate) session: &'a Session,
    pub(crate) opened: &'a Opened,
    pub(crate) connection: Option<&'a str>,
}

impl Place<'_> {
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
        InterchangeError::NotYaml { .. } | InterchangeError::NoModel => "invalid_interchange",
        InterchangeError::Write { .. } | InterchangeError::Extension { .. } => "internal",
    };
    Failure::from_error(Exit::Config, code, error)
}

/// Writes the sources of a connection.
pub(crate) fn export(
    args: &SlExportArgs,
    place: &Place<'_>,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let InterchangeFormat::Osi = args.format;
    let (id, catalog) = place.catalog(context)?;
    let exported = export_osi(&catalog, id.as_str()).map_err(|error| broken(&error))?;
    if let Some(file) = &args.file {
        let file = place.session.current.join(file);
        ktx_project_store::write_atomically(&file, exported.text.as_bytes())
            .map_err(|error| Failure::from_error(Exit::Failure, "output", &error))?;
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
    // The file itself may stand on stdout: the report goes to stderr.
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

/// Makes sources of a file.
pub(crate) fn import(
    args: &SlImportArgs,
    place: &Place<'_>,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let InterchangeFormat::Osi = args.format;
    let text = read(args, place.session)?;
    let (id, catalog) = place.catalog(context)?;
    let imported = import_osi(&text, &catalog).map_err(|error| broken(&error))?;
    let (fresh, there) = split(&imported, &catalog, args);
    let checked = check(&imported, &catalog);
    let mut written = Vec::new();
    for source in &fresh {
        let path = format!("semantic-layer/{id}/{}", path_of(source, &catalog));
        if !args.dry_run {
            let inside = ProjectPath::parse(&path)
                .map_err(|error| Failure::from_error(Exit::Failure, "internal", &error))?;
            place
                .opened
                .store
                .write(&inside, source.text.as_bytes())
                .map_err(|error| Failure::from_error(Exit::Failure, "output", &error))?;
        }
        written.push(path);
    }
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "connectionId": id.as_str(),
            "format": "osi",
            "written": !args.dry_run,
            "sources": fresh.iter().zip(&written).map(|(source, path)| json!({
                "name": source.name,
                "path": path,
                "text": args.dry_run.then_some(&source.text),
            })).collect::<Vec<_>>(),
            "leftAlone": there,
            "losses": imported.losses,
            "problems": checked,
        }))?;
    } else {
        let word = if args.dry_run { "would write" } else { "wrote" };
        for path in &written {
            printer.line(&format!("{word} {path}"))?;
        }
        for name in &there {
            printer.note(&format!(
                "left alone: {name} is there already; `--replace` replaces it"
            ));
        }
        report(&imported.losses, printer);
        for problem in &checked {
            printer.note(&format!("error: {problem}"));
        }
    }
    Ok(if !checked.is_empty() {
        Exit::Config
    } else if there.is_empty() {
        Exit::Success
    } else {
        Exit::Partial
    })
}

fn read(args: &SlImportArgs, session: &Session) -> Outcome<String> {
    let text = if args.file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(session.current.join(&args.file))
    };
    text.map_err(|error| {
        Failure::from_error(Exit::Usage, "import_file", &error)
            .context(format!("the file `{}` cannot be read", args.file.display()))
    })
}

/// The file of a source that is there already, else the file of its name.
fn path_of(source: &ImportedSource, catalog: &Catalog) -> String {
    match catalog.source(&source.name) {
        Some(known) if !known.path.contains('#') => known.path.clone(),
        _ => source.path.clone(),
    }
}

/// The sources to write, and the names of those that are there and stay.
fn split<'a>(
    imported: &'a Imported,
    catalog: &Catalog,
    args: &SlImportArgs,
) -> (Vec<&'a ImportedSource>, Vec<String>) {
    let list = catalog.list();
    // A source that only a scan knows has no file of its own yet.
    let is_there = |source: &ImportedSource| {
        list.iter()
            .any(|known| known.name == source.name && !known.path.contains('#'))
    };
    let (there, fresh): (Vec<&ImportedSource>, Vec<&ImportedSource>) = imported
        .sources
        .iter()
        .partition(|source| !args.replace && is_there(source));
    let there = there.iter().map(|source| source.name.clone()).collect();
    (fresh, there)
}

/// What the validator says about the sources as they would stand over the scan.
fn check(imported: &Imported, catalog: &Catalog) -> Vec<String> {
    // The relation of a scanned table stands in its shard.
    let shards: BTreeSet<String> = catalog
        .sources()
        .iter()
        .filter(|source| source.origin != Origin::Standalone)
        .map(|source| place_of(catalog, source, &Part::Relation).file)
        .collect();
    let mut files: Vec<SourceFile> = shards
        .iter()
        .filter_map(|shard| Some(SourceFile::new(shard.as_str(), catalog.file_text(shard)?)))
        .collect();
    files.extend(
        imported
            .sources
            .iter()
            .map(|source| SourceFile::new(source.path.as_str(), source.text.as_str())),
    );
    let names: Vec<&str> = imported
        .sources
        .iter()
        .map(|source| source.name.as_str())
        .collect();
    let report = validate(&Catalog::load(files, catalog.dialect()), &[]);
    report
        .errors
        .iter()
        .filter(|found| {
            let source = found.source.as_deref();
            source.is_none_or(|source| names.contains(&source))
        })
        .map(|found| {
            let path = found.path.as_deref().unwrap_or_default();
            format!("{path}: {}: {}", found.kind.as_str(), found.message)
        })
        .collect()
}
