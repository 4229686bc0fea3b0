//! `ktx sl suggest`.

use std::collections::BTreeSet;

use ktx_context_tools::{ProjectContext, source_facts, warehouse_of};
use ktx_diagnostics::{Code, Exit, Failure, excerpt};
use ktx_project_store::ProjectPath;
use ktx_semantic_layer::{Origin, Source, SuggestedItem, Suggestion, overlay, suggest};
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use crate::cli::SlSuggestArgs;
use crate::compose;
use crate::invocation::OpenProject;
use crate::lists::envelope;
use crate::locking::lock;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::aligned;

struct SourceSuggestions<'a> {
    source: &'a Source,
    suggestions: Vec<Suggestion>,
}

pub(crate) fn run(
    args: &SlSuggestArgs,
    connection: Option<&str>,
    project: &OpenProject,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    // Files must not change before writing.
    let held = if args.accept.is_empty() {
        None
    } else {
        Some(lock(project, "ktx sl suggest")?)
    };
    let (id, catalog, snapshot) = compose::block_on(|_| async {
        let warehouse = warehouse_of(context, connection).await?;
        let catalog = context.catalog(&warehouse.id).await?;
        let snapshot = context.snapshot(&warehouse.id).await?;
        Ok::<_, Failure>((warehouse.id, catalog, snapshot))
    })?;
    for name in &args.names {
        if catalog.source(name).is_none() {
            return Err(unknown(Code::UnknownSource, name, "no source has the name"));
        }
    }
    let suggested: Vec<SourceSuggestions<'_>> = catalog
        .sources()
        .iter()
        .filter(|source| source.problem.is_none())
        .filter(|source| args.names.is_empty() || args.names.contains(&source.name))
        .map(|source| SourceSuggestions {
            source,
            suggestions: suggest(&source_facts(source, &catalog, snapshot.as_deref())),
        })
        .collect();
    if held.is_none() {
        return list(&id, &suggested, printer);
    }
    accept(&args.accept, &id, suggested, project, printer)
}

fn unknown(code: Code, name: &str, what: &str) -> Failure {
    Failure::new(code, format!("{what} `{}`", excerpt(name)))
        .hint("run `ktx sl suggest` for all suggestions")
        .ending(Exit::Config)
}

fn list(id: &ConnectionId, suggested: &[SourceSuggestions<'_>], printer: &Printer) -> Outcome {
    let all = || {
        suggested.iter().flat_map(|one| {
            let source = &one.source.name;
            one.suggestions.iter().map(move |each| (source, each))
        })
    };
    let cells = || {
        all().map(|(source, each)| {
            let (kind, name, expr) = described(&each.item);
            [source.as_str(), kind, name, expr, each.reason.as_str()]
        })
    };
    match printer.mode {
        Mode::Json => {
            let items: Vec<_> = cells()
                .map(|[source, kind, name, expr, reason]| {
                    json!({
                        "connectionId": id.as_str(),
                        "source": source,
                        "kind": kind,
                        "name": name,
                        "expr": (!expr.is_empty()).then_some(expr),
                        "reason": reason,
                    })
                })
                .collect();
            printer.json(&envelope(&items, "sl suggest"))?;
        }
        Mode::Plain => {
            let lines: String = cells().map(|cells| cells.join("\t") + "\n").collect();
            printer.page(&lines)?;
        }
        Mode::Pretty if all().next().is_none() => {}
        Mode::Pretty => {
            let headers = ["SOURCE", "KIND", "NAME", "EXPRESSION", "REASON"];
            let rows: Vec<Vec<Option<String>>> = cells()
                .map(|cells| cells.map(|cell| Some(cell.to_owned())).to_vec())
                .collect();
            printer.page(&aligned(&headers.map(str::to_owned), &rows))?;
        }
    }
    printer.note(if all().next().is_none() {
        "nothing to suggest"
    } else {
        "accept them with `ktx sl suggest --accept all`, or with names such as `source` or `source.measure`"
    });
    Ok(Exit::Success)
}

fn described(item: &SuggestedItem) -> (&'static str, &str, &str) {
    match item {
        SuggestedItem::Measure { name, expr } => ("measure", name, expr),
        SuggestedItem::TimeDimension { name } => ("time_dimension", name, ""),
        SuggestedItem::HiddenColumn { name } => ("hidden_column", name, ""),
    }
}

fn accept(
    accepted: &[String],
    id: &ConnectionId,
    suggested: Vec<SourceSuggestions<'_>>,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let mut unused: BTreeSet<&str> = accepted.iter().map(String::as_str).collect();
    let mut written = Vec::new();
    let mut left_alone = Vec::new();
    let mut files = Vec::new();
    for SourceSuggestions {
        source,
        suggestions,
    } in suggested
    {
        let is_whole =
            unused.remove(source.name.as_str()) | accepted.iter().any(|one| one == "all");
        let chosen: Vec<Suggestion> = suggestions
            .into_iter()
            .filter(|each| {
                let (_, name, _) = described(&each.item);
                let full = format!("{}.{name}", source.name);
                unused.remove(full.as_str());
                is_whole || accepted.contains(&full)
            })
            .collect();
        if chosen.is_empty() {
            continue;
        }
        let path = format!("semantic-layer/{id}/{}.yaml", source.name);
        let place = project.dir.join(&path);
        let is_free = std::fs::symlink_metadata(&place).is_err();
        match ProjectPath::parse(&path) {
            Ok(path) if is_free && source.origin == Origin::Manifest => {
                let text = overlay(&source.name, &chosen)
                    .map_err(|error| Failure::from_error(Code::Internal, &error))?;
                files.push((path, text));
            }
            _ => left_alone.push(source.name.clone()),
        }
    }
    unused.remove("all");
    if let Some(name) = unused.first() {
        return Err(unknown(
            Code::UnknownSource,
            name,
            "nothing is suggested for",
        ));
    }
    for (path, text) in files {
        let stored = project.store.write(&path, text.as_bytes());
        stored.map_err(|error| Failure::from_error(Code::Output, &error))?;
        written.push(path.to_string());
    }
    if printer.mode == Mode::Json {
        printer.json(&json!({ "written": written, "leftAlone": left_alone }))?;
    } else {
        for path in &written {
            printer.line(&format!("wrote {path}"))?;
        }
        for name in &left_alone {
            printer.note(&format!(
                "left alone: {name} already has a file; copy what you want from `ktx sl suggest {name}`"
            ));
        }
        if written.is_empty() && left_alone.is_empty() {
            printer.note("nothing to suggest");
        }
    }
    Ok(if left_alone.is_empty() {
        Exit::Success
    } else {
        Exit::Partial
    })
}
