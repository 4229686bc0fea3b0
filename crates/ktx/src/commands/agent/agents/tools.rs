//! Tools of `ktx` as an agent's model sees them.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_session::{Agent, AgentTool};
use ktx_context_tools::ProjectContext;
use ktx_diagnostics::{Code, Failure, nearest};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet,
};
use serde_json::{Map, Value};

use super::layer::Layer;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};
use crate::{context, custom_tools};

pub(super) fn context_tools(
    agent: &Agent,
    layer: &Layer,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<ToolSet> {
    let context = context::open_for_agent(invocation, project)?;
    let all = project_tools(&context, project)?;
    let all = ToolSet::new(all.iter().cloned().chain(layer.tools()).collect());
    tools_among(
        agent,
        &all.map_err(|error| Failure::from_error(Code::Internal, &error))?,
    )
}

pub(in crate::commands::agent) fn project_tools(
    context: &Arc<dyn ProjectContext>,
    project: &OpenProject,
) -> Outcome<ToolSet> {
    let internal = |error| Failure::from_error(Code::Internal, &error);
    let all = ktx_context_tools::context_tools(context).map_err(internal)?;
    let own = ktx_context_tools::custom_tools(context, &custom_tools::read(project)?);
    ToolSet::new(all.iter().cloned().chain(own).collect()).map_err(internal)
}

pub(in crate::commands::agent) fn tools_among(agent: &Agent, all: &ToolSet) -> Outcome<ToolSet> {
    let chosen = agent
        .tools
        .iter()
        .map(|tool| match all.get(&tool.tool) {
            Some(known) => Ok(adapted(known, tool)),
            None => Err(unknown(tool, agent, all)),
        })
        .collect::<Outcome<Vec<ToolDescriptor>>>()?;
    ToolSet::new(chosen).map_err(|error| Failure::from_error(Code::AgentSettings, &error))
}

fn unknown(tool: &AgentTool, agent: &Agent, all: &ToolSet) -> Failure {
    let place = match &agent.file {
        Some(file) => format!("{file}: tools"),
        None => "`agent.run_research.default_toolset`".to_owned(),
    };
    let failure = Failure::new(
        Code::UnknownTool,
        format!("{place}: there is no tool `{}`", tool.tool),
    );
    let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
    match nearest(&tool.tool, names.iter().copied()).first() {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("there are: {}", names.join(", "))),
    }
}

fn adapted(known: &ToolDescriptor, tool: &AgentTool) -> ToolDescriptor {
    let mut adapted = known.clone();
    adapted.name.clone_from(&tool.name);
    if let Some(description) = &tool.description {
        adapted.description.clone_from(description);
    }
    if !tool.arguments.is_empty() {
        adapted.input_schema = without(&known.input_schema, &tool.arguments);
        adapted.handler = Arc::new(Fixed {
            handler: Arc::clone(&known.handler),
            arguments: tool.arguments.clone(),
        });
    }
    adapted
}

fn without(schema: &Value, fixed: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !fixed.contains_key(name));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|name| !fixed.contains_key(name)));
    }
    schema
}

struct Fixed {
    handler: Arc<dyn ToolHandler>,
    arguments: Map<String, Value>,
}

#[async_trait]
impl ToolHandler for Fixed {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let mut whole = match arguments {
            Value::Object(given) => given,
            _ => Map::new(),
        };
        whole.extend(self.arguments.clone());
        self.handler.call(Value::Object(whole), context).await
    }

    fn manual(&self) -> Option<&str> {
        self.handler.manual()
    }
}
