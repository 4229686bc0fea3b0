//! Checks imports against the sources of the warehouse, and removes what does not compile.

use ktx_context_sources::WhyLeft;
use ktx_semantic_layer::sql::sql_text::identifier;
use ktx_semantic_layer::{
    Catalog, ColumnType, DimensionRequest, ErrorKind, MeasureRequest, Query, SourceFile, compile,
};
use ktx_sql::Dialect;

use super::write::{EntryOrigin, Item};
use super::{ImportReport, Imports, leave};

/// Time units for test queries of measures over periods; some windows need the finer one.
const UNITS: [&str; 2] = ["day", "month"];

const MOST_TIMES: usize = 3;

pub(super) fn settle(
    imports: &mut Imports,
    own: &str,
    others: &[SourceFile],
    dialect: Dialect,
    report: &mut ImportReport,
) {
    loop {
        let catalog = with(imports, own, others, dialect);
        let mut has_changed = false;
        for import in imports.values_mut() {
            let table = import.table().to_owned();
            let (sound, broken): (Vec<_>, Vec<_>) = std::mem::take(&mut import.entries)
                .into_iter()
                .map(|entry| {
                    let problem = match entry.standing {
                        EntryOrigin::Defined => problem(&catalog, &table, &entry.item),
                        EntryOrigin::Kept => None,
                    };
                    (entry, problem)
                })
                .partition(|(_, problem)| problem.is_none());
            import.entries = sound.into_iter().map(|(entry, _)| entry).collect();
            has_changed |= !broken.is_empty();
            for (entry, reason) in broken {
                let why = WhyLeft::NotCompiled;
                leave(&entry, why, reason.unwrap_or_default(), report);
            }
        }
        if !has_changed {
            break;
        }
    }
    for import in imports.values_mut() {
        import.drop_unused_inputs();
    }
}

fn with(imports: &Imports, own: &str, others: &[SourceFile], dialect: Dialect) -> Catalog {
    let mut files = others.to_vec();
    files.extend(imports.values().map(|import| {
        let path = format!("{own}{}", SourceFile::name_for(import.table()));
        SourceFile::new(path, import.text())
    }));
    Catalog::load(files, dialect)
}

fn problem(catalog: &Catalog, table: &str, item: &Item) -> Option<String> {
    let name = |own: &str| {
        let dialect = catalog.dialect();
        format!(
            "{}.{}",
            identifier(dialect, table),
            identifier(dialect, own)
        )
    };
    match item {
        Item::Known | Item::Join(_) => None,
        Item::Column(column) => refusal(
            catalog,
            &Query {
                dimensions: vec![dimension(name(&column.name), None)],
                ..Query::default()
            },
        )
        .map(|(_, message)| message),
        Item::Segment(segment) => refusal(
            catalog,
            &Query {
                measures: vec![measure(format!("count({}.*)", name_of(catalog, table)))],
                segments: vec![name(&segment.name)],
                ..Query::default()
            },
        )
        .map(|(_, message)| message),
        Item::Measure(own) => measure_problem(catalog, table, &name(&own.name)),
    }
}

fn measure_problem(catalog: &Catalog, table: &str, name: &str) -> Option<String> {
    let mut query = Query {
        measures: vec![measure(name.to_owned())],
        ..Query::default()
    };
    let (kind, message) = refusal(catalog, &query)?;
    if kind != ErrorKind::NoTimeDimension {
        return Some(message);
    }
    let source = catalog.source(table)?;
    let times = source
        .columns
        .iter()
        .filter(|column| column.kind == ColumnType::Time);
    let mut last = None;
    for time in times.take(MOST_TIMES) {
        for unit in UNITS {
            let field = format!(
                "{}.{}",
                name_of(catalog, table),
                identifier(catalog.dialect(), &time.name)
            );
            query.dimensions = vec![dimension(field, Some(unit))];
            let (_, message) = refusal(catalog, &query)?;
            last = Some(message);
        }
    }
    Some(last.unwrap_or_else(|| format!("`{table}` has no time column")))
}

fn name_of(catalog: &Catalog, table: &str) -> String {
    identifier(catalog.dialect(), table)
}

fn measure(expr: String) -> MeasureRequest {
    MeasureRequest {
        expr,
        name: None,
        via: Vec::new(),
    }
}

fn dimension(field: String, unit: Option<&str>) -> DimensionRequest {
    DimensionRequest {
        field,
        granularity: unit.map(str::to_owned),
        via: Vec::new(),
    }
}

fn refusal(catalog: &Catalog, query: &Query) -> Option<(ErrorKind, String)> {
    let error = compile(catalog, query, catalog.dialect()).err()?;
    Some((error.kind, error.message))
}
