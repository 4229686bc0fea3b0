//! The tools: names, descriptions, schemas, and the use behind each.

mod budget;
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

use budget::{Ask, Shape};
pub use catalogue::{tool_catalogue, tool_catalogue_markdown};
use envelope::{Contents, noted, refusal};
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
    shape: Shape,
    input: Schema,
    output: Schema,
    run: Run,
}

impl Spec {
    /// The schema of the arguments, with those about the form of the result.
    fn input_schema(&self) -> Value {
        budget::input_schema((self.input)())
    }

    /// The schema of a result as structure.
    fn output_schema(&self) -> Value {
        budget::output_schema(envelope::schema(self.contents, (self.output)()))
    }
}

/// The tools over one project, ordered by name.
pub fn context_tools(context: &Arc<dyn ProjectContext>) -> Result<ToolSet, ToolSetError> {
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
        let Spec {
            name,
            contents,
            shape,
            run,
            ..
        } = self.spec;
        let ask = Ask::of(arguments);
        let answer = run(Arc::clone(&self.context), ask.arguments.clone(), call).await;
        let part = answer.and_then(|whole| ask.part(name, noted(*contents, whole), *shape));
        match part {
            Ok(part) => Ok(ToolOutput::new(part.text, part.value)),
            Err(failure) => Err(refusal(&failure)),
        }
    }
}

#[cfg(test)]
mod tests;
