//! The table of tools.

use std::sync::Arc;

use ktx_diagnostics::{Code, Failure};
use ktx_tool_descriptors::{CallContext, WriteEffect, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::ProjectContext;
use crate::uses::{self, Execution, Lanes, QueryRequest, SqlRequest};
use crate::wire::{
    ConnectionListOutput, DictionaryInput, DictionaryOutput, DiscoverInput, DiscoverOutput,
    EntityDetailsInput, EntityDetailsOutput, ReadSourceInput, ReadSourceOutput, SlQueryInput,
    SlQueryOutput, SqlInput, SqlOutput, WikiReadInput, WikiReadOutput, WikiSearchInput,
    WikiSearchOutput,
};

use super::budget::Shape;
use super::envelope::Contents;
use super::{Answer, Core, Spec};

pub(super) static SPECS: [Spec; 9] = [
    Spec {
        name: "connection_list",
        title: "Connection List",
        description: "List the connections: warehouses and context sources. Their ids are the `connectionId` of other tools.",
        core: None,
        effect: WriteEffect::Idempotent,
        contents: Contents::Own,
        shape: Shape::List("connections"),
        input: nothing,
        output: schema_for::<ConnectionListOutput>,
        run: connection_list,
    },
    Spec {
        name: "discover_data",
        title: "Discover Data",
        description: "Start here. Finds measures, sources, dimensions, wiki pages, tables and columns for the words of a question. What it names goes into `sl_query` as it is. Read a page with `wiki_read`, a source with `sl_read_source`.",
        core: Some(Core {
            description: "Start here: finds measures, columns, sources, tables and wiki pages for the words of a question. Never guess a name.",
            arguments: &["query", "limit"],
        }),
        effect: WriteEffect::ReadOnly,
        contents: Contents::Data,
        shape: Shape::List("refs"),
        input: schema_for::<DiscoverInput>,
        output: schema_for::<DiscoverOutput>,
        run: discover_data,
    },
    Spec {
        name: "wiki_search",
        title: "Wiki Search",
        description: "Find wiki pages: definitions, rules and caveats that people wrote. Read them with `wiki_read` before you answer.",
        core: None,
        effect: WriteEffect::ReadOnly,
        contents: Contents::Data,
        shape: Shape::List("results"),
        input: schema_for::<WikiSearchInput>,
        output: schema_for::<WikiSearchOutput>,
        run: wiki_search,
    },
    Spec {
        name: "wiki_read",
        title: "Wiki Read",
        description: "Read one wiki page: a definition, what to exclude, caveats.",
        core: Some(Core {
            description: "Read a wiki page by its key: how a term is defined, what to exclude.",
            arguments: &["key"],
        }),
        effect: WriteEffect::Idempotent,
        contents: Contents::Data,
        shape: Shape::Markdown("content"),
        input: schema_for::<WikiReadInput>,
        output: schema_for::<WikiReadOutput>,
        run: wiki_read,
    },
    Spec {
        name: "sl_read_source",
        title: "Semantic Layer Read Source",
        description: "Read one semantic source as YAML: the columns, joins, measures and segments that `sl_query` takes.",
        core: Some(Core {
            description: "Read a source: its columns, joins, measures and segments, as `sl_query` takes them.",
            arguments: &["sourceName"],
        }),
        effect: WriteEffect::Idempotent,
        contents: Contents::Data,
        shape: Shape::Yaml("yaml"),
        input: schema_for::<ReadSourceInput>,
        output: schema_for::<ReadSourceOutput>,
        run: sl_read_source,
    },
    Spec {
        name: "sl_query",
        title: "Semantic Layer Query",
        description: "Answer with numbers: measures by dimensions, compiled to SQL whose joins never multiply rows. Use it \
                      before SQL, also where no measure is defined: a measure may be `orders.revenue`, one that \
                      `discover_data` suggests, an aggregate over columns (`sum(orders.amount)`, \
                      `count(distinct orders.customer_id)`), or arithmetic over these. Dimensions may be of any joined \
                      source; a path says which join: `orders.billing_address.city`. Example: \
                      {\"measures\":[\"orders.revenue\",{\"expr\":\"sum(orders.tax) / sum(orders.amount)\",\"name\":\"tax_rate\"}],\
                      \"dimensions\":[\"customers.region\",\"orders.placed_at:month\"],\
                      \"filters\":[\"orders.status = 'paid'\"],\"order_by\":[\"orders.revenue:desc\"],\"limit\":10}. \
                      Groups compare with share(m), rank(m, dimension), running_total(m), previous(m), change(m), \
                      growth(m), row_change(m); per(customers, m) is m for each customer, used like a column; overall(m) is m \
                      over all rows. \
                      A refusal says what to send instead.",
        core: Some(Core {
            description: "Answer with numbers; use it before SQL: its joins never multiply rows. A measure is `orders.revenue`, one \
                          that is suggested, an aggregate over columns (`sum(orders.amount)`), or arithmetic. A \
                          refusal says what to send instead. Example: {\"measures\":[\"orders.revenue\"],\
                          \"dimensions\":[\"customers.region\",\"orders.placed_at:month\"],\
                          \"filters\":[\"orders.status = 'paid'\"],\"order_by\":[\"orders.revenue:desc\"],\"limit\":10}",
            arguments: &["measures", "dimensions", "filters", "order_by", "limit"],
        }),
        effect: WriteEffect::ReadOnly,
        contents: Contents::Data,
        shape: Shape::Rows { count: "totalRows" },
        input: schema_for::<SlQueryInput>,
        output: schema_for::<SlQueryOutput>,
        run: sl_query,
    },
    Spec {
        name: "entity_details",
        title: "Entity Details",
        description: "Describe tables as the last scan saw them: columns, types, keys, comments, joins and some values. Look here before you write SQL.",
        core: None,
        effect: WriteEffect::Idempotent,
        contents: Contents::Data,
        shape: Shape::Columns {
            tables: "results",
            columns: "columns",
        },
        input: schema_for::<EntityDetailsInput>,
        output: schema_for::<EntityDetailsOutput>,
        run: entity_details,
    },
    Spec {
        name: "dictionary_search",
        title: "Dictionary Search",
        description: "Find the columns that hold a value (a status, a country, a product) and its exact spelling, before you filter by it. Only sampled values are known.",
        core: None,
        effect: WriteEffect::ReadOnly,
        contents: Contents::Data,
        shape: Shape::List("results"),
        input: schema_for::<DictionaryInput>,
        output: schema_for::<DictionaryOutput>,
        run: dictionary_search,
    },
    Spec {
        name: "sql_execution",
        title: "SQL Execution",
        description: "Run one read-only query in the dialect of the warehouse, for what `sl_query` cannot express: there the joins are yours, and one that multiplies rows makes numbers wrong.",
        core: Some(Core {
            description: "Run one read-only query in the warehouse's own SQL, for what `sl_query` cannot express. Look columns up first.",
            arguments: &["sql", "connectionId"],
        }),
        effect: WriteEffect::ReadOnly,
        contents: Contents::Data,
        shape: Shape::Rows { count: "rowCount" },
        input: schema_for::<SqlInput>,
        output: schema_for::<SqlOutput>,
        run: sql_execution,
    },
];

fn nothing() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// Fails only if a schema is laxer than its type.
pub(super) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    serde_json::from_value(arguments)
        .map_err(|error| Failure::new(Code::InvalidArguments, error.to_string()))
}

fn encode<T: Serialize>(output: &T) -> Result<Value, Failure> {
    serde_json::to_value(output).map_err(|error| Failure::internal(error.to_string()))
}

fn connection_list(context: Arc<dyn ProjectContext>, _: Value, _: CallContext) -> Answer {
    Box::pin(async move { encode(&uses::list_connections(&*context).await?) })
}

fn discover_data(context: Arc<dyn ProjectContext>, arguments: Value, _: CallContext) -> Answer {
    Box::pin(async move {
        let input: DiscoverInput = read(arguments)?;
        encode(&uses::discover(&*context, &input).await?)
    })
}

fn wiki_search(context: Arc<dyn ProjectContext>, arguments: Value, _: CallContext) -> Answer {
    Box::pin(async move {
        let input: WikiSearchInput = read(arguments)?;
        encode(&uses::search_wiki(&*context, &input, Lanes::Hidden).await?)
    })
}

fn wiki_read(context: Arc<dyn ProjectContext>, arguments: Value, _: CallContext) -> Answer {
    Box::pin(async move {
        let input: WikiReadInput = read(arguments)?;
        encode(&uses::read_wiki(&*context, &input).await?)
    })
}

fn sl_read_source(context: Arc<dyn ProjectContext>, arguments: Value, _: CallContext) -> Answer {
    Box::pin(async move {
        let input: ReadSourceInput = read(arguments)?;
        let connection = input.connection_id.as_deref();
        encode(&uses::read_source(&*context, connection, &input.source_name).await?)
    })
}

fn sl_query(context: Arc<dyn ProjectContext>, arguments: Value, call: CallContext) -> Answer {
    Box::pin(async move {
        let input: SlQueryInput = read(arguments)?;
        let request = QueryRequest {
            query: uses::query_of(&input)?,
            connection: input.connection_id,
            execution: Execution::Run { max_rows: None },
        };
        let answer = uses::query(&*context, &request, &call).await?;
        encode(&answer.to_wire(input.include.as_deref().unwrap_or_default()))
    })
}

fn entity_details(context: Arc<dyn ProjectContext>, arguments: Value, _: CallContext) -> Answer {
    Box::pin(async move {
        let input: EntityDetailsInput = read(arguments)?;
        encode(&uses::entity_details(&*context, &input).await?)
    })
}

fn dictionary_search(context: Arc<dyn ProjectContext>, arguments: Value, _: CallContext) -> Answer {
    Box::pin(async move {
        let input: DictionaryInput = read(arguments)?;
        encode(&uses::dictionary_search(&*context, &input).await?)
    })
}

fn sql_execution(context: Arc<dyn ProjectContext>, arguments: Value, call: CallContext) -> Answer {
    Box::pin(async move {
        let input: SqlInput = read(arguments)?;
        let request = SqlRequest {
            connection: input.connection_id,
            sql: input.sql,
            max_rows: input.max_rows,
            timeout: None,
        };
        encode(
            &uses::execute_sql(&*context, &request, &call)
                .await?
                .to_wire(),
        )
    })
}
