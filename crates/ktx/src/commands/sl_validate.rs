//! `ktx sl validate`: every source and every expression in it.

use std::sync::Arc;

use ktx_context_tools::{ProjectContext, warehouses_of};
use ktx_semantic_layer::{Catalog, Finding, validate};
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use crate::compose;
use crate::exit::Exit;
use crate::printer::{Mode, Printer};
use crate::report::{Failure, Outcome};
use crate::session::Opened;

/// Findings of one connection.
struct Checked {
    connection: ConnectionId,
    sources: usize,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

/// Checks one source, or all sources of one connection or of all.
pub(crate) fn run(
    name: Option<&str>,
    connection: Option<&str>,
    _opened: &Opened,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let catalogs = compose::block_on(|_| async {
        let mut catalogs: Vec<(ConnectionId, Arc<Catalog>)> = Vec::new();
        for warehouse in warehouses_of(context, connection).await? {
            catalogs.push((warehouse.id.clone(), context.catalog(&warehouse.id).await?));
        }
        Ok(catalogs)
    })?;
    let checked = check(name, &catalogs)?;
    let failed = checked.iter().any(|checked| !checked.errors.is_empty());
    if printer.mode == Mode::Json {
        printer.json(&to_json(name, &checked))?;
    } else {
        print(name, &checked, printer)?;
    }
    Ok(if failed { Exit::Config } else { Exit::Success })
}

fn check(name: Option<&str>, catalogs: &[(ConnectionId, Arc<Catalog>)]) -> Outcome<Vec<Checked>> {
    let mut found = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (connection, catalog) in catalogs {
        let list = catalog.list();
        names.extend(list.iter().map(|summary| summary.name.clone()));
        if name.is_some_and(|name| !list.iter().any(|summary| summary.name == name)) {
            continue;
        }
        let report = validate(catalog, &[]);
        // What concerns the whole folder concerns each of its sources.
        let concerns = |finding: &&Finding| {
            name.is_none_or(|name| {
                finding
                    .source
                    .as_deref()
                    .is_none_or(|source| source == name)
            })
        };
        found.push(Checked {
            connection: connection.clone(),
            sources: if name.is_some() { 1 } else { list.len() },
            errors: report.errors.iter().filter(concerns).cloned().collect(),
            warnings: report.warnings.iter().filter(concerns).cloned().collect(),
        });
    }
    if let Some(name) = name
        && found.is_empty()
    {
        let failure = Failure::new(
            Exit::Config,
            "unknown_source",
            format!("no semantic source `{name}`"),
        );
        let near = ktx_diagnostics::nearest(name, names.iter().map(String::as_str));
        return Err(match near.first() {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("run `ktx sl` for all sources"),
        });
    }
    Ok(found)
}

fn print(name: Option<&str>, checked: &[Checked], printer: &Printer) -> Outcome<()> {
    for Checked {
        connection,
        sources,
        errors,
        warnings,
    } in checked
    {
        for finding in warnings {
            printer.note(&format!("warning: {}", shown(connection, finding)));
        }
        for finding in errors {
            printer.note(&format!("error: {}", shown(connection, finding)));
        }
        if errors.is_empty() {
            match name {
                Some(name) => {
                    printer.line(&format!("Valid semantic-layer source: {connection}/{name}"))?;
                }
                None if *sources == 1 => {
                    printer.line(&format!("{connection}: 1 source is valid"))?;
                }
                None => printer.line(&format!("{connection}: {sources} sources are valid"))?,
            }
        } else {
            printer.line(&format!(
                "{connection}: {}, {}",
                counted(errors.len(), "error"),
                counted(warnings.len(), "warning")
            ))?;
        }
    }
    Ok(())
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// `path: kind: message`
fn shown(connection: &ConnectionId, finding: &Finding) -> String {
    let path = finding.path.as_deref().unwrap_or_default();
    format!(
        "semantic-layer/{connection}/{path}: {}: {}",
        finding.kind.as_str(),
        finding.message
    )
}

fn to_json(name: Option<&str>, checked: &[Checked]) -> Value {
    let items: Vec<Value> = checked
        .iter()
        .map(|checked| {
            json!({
                "connectionId": checked.connection.as_str(),
                "sourceName": name,
                "sourceCount": checked.sources,
                "valid": checked.errors.is_empty(),
                "errors": checked.errors,
                "warnings": checked.warnings,
            })
        })
        .collect();
    super::sl::envelope(&items, "sl validate")
}
