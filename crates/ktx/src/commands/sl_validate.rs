//! `ktx sl validate`: every source and every expression in it; with `--live`, also against the
//! warehouse.

mod answers;
mod live;
mod relations;
mod report;

use std::sync::Arc;
use std::time::Duration;

use ktx_config::Connection;
use ktx_context_tools::{ProjectContext, warehouses_of};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_semantic_layer::{Catalog, Finding, validate};

use crate::cli::SlValidateArgs;
use crate::compose;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

use live::Live;

/// The findings of one connection.
struct Checked {
    connection: Connection,
    sources: usize,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
    /// The warehouse's answers; `None` if it was not asked.
    live: Option<Live>,
}

pub(crate) fn run(
    args: &SlValidateArgs,
    connection: Option<&str>,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let name = args.name.as_deref();
    let checked = compose::block_on(|cancel| async move {
        let mut catalogs: Vec<(Connection, Arc<Catalog>)> = Vec::new();
        for warehouse in warehouses_of(context, connection).await? {
            let catalog = context.catalog(&warehouse.id).await?;
            catalogs.push((warehouse, catalog));
        }
        let mut checked = check(name, &catalogs)?;
        if args.live {
            for found in &mut checked {
                let catalog = catalogs
                    .iter()
                    .find(|(warehouse, _)| warehouse.id == found.connection.id)
                    .map(|(_, catalog)| Arc::clone(catalog));
                let Some(catalog) = catalog else { continue };
                let question = live::Question {
                    connection: &found.connection,
                    scope: compose::scope(&found.connection),
                    catalog: &catalog,
                    source: name,
                    refused: &found.errors,
                    sample: args.sample,
                    time: Duration::from_secs(args.timeout),
                };
                found.live = Some(live::ask(&question, context, &cancel).await?);
            }
        }
        Ok(checked)
    })?;
    if printer.mode == Mode::Json {
        printer.json(&report::to_json(name, &checked))?;
    } else {
        report::print(name, &checked, printer)?;
    }
    Ok(exit(&checked))
}

/// Errors outrank questions that could not be answered.
fn exit(checked: &[Checked]) -> Exit {
    let lives = || checked.iter().filter_map(|checked| checked.live.as_ref());
    if checked.iter().any(|checked| !checked.errors.is_empty()) || lives().any(Live::has_errors) {
        Exit::Config
    } else if lives().any(|live| live.unreachable.is_some()) {
        Exit::Connection
    } else if lives().any(|live| !live.not_looked_at.is_empty()) {
        Exit::Partial
    } else {
        Exit::Success
    }
}

fn check(name: Option<&str>, catalogs: &[(Connection, Arc<Catalog>)]) -> Outcome<Vec<Checked>> {
    let mut found = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (connection, catalog) in catalogs {
        let list = catalog.list();
        names.extend(list.iter().map(|summary| summary.name.clone()));
        if name.is_some_and(|name| !list.iter().any(|summary| summary.name == name)) {
            continue;
        }
        let report = validate(catalog, &[]);
        // A finding about the whole folder concerns each of its sources.
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
            live: None,
        });
    }
    if let Some(name) = name
        && found.is_empty()
    {
        return Err(unknown_source(name, names.iter().map(String::as_str)));
    }
    Ok(found)
}

/// Returns the failure for an unknown source name, with the nearest known one.
pub(super) fn unknown_source<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let failure = Failure::new(Code::UnknownSource, format!("no semantic source `{name}`"))
        .ending(Exit::Config);
    match ktx_diagnostics::nearest(name, known).first() {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("run `ktx sl` for all sources"),
    }
}
