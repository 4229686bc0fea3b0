//! The requests of the port.

use std::sync::Arc;

use ktx_tool_descriptors::{ObjectSchema, ToolSet};
use ktx_vocabulary::{ConnectionId, ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::{CallSettings, LlmError, Message, Transcript, TurnHook};

/// The work that a call belongs to, for accounting and logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLabel {
    pub run_id: RunId,
    /// The stage of the workflow, such as `descriptions`; also the title of the call.
    pub stage: String,
    /// The unit of work inside the stage, such as a table.
    pub unit: Option<String>,
    /// The connection that the work is for.
    pub connection: Option<ConnectionId>,
}

impl CallLabel {
    /// The stage of probes.
    pub const PROBE: &'static str = "probe";

    /// Returns the label of a run's probe.
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
    /// As configured for the backend.
    #[default]
    AsConfigured,
    /// The caller needs the answer now: the call does not wait for a limit, and a failure is
    /// retried at most once.
    None,
}

/// Requests a probe (KTX-83).
#[derive(Debug, Clone)]
pub struct ProbeRequest {
    /// The run that the probe's turn belongs to.
    pub run_id: RunId,
    /// How long the probe waits.
    pub patience: Patience,
    /// Cancels the probe.
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

    /// Makes the probe the first call of a run: retried and waiting like every other call.
    #[must_use]
    pub fn patient(self) -> Self {
        Self {
            patience: Patience::AsConfigured,
            ..self
        }
    }

    /// Sets the token that cancels the probe.
    #[must_use]
    pub fn cancelled_by(self, cancel: CancellationToken) -> Self {
        Self { cancel, ..self }
    }
}

#[derive(Debug, Clone)]
pub struct TextRequest {
    /// The role of the model.
    pub role: ModelRole,
    /// Instructions: trusted text of ktx.
    pub system: String,
    /// The task and its data. May hold untrusted text; no backend expands or executes any of it.
    pub prompt: String,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// The work that the call belongs to.
    pub label: CallLabel,
}

/// Requests an object that matches a schema.
#[derive(Debug, Clone)]
pub struct ObjectRequest {
    /// The role of the model.
    pub role: ModelRole,
    /// Instructions: trusted text of ktx.
    pub system: String,
    /// The task and its data. May hold untrusted text.
    pub prompt: String,
    /// The schema that the answer is validated against, whatever form of it a backend sends
    /// (KTX-51).
    pub schema: ObjectSchema,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// The work that the call belongs to.
    pub label: CallLabel,
}

/// One finished assistant turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The number of the turn, from 1.
    pub index: u32,
    /// The turns allowed.
    pub budget: u32,
}

/// Called once per assistant turn (KTX-68). A failure is logged and ends nothing (KTX-69).
pub type StepCallback = Arc<dyn Fn(Step) -> Result<(), String> + Send + Sync>;

/// Requests a loop of model turns and tool calls.
#[derive(Clone)]
pub struct LoopRequest {
    /// The role of the model.
    pub role: ModelRole,
    /// Instructions: trusted text of ktx.
    pub system: String,
    /// The task and its data. May hold untrusted text.
    pub prompt: String,
    /// The only tools that may be called.
    pub tools: ToolSet,
    /// Assistant turns allowed; at least 1.
    pub step_budget: u32,
    /// Called after every finished turn.
    pub on_step: Option<StepCallback>,
    /// The loop to continue and the store for its messages; `None` for a loop that begins and ends
    /// in one run.
    pub transcript: Option<Arc<dyn Transcript>>,
    /// Cancels the loop.
    pub cancel: CancellationToken,
    /// The work that the loop belongs to.
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

/// Whether pieces of an answer are sent as they arrive. Sent text cannot be taken back, so a call
/// whose answer breaks off afterwards cannot be repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Deltas {
    /// Send each piece as it arrives.
    #[default]
    AsTheyCome,
    /// Send the text of a turn when the turn is over.
    ByTurn,
}

/// Requests a run with an event stream and one final record (COG-03, COG-04).
#[derive(Clone)]
pub struct RunRequest {
    /// The role of the model.
    pub role: ModelRole,
    /// Instructions: trusted text of ktx.
    pub system: String,
    /// The conversation so far, ending with the current question.
    pub messages: Vec<Message>,
    /// The tools that may be called.
    pub tools: ToolSet,
    /// Assistant turns allowed; at least 1.
    pub step_budget: u32,
    /// Whether text is sent as it arrives.
    pub deltas: Deltas,
    /// Follows the steps, if set.
    pub hook: Option<Arc<dyn TurnHook>>,
    /// What the calls are asked with; see [`crate::Abilities`] for what a model does not take.
    pub settings: CallSettings,
    /// Cancels the run.
    pub cancel: CancellationToken,
    /// The work that the run belongs to.
    pub label: CallLabel,
    /// The caller's trace id; on spans and logs only (COG-23).
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

/// Selects the tools with these names and no others (COG-20). An unknown name fails before anything
/// starts.
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
