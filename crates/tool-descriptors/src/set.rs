//! A set of tools that is safe to hand to any backend.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_diagnostics::{excerpt, nearest};
use serde_json::Value;

use crate::{
    CallContext, NextSteps, ObjectSchema, SchemaError, ToolDescriptor, ToolError, ToolHandler,
    ToolOutput,
};

/// Why a set of tools cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolSetError {
    /// A schema is unusable (KTX-53).
    #[error("tool `{tool}`: {source}")]
    Schema {
        tool: String,
        /// What is wrong with its schema.
        #[source]
        source: SchemaError,
    },
    /// A name would be changed by a backend.
    #[error("tool `{tool}`: names use letters, digits, `_` and `-` and have at most 48 characters")]
    Name { tool: String },
    /// Two tools share a name.
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
    /// Checks names and schemas; the first problem is named with its tool.
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

    /// The tools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ToolDescriptor> {
        self.tools.values().map(|entry| &entry.descriptor)
    }

    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&ToolDescriptor> {
        self.tools.get(name).map(|entry| &entry.descriptor)
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// The same tools with other handlers behind them.
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

    /// The tools of these names; an unknown name is given back (COG-20).
    pub fn select(&self, names: &[String]) -> Result<Vec<ToolDescriptor>, String> {
        names
            .iter()
            .map(|name| self.get(name).cloned().ok_or_else(|| name.clone()))
            .collect()
    }

    /// The error of a call of a tool that is not in the set, the same on every backend.
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

    /// Reads the arguments in the one way that they can be meant, validates them and runs the call. Every failure is a readable [`ToolError`].
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
