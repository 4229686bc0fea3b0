//! `ktx sl graph`, `fmt` and `test`.

use ktx_diagnostics::{Code, Exit, Failure};
use std::path::PathBuf;
use std::sync::Arc;

use ktx_context_tools::{ProjectContext, Runner, warehouse_of};
use ktx_project_store::ProjectPath;
use ktx_read_only_sql::AllowedFunctions;
use ktx_semantic_layer::{Catalog, Finding, SelfTest, Verdict, judge, self_tests, validate};
use ktx_semantic_tools::{draw_mermaid, draw_svg, format_source, graph_json};
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{AdmissionError, Caps, Connector, ErrorKind, admit, collect};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::GraphFormat;
use crate::compose;
use crate::invocation::OpenProject;
use crate::locking::lock;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};

pub(crate) fn graph(
    format: Option<GraphFormat>,
    connection: Option<&str>,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let catalog = compose::block_on(|_| async {
        let warehouse = warehouse_of(context, connection).await?;
        context.catalog(&warehouse.id).await
    })?;
    match format {
        _ if printer.mode == Mode::Json => printer.json(&graph_json(&catalog))?,
        Some(GraphFormat::Svg) => printer.out(&draw_svg(&catalog))?,
        Some(GraphFormat::Mermaid) | None => printer.out(&draw_mermaid(&catalog))?,
        Some(GraphFormat::Json) => printer.json(&graph_json(&catalog))?,
    }
    Ok(Exit::Success)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatMode {
    Write,
    Check,
}

/// Ignores shards and review decisions, which are not hand-written.
pub(crate) fn fmt(
    tidying: FormatMode,
    connection: Option<&str>,
    project: &OpenProject,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let warehouse = compose::block_on(|_| async { warehouse_of(context, connection).await })?;
    // Files must not change before writing.
    let held = match tidying {
        FormatMode::Write => Some(lock(project, "ktx sl fmt")?),
        FormatMode::Check => None,
    };
    let failed =
        |error: &(dyn std::error::Error + 'static)| Failure::from_error(Code::FormatFailed, error);
    let mut changed = Vec::new();
    let (files, mut refused) = source_files(&warehouse.id, project)?;
    for path in files {
        let place = ProjectPath::inside(&project.dir, &path).map_err(|error| failed(&error))?;
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                refused.push(format!("{place}: cannot be read: {error}"));
                continue;
            }
        };
        match in_its_line_ends(&text, |text| format_source(text, place.as_str())) {
            Ok(formatted) if formatted == text => {}
            Ok(formatted) => {
                if tidying == FormatMode::Write {
                    project
                        .store
                        .write(&place, formatted.as_bytes())
                        .map_err(|error| failed(&error))?;
                }
                changed.push(place.to_string());
            }
            Err(diagnostic) => refused.push(diagnostic.to_string()),
        }
    }
    drop(held);
    if printer.mode == Mode::Json {
        printer.json(&json!({ "changed": changed, "refused": refused, "written": tidying == FormatMode::Write }))?;
    } else {
        let word = if tidying == FormatMode::Write {
            "formatted"
        } else {
            "would format"
        };
        for path in &changed {
            printer.line(&format!("{word} {path}"))?;
        }
        for reason in &refused {
            printer.note(&format!("error: {reason}"));
        }
        if changed.is_empty() && refused.is_empty() {
            printer.note("every source is formatted");
        }
    }
    let clean = refused.is_empty() && (tidying == FormatMode::Write || changed.is_empty());
    Ok(if clean { Exit::Success } else { Exit::Config })
}

/// Keeps Windows line endings and a byte order mark.
fn in_its_line_ends<E>(
    text: &str,
    format: impl FnOnce(&str) -> Result<String, E>,
) -> Result<String, E> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let first_line = body.split_inclusive('\n').next().unwrap_or_default();
    if !first_line.ends_with("\r\n") {
        return Ok(format!("{mark}{}", format(body)?));
    }
    let formatted = format(&body.replace("\r\n", "\n"))?;
    Ok(format!("{mark}{}", formatted.replace('\n', "\r\n")))
}

fn source_files(id: &ConnectionId, project: &OpenProject) -> Outcome<(Vec<PathBuf>, Vec<String>)> {
    let folder = project.store.layout().sources(id);
    let walked = ktx_project_store::walk(&project.dir, &folder)
        .map_err(|error| Failure::from_error(Code::FormatFailed, &error))?;
    let by_hand = |path: &str| {
        let mut parts: Vec<&str> = path.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        let is_yaml = matches!(ending, Some("yaml" | "yml"));
        is_yaml && !parts.iter().any(|part| part.starts_with('_'))
    };
    let files = walked.files.into_iter();
    let left_out = walked.left_out.iter().map(|one| {
        let place = one.place.strip_prefix(&project.dir).unwrap_or(&one.place);
        format!("{}: {}", place.display(), one.why.text())
    });
    Ok((
        files
            .filter(|file| by_hand(&file.path))
            .map(|file| file.place)
            .collect(),
        left_out.collect(),
    ))
}

pub(crate) fn test(
    name: Option<&str>,
    connection: Option<&str>,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let (results, broken) = compose::block_on(|cancel| async move {
        let warehouse = warehouse_of(context, connection).await?;
        let catalog = context.catalog(&warehouse.id).await?;
        let broken = broken(name, &warehouse.id, &catalog)?;
        let connector = match context.runner(&warehouse).await? {
            Runner::Ready(connector) => connector,
            Runner::CompileOnly { reason } => {
                return Err(Failure::new(Code::NotExecutable, reason));
            }
        };
        let allowed = AllowedFunctions::new(warehouse.texts(&["allowed_functions"]));
        let mut results = Vec::new();
        for test in self_tests(&catalog, name) {
            let verdict = run(&test, &connector, &allowed, &cancel).await?;
            results.push((test, verdict));
        }
        Ok((results, broken))
    })?;
    let failed = results
        .iter()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_)))
        .count()
        + broken.len();
    if printer.mode == Mode::Json {
        let unread = broken.iter().map(|(source, reason)| {
            json!({
                "name": "loads",
                "source": source,
                "kind": "loads",
                "verdict": "failed",
                "reason": reason,
                "sql": null,
            })
        });
        let checked = results.iter().map(|(test, verdict)| item(test, verdict));
        let items: Vec<Value> = unread.chain(checked).collect();
        printer.json(&crate::lists::envelope(&items, "sl test"))?;
    } else {
        for (_, reason) in &broken {
            printer.line(&format!("failed\t{reason}"))?;
        }
        for (test, verdict) in &results {
            let (word, reason) = words(verdict);
            let reason = reason
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            printer.line(&format!("{word}\t{}{reason}", test.name))?;
        }
        let checks = results.len() + broken.len();
        printer.line(&format!("{checks} checks, {failed} failed"))?;
    }
    Ok(if failed == 0 {
        Exit::Success
    } else {
        Exit::Config
    })
}

fn broken(
    name: Option<&str>,
    connection: &ConnectionId,
    catalog: &Catalog,
) -> Outcome<Vec<(Option<String>, String)>> {
    let list = catalog.list();
    if let Some(name) = name
        && !list.iter().any(|summary| summary.name == name)
    {
        return Err(super::validate::unknown_source(
            name,
            list.iter().map(|summary| &*summary.name),
        ));
    }
    let concerns = |finding: &Finding| {
        name.is_none_or(|name| {
            finding
                .source
                .as_deref()
                .is_none_or(|source| source == name)
        })
    };
    let found = validate(catalog, &[]).errors.into_iter();
    let found = found.filter(concerns).map(|finding| {
        let path = finding.path.as_deref().unwrap_or_default();
        let kind = finding.kind.as_str();
        let reason = format!(
            "semantic-layer/{connection}/{path}: {kind}: {}",
            finding.message
        );
        (finding.source, reason)
    });
    Ok(found.collect())
}

async fn run(
    test: &SelfTest,
    connector: &Arc<dyn Connector>,
    allowed: &AllowedFunctions,
    cancel: &CancellationToken,
) -> Outcome<Verdict> {
    let statement = match admit(&test.sql, connector.as_ref(), allowed, cancel).await {
        Ok(statement) => statement,
        Err(AdmissionError::Refused(refusal)) => return Ok(Verdict::Failed(refusal.reason)),
        Err(AdmissionError::Failed(error)) => return Err(error.into()),
    };
    match collect(connector.as_ref(), &statement, &Caps::default(), cancel).await {
        Ok(result) => Ok(judge(test, &result.rows)),
        // This check can never pass on this warehouse.
        Err(error)
            if matches!(
                error.kind,
                ErrorKind::Sql | ErrorKind::Timeout | ErrorKind::Limit
            ) =>
        {
            Ok(Verdict::Failed(error.message))
        }
        Err(error) => Err(error.into()),
    }
}

fn words(verdict: &Verdict) -> (&'static str, Option<&str>) {
    match verdict {
        Verdict::Passed => ("passed", None),
        Verdict::Warned(reason) => ("warned", Some(reason)),
        Verdict::Failed(reason) => ("failed", Some(reason)),
        Verdict::Unclear(reason) => ("unclear", Some(reason)),
    }
}

fn item(test: &SelfTest, verdict: &Verdict) -> Value {
    let (word, reason) = words(verdict);
    json!({
        "name": test.name,
        "source": test.source,
        "kind": test.kind.name(),
        "verdict": word,
        "reason": reason,
        "sql": test.sql,
    })
}
