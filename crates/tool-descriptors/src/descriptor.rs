//! One tool and its calls.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ToolOutput;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteEffect {
    ReadOnly,
    /// Gives the same answer to the same call.
    Idempotent,
    Writes,
}

/// A readable failure of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The failure and an alternative. Never holds secrets.
    pub message: String,
    /// For clients that show data to their model.
    pub structured: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextSteps {
    /// Imperatives, most useful first.
    pub hints: Vec<String>,
    pub suggestions: Vec<Value>,
}

impl ToolError {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            structured: None,
        }
    }

    /// Each step on its own line; the data are `{error: {code, message, hints, suggestions}}`.
    pub fn with_steps(code: &str, message: &str, text: &str, steps: &NextSteps) -> Self {
        let mut text = text.to_owned();
        for hint in &steps.hints {
            text.push_str("\nhint: ");
            text.push_str(hint);
        }
        for suggestion in &steps.suggestions {
            text.push_str("\nsend instead: ");
            text.push_str(&suggestion.to_string());
        }
        let mut error = json!({ "code": code, "message": message });
        if let Some(error) = error.as_object_mut() {
            if !steps.hints.is_empty() {
                error.insert("hints".to_owned(), json!(steps.hints));
            }
            if !steps.suggestions.is_empty() {
                error.insert("suggestions".to_owned(), json!(steps.suggestions));
            }
        }
        Self {
            message: text,
            structured: Some(json!({ "error": error })),
        }
    }

    /// The same error on every backend.
    pub fn broke_down() -> Self {
        Self::new("the tool failed inside; do not call it again with the same arguments")
    }

    pub fn cut_arguments() -> Self {
        Self::new("the arguments are not a complete JSON object; send the call again")
    }

    pub fn too_late(limit: Duration) -> Self {
        Self::new(format!(
            "the call took longer than {} s and was stopped",
            limit.as_secs_f64()
        ))
    }
}

pub trait ProgressSink: Send + Sync {
    /// `fraction` is between 0 and 1.
    fn report(&self, fraction: f64, message: &str);
}

#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn report(&self, _fraction: f64, _message: &str) {}
}

#[derive(Clone)]
pub struct CallContext {
    /// Such as the model's tool-use id.
    pub call_id: String,
    /// Canceled when the caller no longer wants the answer.
    pub cancel: CancellationToken,
    pub progress: Arc<dyn ProgressSink>,
}

impl CallContext {
    pub fn detached(call_id: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            cancel: CancellationToken::new(),
            progress: Arc::new(NoProgress),
        }
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("call_id", &self.call_id)
            .finish_non_exhaustive()
    }
}

#[async_trait]
pub trait ToolHandler: Send + Sync {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError>;

    /// Returns similar arguments that work, for a refusal to offer.
    async fn workable(&self, arguments: Value) -> Vec<Value> {
        vec![arguments]
    }

    /// Returns notes that are too long for the description; an agent reads them once (KODE-65).
    fn manual(&self) -> Option<&str> {
        None
    }

    /// Returns shown files that others changed since, each change once (KODE-67).
    fn changed_files(&self) -> Vec<String> {
        Vec::new()
    }
}

struct FnHandler<F>(F);

#[async_trait]
impl<F> ToolHandler for FnHandler<F>
where
    F: Fn(Value, CallContext) -> Result<ToolOutput, ToolError> + Send + Sync,
{
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        (self.0)(arguments, context)
    }
}

/// Wraps a synchronous function.
pub fn handler_fn<F>(function: F) -> Arc<dyn ToolHandler>
where
    F: Fn(Value, CallContext) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
{
    Arc::new(FnHandler(function))
}

/// One tool (KTX-52).
#[derive(Clone)]
pub struct ToolDescriptor {
    /// `[A-Za-z0-9_-]`, at most 48 characters so that every backend's prefix fits.
    pub name: String,
    pub title: String,
    pub description: String,
    /// Its root must be an object.
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub effect: WriteEffect,
    pub handler: Arc<dyn ToolHandler>,
}

impl std::fmt::Debug for ToolDescriptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolDescriptor")
            .field("name", &self.name)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}
