//! Compares spellings by meaning.

use ktx_sql::Dialect;

use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::ErrorKind;
use ktx_semantic_layer::Granularity;
use ktx_semantic_layer::compile;
use ktx_semantic_layer::parse_query;
use ktx_semantic_layer::sql::expression;
use ktx_semantic_layer::sql::sql_text::identifier;
use ktx_semantic_layer::{DimensionRequest, MeasureRequest, Query};
use ktx_semantic_layer::{Measure, Source};

/// Ignores white space.
pub(super) fn is_same_expression(old: &str, new: &str, dialect: Dialect) -> bool {
    let printed = |text: &str| expression::parse(text, dialect).map(|tree| tree.to_string());
    old == new || matches!((printed(old), printed(new)), (Ok(old), Ok(new)) if old == new)
}

pub(super) fn is_same_query(source: &Source, old: &str, new: &str, dialect: Dialect) -> bool {
    let printed = |text: &str| parse_query(source, text, dialect).map(|query| query.to_string());
    old == new || matches!((printed(old), printed(new)), (Ok(old), Ok(new)) if old == new)
}

/// Compiles a measure on its own.
pub(super) fn sql(catalog: &Catalog, source: &Source, measure: &Measure) -> Option<String> {
    let dialect = catalog.dialect();
    let quoted = |name: &str| identifier(dialect, name);
    let mut query = Query {
        measures: vec![MeasureRequest {
            expr: format!("{}.{}", quoted(&source.name), quoted(&measure.name)),
            name: None,
            via: Vec::new(),
        }],
        ..Query::default()
    };
    let compiled = match compile(catalog, &query, dialect) {
        Ok(compiled) => Some(compiled),
        // A measure over periods compiles with any of its time columns, in a matching unit.
        Err(error) if error.kind == ErrorKind::NoTimeDimension => {
            let word = error.suggestions.first()?;
            let (field, _) = word.rsplit_once(':')?;
            let mut units = Granularity::ALL.into_iter().rev();
            units.find_map(|unit| {
                query.dimensions = vec![DimensionRequest {
                    field: field.to_owned(),
                    granularity: Some(unit.name().to_owned()),
                    via: Vec::new(),
                }];
                compile(catalog, &query, dialect).ok()
            })
        }
        // The validator reports the reason.
        Err(_) => None,
    };
    compiled.map(|compiled| compiled.sql)
}
