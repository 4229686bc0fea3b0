//! The requests of the port.

use std::sync::Arc;

use ktx_tool_descriptors::{ObjectSchema, ToolSet};
use ktx_vocabulary::{ConnectionId, ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::{CallSettings, LlmError, Message, Transcript, TurnHook};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLabel {
    pub run_id: RunId,
    /// Workflow stage, such as `descriptions`; also the call's title.
    pub stage: String,
    pub unit: Option<String>,
    pub connection: Option<ConnectionId>,
}

impl CallLabel {
    pub const PROBE: &'static str = "probe";

    pub fn of_probe(run: &RunId) -> Self {
        Self {
            run_id: run.clone(),
            stage: Self::PROBE.to_owned(),
            unit: None,
            connection: None,
        }
    }
}

/// Whether a call waits for limits and is retried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    #[default]
    AsConfigured,
    None,
}

#[derive(Debug, Clone)]
pub struct ProbeRequest {
    pub run_id: RunId,
    pub patience: Patience,
    pub cancel: CancellationToken,
}

impl ProbeRequest {
    pub fn of(run: &RunId) -> Self {
        Self {
            run_id: run.clone(),
            patience: Patience::None,
            cancel: CancellationToken::new(),
        }
    }

    /// Lets the probe wait and retry like other calls.
    #[must_use]
    pub fn patient(self) -> Self {
        Self {
            patience: Patience::AsConfigured,
            ..self
        }
    }

    #[must_use]
    pub fn cancelled_by(self, cancel: CancellationToken) -> Self {
        Self { cancel, ..self }
    }
}

#[derive(Debug, Clone)]
pub struct TextRequest {
    pub role: ModelRole,
    /// Trusted.
    pub system: String,
    /// Possibly untrusted; no backend expands or executes any of it.
    pub prompt: String,
    pub cancel: CancellationToken,
    pub label: CallLabel,
}

#[derive(Debug, Clone)]
pub struct ObjectRequest {
    pub role: ModelRole,
    pub system: String,
    pub prompt: String,
    /// The answer of any backend is validated against it (KTX-51).
    pub schema: ObjectSchema,
    pub cancel: CancellationToken,
    pub label: CallLabel,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopStep {
    pub index: u32,
    pub budget: u32,
}

/// Called once per assistant turn (KTX-68). A failure is only logged (KTX-69).
pub type StepCallback = Arc<dyn Fn(LoopStep) -> Result<(), String> + Send + Sync>;

#[derive(Clone)]
pub struct LoopRequest {
    pub role: ModelRole,
    pub system: String,
    pub prompt: String,
    pub tools: ToolSet,
    /// Assistant turns; at least 1.
    pub step_budget: u32,
    pub on_step: Option<StepCallback>,
    /// Set for a loop that continues an earlier one.
    pub transcript: Option<Arc<dyn Transcript>>,
    pub cancel: CancellationToken,
    pub label: CallLabel,
}

impl std::fmt::Debug for LoopRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopRequest")
            .field("role", &self.role)
            .field("tools", &self.tools.len())
            .field("step_budget", &self.step_budget)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// Whether pieces of an answer are sent as they arrive. A call that breaks off after sent text
/// cannot be repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Deltas {
    #[default]
    AsTheyCome,
    ByTurn,
}

/// A run with an event stream and one final record (COG-03, COG-04).
#[derive(Clone)]
pub struct RunRequest {
    pub role: ModelRole,
    pub system: String,
    /// Ends with the question.
    pub messages: Vec<Message>,
    pub tools: ToolSet,
    pub step_budget: u32,
    pub deltas: Deltas,
    pub hook: Option<Arc<dyn TurnHook>>,
    /// The model may not support all: see [`crate::Abilities`].
    pub settings: CallSettings,
    pub cancel: CancellationToken,
    pub label: CallLabel,
    /// Only on spans and logs (COG-23).
    pub trace_id: Option<String>,
    /// Returned in the final record (COG-17).
    pub ingress_request_id: Option<String>,
}

impl std::fmt::Debug for RunRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunRequest")
            .field("role", &self.role)
            .field("messages", &self.messages.len())
            .field("tools", &self.tools.len())
            .field("step_budget", &self.step_budget)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// Returns only the named tools (COG-20). An unknown name fails before anything starts.
pub fn chosen_tools(all: &ToolSet, names: &[String]) -> Result<ToolSet, LlmError> {
    let chosen = all.select(names).map_err(|name| {
        let known: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
        LlmError::new(
            crate::LlmErrorKind::UnknownTool,
            format!("there is no tool `{name}`"),
        )
        .hint(format!("there are: {}", known.join(", ")))
    })?;
    ToolSet::new(chosen)
        .map_err(|error| LlmError::new(crate::LlmErrorKind::InvalidRequest, error.to_string()))
}

impl LoopRequest {
    /// Rejects a budget of zero.
    pub fn checked(&self) -> Result<(), LlmError> {
        if self.step_budget == 0 {
            return Err(LlmError::new(
                crate::LlmErrorKind::InvalidRequest,
                "the step budget must be at least 1",
            ));
        }
        Ok(())
    }
}
