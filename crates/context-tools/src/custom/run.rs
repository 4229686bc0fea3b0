//! Checks and runs tools of a project's owner.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_diagnostics::{Code, Diagnostic, Failure};
use ktx_read_only_sql::AllowedFunctions;
use ktx_sql::Dialect;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, WriteEffect, schema_for,
};
use serde_json::Value;

use super::{Body, CustomTool};
use crate::context::{ProjectContext, Runner, warehouse_of};
use crate::tools::{Contents, budget, noted, refusal, schema_of_result};
use crate::uses::{self, Execution, QueryRequest, SqlRequest};
use crate::wire::{SlQueryInput, SlQueryOutput, SqlOutput};

pub fn custom_tools(
    context: &Arc<dyn ProjectContext>,
    tools: &[Arc<CustomTool>],
) -> Vec<ToolDescriptor> {
    let descriptors = tools.iter().map(|tool| ToolDescriptor {
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: budget::input_schema(tool.schema()),
        output_schema: Some(schema_of_result(match &tool.body {
            Body::Sql(_) => schema_for::<SqlOutput>(),
            Body::Query(_) => schema_for::<SlQueryOutput>(),
        })),
        effect: WriteEffect::ReadOnly,
        handler: Arc::new(CustomHandler {
            context: Arc::clone(context),
            tool: Arc::clone(tool),
        }),
    });
    descriptors.collect()
}

/// Uses sample values. Sends nothing.
pub async fn check_tool(context: &dyn ProjectContext, tool: &CustomTool) -> Result<(), Diagnostic> {
    let checked = check(context, tool).await;
    checked.map_err(|failure| tool.problem(&failure))
}

async fn check(context: &dyn ProjectContext, tool: &CustomTool) -> Result<(), Failure> {
    let connection = warehouse_of(context, tool.connection.as_deref()).await?;
    let dialect = dialect(context, tool).await?;
    match tool.filled(&tool.samples(), dialect)? {
        Body::Sql(sql) => {
            let allowed = AllowedFunctions::new(connection.texts(&["allowed_functions"]));
            match ktx_read_only_sql::check_allowing(&sql, dialect, &allowed) {
                Ok(_) => Ok(()),
                // The warehouse judges unknown functions when the statement is sent.
                Err(refusal) if !refusal.unknown_functions.is_empty() => Ok(()),
                Err(refusal) => Err(refusal.into()),
            }
        }
        Body::Query(query) => {
            let request = QueryRequest {
                query: uses::query_of(&query_input(query)?)?,
                connection: Some(connection.id.to_string()),
                execution: Execution::CompileOnly,
            };
            let call = CallContext::detached("check");
            uses::query(context, &request, &call).await.map(|_| ())
        }
    }
}

fn query_input(query: serde_json::Map<String, Value>) -> Result<SlQueryInput, Failure> {
    serde_json::from_value(Value::Object(query))
        .map_err(|error| Failure::new(Code::InvalidTool, format!("`query`: {error}")))
}

async fn dialect(context: &dyn ProjectContext, tool: &CustomTool) -> Result<Dialect, Failure> {
    let connection = warehouse_of(context, tool.connection.as_deref()).await?;
    match context.runner(&connection).await? {
        Runner::Ready(connector) => Ok(connector.dialect()),
        Runner::CompileOnly { .. } => Ok(context.catalog(&connection.id).await?.dialect()),
    }
}

struct CustomHandler {
    context: Arc<dyn ProjectContext>,
    tool: Arc<CustomTool>,
}

impl CustomHandler {
    async fn answer(&self, arguments: &Value, call: &CallContext) -> Result<Value, Failure> {
        let context = &*self.context;
        let dialect = dialect(context, &self.tool).await?;
        let connection = warehouse_of(context, self.tool.connection.as_deref()).await?;
        let connection = Some(connection.id.to_string());
        let encoded = match self.tool.filled(arguments, dialect)? {
            Body::Sql(sql) => {
                let request = SqlRequest {
                    connection,
                    sql,
                    max_rows: self.tool.max_rows,
                    timeout: None,
                };
                let answer = uses::execute_sql(context, &request, call).await?;
                serde_json::to_value(answer.to_wire())
            }
            Body::Query(query) => {
                let request = QueryRequest {
                    query: uses::query_of(&query_input(query)?)?,
                    connection,
                    execution: Execution::Run {
                        max_rows: self.tool.max_rows,
                    },
                };
                let answer = uses::query(context, &request, call).await?;
                serde_json::to_value(answer.to_wire(&[]))
            }
        };
        encoded.map_err(|error| Failure::internal(error.to_string()))
    }
}

#[async_trait]
impl ToolHandler for CustomHandler {
    async fn call(&self, arguments: Value, call: CallContext) -> Result<ToolOutput, ToolError> {
        let ask = budget::Ask::of(arguments);
        let shape = budget::Shape::Rows {
            count: match &self.tool.body {
                Body::Sql(_) => "rowCount",
                Body::Query(_) => "totalRows",
            },
        };
        let answer = self.answer(&ask.arguments, &call).await;
        let part = answer.and_then(|whole| {
            let whole = noted(Contents::Data, whole);
            ask.part(&self.tool.name, whole, shape)
        });
        match part {
            Ok(part) => Ok(ToolOutput::new(part.text, part.value)),
            Err(failure) => {
                let failure = if failure.hints.is_empty() {
                    failure.hint(format!(
                        "tell the user: the tool is described in `{}`",
                        self.tool.file
                    ))
                } else {
                    failure
                };
                Err(refusal(&failure))
            }
        }
    }
}
