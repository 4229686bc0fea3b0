//! The entry point of the compiler: compiles a query over a catalog to SQL and a plan.

use ktx_sql::Dialect;

use crate::catalog::Catalog;
use crate::emit::query_plan::Plan;
use crate::emit::remarks::{self, ComparedValue};
use crate::model::error::QueryError;
use crate::names::query::Query;
use crate::plan::ColumnRole;
use crate::sql::deep::deep;
use crate::{emit, plan};

/// One column of the result, in the order of the SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    /// The name in the result set.
    pub name: String,
    /// The dimension or measure as requested.
    pub reference: String,
    /// The role of the column.
    pub role: ColumnRole,
}

/// A compiled query.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// One statement in the connection's dialect.
    pub sql: String,
    /// The columns of the result: dimensions, then measures.
    pub columns: Vec<ResultColumn>,
    /// How the answer is computed.
    pub plan: Plan,
    /// Remarks for the reader of the numbers.
    pub notes: Vec<String>,
    /// The texts that filters compare columns with.
    pub compared: Vec<ComparedValue>,
}

/// Compiles a query to SQL.
///
/// # Errors
///
/// Refuses a query without a correct answer and says why.
pub fn compile(catalog: &Catalog, query: &Query, dialect: Dialect) -> Result<Compiled, QueryError> {
    deep(|| compiled(catalog, query, dialect))
}

fn compiled(catalog: &Catalog, query: &Query, dialect: Dialect) -> Result<Compiled, QueryError> {
    let planned = plan::plan(catalog, query, dialect)?;
    let written = emit::write(&planned)?;
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
    let columns = dimensions.chain(measures).collect();
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
