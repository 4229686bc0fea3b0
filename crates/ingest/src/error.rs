//! Why work failed, and whether the run ends because of it.

use ktx_context_sources::{ApplyError, LONGEST_UNIT};
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_memory::CaptureError;
use ktx_project_store::{FileError, HistoryError, PublishError, StateError, UnsafePath};
use ktx_tool_descriptors::ToolSetError;
use ktx_vocabulary::{ConnectionId, InvalidName};

/// After this many consecutive doubtful failures the units are not the cause.
const MOST_DOUBTFUL: u32 = 3;

/// Why a part of an ingest has no result.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The unit's files are too long for one loop.
    #[error(
        "the files of unit `{unit}` have {length} characters, at most {LONGEST_UNIT} are read at once"
    )]
    TooLong {
        unit: String,
        /// Length of its files in characters.
        length: usize,
    },
    /// The project could not be read.
    #[error("the project cannot be read")]
    Project(#[source] Failure),
    #[error("the model failed")]
    Model(#[source] LlmError),
    /// The opening probe of the model failed.
    #[error("the model cannot be used")]
    Probe(#[source] LlmError),
    /// No model is configured, and nothing can be read without one.
    #[error("no model is configured")]
    NoModel,
    /// The caller could not make a runtime.
    #[error("the model cannot be used")]
    Runtime(#[source] Failure),
    /// A fault of the program.
    #[error("the tools of the work cannot be built")]
    Tools(#[from] ToolSetError),
    /// The result could not be committed.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The committed files could not be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The local state could not be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// Withheld changes could not be written.
    #[error("a proposal cannot be written")]
    Proposal(#[source] FileError),
    /// The transcript of unfinished work could not be opened.
    #[error("a transcript cannot be opened")]
    Transcript(#[source] FileError),
    /// The facts of a source could not be written into the manifest.
    #[error("the facts of `{source_id}` cannot be written")]
    Facts {
        source_id: ConnectionId,
        /// The shard that cannot be changed.
        #[source]
        error: ApplyError,
    },
    /// A note was not captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A fault of the program.
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// A fault of the program.
    #[error(transparent)]
    Name(#[from] InvalidName),
}

/// Why the rest of a run is not tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model cannot be used, or it would fail at every further unit.
    Model,
    /// A budget is used up.
    Budget,
    /// The user has interrupted the run.
    Interrupted,
}

/// A failed part of a run.
#[derive(Debug)]
pub struct Failed {
    pub error: IngestError,
    /// Why nothing more is tried; `None` if the failure is one of this part alone.
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
            // The other notes have no results to compare with: each failure may be the model's.
            IngestError::Capture(CaptureError::Model(error)) => Some(stop_of(error.kind)),
            _ => None,
        };
        Self { error, stop }
    }
}

impl Stop {
    /// Returns why a failure with this code ends a run, wherever it happened: it concerns the model
    /// or the user, and would repeat for all further work. `None` for every other failure.
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

/// The cause of a failed model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The unit: its content, or the model's treatment of it.
    Unit,
    /// Either the unit or the model.
    Doubtful,
    /// The model: it would repeat for every unit.
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

/// Counts consecutive doubtful failures of units.
#[derive(Debug, Default)]
pub(crate) struct DoubtCounter {
    count: u32,
}

impl DoubtCounter {
    /// Counts the result of a unit. The last one of enough doubtful failures stops the run.
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
