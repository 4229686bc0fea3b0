//! Measures of a proposal, before and after.

use std::collections::{BTreeMap, BTreeSet};

use ktx_context_tools::{SqlRequest, execute_sql};
use ktx_ingest::{WaitingProposal, changes_basis, measures};
use ktx_project_store::ProjectPath;
use ktx_semantic_layer::{Catalog, MeasureRequest, Query, SourceFile, compile};
use ktx_sql::Dialect;
use ktx_tool_descriptors::CallContext;
use serde::Serialize;
use serde_json::Value;

use crate::compose;
use crate::context;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

const MOST: usize = 20;

#[derive(Debug, Serialize)]
pub(super) struct MeasureNumbers {
    pub(super) measure: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// Computes measures over all rows. An unreachable warehouse is a note, not an error.
pub(super) fn numbers(
    proposal: &WaitingProposal,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Vec<MeasureNumbers>> {
    let mut all = Vec::new();
    for (warehouse, names) in changed(proposal) {
        let connection = project.config.connection(&warehouse);
        let dialect = connection.and_then(|connection| compose::dialect(connection.driver));
        let Some(dialect) = dialect else { continue };
        let files = committed(&warehouse, project)?;
        let before = catalog(&warehouse, &files, dialect, |path, bytes| {
            proposal
                .files
                .get(path)
                .map_or(Some(bytes), |file| file.before.clone())
        });
        let mut with = files.clone();
        for (path, file) in &proposal.files {
            with.insert(path.clone(), file.after.clone().unwrap_or_default());
        }
        let after = catalog(&warehouse, &with, dialect, |path, bytes| {
            let file = proposal.files.get(path);
            file.map_or(Some(bytes), |file| file.after.clone())
        });
        for name in names.into_iter().take(MOST) {
            all.push(MeasureNumbers {
                before: number(&before, &name, &warehouse, invocation, project)?,
                after: number(&after, &name, &warehouse, invocation, project)?,
                measure: name,
            });
        }
    }
    Ok(all)
}

fn changed(proposal: &WaitingProposal) -> BTreeMap<String, BTreeSet<String>> {
    let mut changed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, file) in &proposal.files {
        let Some(rest) = path.as_str().strip_prefix("semantic-layer/") else {
            continue;
        };
        let Some((warehouse, _)) = rest.split_once('/') else {
            continue;
        };
        let (source, _) = measures(
            path.as_str(),
            file.after
                .as_ref()
                .or(file.before.as_ref())
                .map_or(&[], Vec::as_slice),
        );
        let formulas = |bytes: &Option<Vec<u8>>| -> BTreeMap<String, String> {
            let all = measures(path.as_str(), bytes.as_deref().unwrap_or_default());
            let all = all.1.into_iter().map(|measure| {
                let text = serde_yaml::to_string(&measure).unwrap_or_default();
                (measure.name, text)
            });
            all.collect()
        };
        let (before, after) = (formulas(&file.before), formulas(&file.after));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let bytes = |bytes: &Option<Vec<u8>>| bytes.clone().unwrap_or_default();
        let is_on_other = changes_basis(path.as_str(), &bytes(&file.before), &bytes(&file.after));
        let names = names
            .into_iter()
            .filter(|name| is_on_other || before.get(*name) != after.get(*name));
        let own = changed.entry(warehouse.to_owned()).or_default();
        own.extend(names.map(|name| format!("{source}.{name}")));
    }
    changed
}

fn committed(warehouse: &str, project: &OpenProject) -> Outcome<BTreeMap<ProjectPath, Vec<u8>>> {
    let history = project.store.history()?;
    let head = history.commit("HEAD")?;
    let folder = ProjectPath::parse(&format!("semantic-layer/{warehouse}")).map_err(|error| {
        ktx_diagnostics::Failure::from_error(ktx_diagnostics::Code::Internal, &error)
    })?;
    Ok(history.files(&head, &folder)?)
}

fn catalog(
    warehouse: &str,
    files: &BTreeMap<ProjectPath, Vec<u8>>,
    dialect: Dialect,
    state: impl Fn(&ProjectPath, Vec<u8>) -> Option<Vec<u8>>,
) -> Catalog {
    let prefix = format!("semantic-layer/{warehouse}/");
    let files = files.iter().filter_map(|(path, bytes)| {
        let name = path.as_str().strip_prefix(&prefix)?;
        let is_source = !name.starts_with("_review/");
        let bytes = state(path, bytes.clone()).filter(|_| is_source)?;
        Some(SourceFile::new(name, bytes))
    });
    Catalog::load(files.collect(), dialect)
}

fn number(
    catalog: &Catalog,
    measure: &str,
    warehouse: &str,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<String> {
    let query = Query {
        measures: vec![MeasureRequest {
            expr: measure.to_owned(),
            name: None,
            via: Vec::new(),
        }],
        ..Query::default()
    };
    let compiled = match compile(catalog, &query, catalog.dialect()) {
        Ok(compiled) => compiled,
        Err(error) => return Ok(format!("no number ({})", error.message)),
    };
    let request = SqlRequest {
        connection: Some(warehouse.to_owned()),
        sql: compiled.sql,
        max_rows: Some(1),
        timeout: None,
    };
    let context = context::open(invocation, project)?;
    let answer = compose::block_on(|cancel| async {
        let mut call = CallContext::detached("cli");
        call.cancel = cancel;
        Ok(execute_sql(context.as_ref(), &request, &call).await)
    })?;
    Ok(match answer {
        Ok(answer) => {
            let wire = answer.to_wire();
            let cell = wire.rows.first().and_then(|row| row.last());
            match cell {
                None | Some(Value::Null) => "no value".to_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            }
        }
        Err(failure) => format!("no number ({})", failure.message),
    })
}
