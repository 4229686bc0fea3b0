//! Estimates scan queries.

use std::sync::{Arc, Mutex};

use ktx_scan::{ScanEstimate, ScanMode, Writing};
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use super::{Job, ScanContext, ScanFiles, ScanStages, request, scan_failure, state_failure};
use crate::cli::QueryHistoryArgs;
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Printer;
use crate::report::Outcome;

/// Writes nothing.
pub(crate) fn estimate_all(
    connections: Vec<&ktx_config::Connection>,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<(ConnectionId, Outcome<ScanEstimate>)>> {
    let state = project
        .store
        .state()
        .map_err(|error| state_failure(&error))?;
    let state = Arc::new(Mutex::new(state));
    compose::block_on(|cancel| async move {
        let context = ScanContext {
            invocation,
            project,
            printer,
            state: &state,
            cancel: &cancel,
        };
        let mut results = Vec::new();
        for connection in connections {
            let job = Job {
                connection,
                mode: ScanMode::Relationships,
                writing: Writing::DryRun,
                runtime: None,
                reuse: ktx_scan::Reuse::Unchanged,
                budget: ktx_scan::Budget::default(),
                history: QueryHistoryArgs::default(),
            };
            results.push((connection.id.clone(), estimate_one(&job, context).await));
        }
        Ok(results)
    })
}

async fn estimate_one(job: &Job<'_>, context: ScanContext<'_>) -> Outcome<ScanEstimate> {
    let files = ScanFiles::at_head(&job.connection.id, context.project)?;
    let stages = Arc::new(ScanStages::new(&job.connection.id, context));
    let request = request(job, Arc::new(files), stages, context)?;
    ktx_scan::estimate(&request)
        .await
        .map_err(|error| scan_failure(&error))
}

pub(crate) fn estimate_text(estimate: &ScanEstimate) -> String {
    let least = estimate.statements;
    let statements = match estimate.statements_at_most {
        most if most > least => format!("{least} to {most}"),
        _ => least.to_string(),
    };
    let unknown = match estimate.unknown_sizes {
        0 => String::new(),
        tables => format!(" and {tables} tables of unknown size"),
    };
    let billed = estimate
        .bytes
        .map_or_else(String::new, |bytes| format!(", {bytes} bytes billed"));
    format!(
        "{statements} statements for samples, at most {} to check joins; reads about {} of {} rows{unknown}{billed}",
        estimate.checks_at_most, estimate.rows_read, estimate.rows
    )
}

pub(crate) fn estimate_json(id: &str, estimate: &ScanEstimate) -> Value {
    json!({
        "connectionId": id,
        "status": "estimated",
        "tables": estimate.tables,
        "columns": estimate.columns,
        "tablesReused": estimate.reused,
        "rows": estimate.rows,
        "tablesOfUnknownSize": estimate.unknown_sizes,
        "rowsToRead": estimate.rows_read,
        "profileStatements": {
            "atLeast": estimate.statements,
            "atMost": estimate.statements_at_most,
        },
        "validationStatementsAtMost": estimate.checks_at_most,
        "bytesBilled": estimate.bytes,
    })
}
