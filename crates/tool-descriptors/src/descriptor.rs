//! One tool and how it is called.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ToolOutput;

/// Whether a tool changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteEffect {
    /// It only reads; calls may run in parallel.
    ReadOnly,
    /// It only reads and gives the same answer to the same call.
    Idempotent,
    Writes,
}

/// Why a call failed, in words that may be shown to a model or a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What failed and what to try instead. Never holds secrets.
    pub message: String,
    /// The same as data, for clients that show their model data.
    pub structured: Option<Value>,
}

/// What to do about a failed call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextSteps {
    /// What to do, most useful first, each an imperative.
    pub hints: Vec<String>,
    /// Whole arguments with which the same call works.
    pub suggestions: Vec<Value>,
}

impl ToolError {
    /// Makes an error from its text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            structured: None,
        }
    }

    /// Makes an error with its next steps: the text names each on a line of its own, the data are
    /// `{error: {code, message, hints, suggestions}}`.
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

    /// The error of a tool that broke down, the same on every backend.
    pub fn broke_down() -> Self {
        Self::new("the tool failed inside; do not call it again with the same arguments")
    }

    /// The error of a call whose arguments were cut off, the same on every backend.
    pub fn cut_arguments() -> Self {
        Self::new("the arguments are not a complete JSON object; send the call again")
    }

    /// The error of a call that took longer than it may, the same on every backend.
    pub fn too_late(limit: Duration) -> Self {
        Self::new(format!(
            "the call took longer than {} s and was stopped",
            limit.as_secs_f64()
        ))
    }
}

/// Receives the progress of a long call.
pub trait ProgressSink: Send + Sync {
    /// `fraction` is between 0 and 1; `message` is a short line for people.
    fn report(&self, fraction: f64, message: &str);
}

/// Drops progress.
#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn report(&self, _fraction: f64, _message: &str) {}
}

/// What surrounds one call.
#[derive(Clone)]
pub struct CallContext {
    /// The caller's id of this call, such as the model's tool-use id.
    pub call_id: String,
    /// Fires when the caller no longer wants the answer.
    pub cancel: CancellationToken,
    /// Where progress goes.
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

/// Does the work of a tool. Arguments have been validated against the tool's schema.
#[async_trait]
pub trait ToolHandler: Send + Sync {
    /// Runs one call.
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError>;

    /// Returns arguments like these with which a call works, for a refusal to offer: these themselves, unless the tool
    /// knows that they are refused.
    async fn workable(&self, arguments: Value) -> Vec<Value> {
        vec![arguments]
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

/// A handler from a function that answers at once.
pub fn handler_fn<F>(function: F) -> Arc<dyn ToolHandler>
where
    F: Fn(Value, CallContext) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
{
    Arc::new(FnHandler(function))
}

/// One tool (KTX-52).
#[derive(Clone)]
pub struct ToolDescriptor {
    /// The tool's name: `[A-Za-z0-9_-]`, at most 48 characters so that every backend's prefix fits.
    pub name: String,
    /// The name shown to people.
    pub title: String,
    /// What it does, for a model; at most 2 048 characters reach every backend.
    pub description: String,
    /// The schema of the arguments. Its root must be an object; checked when a set is built.
    pub input_schema: Value,
    /// The schema of `structured`, when the tool has one.
    pub output_schema: Option<Value>,
    /// Whether it changes anything.
    pub effect: WriteEffect,
    /// Does the work.
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
