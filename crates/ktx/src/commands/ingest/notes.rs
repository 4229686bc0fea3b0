//! `ktx ingest --text` and `--file`.

mod input;
mod report;

use ktx_diagnostics::{Code, Failure};
use ktx_ingest::{AfterFailure, Note, Plan};
use ktx_usage_ledger::Limits;
use ktx_wiki::UserId;

use crate::cli::IngestArgs;
use crate::connections::warehouse_with_dialect;
use crate::ingesting::notes::{Submission, capture_all};
use crate::invocation::CommandContext;
use crate::report::Outcome;
use crate::run_records::RetryScope;

pub(super) fn are_given(args: &IngestArgs) -> bool {
    !args.text.is_empty() || !args.file.is_empty() || !args.transcript.is_empty()
}

/// Refuses options that only apply to notes, and partial runs of a single context source.
pub(super) fn check_absent(args: &IngestArgs, plan: &Plan<'_>) -> Outcome<()> {
    let is_one_source = plan.sources.len() == 1 && plan.warehouses.is_empty();
    let (flag, owners) = if args.fail_fast {
        ("--fail-fast", "`--text`, `--file` and `--transcript`")
    } else if args.user.is_some() {
        ("--user", "`--text`, `--file` and `--transcript`")
    } else if args.note_connection.is_some() && !is_one_source {
        let owners = "`--text`, `--file`, `--transcript` and the ingest of a context source";
        ("--connection-id", owners)
    } else {
        return Ok(());
    };
    Err(
        Failure::new(Code::Usage, format!("`{flag}` belongs to {owners}"))
            .hint("name the warehouse to ingest without a flag: `ktx ingest <id>`"),
    )
}

/// Commits each note before the next one.
pub(super) fn run(
    args: &IngestArgs,
    retry: Option<&RetryScope>,
    limits: Limits,
    context: CommandContext<'_>,
) -> Outcome {
    let connection = args
        .note_connection
        .as_deref()
        .map(|id| warehouse_with_dialect(&context.project.config, id))
        .transpose()?;
    let user = args.user.as_deref().map(UserId::parse).transpose();
    let user = user.map_err(|error| Failure::new(Code::Usage, error.to_string()))?;
    let mut notes = input::notes(args, context.invocation)?;
    let retried = retry.map_or(&[][..], |scope| &scope.notes);
    notes.extend(retried.iter().map(|kept| Note {
        label: kept.label.clone(),
        text: kept.text.clone(),
    }));
    let submission = Submission {
        notes: &notes,
        connection,
        user,
        author: &args.user_id,
        after_failure: if args.fail_fast {
            AfterFailure::Stop
        } else {
            AfterFailure::Continue
        },
        limits,
        retry_of: retry.map(|scope| scope.run.as_str()),
        runs: &[],
    };
    let results = capture_all(&submission, context)?;
    report::finish(&submission, retry, &results, context)
}
