//! Converts ingest failures.

use std::path::Path;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_ingest::{Failed, IngestError, Stop};
use ktx_llm_runtime::LlmErrorKind;
use ktx_memory::CaptureError;

use crate::report::Report as _;
use crate::scanning::{probe_failure, publish_failure, state_failure};

pub(crate) fn failure(failed: &Failed, dir: &Path) -> Failure {
    let failure = cause(&failed.error, dir);
    match (failed.stop, &failed.error) {
        (Some(stop), IngestError::Model(_) | IngestError::Probe(_)) => failure.ending(exit(stop)),
        (None, IngestError::Model(_)) => failure.ending(Exit::Failure),
        _ => failure,
    }
}

pub(crate) fn cause(error: &IngestError, dir: &Path) -> Failure {
    match error {
        IngestError::Model(error) => Failure::from(error.clone()),
        IngestError::Probe(error) => probe_failure(error.clone()),
        IngestError::Project(failure) | IngestError::Runtime(failure) => failure.clone(),
        IngestError::NoModel => crate::compose::no_model("documents can only be read with a model"),
        IngestError::TooLong { .. } => Failure::from_error(Code::LongUnit, error).hint(
            "split its file: a unit is at least one file of the source with what belongs to it",
        ),
        IngestError::Tools(_) | IngestError::Path(_) => Failure::from_error(Code::Internal, error),
        IngestError::Name(error) => Failure::from(error.clone()),
        IngestError::Capture(error) => capture_failure(error),
        IngestError::Publish(error) => publish_failure(error),
        IngestError::History(error) => Failure::from_error(Code::PublishFailed, error),
        IngestError::State(error) => state_failure(error),
        IngestError::Proposal(error) => {
            Failure::from_error(Code::ProposalFailed, error).seen_from(dir)
        }
        IngestError::Transcript(error) => {
            Failure::from_error(Code::TranscriptFailed, error).seen_from(dir)
        }
        IngestError::Facts { source_id, error } => Failure::from_error(Code::FactsFailed, error)
            .context(format!(
                "the facts of `{source_id}` about tables cannot be written"
            )),
    }
}

fn capture_failure(error: &CaptureError) -> Failure {
    match error {
        CaptureError::Model(error) => Failure::from(error.clone()),
        CaptureError::Project(failure) => failure.clone(),
        CaptureError::Empty => Failure::from_error(Code::EmptyNote, error),
        CaptureError::TooLong { .. } => Failure::from_error(Code::LongNote, error)
            .hint("split it, and give each part with a `--file` of its own"),
        CaptureError::Tools(_) => Failure::from_error(Code::Internal, error),
    }
}

const fn exit(stop: Stop) -> Exit {
    match stop {
        Stop::Model => Exit::Model,
        Stop::Budget => Exit::Partial,
        Stop::Interrupted => Exit::Interrupted,
    }
}

/// If nothing else was done.
pub(crate) fn as_command(mut failure: Failure) -> Failure {
    let mut kinds = LlmErrorKind::ALL.into_iter();
    if let Some(kind) = kinds.find(|kind| kind.code() == failure.code) {
        failure.exit = kind.code().exit();
    }
    failure
}
