//! The tools: names, descriptions, schemas, and the use behind each.

mod catalogue;
mod envelope;
mod specs;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_diagnostics::Failure;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, ToolSetError,
    WriteEffect,
};
use serde_json::Value;

use crate::context::ProjectContext;

pub use catalogue::{tool_catalogue, tool_catalogue_markdown};
use envelope::{Contents, output, refusal};
use specs::SPECS;

type Answer = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
type Run = fn(Arc<dyn ProjectContext>, Value, CallContext) -> Answer;
type Schema = fn() -> Value;

/// One tool before it is bound to a project.
pub(crate) struct Spec {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: WriteEffect,
    contents: Contents,
    input: Schema,
    output: Schema,
    run: Run,
}

/// The tools over one project, ordered by name.
pub fn context_tools(context: &Arc<dyn ProjectContext>) -> Result<ToolSet, ToolSetError> {
    let descriptors = SPECS.iter().map(|spec| ToolDescriptor {
        name: spec.name.to_owned(),
        title: spec.title.to_owned(),
        description: spec.description.to_owned(),
        input_schema: (spec.input)(),
        output_schema: Some(envelope::schema(spec.contents, (spec.output)())),
        effect: spec.effect,
        handler: Arc::new(Handler {
            context: Arc::clone(context),
            spec,
        }),
    });
    ToolSet::new(descriptors.collect())
}

struct Handler {
    context: Arc<dyn ProjectContext>,
    spec: &'static Spec,
}

#[async_trait]
impl ToolHandler for Handler {
    async fn call(&self, arguments: Value, call: CallContext) -> Result<ToolOutput, ToolError> {
        let run = self.spec.run;
        match run(Arc::clone(&self.context), arguments, call).await {
            Ok(value) => Ok(output(self.spec.contents, value)),
            Err(failure) => Err(refusal(&failure)),
        }
    }
}

#[cfg(test)]
mod tests;
