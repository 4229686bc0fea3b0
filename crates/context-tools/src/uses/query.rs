//! Compiles and runs semantic queries.

use std::sync::Arc;

use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure};
use ktx_semantic_layer::{
    Across, Catalog, Compiled, DimensionRequest, Direction, EmptyMembers, ErrorKind,
    MeasureRequest, MissingPeriods, OrderRequest, Others, Query, Totals, compile,
};
use ktx_sql::Dialect;
use ktx_tool_descriptors::CallContext;
use ktx_warehouse::QueryResult;
use serde_json::{Value, json};

use crate::choice::{Candidates, Match, candidates, choose};
use crate::context::{Need, ProjectContext, Runner};
use crate::limits::check_query;
use crate::reader::Reader;
use crate::wire::{
    AcrossInput, DimensionInput, DirectionInput, IncludePart, MeasureInput, OrderInput,
    SlQueryInput, SlQueryOutput,
};

use super::corrected::taught;
use super::crowded::crowded_note;
use super::sql::{MAX_ROWS, Statement, cut_note, fetched, headers, rows};
use super::unknown_values::unknown_values;
use super::waiting::with_waiting_joins;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    Run { max_rows: Option<usize> },
    CompileOnly,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRequest {
    /// Chosen by the query if absent.
    pub connection: Option<String>,
    pub query: Query,
    pub execution: Execution,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryAnswer {
    pub connection: Connection,
    pub dialect: Dialect,
    pub compiled: Compiled,
    pub limit: Option<u64>,
    /// `None` if the query was only compiled.
    pub result: Option<QueryResult>,
    pub notes: Vec<String>,
    pub execution: Value,
}

/// The compiled SQL passes the same gate as users' SQL.
pub async fn query(
    context: &dyn ProjectContext,
    request: &QueryRequest,
    call: &CallContext,
) -> Result<QueryAnswer, Failure> {
    call.progress.report(0.0, "Compiling query");
    check_query(&request.query)?;
    let connection = warehouse_for(context, request).await?;
    let catalog = catalog_for(context, &connection, &request.query).await?;
    if catalog.list().is_empty() {
        let message = format!("`{}` has no semantic sources", connection.id);
        return Err(
            Failure::new(Code::NoSource, message).hint(format!("run `ktx scan {}`", connection.id))
        );
    }
    call.progress.report(0.3, "Generating SQL");
    let dialect = catalog.dialect();
    let compiled = match compile(&catalog, &request.query, dialect) {
        Ok(compiled) => compiled,
        Err(error) => {
            let reader = context.reader();
            let failure = taught(error, &request.query, &catalog, reader);
            if reader == Reader::Person {
                return Err(failure);
            }
            let connection = Some(connection.id.as_str());
            return Err(with_waiting_joins(context, connection, &request.query, failure).await);
        }
    };
    let mut notes = compiled.notes.clone();
    if !compiled.compared.is_empty() {
        // Other commands report an unreadable scan.
        let snapshot = context.snapshot(&connection.id).await.ok().flatten();
        let unknown = snapshot.map(|scan| unknown_values(&compiled.compared, &catalog, &scan));
        notes.extend(unknown.unwrap_or_default());
    }
    let (result, execution) = match request.execution {
        Execution::CompileOnly => (None, compile_only("execution was not asked for")),
        Execution::Run { max_rows } => match context.runner(&connection).await? {
            Runner::CompileOnly { reason } => {
                notes.insert(0, format!("the query was compiled and not run: {reason}"));
                (None, compile_only(&reason))
            }
            Runner::Ready(connector) => {
                let asked = request
                    .query
                    .limit
                    .unwrap_or(ktx_semantic_layer::DEFAULT_LIMIT);
                let asked = match usize::try_from(asked) {
                    Ok(asked) if !request.query.has_other_rows() => asked,
                    _ => usize::MAX,
                };
                let most = asked.min(max_rows.unwrap_or(MAX_ROWS)).min(MAX_ROWS);
                let statement = Statement {
                    tool: "sl_query",
                    connection: &connection,
                    caps: context.reader().caps(most),
                };
                let sql = with_one_more(&request.query, &catalog, &compiled)?;
                let checked = statement
                    .check(context, call, &sql, connector.as_ref())
                    .await?;
                call.progress.report(0.6, "Executing");
                let result = statement
                    .run(context, call, &checked, connector.as_ref())
                    .await?;
                call.progress.report(1.0, &fetched(&result));
                notes.extend(cut_note(&result, &statement.caps));
                notes.extend(crowded_note(&request.query, &result, context.reader()));
                let mut execution = json!({
                    "mode": "executed",
                    "driver": connection.driver.as_str(),
                    "maxRows": most,
                    "rowCount": result.rows.len(),
                });
                if let (Some(execution), Some(zone)) =
                    (execution.as_object_mut(), connector.timezone())
                {
                    execution.insert("timeZone".to_owned(), zone.into());
                }
                (Some(result), execution)
            }
        },
    };
    Ok(QueryAnswer {
        connection,
        dialect,
        compiled,
        limit: request.query.limit,
        result,
        notes,
        execution,
    })
}

/// Requests one extra row, to detect further rows.
fn with_one_more(query: &Query, catalog: &Catalog, compiled: &Compiled) -> Result<String, Failure> {
    let limit = query.limit.unwrap_or(ktx_semantic_layer::DEFAULT_LIMIT);
    let is_beyond = usize::try_from(limit).map_or(true, |limit| limit > MAX_ROWS);
    if limit == 0 || is_beyond || query.has_other_rows() {
        return Ok(compiled.sql.clone());
    }
    let query = Query {
        limit: Some(limit + 1),
        // The default limit does not select the first rows.
        empty_members: match query.empty_members {
            EmptyMembers::UnlessRanked if query.limit.is_none() => EmptyMembers::Include,
            asked => asked,
        },
        ..query.clone()
    };
    Ok(compile(catalog, &query, catalog.dialect())?.sql)
}

impl QueryAnswer {
    pub fn is_truncated(&self) -> bool {
        let as_asked = |rows: usize| {
            let limit = self.limit.map(usize::try_from);
            limit.is_some_and(|limit| limit == Ok(rows))
        };
        let result = self.result.as_ref();
        result.is_some_and(|result| result.truncated && !as_asked(result.rows.len()))
    }

    pub fn plan(&self) -> Value {
        let mut plan = serde_json::to_value(&self.compiled.plan).unwrap_or_default();
        if let Value::Object(map) = &mut plan {
            map.insert("execution".to_owned(), self.execution.clone());
        }
        plan
    }

    pub fn headers(&self) -> Vec<String> {
        match &self.result {
            Some(result) if !result.columns.is_empty() => headers(result),
            _ => self
                .compiled
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
        }
    }

    pub fn to_wire(&self, include: &[IncludePart]) -> SlQueryOutput {
        let rows = self.result.as_ref().map(rows).unwrap_or_default();
        SlQueryOutput {
            connection_id: Some(self.connection.id.to_string()),
            dialect: Some(self.dialect.name().to_owned()),
            headers: self.headers(),
            total_rows: rows.len(),
            rows,
            truncated: self.result.as_ref().is_some_and(|result| result.truncated),
            notes: self.notes.clone(),
            sql: include
                .contains(&IncludePart::Sql)
                .then(|| self.compiled.sql.clone()),
            plan: include.contains(&IncludePart::Plan).then(|| self.plan()),
        }
    }
}

async fn catalog_for(
    context: &dyn ProjectContext,
    connection: &Connection,
    query: &Query,
) -> Result<Arc<Catalog>, Failure> {
    match context.reader() {
        Reader::Agent => context.catalog(&connection.id).await,
        Reader::Person => {
            let need = Need::Query(Box::new(query.clone()));
            context.catalog_for(&connection.id, need).await
        }
    }
}

/// The named or only warehouse, or the only one with every name of the query.
async fn warehouse_for(
    context: &dyn ProjectContext,
    request: &QueryRequest,
) -> Result<Connection, Failure> {
    let several = match candidates(context, request.connection.as_deref()).await? {
        Candidates::One(connection) => return Ok(connection),
        Candidates::Several(several) => several,
    };
    let mut matches = Vec::with_capacity(several.len());
    for connection in several {
        let found = match context.catalog(&connection.id).await {
            Ok(catalog) => names_in(&catalog, &request.query),
            Err(failure) => Match::Unreadable(failure.message),
        };
        matches.push((connection, found));
    }
    choose(matches, context.reader())
}

fn names_in(catalog: &Catalog, query: &Query) -> Match {
    if catalog.list().is_empty() {
        return Match::Missing("no semantic sources".to_owned());
    }
    let Err(error) = compile(catalog, query, catalog.dialect()) else {
        return Match::Complete;
    };
    match error.kind {
        ErrorKind::UnknownSource
        | ErrorKind::UnknownColumn
        | ErrorKind::UnknownMeasure
        | ErrorKind::UnknownSegment
        | ErrorKind::NoSource => {
            let near = error.suggestions.first();
            let near = near.map(|near| format!(", try `{near}`"));
            Match::Missing(error.message.clone() + &near.unwrap_or_default())
        }
        _ => Match::Refused(Failure::from(error)),
    }
}

fn compile_only(reason: &str) -> Value {
    json!({"mode": "compile_only", "reason": reason})
}

/// Converts the arguments of a tool call.
///
/// # Errors
/// An unknown direction of a sort key.
pub fn query_of(input: &SlQueryInput) -> Result<Query, Failure> {
    let measures = input.measures.iter().map(|measure| match measure {
        MeasureInput::Text(text) => MeasureRequest::parse(text),
        MeasureInput::Named { expr, name, via } => MeasureRequest {
            expr: expr.clone(),
            name: name.clone(),
            via: via.clone().unwrap_or_default(),
        },
    });
    let dimensions = input
        .dimensions
        .iter()
        .flatten()
        .map(|dimension| match dimension {
            DimensionInput::Text(text) => DimensionRequest::parse(text),
            DimensionInput::Field {
                field,
                granularity,
                via,
            } => DimensionRequest {
                field: field.clone(),
                granularity: granularity.clone(),
                via: via.clone().unwrap_or_default(),
            },
        });
    let order_by = input.order_by.iter().flatten().map(|order| match order {
        OrderInput::Text(text) => OrderRequest::parse(text),
        OrderInput::Field { field, direction } => Ok(OrderRequest {
            field: field.clone(),
            direction: match direction.unwrap_or_default() {
                DirectionInput::Asc => Direction::Ascending,
                DirectionInput::Desc => Direction::Descending,
            },
        }),
    });
    Ok(Query {
        measures: measures.collect(),
        dimensions: dimensions.collect(),
        filters: input.filters.clone().unwrap_or_default(),
        segments: input.segments.clone().unwrap_or_default(),
        order_by: order_by.collect::<Result<_, _>>()?,
        limit: input.limit,
        empty_members: match input.include_empty {
            Some(false) => EmptyMembers::Exclude,
            Some(true) => EmptyMembers::Include,
            None => EmptyMembers::default(),
        },
        missing_periods: match input.fill {
            Some(true) => MissingPeriods::Fill,
            Some(false) | None => MissingPeriods::LeaveOut,
        },
        totals: match input.totals {
            Some(true) => Totals::Include,
            Some(false) | None => Totals::LeaveOut,
        },
        weight: input.weight.clone(),
        limit_per: input.limit_per.clone().unwrap_or_default(),
        others: match input.others {
            Some(true) => Others::OneRow,
            Some(false) | None => Others::LeaveOut,
        },
        across: match input.across {
            Some(AcrossInput::CountEach) => Across::CountEach,
            Some(AcrossInput::Allocate) => Across::Allocate,
            None => Across::default(),
        },
    })
}
