//! Compiles a query over a catalog to SQL and a plan.

use ktx_sql::Dialect;
use ktx_sql::deep::deep;

use crate::catalog::Catalog;
use crate::emit::levels::{Level, write_levels};
use crate::emit::query_plan::Plan;
use crate::emit::remarks::{self, ComparedValue};
use crate::emit::{overall, per_entity};
use crate::model::authored::ColumnType;
use crate::model::error::{ErrorKind, QueryError, Renaming};
use crate::names::query::{Across, Query};
use crate::names::{Names, bound};
use crate::plan::levels::{GroupFilters, LevelQuery, level_queries, note_levels};
use crate::plan::{ColumnRole, Planned};
use crate::{emit, plan};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    pub name: String,
    /// The dimension or measure as requested.
    pub reference: String,
    pub role: ColumnRole,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    pub sql: String,
    /// Dimensions, then measures.
    pub columns: Vec<ResultColumn>,
    pub plan: Plan,
    pub notes: Vec<String>,
    pub compared: Vec<ComparedValue>,
}

/// Compiles a query, or refuses one without a correct answer.
pub fn compile(catalog: &Catalog, query: &Query, dialect: Dialect) -> Result<Compiled, QueryError> {
    deep(|| match per_entity::expanded(catalog, query, dialect)? {
        None => compiled_or_remedied(catalog, query, dialect),
        Some(expanded) => {
            let done = compiled_or_remedied(&expanded.catalog, &expanded.query, dialect);
            match done {
                Ok(mut compiled) => {
                    for column in &mut compiled.columns {
                        column.reference = expanded.restored(&column.reference);
                    }
                    compiled.notes.retain(|note| !expanded.is_moot(note));
                    for note in &mut compiled.notes {
                        *note = expanded.restored(note);
                    }
                    Ok(compiled)
                }
                Err(error) => Err(expanded.restored_error(error)),
            }
        }
    })
}

fn compiled_or_remedied(
    catalog: &Catalog,
    query: &Query,
    dialect: Dialect,
) -> Result<Compiled, QueryError> {
    compiled(catalog, query, dialect).map_err(|mut error| {
        error.remedy.queries = clear_queries(catalog, query, &error, &mut Attempts::default())
            .iter()
            .map(Query::to_value)
            .collect();
        error
    })
}

/// A query within another one, without order and limit.
pub(super) struct InnerSql {
    pub(super) sql: String,
    pub(super) columns: Vec<String>,
    pub(super) kind: Option<ColumnType>,
    /// Name and SQL of the only table, and SQL of the last measure there.
    pub(super) only_part: Option<(String, String, String)>,
}

pub(super) fn inner_sql(
    catalog: &Catalog,
    query: &Query,
    dialect: Dialect,
) -> Result<InnerSql, QueryError> {
    let graph = plan::spelled_graph(catalog, query, dialect)?;
    let constants = overall::constants(catalog, query, dialect)?;
    let names = Names {
        catalog,
        graph: graph.as_ref().unwrap_or(&catalog.graph),
        dialect,
        constants: &constants,
    };
    let mut planned = plan::plan(names, query)?;
    planned.order.clear();
    planned.limit = emit::UNLIMITED;
    let written = emit::write(&planned)?;
    let dimensions = planned.dimensions.iter().map(|one| one.name.clone());
    let measures = planned.measures.iter().map(|one| one.name.clone());
    let atom = planned
        .measures
        .last()
        .and_then(|one| bound::atom_of(&one.tree));
    let only_part = match (written.parts.as_slice(), written.measures.last()) {
        ([(name, sql)], Some(value)) if written.lifted.is_empty() && !written.is_staged => {
            Some((name.clone(), sql.clone(), value.clone()))
        }
        _ => None,
    };
    Ok(InnerSql {
        only_part,
        columns: dimensions.chain(measures).collect(),
        kind: atom.and_then(|at| planned.atoms.get(at)?.kind),
        sql: written.sql,
    })
}

const MOST_QUERIES: usize = 4;

const MOST_COMPILED: usize = 24;

const MOST_RENAMINGS: usize = 3;

#[derive(Default)]
struct Attempts {
    compiled: usize,
    renamings: usize,
}

fn clear_queries(
    catalog: &Catalog,
    query: &Query,
    error: &QueryError,
    attempts: &mut Attempts,
) -> Vec<Query> {
    let renamed = error.remedy.renamings.iter();
    let renamed = renamed.map(|Renaming { from, to }| query.renamed(from, to));
    let ways = error
        .remedy
        .ways
        .iter()
        .map(|way| query.through(&way.to, &way.through));
    let across = |across| Query {
        across,
        weight: query.weight.clone().filter(|_| across == Across::Allocate),
        ..query.clone()
    };
    let crossed = [Across::Allocate, Across::CountEach].map(across);
    let crossed = crossed.into_iter().filter(|_| error.remedy.is_crossable);
    let mut clear = Vec::new();
    for renamed in renamed.chain(ways).chain(crossed) {
        let is_done = clear.len() >= MOST_QUERIES || attempts.compiled >= MOST_COMPILED;
        if renamed == *query || is_done {
            continue;
        }
        attempts.compiled += 1;
        match compiled(catalog, &renamed, catalog.dialect()) {
            Ok(_) => clear.push(renamed),
            // The next query counts each row in every group.
            Err(_) if renamed.across == Across::Allocate => {}
            Err(error) if attempts.renamings + 1 < MOST_RENAMINGS => {
                attempts.renamings += 1;
                let further = clear_queries(catalog, &renamed, &error, attempts);
                attempts.renamings -= 1;
                let left = MOST_QUERIES - clear.len();
                clear.extend(further.into_iter().take(left));
            }
            Err(_) => {}
        }
    }
    // If nothing answers the whole query, the rest of it may.
    let without = error.remedy.without.filter(|_| clear.is_empty());
    let without = without.map(|at| query.without(at));
    clear.extend(without.filter(|rest| compiled(catalog, rest, catalog.dialect()).is_ok()));
    clear
}

fn compiled(catalog: &Catalog, query: &Query, dialect: Dialect) -> Result<Compiled, QueryError> {
    let graph = plan::spelled_graph(catalog, query, dialect)?;
    let constants = overall::constants(catalog, query, dialect)?;
    let names = Names {
        catalog,
        graph: graph.as_ref().unwrap_or(&catalog.graph),
        dialect,
        constants: &constants,
    };
    let mut planned = plan::plan(names, query)?;
    planned.notes.extend(constants.iter().map(|constant| {
        format!(
            "`{}` is over all rows: the filters and the groups of the query do not reach into it",
            constant.text
        )
    }));
    check_weight(query, &planned)?;
    let levels = level_queries(names, query, &planned)?;
    note_levels(&mut planned, &levels);
    let written = with_levels(names, &planned, &levels)?;
    let dimensions = planned.dimensions.iter().map(|dimension| ResultColumn {
        name: dimension.name.clone(),
        reference: dimension.reference.clone(),
        role: ColumnRole::Dimension,
    });
    let measures = planned.measures.iter().map(|measure| ResultColumn {
        name: measure.name.clone(),
        reference: measure.reference.clone(),
        role: ColumnRole::Measure,
    });
    let mark = planned.mark.iter().map(|name| ResultColumn {
        name: name.clone(),
        reference: name.clone(),
        role: ColumnRole::Mark,
    });
    let columns = dimensions.chain(measures).chain(mark).collect();
    let plan = Plan::of(&planned, &written);
    let mut notes = planned.notes.clone();
    notes.extend(remarks::of(&planned));
    Ok(Compiled {
        sql: written.sql,
        columns,
        plan,
        notes,
        compared: remarks::compared(&planned),
    })
}

/// The weight would have no effect.
fn check_weight(query: &Query, planned: &Planned<'_>) -> Result<(), QueryError> {
    let mut bridges = planned.parts.iter().filter_map(|part| part.bridge.as_ref());
    match &query.weight {
        Some(weight) if bridges.all(|bridge| bridge.weight.is_none()) => {
            let message = "`weight` divides rows among several groups, and no row of this answer belongs to several: ask \
                           without it";
            let mut error = QueryError::new(ErrorKind::InvalidQuery, message).about(weight);
            error.remedy.is_crossable = true;
            Err(error)
        }
        _ => Ok(()),
    }
}

fn with_levels(
    names: Names<'_>,
    planned: &Planned<'_>,
    levels: &[LevelQuery],
) -> Result<emit::Written, QueryError> {
    if levels.is_empty() {
        return emit::write(planned);
    }
    let plans: Vec<Planned<'_>> = levels
        .iter()
        .map(|level| plan::plan_level(names, &level.query, GroupFilters::Ignore))
        .collect::<Result<_, _>>()?;
    let levels = levels.iter().zip(&plans);
    let levels: Vec<Level<'_, '_>> = levels
        .map(|(query, planned)| Level { query, planned })
        .collect();
    write_levels(planned, &levels)
}
