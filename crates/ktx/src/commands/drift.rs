//! `ktx drift`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ktx_context_tools::{
    Drift, DriftClass, DriftConnection, DriftFinding, DriftRole, ProjectContext, find_drift,
    warehouses_of,
};
use ktx_diagnostics::{Exit, counted};
use ktx_ingest::{UnitOutcome, UnitRecord, unit_records};
use ktx_project_store::HistoryError;
use ktx_wiki::{Page, SlReference};
use serde_json::{Value, json};

use crate::cli::DriftArgs;
use crate::compose;
use crate::context;
use crate::invocation::{Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

pub(crate) fn run(args: &DriftArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let context = context::open(invocation, &project)?;
    let (connections, pages) = compose::block_on(|_| async {
        let connections = connections(context.as_ref(), args.connection_id.as_deref()).await?;
        let paths = context.page_paths().await?;
        Ok((connections, context.pages(&paths).await?))
    })?;
    let mut drift = find_drift(&connections, &pages);
    let sources = project.config.context_sources().map(|source| &source.id);
    let units = unit_records(&project.store, sources)?;
    drift.findings.extend(unfinished(&pages, &units));
    match ages(&project) {
        Ok(ages) => {
            let found = outdated(&connections, &pages, &ages.changes);
            drift.findings.extend(found);
            drift.unchecked.extend(ages.limit);
        }
        Err(HistoryError::NoWorkTree { .. }) => drift.unchecked.push(
            "the project is not in a git repository: the age of pages is not checked".to_owned(),
        ),
        Err(error) => return Err(error.into()),
    }
    drift.findings.sort();
    drift.findings.dedup();
    print(&drift, &printer)?;
    let alarms = drift.findings.iter().filter(|finding| {
        let mut alarms = args.fail_on.iter();
        alarms.any(|alarm| alarm.covers(finding.class))
    });
    Ok(if alarms.count() > 0 {
        Exit::Check
    } else {
        Exit::Success
    })
}

struct Ages {
    changes: BTreeMap<String, Timestamp>,
    limit: Option<String>,
}

fn ages(project: &OpenProject) -> Result<Ages, HistoryError> {
    let history = project.store.history()?;
    let limit = history.is_shallow()?.then(|| {
        "the clone is shallow: pages that are older than its first commit are not checked for \
         their age; run `git fetch --unshallow`"
            .to_owned()
    });
    Ok(Ages {
        changes: history.last_changes()?,
        limit,
    })
}

async fn connections(
    context: &dyn ProjectContext,
    id: Option<&str>,
) -> Result<Vec<DriftConnection>, ktx_diagnostics::Failure> {
    let checked = warehouses_of(context, id).await?;
    let mut found = Vec::new();
    for connection in warehouses_of(context, None).await? {
        let is_checked = checked.iter().any(|one| one.id == connection.id);
        found.push(DriftConnection {
            catalog: context.catalog(&connection.id).await?,
            snapshot: context.snapshot(&connection.id).await?,
            id: connection.id,
            role: if is_checked {
                DriftRole::Checked
            } else {
                DriftRole::Named
            },
        });
    }
    Ok(found)
}

/// Pages of changed units whose last run did not finish.
fn unfinished(pages: &[std::sync::Arc<Page>], units: &[UnitRecord]) -> Vec<DriftFinding> {
    let is_open = |unit: &&UnitRecord| {
        matches!(
            unit.outcome,
            UnitOutcome::Partial | UnitOutcome::Failed | UnitOutcome::Withheld
        )
    };
    let mut findings = Vec::new();
    for unit in units.iter().filter(is_open) {
        for page in pages
            .iter()
            .filter(|page| unit.pages.iter().any(|key| key == page.key().as_str()))
        {
            findings.push(stale(
                page,
                format!(
                    "unit {} of {} has changed, and the last run did not finish it",
                    unit.unit, unit.source
                ),
                format!("run `ktx ingest {}`", unit.source),
            ));
        }
    }
    findings
}

/// Pages older than a source that they name.
fn outdated(
    connections: &[DriftConnection],
    pages: &[std::sync::Arc<Page>],
    changes: &BTreeMap<String, Timestamp>,
) -> Vec<DriftFinding> {
    let mut findings = Vec::new();
    for page in pages {
        let Some(written) = changes.get(&page.path.to_string()) else {
            continue;
        };
        for text in &page.front_matter.sl_refs {
            let reference = SlReference::parse(text);
            for file in files_of(connections, &reference) {
                let changed = changes.get(&file).filter(|changed| *changed > written);
                if let Some(changed) = changed {
                    findings.push(stale(
                        page,
                        format!(
                            "`{file}` changed on {}, after the page ({})",
                            day(changed),
                            day(written)
                        ),
                        format!("read `{file}`, and commit the page with what is new"),
                    ));
                }
            }
        }
    }
    findings
}

/// Files by users and units; scans write shards themselves.
fn files_of(connections: &[DriftConnection], reference: &SlReference) -> Vec<String> {
    let asked = connections.iter().filter(|connection| {
        let id = reference.connection.as_deref();
        connection.role == DriftRole::Checked && id.is_none_or(|id| connection.id.as_str() == id)
    });
    let files = asked.flat_map(|connection| {
        let files = connection.catalog.files_of(&reference.source).into_iter();
        let written = files.filter(|file| !file.starts_with('_'));
        written.map(|file| format!("semantic-layer/{}/{file}", connection.id))
    });
    files.collect()
}

fn day(time: &Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

fn stale(page: &Page, message: String, hint: String) -> DriftFinding {
    DriftFinding {
        file: page.path.to_string(),
        line: Some(1),
        column: Some(1),
        class: DriftClass::StalePage,
        message,
        hint,
    }
}

fn print(drift: &Drift, printer: &Printer) -> Outcome<()> {
    if printer.mode == Mode::Json {
        return printer.json(&wire(drift));
    }
    for finding in &drift.findings {
        let place = place(finding);
        let (class, message, hint) = (finding.class.as_str(), &finding.message, &finding.hint);
        match printer.mode {
            Mode::Plain => printer.line(&format!("{place}\t{class}\t{message}\t{hint}"))?,
            Mode::Pretty | Mode::Json => {
                printer.line(&format!("{place}: {class}: {message}"))?;
                printer.line(&format!("    {hint}"))?;
            }
        }
    }
    for line in &drift.unchecked {
        printer.note(&format!("not checked: {line}"));
    }
    let count = drift.findings.len();
    printer.note(&match count {
        0 => "nothing has drifted".to_owned(),
        count => counted(count, "finding"),
    });
    Ok(())
}

fn place(finding: &DriftFinding) -> String {
    match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("{}:{line}:{column}", finding.file),
        (Some(line), None) => format!("{}:{line}", finding.file),
        _ => finding.file.clone(),
    }
}

fn wire(drift: &Drift) -> Value {
    let findings = drift.findings.iter().map(|finding| {
        json!({
            "class": finding.class.as_str(),
            "file": finding.file,
            "line": finding.line,
            "column": finding.column,
            "message": finding.message,
            "hint": finding.hint,
        })
    });
    json!({
        "kind": "drift",
        "data": {
            "findings": findings.collect::<Vec<_>>(),
            "unchecked": drift.unchecked,
        },
    })
}
