//! `ktx sl validate`.

mod report;

use std::sync::Arc;
use std::time::Duration;

use ktx_config::Connection;
use ktx_context_tools::{AuditEntry, AuditOutcome, ProjectContext, Runner, warehouses_of};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_read_only_sql::AllowedFunctions;
use ktx_semantic_layer::{Catalog, Finding, validate};
use ktx_semantic_tools::{LiveCheck, LiveReport, StatementLog, StatementOutcome};
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{ErrorKind, WarehouseError};
use tokio_util::sync::CancellationToken;

use crate::cli::SlValidateArgs;
use crate::compose;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

struct ConnectionFindings {
    connection: Connection,
    sources: usize,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
    /// `None` without `--live`.
    live: Option<LiveReport>,
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
                let live = LiveArguments {
                    source: name,
                    sample: args.sample,
                    time_limit: Duration::from_secs(args.timeout),
                };
                found.live = Some(live.check(found, &catalog, context, &cancel).await?);
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

struct LiveArguments<'a> {
    source: Option<&'a str>,
    sample: u64,
    time_limit: Duration,
}

impl LiveArguments<'_> {
    async fn check(
        &self,
        checked: &ConnectionFindings,
        catalog: &Catalog,
        context: &dyn ProjectContext,
        cancel: &CancellationToken,
    ) -> Outcome<LiveReport> {
        let connection = &checked.connection;
        let unreachable = |reason| LiveReport::unreachable(self.sample, reason);
        let connector = match context.runner(connection).await {
            Ok(Runner::Ready(connector)) => connector,
            Ok(Runner::CompileOnly { reason }) => {
                return Ok(unreachable(WarehouseError::new(ErrorKind::Config, reason)));
            }
            Err(failure) => {
                let mut error = WarehouseError::new(ErrorKind::Config, failure.message);
                error.hint = failure.hints.first().map(ToString::to_string);
                return Ok(unreachable(error));
            }
        };
        let check = LiveCheck {
            connector: connector.as_ref(),
            allowed: AllowedFunctions::new(connection.texts(&["allowed_functions"])),
            scope: compose::scope(connection),
            catalog,
            source: self.source,
            refused: &checked.errors,
            sample: self.sample,
            time_limit: self.time_limit,
            log: &AuditedStatements {
                context,
                connection: &connection.id,
            },
        };
        Ok(check.run(cancel).await?)
    }
}

struct AuditedStatements<'a> {
    context: &'a dyn ProjectContext,
    connection: &'a ConnectionId,
}

impl StatementLog for AuditedStatements<'_> {
    fn record(&self, sql: &str, outcome: StatementOutcome) {
        self.context.audit(AuditEntry {
            tool: "sl_validate",
            call_id: "cli".to_owned(),
            connection: self.connection.clone(),
            sql: sql.to_owned(),
            outcome: match outcome {
                StatementOutcome::Executed { rows } => AuditOutcome::Executed { rows },
                StatementOutcome::Refused { code } => AuditOutcome::Refused { code },
                StatementOutcome::Failed { code } => AuditOutcome::Failed { code },
            },
        });
    }
}

/// Errors outrank unanswered questions.
fn exit(checked: &[ConnectionFindings]) -> Exit {
    let lives = || checked.iter().filter_map(|checked| checked.live.as_ref());
    if checked.iter().any(|checked| !checked.errors.is_empty())
        || lives().any(LiveReport::has_errors)
    {
        Exit::Config
    } else if lives().any(|live| live.unreachable.is_some()) {
        Exit::Connection
    } else if lives().any(|live| !live.not_looked_at.is_empty()) {
        Exit::Partial
    } else {
        Exit::Success
    }
}

fn check(
    name: Option<&str>,
    catalogs: &[(Connection, Arc<Catalog>)],
) -> Outcome<Vec<ConnectionFindings>> {
    let mut found = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (connection, catalog) in catalogs {
        let list = catalog.list();
        names.extend(list.iter().map(|summary| summary.name.clone()));
        if name.is_some_and(|name| !list.iter().any(|summary| summary.name == name)) {
            continue;
        }
        let report = validate(catalog, &[]);
        // A finding about the folder concerns each source.
        let concerns = |finding: &&Finding| {
            name.is_none_or(|name| {
                finding
                    .source
                    .as_deref()
                    .is_none_or(|source| source == name)
            })
        };
        found.push(ConnectionFindings {
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

pub(super) fn unknown_source<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let failure = Failure::new(Code::UnknownSource, format!("no semantic source `{name}`"))
        .ending(Exit::Config);
    match ktx_diagnostics::nearest(name, known).first() {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("run `ktx sl` for all sources"),
    }
}
