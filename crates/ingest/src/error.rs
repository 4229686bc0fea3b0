//! Errors of work items, and whether they end the run.

use ktx_context_sources::{ApplyError, LONGEST_UNIT};
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_memory::CaptureError;
use ktx_project_store::{FileError, HistoryError, PublishError, StateError, UnsafePath};
use ktx_tool_descriptors::ToolSetError;
use ktx_vocabulary::{ConnectionId, InvalidName};

/// After this many consecutive doubtful failures, the units are not the cause.
const MOST_DOUBTFUL: u32 = 3;

#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error(
        "the files of unit `{unit}` have {length} characters, at most {LONGEST_UNIT} are read at once"
    )]
    TooLong {
        unit: String,
        /// In characters.
        length: usize,
    },
    #[error("the project cannot be read")]
    Project(#[source] Failure),
    #[error("the model failed")]
    Model(#[source] LlmError),
    #[error("the model cannot be used")]
    Probe(#[source] LlmError),
    #[error("no model is configured")]
    NoModel,
    #[error("the model cannot be used")]
    Runtime(#[source] Failure),
    #[error("the tools of the work cannot be built")]
    Tools(#[from] ToolSetError),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error("a proposal cannot be written")]
    Proposal(#[source] FileError),
    #[error("a transcript cannot be opened")]
    Transcript(#[source] FileError),
    #[error("the facts of `{source_id}` cannot be written")]
    Facts {
        source_id: ConnectionId,
        #[source]
        error: ApplyError,
    },
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Path(#[from] UnsafePath),
    #[error(transparent)]
    Name(#[from] InvalidName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model cannot be used, or would fail for every further unit.
    Model,
    Budget,
    Interrupted,
}

#[derive(Debug)]
pub struct Failed {
    pub error: IngestError,
    /// `None` if only this part failed.
    pub stop: Option<Stop>,
}

impl<E: Into<IngestError>> From<E> for Failed {
    fn from(error: E) -> Self {
        let error = error.into();
        let stop = match &error {
            IngestError::Probe(error) => Some(stop_of(error.kind)),
            IngestError::Model(error) if fault(error.kind) == Fault::Model => {
                Some(stop_of(error.kind))
            }
            // Notes have no results to compare with: each failure may be the model's.
            IngestError::Capture(CaptureError::Model(error)) => Some(stop_of(error.kind)),
            _ => None,
        };
        Self { error, stop }
    }
}

impl Stop {
    /// Returns `None` if the failure would not repeat for all further work.
    pub fn of(code: Code) -> Option<Self> {
        let mut kinds = LlmErrorKind::ALL.into_iter();
        match code {
            Code::BackendNotBuilt => Some(Self::Model),
            Code::Cancelled => Some(Self::Interrupted),
            code => kinds.find(|kind| kind.code() == code).map(stop_of),
        }
    }
}

const fn stop_of(kind: LlmErrorKind) -> Stop {
    match kind {
        LlmErrorKind::Budget => Stop::Budget,
        LlmErrorKind::Cancelled => Stop::Interrupted,
        _ => Stop::Model,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Unit,
    Doubtful,
    /// The model: it would fail for every unit.
    Model,
}

const fn fault(kind: LlmErrorKind) -> Fault {
    use LlmErrorKind as Kind;
    match kind {
        Kind::Refusal
        | Kind::ContextTooLong
        | Kind::MaxOutput
        | Kind::StructuredOutput
        | Kind::MaxTurns
        | Kind::UnknownTool => Fault::Unit,
        Kind::Timeout
        | Kind::InvalidRequest
        | Kind::Permission
        | Kind::Crashed
        | Kind::Protocol
        | Kind::Internal => Fault::Doubtful,
        Kind::Auth
        | Kind::Billing
        | Kind::RateLimit
        | Kind::Overloaded
        | Kind::Server
        | Kind::Transport
        | Kind::ModelNotFound
        | Kind::Isolation
        | Kind::Process
        | Kind::Budget
        | Kind::Cancelled => Fault::Model,
    }
}

#[derive(Debug, Default)]
pub(crate) struct DoubtCounter {
    count: u32,
}

impl DoubtCounter {
    /// Turns the last of too many doubtful failures into a stop.
    pub(crate) fn weigh<T>(&mut self, result: Result<T, Failed>) -> Result<T, Failed> {
        match result {
            Err(mut failed) if failed.is_doubtful() => {
                self.count += 1;
                if self.count >= MOST_DOUBTFUL {
                    failed.stop = Some(Stop::Model);
                }
                Err(failed)
            }
            result => {
                self.count = 0;
                result
            }
        }
    }
}

impl Failed {
    fn is_doubtful(&self) -> bool {
        let IngestError::Model(error) = &self.error else {
            return false;
        };
        fault(error.kind) == Fault::Doubtful
    }
}

#[cfg(test)]
mod tests;
