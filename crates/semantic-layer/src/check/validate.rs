//! The validator: finds every error that is detectable without a query.

mod duplicates;
mod expressions;
mod joins;
mod sql_sources;

use std::collections::BTreeSet;

use ktx_sql::deep::deep;
use serde::Serialize;

use crate::catalog::Catalog;
use crate::catalog::places::Places;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::part::Part;
use crate::model::resolved::{Origin, Relation, Source};
use crate::names::Names;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// With line and column if known; absent for the whole folder.
    pub path: Option<String>,
    pub source: Option<String>,
    pub kind: ErrorKind,
    /// Lower case, no full stop, the object in backticks.
    pub message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ValidationReport {
    pub errors: Vec<Finding>,
    /// Findings that may be intended.
    pub warnings: Vec<Finding>,
}

struct Findings<'a> {
    places: Places<'a>,
    report: ValidationReport,
}

impl Findings<'_> {
    fn error(&mut self, at: At<'_>, kind: ErrorKind, message: impl Into<String>) {
        let found = self.finding(at, kind, message);
        self.report.errors.push(found);
    }

    fn warn(&mut self, at: At<'_>, kind: ErrorKind, message: impl Into<String>) {
        let found = self.finding(at, kind, message);
        self.report.warnings.push(found);
    }

    fn refused(&mut self, at: At<'_>, place: &str, error: &QueryError) {
        let kind = match error.kind {
            ErrorKind::UnknownMeasure | ErrorKind::UnknownSource => ErrorKind::UnknownColumn,
            kind => kind,
        };
        let mut message = format!("{place}: {}", error.message);
        if let Some(near) = error.suggestions.first() {
            message = format!("{message}; did you mean `{near}`");
        }
        self.error(at, kind, message);
    }

    fn finding(
        &mut self,
        (source, part): At<'_>,
        kind: ErrorKind,
        message: impl Into<String>,
    ) -> Finding {
        Finding {
            path: Some(self.places.of(source, part).to_string()),
            source: Some(source.name.clone()),
            kind,
            message: message.into(),
        }
    }
}

type At<'a> = (&'a Source, &'a Part);

/// `recently_touched` names the sources just written; some rules apply only to them.
pub fn validate(catalog: &Catalog, recently_touched: &[String]) -> ValidationReport {
    deep(|| validated(catalog, recently_touched))
}

fn validated(catalog: &Catalog, recently_touched: &[String]) -> ValidationReport {
    let mut found = Findings {
        places: Places::new(catalog),
        report: ValidationReport::default(),
    };
    load_findings(catalog, &mut found.report);
    let names = Names::of(catalog, catalog.dialect());
    let touched: BTreeSet<&str> = recently_touched.iter().map(String::as_str).collect();
    let tables = sql_sources::Readable::of(catalog, &touched);
    for source in catalog
        .sources
        .iter()
        .filter(|source| source.problem.is_none())
    {
        own_rules(names, source, &mut found);
        scanned_columns(catalog, source, &mut found);
        expressions::check(names, source, &mut found);
        joins::check(catalog, source, &mut found);
        sql_sources::projection(names, source, &mut found);
        if touched.contains(source.name.as_str()) {
            sql_sources::undeclared_joins(names, source, &tables, &mut found);
        }
    }
    joins::check_graph(catalog, &touched, &mut found);
    let mut report = found.report;
    for findings in [&mut report.errors, &mut report.warnings] {
        findings.sort_by_cached_key(|found| (place(found), found.clone()));
        findings.dedup();
    }
    report
}

fn place(found: &Finding) -> (Option<String>, Vec<u32>) {
    let mut file = found.path.as_deref();
    let mut numbers = Vec::new();
    while let Some((before, number)) = file.and_then(|path| path.rsplit_once(':'))
        && let Ok(number) = number.parse()
        && numbers.len() < 2
    {
        numbers.insert(0, number);
        file = Some(before);
    }
    (file.map(str::to_owned), numbers)
}

fn load_findings(catalog: &Catalog, report: &mut ValidationReport) {
    for diagnostic in catalog.diagnostics() {
        let kind = ErrorKind::ALL
            .iter()
            .find(|kind| kind.code() == diagnostic.code);
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

fn own_rules(names: Names<'_>, source: &Source, found: &mut Findings<'_>) {
    let scanned = match source.origin {
        Origin::Standalone => None,
        Origin::Manifest | Origin::Overlay => names.catalog.manifest.called(&source.name),
    };
    let is_scanned = |name: &str| {
        let columns = scanned.map_or(&[] as &[_], |table| &table.entry.columns);
        columns.iter().any(|column| column.name == name)
    };
    for column in &source.columns {
        if column.name.contains('.') && !is_scanned(&column.name) {
            let message = format!("column name `{}` has a dot", column.name);
            found.error(
                (source, &Part::Column(column.name.clone())),
                ErrorKind::ColumnQualified,
                message,
            );
        }
    }
    for entry in &source.grain {
        if entry.contains('.') && !is_scanned(entry) {
            found.error(
                (source, &Part::Grain),
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
            found.error(
                (source, &Part::Grain),
                ErrorKind::GrainNotInColumns,
                message,
            );
        }
    }
    duplicates::check(names, source, found);
}

fn scanned_columns(catalog: &Catalog, source: &Source, found: &mut Findings<'_>) {
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
            found.error(
                (source, &Part::Column(column.name.clone())),
                ErrorKind::UnknownColumn,
                message,
            );
        }
    }
}
