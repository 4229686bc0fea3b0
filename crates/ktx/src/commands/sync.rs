//! `ktx sync`.

use std::time::Duration;

use jiff::Timestamp;
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_project_store::{SyncRound, SyncState};
use ktx_usage_ledger::clock;
use tokio_util::future::FutureExt as _;

use crate::cli::{IngestArgs, LockWait, SyncArgs, duration_text};
use crate::compose;
use crate::invocation::{Invocation, OpenProject, load};
use crate::printer::{Mode, Printer, print_failure};
use crate::report::{Outcome, Report as _};

/// Wait for other commands, with `--every`.
const PATIENCE: Duration = Duration::from_mins(10);

/// The polling interval: sleeping machines stop timers, but not the clock.
const LOOK: Duration = Duration::from_secs(15);

type Round = fn(&IngestArgs, &Invocation) -> Outcome;

pub(crate) fn run(args: &SyncArgs, invocation: &Invocation, round: Round) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let Some(every) = args.every else {
        let (started, outcome) = (Timestamp::now(), round(&orders(args), invocation));
        let ended = ended_round(started, &outcome, invocation);
        let next = project.store.sync_state().next;
        note(&project, ended, next)?;
        return outcome;
    };
    let lock = project.store.lock_syncs(invocation.now);
    let _held = lock.map_err(|error| {
        Failure::from_error(Code::ProjectLocked, &error)
            .context("`ktx sync --every` runs already")
            .hint("end the other one with Ctrl-C, or run `ktx sync` for one round")
    })?;
    let shared = SyncSettings {
        invocation,
        printer: &printer,
        project: &project,
    };
    repeat(args, every, round, shared)
}

fn orders(args: &SyncArgs) -> IngestArgs {
    IngestArgs {
        spending: args.spending,
        wait: args.wait,
        output: args.output.clone(),
        ..IngestArgs::default()
    }
}

#[derive(Clone, Copy)]
struct SyncSettings<'a> {
    invocation: &'a Invocation,
    printer: &'a Printer,
    project: &'a OpenProject,
}

fn repeat(args: &SyncArgs, every: Duration, round: Round, shared: SyncSettings<'_>) -> Outcome {
    let printer = shared.printer;
    compose::listen();
    loop {
        let started = Timestamp::now();
        let mut invocation = shared.invocation.again(started)?;
        if args.wait.wait.is_none() {
            invocation.lock_wait = LockWait::AtMost(every.min(PATIENCE));
        }
        let outcome = round(&orders(args), &invocation);
        if compose::was_asked_to_end() {
            return Ok(Exit::Interrupted);
        }
        if let Err(failure) = &outcome {
            if failure.code == Code::BrokenPipe {
                return outcome;
            }
            print_failure(
                &failure.clone().seen_from(&shared.project.dir),
                printer.mode,
            );
        }
        let now = Timestamp::now();
        let next = following(started, every, now);
        let pause = paused_until(&outcome, args, &invocation, shared.project);
        let next = pause.map_or(next, |pause| pause.max(now));
        let ended = ended_round(started, &outcome, &invocation);
        let exit = ended.exit;
        if let Err(failure) = note(shared.project, ended, Some(next)) {
            print_failure(&failure, Mode::Plain);
        }
        let why = match pause {
            Some(_) => ", when the limit of the model ends",
            None => "",
        };
        printer.note(&format!(
            "sync ended with exit code {exit}; the next one begins {}{why}; Ctrl-C ends",
            when(next, now)
        ));
        if !wait_until(next)? {
            return Ok(Exit::Interrupted);
        }
    }
}

/// The next round after one at `started`; immediate if overdue. Missed rounds count once.
fn following(started: Timestamp, every: Duration, now: Timestamp) -> Timestamp {
    let next = started.checked_add(every).unwrap_or(Timestamp::MAX);
    next.max(now)
}

fn when(next: Timestamp, now: Timestamp) -> String {
    match Duration::try_from(next.duration_since(now)) {
        Ok(left) if left >= Duration::from_mins(1) => format!("at {}", clock(next, now)),
        Ok(left) if left.as_secs() > 0 => {
            format!("in {}", duration_text(Duration::from_secs(left.as_secs())))
        }
        _ => "now".to_owned(),
    }
}

/// False after Ctrl-C.
fn wait_until(next: Timestamp) -> Outcome<bool> {
    let waited = compose::block_on(|cancel| async move {
        loop {
            let left = Duration::try_from(next.duration_since(Timestamp::now()));
            let Ok(left) = left else {
                return Ok(true);
            };
            if left.is_zero() {
                return Ok(true);
            }
            let pause = tokio::time::sleep(left.min(LOOK));
            if pause.with_cancellation_token(&cancel).await.is_none() {
                return Ok(false);
            }
        }
    });
    match waited {
        Err(failure) if failure.code == Code::Cancelled => Ok(false),
        waited => waited,
    }
}

/// The end of the limit that stopped a round, if known.
fn paused_until(
    outcome: &Outcome,
    args: &SyncArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Option<Timestamp> {
    if matches!(outcome, Ok(Exit::Success)) {
        return None;
    }
    let now = Timestamp::now();
    if let Some(limit) = compose::known_limit(invocation, project)
        && limit.refused_for(now).is_some()
    {
        return limit.resets_at;
    }
    let spending = &args.spending;
    let is_limited = spending.max_usd.is_some()
        || spending.max_tokens.is_some()
        || spending.max_minutes.is_some();
    if is_limited || !met_budget(outcome, invocation, project) {
        return None;
    }
    let status = compose::day_status(invocation, project).ok()??;
    Some(status.day.ends_at())
}

/// True if a budget stopped at least a part.
fn met_budget(outcome: &Outcome, invocation: &Invocation, project: &OpenProject) -> bool {
    if outcome
        .as_ref()
        .is_err_and(|failure| failure.code == Code::LlmBudget)
    {
        return true;
    }
    let run = project.store.state().ok();
    let run = run.and_then(|state| state.run(&invocation.run_id).ok()?);
    let code = format!("\"{}\"", Code::LlmBudget.as_str());
    run.is_some_and(|run| run.detail.to_string().contains(&code))
}

fn ended_round(started: Timestamp, outcome: &Outcome, invocation: &Invocation) -> SyncRound {
    let exit = match outcome {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    };
    SyncRound {
        started,
        ended: Timestamp::now(),
        exit: exit.code(),
        run_id: invocation.run_id.to_string(),
    }
}

fn note(project: &OpenProject, last: SyncRound, next: Option<Timestamp>) -> Outcome<()> {
    let state = SyncState {
        last: Some(last),
        next,
    };
    let written = project.store.write_sync_state(&state);
    written.map_err(|error| Failure::from_error(Code::File, &error).seen_from(&project.dir))
}

#[cfg(test)]
mod tests {
    //! Tests of round times.

    use super::*;

    #[test]
    fn a_missed_round_is_made_up_for_once() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let every = Duration::from_secs(100);
        assert_eq!(following(at(0), every, at(10)), at(100));
        assert_eq!(following(at(0), every, at(100)), at(100));
        // Late rounds start immediately and restart the interval.
        assert_eq!(following(at(0), every, at(750)), at(750));
        assert_eq!(following(at(750), every, at(760)), at(850));
    }
}
