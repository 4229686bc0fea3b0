//! The validator: everything that can be known wrong before a query is asked.

mod expressions;
mod joins;
mod sql_sources;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::catalog::Catalog;
use crate::names::Names;
use crate::resolved::{Relation, Source};
use crate::{ErrorKind, QueryError};

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The file, with `#entry` for manifest entries; absent when it concerns the whole folder.
    pub path: Option<String>,
    /// The source.
    pub source: Option<String>,
    /// The stable kind.
    pub kind: ErrorKind,
    /// Lower case, no full stop, the object in backticks.
    pub message: String,
}

/// What a validation has found, errors and warnings each ordered by file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ValidationReport {
    /// Findings that make queries fail or lie.
    pub errors: Vec<Finding>,
    /// Findings that may be meant.
    pub warnings: Vec<Finding>,
}

impl ValidationReport {
    fn error(&mut self, source: &Source, kind: ErrorKind, message: impl Into<String>) {
        self.errors.push(finding(source, kind, message));
    }

    fn warn(&mut self, source: &Source, kind: ErrorKind, message: impl Into<String>) {
        self.warnings.push(finding(source, kind, message));
    }

    /// Adds what an expression was refused with.
    fn refused(&mut self, source: &Source, place: &str, error: &QueryError) {
        let kind = match error.kind {
            // A name in a source's own expression that means nothing.
            ErrorKind::UnknownMeasure | ErrorKind::UnknownSource => ErrorKind::UnknownColumn,
            kind => kind,
        };
        let mut message = format!("{place}: {}", error.message);
        if let Some(near) = error.suggestions.first() {
            message = format!("{message}; did you mean `{near}`");
        }
        self.error(source, kind, message);
    }
}

fn finding(source: &Source, kind: ErrorKind, message: impl Into<String>) -> Finding {
    Finding {
        path: Some(source.path.clone()),
        source: Some(source.name.clone()),
        kind,
        message: message.into(),
    }
}

/// Validates all sources of a connection. `recently_touched` names the sources just written: some
/// rules concern only them.
pub fn validate(catalog: &Catalog, recently_touched: &[String]) -> ValidationReport {
    let mut report = ValidationReport::default();
    load_findings(catalog, &mut report);
    let names = Names {
        catalog,
        dialect: catalog.dialect(),
    };
    let touched: BTreeSet<&str> = recently_touched.iter().map(String::as_str).collect();
    let tables = sql_sources::Readable::of(catalog, &touched);
    for source in catalog
        .sources
        .iter()
        .filter(|source| source.problem.is_none())
    {
        own_rules(source, &mut report);
        scanned_columns(catalog, source, &mut report);
        expressions::check(names, source, &mut report);
        joins::check(catalog, source, &mut report);
        sql_sources::projection(names, source, &mut report);
        if touched.contains(source.name.as_str()) {
            sql_sources::undeclared_joins(names, source, &tables, &mut report);
        }
    }
    joins::check_graph(catalog, &touched, &mut report);
    report.errors.sort();
    report.errors.dedup();
    report.warnings.sort();
    report.warnings.dedup();
    report
}

/// What loading has found, with codes turned back into kinds.
fn load_findings(catalog: &Catalog, report: &mut ValidationReport) {
    for diagnostic in catalog.diagnostics() {
        let kind = ErrorKind::ALL
            .iter()
            .find(|kind| kind.as_str() == diagnostic.code);
        let found = Finding {
            path: diagnostic
                .location
                .as_ref()
                .map(|location| match location.position {
                    Some(position) => format!("{}:{position}", location.file),
                    None => location.file.clone(),
                }),
            source: None,
            kind: kind.copied().unwrap_or(ErrorKind::InvalidSource),
            message: diagnostic.message.clone(),
        };
        match diagnostic.severity {
            ktx_diagnostics::Severity::Error => report.errors.push(found),
            ktx_diagnostics::Severity::Warning => report.warnings.push(found),
        }
    }
}

/// Rules about grain, columns and measures of one source.
fn own_rules(source: &Source, report: &mut ValidationReport) {
    for column in &source.columns {
        if column.name.contains('.') {
            let message = format!("column name `{}` has a dot", column.name);
            report.error(source, ErrorKind::ColumnQualified, message);
        }
    }
    for entry in &source.grain {
        if entry.contains('.') {
            report.error(
                source,
                ErrorKind::GrainQualified,
                format!("grain entry `{entry}` has a dot"),
            );
        } else if source.column(entry).is_none() {
            let near =
                ktx_diagnostics::nearest(entry, source.columns.iter().map(|one| one.name.as_str()));
            let hint = near
                .first()
                .map_or(String::new(), |name| format!("; did you mean `{name}`"));
            let message = format!("grain entry `{entry}` is not a declared column{hint}");
            report.error(source, ErrorKind::GrainNotInColumns, message);
        }
    }
    duplicates(source, report);
}

fn duplicates(source: &Source, report: &mut ValidationReport) {
    for (at, measure) in source.measures.iter().enumerate() {
        for other in source.measures.iter().take(at) {
            if other.name == measure.name {
                let message = format!("measure `{}` is declared twice", measure.name);
                report.error(source, ErrorKind::DuplicateMeasureName, message);
                continue;
            }
            let mut segments = [measure.segments.clone(), other.segments.clone()];
            for list in &mut segments {
                list.sort();
            }
            let same_segments = segments.first() == segments.last();
            let same_formula = other.formula.key() == measure.formula.key()
                && other.snapshot == measure.snapshot
                && squeezed(&other.expr) == squeezed(&measure.expr);
            if !same_formula || !same_segments {
                continue;
            }
            let filter = |text: &Option<String>| text.as_deref().map(squeezed);
            if filter(&other.filter) == filter(&measure.filter) {
                let message = format!(
                    "measures `{}` and `{}` are the same; remove one",
                    other.name, measure.name
                );
                report.error(source, ErrorKind::DuplicateMeasureExpr, message);
            } else {
                let message = format!(
                    "measures `{}` and `{}` differ in their filter only; a segment says it once",
                    other.name, measure.name
                );
                report.warn(source, ErrorKind::DuplicateMeasureExpr, message);
            }
        }
    }
}

/// A text without white space, in lower case outside of quotes.
fn squeezed(text: &str) -> String {
    let mut quote: Option<char> = None;
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match quote {
            Some(close) => {
                if letter == close {
                    quote = None;
                }
                out.push(letter);
            }
            None if letter.is_whitespace() => {}
            None => {
                if matches!(letter, '\'' | '"' | '`') {
                    quote = Some(letter);
                }
                out.extend(letter.to_lowercase());
            }
        }
    }
    out
}

/// Declared columns must exist in the scanned table, where one is known.
fn scanned_columns(catalog: &Catalog, source: &Source, report: &mut ValidationReport) {
    let Relation::Table(table) = &source.relation else {
        return;
    };
    let Some(scanned) = catalog.manifest.only_match(table) else {
        return;
    };
    for column in source.columns.iter().filter(|column| column.expr.is_none()) {
        let mut known = scanned.entry.columns.iter().map(|one| one.name.as_str());
        if !known
            .clone()
            .any(|name| name.eq_ignore_ascii_case(&column.name))
        {
            let near = ktx_diagnostics::nearest(&column.name, known.by_ref());
            let hint = near
                .first()
                .map_or(String::new(), |name| format!("; did you mean `{name}`"));
            let message = format!(
                "column `{}` is not in table `{}`{hint}",
                column.name, scanned.entry.table
            );
            report.error(source, ErrorKind::UnknownColumn, message);
        }
    }
}
