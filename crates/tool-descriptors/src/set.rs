//! A set of tools that is safe for any backend.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_diagnostics::{excerpt, nearest};
use serde_json::Value;

use crate::{
    CallContext, NextSteps, ObjectSchema, SchemaError, ToolDescriptor, ToolError, ToolHandler,
    ToolOutput,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolSetError {
    /// KTX-53.
    #[error("tool `{tool}`: {source}")]
    Schema {
        tool: String,
        #[source]
        source: SchemaError,
    },
    #[error("tool `{tool}`: names use letters, digits, `_` and `-` and have at most 48 characters")]
    Name { tool: String },
    #[error("tool `{tool}` is there twice")]
    Duplicate { tool: String },
}

#[derive(Debug)]
struct Entry {
    descriptor: ToolDescriptor,
    input: ObjectSchema,
}

/// Checked tools, ordered by name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    tools: Arc<BTreeMap<String, Entry>>,
}

impl ToolSet {
    pub fn new(descriptors: Vec<ToolDescriptor>) -> Result<Self, ToolSetError> {
        let mut tools = BTreeMap::new();
        for descriptor in descriptors {
            let tool = descriptor.name.clone();
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            if tool.is_empty() || tool.len() > 48 || !tool.bytes().all(plain) {
                return Err(ToolSetError::Name { tool });
            }
            let input = ObjectSchema::new(descriptor.input_schema.clone()).map_err(|source| {
                ToolSetError::Schema {
                    tool: tool.clone(),
                    source,
                }
            })?;
            if let Some(output) = &descriptor.output_schema {
                ObjectSchema::new(output.clone()).map_err(|source| ToolSetError::Schema {
                    tool: tool.clone(),
                    source,
                })?;
            }
            if tools
                .insert(tool.clone(), Entry { descriptor, input })
                .is_some()
            {
                return Err(ToolSetError::Duplicate { tool });
            }
        }
        Ok(Self {
            tools: Arc::new(tools),
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &ToolDescriptor> {
        self.tools.values().map(|entry| &entry.descriptor)
    }

    pub fn get(&self, name: &str) -> Option<&ToolDescriptor> {
        self.tools.get(name).map(|entry| &entry.descriptor)
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    #[must_use]
    pub fn with_handlers(&self, handler: impl Fn(&ToolDescriptor) -> Arc<dyn ToolHandler>) -> Self {
        let changed = |entry: &Entry| Entry {
            descriptor: ToolDescriptor {
                handler: handler(&entry.descriptor),
                ..entry.descriptor.clone()
            },
            input: entry.input.clone(),
        };
        let tools = self.tools.iter();
        Self {
            tools: Arc::new(
                tools
                    .map(|(name, entry)| (name.clone(), changed(entry)))
                    .collect(),
            ),
        }
    }

    /// An unknown name is the error (COG-20).
    pub fn select(&self, names: &[String]) -> Result<Vec<ToolDescriptor>, String> {
        names
            .iter()
            .map(|name| self.get(name).cloned().ok_or_else(|| name.clone()))
            .collect()
    }

    /// The same error on every backend.
    pub fn unknown(&self, name: &str) -> ToolError {
        let known: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        let near = nearest(name, self.tools.keys().map(String::as_str));
        let steps = NextSteps {
            hints: near
                .first()
                .map(|near| format!("call `{near}`"))
                .into_iter()
                .collect(),
            suggestions: Vec::new(),
        };
        let message = format!("Tool {} not found; available: {known}", excerpt(name));
        let text = format!("MCP error -32602: {message}");
        ToolError::with_steps("unknown_tool", &message, &text, &steps)
    }

    /// Normalizes and validates the arguments, then calls. Every failure is readable.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let Some(entry) = self.tools.get(name) else {
            return Err(self.unknown(name));
        };
        let arguments = if arguments.is_null() {
            Value::Object(serde_json::Map::default())
        } else {
            arguments
        };
        let arguments = entry.input.normalized(arguments);
        if let Some((violations, mut steps)) = entry.input.refusal(&arguments) {
            let mut workable = Vec::new();
            for suggestion in std::mem::take(&mut steps.suggestions) {
                workable.extend(entry.descriptor.handler.workable(suggestion).await);
            }
            steps.suggestions = workable;
            let message = violations.join("; ");
            let text = format!(
                "MCP error -32602: Input validation error: Invalid arguments for tool {name}: {message}"
            );
            return Err(ToolError::with_steps(
                "invalid_arguments",
                &message,
                &text,
                &steps,
            ));
        }
        let cancel = context.cancel.clone();
        tokio_util::future::FutureExt::with_cancellation_token(
            entry.descriptor.handler.call(arguments, context),
            &cancel,
        )
        .await
        .unwrap_or_else(|| Err(ToolError::new("the call was cancelled")))
    }
}
