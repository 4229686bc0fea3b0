//! One tool and its calls.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ToolOutput;

/// Whether a tool changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteEffect {
    /// Only reads; calls may run in parallel.
    ReadOnly,
    /// Only reads, and gives the same answer to the same call.
    Idempotent,
    Writes,
}

/// Why a call failed, in words for a model or a user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The failure and an alternative. Never holds secrets.
    pub message: String,
    /// The same as data, for clients that show data to their model.
    pub structured: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextSteps {
    /// Imperatives, most useful first.
    pub hints: Vec<String>,
    /// Whole arguments with which the call works.
    pub suggestions: Vec<Value>,
}

impl ToolError {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            structured: None,
        }
    }

    /// The text has each next step on a separate line; the data are `{error: {code, message, hints,
    /// suggestions}}`.
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

    /// A crashed tool has the same error on every backend.
    pub fn broke_down() -> Self {
        Self::new("the tool failed inside; do not call it again with the same arguments")
    }

    /// Truncated arguments have the same error on every backend.
    pub fn cut_arguments() -> Self {
        Self::new("the arguments are not a complete JSON object; send the call again")
    }

    /// A timeout has the same error on every backend.
    pub fn too_late(limit: Duration) -> Self {
        Self::new(format!(
            "the call took longer than {} s and was stopped",
            limit.as_secs_f64()
        ))
    }
}

pub trait ProgressSink: Send + Sync {
    /// `fraction` is between 0 and 1; `message` is a short line for display.
    fn report(&self, fraction: f64, message: &str);
}

#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn report(&self, _fraction: f64, _message: &str) {}
}

#[derive(Clone)]
pub struct CallContext {
    /// The caller's id of this call, such as the model's tool-use id.
    pub call_id: String,
    /// Cancelled when the caller no longer wants the answer.
    pub cancel: CancellationToken,
    pub progress: Arc<dyn ProgressSink>,
}

impl CallContext {
    /// A context without progress that is never cancelled.
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

/// Arguments are valid under the tool's schema.
#[async_trait]
pub trait ToolHandler: Send + Sync {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError>;

    /// Similar arguments with which a call works, for a refusal to offer; by default the arguments
    /// themselves, unless the tool knows that it refuses them.
    async fn workable(&self, arguments: Value) -> Vec<Value> {
        vec![arguments]
    }

    /// Returns what a model should know to use the tool well and what is too long for its description. An agent reads it
    /// once, in its instructions (KODE-65).
    fn manual(&self) -> Option<&str> {
        None
    }

    /// Returns the files that the tool has shown and that others have changed since, each change once (KODE-67).
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

/// The function answers at once.
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
    /// The name for display.
    pub title: String,
    /// The description for a model; at most 2 048 characters reach every backend.
    pub description: String,
    /// The root must be an object, which is checked when a set is built.
    pub input_schema: Value,
    /// The schema of `structured`, if the tool has one.
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
