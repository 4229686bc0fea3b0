//! The LLM runtime port: text, objects, agent loops, runs, usage facts.
//!
//! Every LLM call goes through [`LlmRuntime`], by role, never by model. This crate must never know
//! any backend, nor `ktx.yaml`.

mod error;
mod event;
mod gate;
mod governor;
mod listeners;
mod message;
mod metrics;
mod normalize;
mod object;
mod outcome;
mod port;
mod request;
mod run;
mod scripted;
mod settings;
mod trace;
mod transcript;
mod turns;
mod usage;

pub use error::{LlmError, LlmErrorKind, RequestSent, RunErrorCode};
pub use event::{EventSink, NoEvents, RuntimeEvent, window_words};
pub use gate::{OpenGate, PlannedTurn, TurnGate, TurnPermit};
pub use governor::{
    CallPermit, Governor, GovernorSettings, GovernorSwitch, Jitter, LONGEST_WAIT, LimitSignal,
};
pub use listeners::{ListenerRegistration, Listeners};
pub use message::{ContentBlock, MediaSource, Message, MessageMetadata, MessageRole, Transport};
pub use metrics::{CallMetrics, TokenUsage, estimated_tokens};
pub use normalize::{
    Dialect, META_PROVIDER, NormalizedHistory, ReasoningRule, ReasoningWindow, normalize,
};
pub use object::{ObjectValueError, generate_typed, validated_object};
pub use outcome::{LoopOutcome, ObjectOutcome, StopReason, TextOutcome, ToolTrace};
pub use port::{BackendInfo, LlmRuntime, ProbeReport};
pub use request::{
    CallLabel, Deltas, LoopRequest, LoopStep, ObjectRequest, Patience, ProbeRequest, RunRequest,
    StepCallback, TextRequest, chosen_tools,
};
pub use run::{RunEvent, RunFinal, RunHandle, RunWriter, run_channel};
pub use scripted::{Reply, ScriptedRuntime};
pub use settings::{Abilities, Ability, CallSetting, CallSettings, ThinkingSetting};
pub use trace::{SPANS, USAGE};
pub use transcript::Transcript;
pub use turns::{StepPlan, TurnHook};
pub use usage::{ReportedCost, SourceSystem, UsageFact, UsageKind};

#[cfg(test)]
mod tests;
