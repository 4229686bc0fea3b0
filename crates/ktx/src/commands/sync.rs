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
        let pause = paused_until(&outcome, args, now, &invocation, shared.project);
        let next = NextRound::after(RoundTimes { started, now }, every, pause);
        let ended = ended_round(started, &outcome, &invocation);
        let exit = ended.exit;
        if let Err(failure) = note(shared.project, ended, Some(next.at)) {
            print_failure(&failure, Mode::Plain);
        }
        printer.note(&format!(
            "sync ended with exit code {exit}; the next one begins {}{}; Ctrl-C ends",
            when(next.at, now),
            next.reason.text()
        ));
        if !wait_until(next.at)? {
            return Ok(Exit::Interrupted);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RoundTimes {
    started: Timestamp,
    now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NextRound {
    at: Timestamp,
    reason: NextReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextReason {
    Period,
    LimitEnds,
    /// The limit lasts longer than the period.
    PeriodWithinLimit,
}

impl NextReason {
    const fn text(self) -> &'static str {
        match self {
            Self::Period => "",
            Self::LimitEnds => ", when the limit of the model ends",
            Self::PeriodWithinLimit => ", though the limit of the model lasts longer",
        }
    }
}

impl NextRound {
    /// A round whose time has passed begins at once, and once only. A limit that ends before the
    /// period shortens the wait; none makes it longer.
    fn after(times: RoundTimes, every: Duration, limit_ends: Option<Timestamp>) -> Self {
        let RoundTimes { started, now } = times;
        let period = started
            .checked_add(every)
            .unwrap_or(Timestamp::MAX)
            .max(now);
        let (at, reason) = match limit_ends.map(|end| end.max(now)) {
            Some(end) if end <= period => (end, NextReason::LimitEnds),
            Some(_) => (period, NextReason::PeriodWithinLimit),
            None => (period, NextReason::Period),
        };
        Self { at, reason }
    }
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
    now: Timestamp,
    invocation: &Invocation,
    project: &OpenProject,
) -> Option<Timestamp> {
    if matches!(outcome, Ok(Exit::Success)) {
        return None;
    }
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
        let next = |started, now| {
            let (started, now) = (at(started), at(now));
            NextRound::after(RoundTimes { started, now }, EVERY, None).at
        };
        assert_eq!(next(0, 10), at(100));
        assert_eq!(next(0, 100), at(100));
        // The machine slept, or the round took long: at once, and the count begins there.
        assert_eq!(next(0, 750), at(750));
        assert_eq!(next(750, 760), at(850));
    }

    #[test]
    fn a_known_limit_ends_the_wait_within_the_period() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let next = |now, end| {
            let (started, now) = (at(0), at(now));
            let next = NextRound::after(RoundTimes { started, now }, EVERY, Some(at(end)));
            (next.at, next.reason)
        };
        assert_eq!(next(10, 40), (at(40), NextReason::LimitEnds));
        assert_eq!(next(10, 100), (at(100), NextReason::LimitEnds));
        assert_eq!(next(10, 5000), (at(100), NextReason::PeriodWithinLimit));
        // It has ended while the round did the rest.
        assert_eq!(next(60, 40), (at(60), NextReason::LimitEnds));
        assert_eq!(next(200, 5000), (at(200), NextReason::PeriodWithinLimit));
    }

    const EVERY: Duration = Duration::from_secs(100);
}
