//! The tools: names, descriptions, schemas and uses.

pub(crate) mod budget;
mod catalogue;
mod envelope;
mod specs;
mod steps;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_diagnostics::Failure;
use ktx_tool_descriptors::{
    CallContext, ListedTool, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet,
    ToolSetError, WriteEffect,
};
use serde_json::Value;

use crate::context::ProjectContext;

use budget::{Ask, Shape};
pub use catalogue::{tool_catalogue, tool_catalogue_markdown};
pub(crate) use envelope::{Contents, noted, refusal};
use specs::SPECS;

type Answer = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
type Run = fn(Arc<dyn ProjectContext>, Value, CallContext) -> Answer;
type Schema = fn() -> Value;

struct Core {
    description: &'static str,
    arguments: &'static [&'static str],
}

pub(crate) struct Spec {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    core: Option<Core>,
    effect: WriteEffect,
    contents: Contents,
    shape: Shape,
    input: Schema,
    output: Schema,
    run: Run,
}

impl Spec {
    fn input_schema(&self) -> Value {
        budget::input_schema((self.input)())
    }

    fn output_schema(&self) -> Value {
        budget::output_schema(envelope::schema(self.contents, (self.output)()))
    }
}

const SL_QUERY_MANUAL: &str = include_str!("prompts/sl_query.manual.md");

impl Spec {
    const fn manual(&self) -> Option<&'static str> {
        match self.name.as_bytes() {
            b"sl_query" => Some(SL_QUERY_MANUAL),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolProfile {
    #[default]
    Full,
    /// For models with little room.
    Core,
}

impl ToolProfile {
    /// The full profile also has foreign tools.
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::Full => true,
            Self::Core => spec(name).is_some_and(|spec| spec.core.is_some()),
        }
    }
}

pub fn listed_in_core(tool: &ToolDescriptor) -> ListedTool {
    match spec(&tool.name).and_then(|spec| spec.core.as_ref()) {
        Some(core) => ListedTool::abridged(tool, core.description, core.arguments),
        None => ListedTool::of(tool),
    }
}

pub fn is_own_tool(name: &str) -> bool {
    spec(name).is_some()
}

pub(crate) fn schema_of_result(data: Value) -> Value {
    budget::output_schema(envelope::schema(Contents::Data, data))
}

fn spec(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name == name)
}

/// Gets whole results, while a model gets as much as fits.
pub trait ResultWatcher: Send + Sync {
    fn result(&self, call: WatchedCall<'_>, whole: &Value);
}

#[derive(Debug, Clone, Copy)]
pub struct WatchedCall<'a> {
    pub tool: &'static str,
    pub call_id: &'a str,
    pub arguments: &'a Value,
}

pub fn context_tools(context: &Arc<dyn ProjectContext>) -> Result<ToolSet, ToolSetError> {
    bound_tools(context, None)
}

pub fn watched_tools(
    context: &Arc<dyn ProjectContext>,
    watcher: &Arc<dyn ResultWatcher>,
) -> Result<ToolSet, ToolSetError> {
    bound_tools(context, Some(watcher))
}

fn bound_tools(
    context: &Arc<dyn ProjectContext>,
    watcher: Option<&Arc<dyn ResultWatcher>>,
) -> Result<ToolSet, ToolSetError> {
    let descriptors = SPECS.iter().map(|spec| ToolDescriptor {
        name: spec.name.to_owned(),
        title: spec.title.to_owned(),
        description: spec.description.to_owned(),
        input_schema: spec.input_schema(),
        output_schema: Some(spec.output_schema()),
        effect: spec.effect,
        handler: Arc::new(Handler {
            context: Arc::clone(context),
            spec,
            watcher: watcher.cloned(),
        }),
    });
    ToolSet::new(descriptors.collect())
}

struct Handler {
    context: Arc<dyn ProjectContext>,
    spec: &'static Spec,
    watcher: Option<Arc<dyn ResultWatcher>>,
}

#[async_trait]
impl ToolHandler for Handler {
    async fn call(&self, arguments: Value, call: CallContext) -> Result<ToolOutput, ToolError> {
        let Spec {
            name,
            contents,
            shape,
            run,
            ..
        } = self.spec;
        let ask = Ask::of(arguments.clone());
        let call_id = self.watcher.as_ref().map(|_| call.call_id.clone());
        let answer = run(Arc::clone(&self.context), ask.arguments.clone(), call).await;
        if let (Some(watcher), Some(call_id), Ok(whole)) = (&self.watcher, &call_id, &answer) {
            let call = WatchedCall {
                tool: name,
                call_id,
                arguments: &ask.arguments,
            };
            watcher.result(call, whole);
        }
        let part = answer.and_then(|whole| ask.part(name, noted(*contents, whole), *shape));
        match part {
            Ok(part) => Ok(ToolOutput::new(part.text, part.value)),
            Err(failure) => {
                let failure = steps::taught(&self.context, self.spec, &arguments, failure).await;
                Err(refusal(&failure))
            }
        }
    }

    async fn workable(&self, arguments: Value) -> Vec<Value> {
        steps::workable(&self.context, self.spec, arguments).await
    }

    fn manual(&self) -> Option<&str> {
        self.spec.manual()
    }
}

#[cfg(test)]
mod tests;
