//! `ktx sl`: list, search, read and check sources.

mod diff;
mod interchange;
mod query;
mod suggest;
mod upkeep;
mod validate;

use std::io::BufRead as _;
use std::path::Path;

use ktx_context_tools::wire::{SourceHit, SourceItem};
use ktx_context_tools::{list_sources, read_source, search_sources};
use ktx_diagnostics::{Code, Exit, Failure, Severity, excerpt};
use ktx_semantic_layer::{SourceFile, conformance};

use crate::cli::{SlArgs, SlCommand};
use crate::compose;
use crate::context;
use crate::invocation::Invocation;
use crate::lists::{envelope, found, note_near_command, warn};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::aligned;

use interchange::ExchangeContext;
use upkeep::FormatMode;

/// On the command line a missing source is a usage error; in a query it is a refusal.
fn not_there(failure: Failure) -> Failure {
    if failure.code != Code::UnknownSource {
        return failure;
    }
    let failure = failure.ending(Exit::Config);
    if failure.hints.is_empty() {
        failure.hint("run `ktx sl` for all sources")
    } else {
        failure
    }
}

pub(crate) fn run(args: &SlArgs, invocation: &Invocation) -> Outcome {
    if matches!(args.command, Some(SlCommand::Conformance)) {
        return answer_conformance();
    }
    let printer = invocation.printer(&args.output)?;
    if let Some(SlCommand::Query(query)) = &args.command {
        return query::run(args, query, invocation, &printer);
    }
    let project = open_project(invocation, &printer)?;
    let context = context::open(invocation, &project)?;
    let connection = args.connection_id.as_deref();
    match &args.command {
        Some(SlCommand::Read { name }) => {
            let source = compose::block_on(|_| async {
                read_source(context.as_ref(), connection, name)
                    .await
                    .map_err(not_there)
            })?;
            if printer.mode == Mode::Json {
                printer.json(&source)?;
            } else {
                printer.out(&source.yaml)?;
            }
            Ok(Exit::Success)
        }
        Some(SlCommand::Validate(args)) => {
            validate::run(args, connection, context.as_ref(), &printer)
        }
        Some(SlCommand::Diff(args)) => {
            diff::run(args, connection, &project, context.as_ref(), &printer)
        }
        Some(SlCommand::Export(args)) => {
            let exchange = ExchangeContext {
                invocation,
                project: &project,
                connection,
            };
            interchange::export(args, &exchange, context.as_ref(), &printer)
        }
        Some(SlCommand::Import(args)) => {
            let exchange = ExchangeContext {
                invocation,
                project: &project,
                connection,
            };
            interchange::import(args, &exchange, context.as_ref(), &printer)
        }
        Some(SlCommand::Graph { format }) => {
            upkeep::graph(*format, connection, context.as_ref(), &printer)
        }
        Some(SlCommand::Fmt { check, .. }) => {
            let tidying = if *check {
                FormatMode::Check
            } else {
                FormatMode::Write
            };
            upkeep::fmt(tidying, connection, &project, context.as_ref(), &printer)
        }
        Some(SlCommand::Suggest(args)) => {
            suggest::run(args, connection, &project, context.as_ref(), &printer)
        }
        Some(SlCommand::Test { name }) => {
            upkeep::test(name.as_deref(), connection, context.as_ref(), &printer)
        }
        None | Some(SlCommand::List) if args.query.is_empty() => {
            let list =
                compose::block_on(|_| async { list_sources(context.as_ref(), connection).await })?;
            for diagnostic in &list.diagnostics {
                let word = if diagnostic.severity == Severity::Error {
                    "error"
                } else {
                    "warning"
                };
                printer.note(&format!("{word}: {diagnostic}"));
            }
            let limit = limit(args, list.items.len())?;
            let items: Vec<SourceItem> = list.items.into_iter().take(limit).collect();
            print_list(&items, &printer)
        }
        command => {
            let query = match command {
                Some(SlCommand::Search { query }) => query,
                _ => &args.query,
            };
            note_near_command(&args.query, SL_WORDS, "sl", &printer);
            let words = query.join(" ");
            let limit = limit(args, 50)?;
            let (hits, warnings) = compose::block_on(|_| async {
                search_sources(context.as_ref(), &words, connection, limit).await
            })?;
            warn(&warnings, &printer);
            print_hits(&hits, &warnings, &words, &printer)
        }
    }
}

/// Often mistyped commands; other words are searches.
const SL_WORDS: &[&str] = &[
    "list", "search", "read", "validate", "query", "diff", "graph", "fmt", "test", "export",
    "import", "suggest",
];

/// Zero would look like no results.
fn limit(args: &SlArgs, otherwise: usize) -> Outcome<usize> {
    match args.limit {
        Some(0) => Err(
            Failure::new(Code::InvalidLimit, "`--limit 0` shows nothing")
                .hint("give `--limit` a number from 1, or leave it out"),
        ),
        Some(limit) => Ok(usize::try_from(limit).unwrap_or(usize::MAX)),
        None => Ok(otherwise),
    }
}

fn counts(item: &SourceItem) -> [String; 3] {
    [
        format!("columns={}", item.column_count),
        format!("measures={}", item.measure_count),
        format!("joins={}", item.join_count),
    ]
}

fn plain_line(item: &SourceItem) -> String {
    let counts = counts(item).join("\t");
    format!("{}\t{}\t{counts}\n", item.connection_id, item.name)
}

fn print_list(items: &[SourceItem], printer: &Printer) -> Outcome {
    match printer.mode {
        Mode::Json => printer.json(&envelope(&items, "sl list"))?,
        Mode::Plain => {
            let lines: String = items.iter().map(plain_line).collect();
            printer.page(&lines)?;
        }
        Mode::Pretty if items.is_empty() => {}
        Mode::Pretty => {
            let headers = [
                "CONNECTION",
                "SOURCE",
                "COLUMNS",
                "MEASURES",
                "JOINS",
                "DESCRIPTION",
            ];
            let rows: Vec<Vec<Option<String>>> = items
                .iter()
                .map(|item| {
                    vec![
                        Some(item.connection_id.clone()),
                        Some(item.name.clone()),
                        Some(item.column_count.to_string()),
                        Some(item.measure_count.to_string()),
                        Some(item.join_count.to_string()),
                        Some(item.description.clone().unwrap_or_default()),
                    ]
                })
                .collect();
            printer.page(&aligned(&headers.map(str::to_owned), &rows))?;
        }
    }
    if items.is_empty() {
        printer.note(
            "no semantic sources; run `ktx scan`, or write one to semantic-layer/<connection>/",
        );
    }
    Ok(Exit::Success)
}

fn print_hits(hits: &[SourceHit], warnings: &[String], words: &str, printer: &Printer) -> Outcome {
    match printer.mode {
        Mode::Json => printer.json(&found(&hits, warnings, "sl search"))?,
        Mode::Plain => {
            for hit in hits {
                let counts = counts(&hit.item).join("\t");
                let (connection, name) = (&hit.item.connection_id, &hit.item.name);
                printer.line(&format!(
                    "score={}\t{connection}\t{name}\t{counts}",
                    hit.score
                ))?;
            }
        }
        Mode::Pretty => {
            for hit in hits {
                printer.line(&format!(
                    "{}  ({})",
                    hit.item.name,
                    hit.match_reasons.join(", ")
                ))?;
                if let Some(text) = hit.snippet.as_ref().or(hit.item.description.as_ref()) {
                    printer.marked(&format!("    {text}"))?;
                }
                for found in &hit.dictionary_matches {
                    printer.line(&format!(
                        "    {}: {}",
                        found.column,
                        found.values.join(", ")
                    ))?;
                }
            }
        }
    }
    if hits.is_empty() {
        printer.note(&format!(
            "nothing found for `{}`; run `ktx sl` for all sources",
            excerpt(words)
        ));
    }
    Ok(Exit::Success)
}

fn answer_conformance() -> Outcome {
    let load = |folder: &str| read_folder(Path::new(folder));
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| {
            Failure::from_error(Code::Input, &error).context("stdin cannot be read")
        })?;
        if !line.trim().is_empty() {
            crate::printer::stdout(&format!("{}\n", conformance::answer(&line, &load)))?;
        }
    }
    Ok(Exit::Success)
}

/// Ordered by path.
fn read_folder(folder: &Path) -> Result<Vec<SourceFile>, String> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    std::fs::metadata(folder).map_err(|error| failed(folder, &error))?;
    let walked = ktx_project_store::walk(folder, folder)
        .map_err(|error| ktx_diagnostics::chain(&error).join(": "))?;
    if let Some(one) = walked.left_out.first() {
        return Err(failed(&one.place, &one.why.text()));
    }
    let mut files = Vec::new();
    for file in walked.files {
        let yaml = [".yaml", ".yml"]
            .iter()
            .any(|ending| file.path.ends_with(ending));
        if yaml {
            let bytes = std::fs::read(&file.place).map_err(|error| failed(&file.place, &error))?;
            files.push(SourceFile::new(file.path, bytes));
        }
    }
    Ok(files)
}
