//! The line protocol of the result contract: one JSON request and one JSON answer per line.

use ktx_diagnostics::{Diagnostic, Severity};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::check::validate::{Finding, validate};
use crate::emit::compile::compile;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::source_file::SourceFile;
use crate::names::query::Query;

pub type LoadFolder<'a> = &'a dyn Fn(&str) -> Result<Vec<SourceFile>, String>;

pub fn answer(request: &str, load: LoadFolder<'_>) -> String {
    let answer = match serde_json::from_str::<Value>(request) {
        Ok(request) => respond(&request, load).unwrap_or_else(|error| refused(&error)),
        Err(error) => refused(&QueryError::new(
            ErrorKind::InvalidQuery,
            format!("the request is not JSON: {error}"),
        )),
    };
    answer.to_string()
}

fn refused(error: &QueryError) -> Value {
    let is_unknown = matches!(
        error.kind,
        ErrorKind::UnknownSource
            | ErrorKind::UnknownColumn
            | ErrorKind::UnknownMeasure
            | ErrorKind::UnknownSegment
    );
    let mut error = error.clone();
    if let Some(near) = error.suggestions.first().filter(|_| is_unknown) {
        error.message = format!("{}; did you mean `{near}`", error.message);
    }
    json!({"ok": false, "error": error})
}

fn respond(request: &Value, load: LoadFolder<'_>) -> Result<Value, QueryError> {
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let name = text("dialect").unwrap_or_default();
    let dialect = Dialect::parse(name).ok_or_else(|| {
        QueryError::new(
            ErrorKind::UnknownDialect,
            format!("unknown dialect `{name}`"),
        )
        .about(name)
        .suggest(Dialect::ALL.map(Dialect::name))
    })?;
    let folder = text("sources_dir").unwrap_or_default();
    let files = load(folder).map_err(|reason| QueryError::new(ErrorKind::InvalidSource, reason))?;
    let catalog = Catalog::load(files, dialect);
    match text("op").unwrap_or("compile") {
        "compile" => {
            let query = Query::from_value(request.get("query").unwrap_or(&Value::Null))?;
            let compiled = compile(&catalog, &query, dialect)?;
            let columns = compiled
                .columns
                .iter()
                .map(|column| json!({"name": column.name, "ref": column.reference}));
            Ok(json!({
                "ok": true,
                "sql": compiled.sql,
                "columns": columns.collect::<Vec<_>>(),
                "notes": compiled.notes,
            }))
        }
        "validate" => {
            let touched = request.get("recently_touched").and_then(Value::as_array);
            let touched: Vec<String> = touched
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            if let Some(error) = load_error(&catalog) {
                return Err(error);
            }
            let report = validate(&catalog, &touched);
            // The contract lists the kinds of warnings; others become notes.
            let (notes, warnings): (Vec<Finding>, Vec<Finding>) = report
                .warnings
                .into_iter()
                .partition(|one| one.kind == ErrorKind::UnprovenJoin);
            let mut answer = json!({"ok": true, "errors": report.errors, "warnings": warnings});
            if let Some(fields) = answer.as_object_mut().filter(|_| !notes.is_empty()) {
                fields.insert("notes".to_owned(), json!(notes));
            }
            Ok(answer)
        }
        other => {
            let message = format!("unknown operation `{other}`");
            Err(QueryError::new(ErrorKind::InvalidQuery, message).about(other))
        }
    }
}

fn load_error(catalog: &Catalog) -> Option<QueryError> {
    let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
    let diagnostic = catalog.diagnostics().iter().find(is_error)?;
    let kind = ErrorKind::ALL
        .iter()
        .copied()
        .find(|kind| kind.code() == diagnostic.code);
    let file = diagnostic
        .location
        .as_ref()
        .map(|location| location.file.clone());
    let error = QueryError::new(
        kind.unwrap_or(ErrorKind::InvalidSource),
        diagnostic.to_string(),
    );
    Some(QueryError {
        offending: file,
        ..error
    })
}
