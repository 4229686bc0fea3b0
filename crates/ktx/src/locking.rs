//! The project's lock.

use ktx_diagnostics::{Code, Failure};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ktx_project_store::{Holder, LockError, ProjectLock, Store, Wait};
use ktx_usage_ledger::clock;
use tokio_util::future::FutureExt as _;

use crate::cli::{LockWait, duration_text};
use crate::compose;
use crate::invocation::OpenProject;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};

const LOOK: Duration = Duration::from_millis(200);

/// Takes the lock, or returns the one that the command waited for.
///
/// # Errors
///
/// If another command holds it.
pub(crate) fn lock(project: &OpenProject, command: &str) -> Outcome<ProjectLock> {
    if let Some(held) = project.take_lock() {
        return Ok(held);
    }
    taken(&project.store, command).map_err(|error| {
        let is_held = matches!(error, LockError::Held { .. });
        let failure = refusal(&error);
        if is_held && project.lock_wait == LockWait::Offered {
            failure.hint("or add `--wait`, and the command waits for it")
        } else {
            failure
        }
    })
}

/// Prints the holding process.
///
/// # Errors
///
/// A refusal after `longest`; an interrupt after Ctrl-C.
pub(crate) fn wait_for_lock(
    store: &Store,
    command: &str,
    longest: Duration,
    printer: &Printer,
) -> Outcome<ProjectLock> {
    let started = Instant::now();
    compose::block_on(|cancel| async move {
        let mut announced: Option<Holder> = None;
        loop {
            let (error, holder) = match taken(store, command) {
                Ok(lock) => return Ok(lock),
                Err(LockError::Held { holder }) => (
                    LockError::Held {
                        holder: holder.clone(),
                    },
                    holder,
                ),
                Err(error) => return Err(refusal(&error)),
            };
            let left = longest.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(refusal(&error));
            }
            if let Some(holder) = holder
                && announced.as_ref() != Some(&holder)
            {
                printer.note(&waiting(&holder, longest));
                announced = Some(holder);
            }
            let pause = tokio::time::sleep(left.min(LOOK));
            if pause.with_cancellation_token(&cancel).await.is_none() {
                return Err(Failure::new(Code::Cancelled, "cancelled"));
            }
        }
    })
}

fn taken(store: &Store, command: &str) -> Result<ProjectLock, LockError> {
    store.lock(command, Timestamp::now(), Wait::No)
}

fn refusal(error: &LockError) -> Failure {
    Failure::from_error(Code::ProjectLocked, error).with_hints(error)
}

fn waiting(holder: &Holder, longest: Duration) -> String {
    let since = holder
        .since
        .map(|since| format!(", since {}", clock(since, Timestamp::now())))
        .unwrap_or_default();
    format!(
        "waiting for `{}` (process {}{since}) to end, at most {}; Ctrl-C ends the wait",
        holder.command,
        holder.pid,
        duration_text(longest)
    )
}
