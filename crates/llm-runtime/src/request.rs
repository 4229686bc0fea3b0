//! The requests of the port.

use std::sync::Arc;

use ktx_tool_descriptors::{ObjectSchema, ToolSet};
use ktx_vocabulary::{ConnectionId, ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::{CallSettings, LlmError, Message, Transcript, TurnHook};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLabel {
    pub run_id: RunId,
    /// The stage of the workflow, such as `descriptions`; also the title of the call.
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

/// How long a call waits for limits of its provider, and how often it is retried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    /// The call waits as configured for the backend.
    #[default]
    AsConfigured,
    /// The call does not wait for a limit, and a failure is retried at most once.
    None,
}

#[derive(Debug, Clone)]
pub struct ProbeRequest {
    pub run_id: RunId,
    pub patience: Patience,
    pub cancel: CancellationToken,
}

impl ProbeRequest {
    /// Creates a probe for an interactive user.
    pub fn of(run: &RunId) -> Self {
        Self {
            run_id: run.clone(),
            patience: Patience::None,
            cancel: CancellationToken::new(),
        }
    }

    /// Makes the probe the first call of a run: it waits and is retried like every other call.
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
    /// Trusted text of ktx.
    pub system: String,
    /// May hold untrusted text; no backend expands or executes any of it.
    pub prompt: String,
    pub cancel: CancellationToken,
    pub label: CallLabel,
}

#[derive(Debug, Clone)]
pub struct ObjectRequest {
    pub role: ModelRole,
    /// Trusted text of ktx.
    pub system: String,
    /// May hold untrusted text.
    pub prompt: String,
    /// The answer is validated against this, whatever form a backend sends (KTX-51).
    pub schema: ObjectSchema,
    pub cancel: CancellationToken,
    pub label: CallLabel,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The number of the turn, from 1.
    pub index: u32,
    pub budget: u32,
}

/// Called once per assistant turn (KTX-68). A failure is logged and ends nothing (KTX-69).
pub type StepCallback = Arc<dyn Fn(Step) -> Result<(), String> + Send + Sync>;

#[derive(Clone)]
pub struct LoopRequest {
    pub role: ModelRole,
    /// Trusted text of ktx.
    pub system: String,
    /// May hold untrusted text.
    pub prompt: String,
    pub tools: ToolSet,
    /// Assistant turns; at least 1.
    pub step_budget: u32,
    pub on_step: Option<StepCallback>,
    /// The loop to continue and the store of its messages; `None` for a loop within one run.
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

/// Whether pieces of an answer are sent as they arrive. Sent text cannot be taken back: a call
/// whose answer breaks off afterwards cannot be repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Deltas {
    #[default]
    AsTheyCome,
    /// The text of a turn when the turn is over.
    ByTurn,
}

/// Requests a run with an event stream and one final record (COG-03, COG-04).
#[derive(Clone)]
pub struct RunRequest {
    pub role: ModelRole,
    /// Trusted text of ktx.
    pub system: String,
    /// Ends with the current question.
    pub messages: Vec<Message>,
    pub tools: ToolSet,
    /// Assistant turns; at least 1.
    pub step_budget: u32,
    pub deltas: Deltas,
    pub hook: Option<Arc<dyn TurnHook>>,
    /// A model may not take all of them: see [`crate::Abilities`].
    pub settings: CallSettings,
    pub cancel: CancellationToken,
    pub label: CallLabel,
    /// The caller's trace id; only on spans and logs (COG-23).
    pub trace_id: Option<String>,
    /// The caller's request id, returned in the final record (COG-17).
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

/// The tools with these names and no others (COG-20). An unknown name fails before anything starts.
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
    /// Refuses a budget of zero, which no backend can run.
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
