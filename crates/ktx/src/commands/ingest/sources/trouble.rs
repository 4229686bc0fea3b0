//! Attributes a failure: to the unit, so that the others are still read, or to the model, so that
//! the rest is not tried.

use ktx_diagnostics::{Code, Exit};
use ktx_ingest::IngestError;
use ktx_llm_runtime::{LlmError, LlmErrorKind};

use crate::report::{Failure, Outcome};

/// After this many consecutive doubtful failures the units are not the cause.
const ENOUGH: u32 = 3;

/// Returns whether a failure concerns the model or the user, and would repeat for all further work.
pub(in crate::commands::ingest) const fn stops(failure: &Failure) -> bool {
    matches!(
        failure.exit,
        Exit::Model | Exit::Partial | Exit::Interrupted
    )
}

/// The cause of a failed call.
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
pub(super) struct Doubts {
    count: u32,
}

impl Doubts {
    /// Counts the result of a unit. The last one of enough doubtful failures stops.
    pub(super) fn weigh<T>(&mut self, result: Outcome<T>) -> Outcome<T> {
        let is_doubtful =
            |failure: &Failure| kind_of(failure).is_some_and(|kind| fault(kind) == Fault::Doubtful);
        match result {
            Err(mut failure) if is_doubtful(&failure) => {
                self.count += 1;
                if self.count >= ENOUGH {
                    failure.exit = Exit::Model;
                }
                Err(failure)
            }
            result => {
                self.count = 0;
                result
            }
        }
    }
}

/// Converts the failure of a piece of work into that of the command, if nothing else was done.
pub(in crate::commands::ingest) fn as_command(mut failure: Failure) -> Failure {
    if let Some(kind) = kind_of(&failure) {
        failure.exit = kind.code().exit();
    }
    failure
}

fn kind_of(failure: &Failure) -> Option<LlmErrorKind> {
    let mut kinds = LlmErrorKind::ALL.into_iter();
    kinds.find(|kind| kind.code() == failure.code)
}

pub(super) fn failure(error: IngestError) -> Failure {
    match error {
        IngestError::Model(error) => of_model(error),
        IngestError::Project(failure) => Failure::from(failure),
        IngestError::TooLong { .. } => Failure::from_error(Code::LongUnit, &error).hint(
            "split its file: a unit is at least one file of the source with what belongs to it",
        ),
        IngestError::Tools(_) => Failure::from_error(Code::Internal, &error),
    }
}

fn of_model(error: LlmError) -> Failure {
    let fault = fault(error.kind);
    let mut failure = Failure::from(error);
    if fault != Fault::Model {
        failure.exit = Exit::Failure;
    }
    failure
}
