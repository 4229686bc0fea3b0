//! Finds lost tables and columns, and references to them.

use ktx_diagnostics::{Location, Position};
use ktx_semantic_layer::{ErrorKind, Finding, Origin, Part, Relation, Source, place_of, validate};

use super::{DriftClass, DriftConnection, DriftFinding};
use crate::scans::ScanSnapshot;

pub(super) fn check(
    connection: &DriftConnection,
    scan: &ScanSnapshot,
    findings: &mut Vec<DriftFinding>,
) {
    let places = scan.places();
    for source in connection.catalog.sources() {
        let Relation::Table(name) = &source.relation else {
            continue;
        };
        let Some(table) = places.read_by(source) else {
            if places.named(name).is_empty() && !is_left_out(scan, name) {
                findings.push(lost_table(connection, source, name));
            }
            continue;
        };
        // The scan itself writes the columns of scanned tables.
        if source.origin != Origin::Standalone {
            continue;
        }
        let is_there = |name: &str| {
            let mut columns = table.columns.iter();
            columns.any(|column| column.name.eq_ignore_ascii_case(name))
        };
        for column in source.columns.iter().filter(|column| column.expr.is_none()) {
            if !is_there(&column.name) {
                findings.push(DriftFinding::at(
                    place(connection, source, &Part::Column(column.name.clone())),
                    DriftClass::LostColumn,
                    format!(
                        "`{}` names the column `{}`, which `{}` does not have",
                        source.name, column.name, table.table
                    ),
                    format!(
                        "remove the column from `{}`, or name the one that replaced it",
                        source.name
                    ),
                ));
            }
        }
    }
}

fn lost_table(connection: &DriftConnection, source: &Source, name: &str) -> DriftFinding {
    DriftFinding::at(
        place(connection, source, &Part::Relation),
        DriftClass::LostTable,
        format!(
            "`{}` reads the table `{name}`, which the last scan of `{}` does not have",
            source.name, connection.id
        ),
        format!(
            "remove the source, name the table that replaced it, or scan again with `ktx scan {}`",
            connection.id
        ),
    )
}

fn is_left_out(scan: &ScanSnapshot, name: &str) -> bool {
    let plain = name.replace(['"', '`', '[', ']'], "");
    let mut parts = plain.split('.').rev().skip(1);
    parts.any(|part| {
        let mut schemas = scan.left_out.iter();
        schemas.any(|schema| schema.name.eq_ignore_ascii_case(part))
    })
}

pub(super) fn check_references(connection: &DriftConnection, findings: &mut Vec<DriftFinding>) {
    let report = validate(&connection.catalog, &[]);
    for found in report.errors.iter().chain(&report.warnings) {
        let Some(class) = class_of(found.kind) else {
            continue;
        };
        let location = location(connection, found);
        let is_known = |other: &DriftFinding| {
            let position = location.position.map(|position| position.line);
            other.file == location.file && other.line == position && other.class != class
        };
        if findings.iter().any(is_known) {
            continue;
        }
        findings.push(DriftFinding::at(
            location,
            class,
            found.message.clone(),
            "correct the name, or remove what uses it; `ktx sl validate` checks the sources",
        ));
    }
}

/// `None` for errors that are not about lost names.
const fn class_of(kind: ErrorKind) -> Option<DriftClass> {
    match kind {
        ErrorKind::UnmatchedOverlay => Some(DriftClass::LostTable),
        ErrorKind::UnknownColumn
        | ErrorKind::UnknownMeasure
        | ErrorKind::UnknownSegment
        | ErrorKind::UnknownSource
        | ErrorKind::GrainNotInColumns
        | ErrorKind::JoinLocalColumn
        | ErrorKind::JoinTargetColumn
        | ErrorKind::OrphanJoinTarget
        | ErrorKind::InvalidOverlay => Some(DriftClass::BrokenReference),
        _ => None,
    }
}

fn location(connection: &DriftConnection, found: &Finding) -> Location {
    let path = found.path.as_deref().unwrap_or_default();
    let (mut file, mut numbers) = (path, Vec::new());
    while let Some((before, number)) = file.rsplit_once(':') {
        let Ok(number) = number.parse::<u32>() else {
            break;
        };
        numbers.insert(0, number);
        file = before;
    }
    let position = match numbers.as_slice() {
        [line, column] => Some(Position {
            line: *line,
            column: *column,
        }),
        [line] => Some(Position {
            line: *line,
            column: 1,
        }),
        _ => None,
    };
    in_project(
        connection,
        &Location {
            file: file.to_owned(),
            position,
        },
    )
}

pub(super) fn place(connection: &DriftConnection, source: &Source, part: &Part) -> Location {
    in_project(connection, &place_of(&connection.catalog, source, part))
}

fn in_project(connection: &DriftConnection, location: &Location) -> Location {
    let file = location.file.split('#').next().unwrap_or_default();
    Location {
        file: format!("semantic-layer/{}/{file}", connection.id),
        position: location.position,
    }
}
