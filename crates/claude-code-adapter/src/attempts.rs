//! Runs one model call: with a waiting child or a new one, and again where that helps.

use ktx_llm_runtime::{LlmError, LlmErrorKind, Patience, RuntimeEvent, StopReason};
use tokio::time::Instant;
use tokio_util::future::FutureExt as _;

use crate::call::Call;
use crate::conversation::{Note, PromptAt};
use crate::host::{Host, WarmUp};
use crate::invocation::Query;
use crate::limits::unix_now;
use crate::link::Link;
use crate::outcome::{believed_reset, failure_kind, stop_reason_of};
use crate::process::{Told, another_program, told};
use crate::report::{Caller, Report};
use crate::session::Session;
use crate::spares::{Moment, Unfinished};
use crate::versions::too_old;

/// Runs one query to its end, waiting for account limits where needed. Never panics, and leaves no
/// process but the spares of the host.
///
/// If a child crashes before anything but tokens was spent, one other child repeats the call: the
/// system may have killed the first for its memory, and one crash should not end a long run.
pub(crate) async fn run(
    host: &Host,
    query: Query,
    caller: &Caller,
    observe: &mut (dyn FnMut(&Note) + Send),
) -> Report {
    let first = limited(host, query.clone(), caller, observe).await;
    let done = first.accepted.is_some();
    if done || !first.has_crashed() || !query.is_repeatable() || caller.cancel.is_cancelled() {
        return first;
    }
    if let Err(refused) = host.settings.gate.look() {
        return Report {
            ending: Err(refused),
            ..first
        };
    }
    tracing::debug!("a Claude Code process broke down, the call is made again with another one");
    host.tell(RuntimeEvent::Retry {
        attempt: 2,
        code: LlmErrorKind::Crashed.code(),
    });
    let mut second = limited(host, query, caller, observe).await;
    second.metrics.usage += first.metrics.usage;
    second
}

/// Repeats the query until no account limit refuses it.
async fn limited(
    host: &Host,
    query: Query,
    caller: &Caller,
    observe: &mut (dyn FnMut(&Note) + Send),
) -> Report {
    let started = Instant::now();
    let mut failures = 0;
    loop {
        let passing = host.limits.pass(
            query.model(),
            query.patience(),
            host.events(),
            &caller.cancel,
        );
        let pass = match passing.await {
            Ok(pass) => pass,
            Err(error) => return Report::failed(host.redacted(error)),
        };
        let report = tried(host, query.clone(), caller, (observe, started)).await;
        if report.held_back {
            continue;
        }
        match refusal(&report) {
            Refusal::No => return report,
            Refusal::Served => {
                host.limits.served(query.model());
                return report;
            }
            Refusal::Limit => {}
        }
        failures += 1;
        let limit = report.signs.rejected.as_ref();
        if let Some(limit) = limit {
            host.tell(RuntimeEvent::RateLimitRefused {
                window: limit.window.clone(),
                resets_at: believed_reset(limit.resets_at, unix_now()),
            });
        }
        let pause = host.limits.refused(query.model(), limit, failures);
        // Release the pass only now, so that the next call already sees the refusal.
        drop(pass);
        let Some(pause) =
            pause.filter(|_| report.is_untouched() && query.patience() != Patience::None)
        else {
            return report;
        };
        host.tell(RuntimeEvent::Retry {
            attempt: failures + 1,
            code: LlmErrorKind::RateLimit.code(),
        });
        let _waiting = host.limits.wait();
        let pause = tokio::time::sleep(pause);
        if pause
            .with_cancellation_token(&caller.cancel)
            .await
            .is_none()
        {
            return Report::failed(LlmError::cancelled());
        }
    }
}

enum Refusal {
    No,
    Served,
    Limit,
}

fn refusal(report: &Report) -> Refusal {
    match &report.ending {
        Err(_) => Refusal::No,
        Ok(result) if stop_reason_of(result) != StopReason::Error => Refusal::Served,
        Ok(result) if failure_kind(result, &report.signs) == LlmErrorKind::RateLimit => {
            Refusal::Limit
        }
        Ok(_) => Refusal::No,
    }
}

async fn tried(
    host: &Host,
    query: Query,
    caller: &Caller,
    (observe, started): (&mut (dyn FnMut(&Note) + Send), Instant),
) -> Report {
    let unfinished = Unfinished::new(&host.spares);
    let demand = host.spares.called(&query);
    let call = Call {
        host,
        caller,
        demand: demand.as_ref(),
        started,
    };
    let mut report = made(call, query, observe).await;
    if report.never_began {
        report.ending = Err(explained(host, &report).await);
    }
    unfinished.ended();
    match (&report.ending, &demand) {
        (Ok(result), Some(demand)) => match stop_reason_of(result) {
            StopReason::Natural => host.spares.prepare(demand, Moment::Answered),
            StopReason::Budget => host.spares.prepare(demand, Moment::Ended),
            StopReason::Error => {}
        },
        (Err(error), _) if error.kind == LlmErrorKind::Cancelled => host.spares.end_all().await,
        _ => {}
    }
    report
}

async fn explained(host: &Host, report: &Report) -> LlmError {
    let Err(failed) = report.ending.clone() else {
        return LlmError::new(LlmErrorKind::Internal, "the error is lost");
    };
    let error = match told(&host.settings).await {
        Told::Version(version) if report.lacks_an_option() => too_old(Some(&version)),
        Told::Nothing if report.lacks_an_option() => too_old(None),
        Told::Another(program) => another_program(&host.settings, &program),
        Told::Version(_) | Told::Nothing => return failed,
    };
    match failed.detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

/// Makes the call with a waiting spare if there is one, else with a new child.
async fn made(call: Call<'_>, query: Query, observe: &mut (dyn FnMut(&Note) + Send)) -> Report {
    let host = call.host;
    let bytes = query.bytes();
    if let Err(refused) = host.settings.gate.begin(bytes) {
        return Report::failed(refused);
    }
    if let Some(demand) = call.demand
        && !call.caller.cancel.is_cancelled()
        && let Some(link) = host.spares.take(demand).await
    {
        let warm_up = WarmUp::not_needed();
        let (mut session, running) = Session::new(call, observe, warm_up, link);
        session.release(query.clone(), &running);
        let report = session.drive(running).await;
        if !report.never_began {
            return report;
        }
        tracing::debug!("a spare Claude Code process was of no use, a fresh one is started");
    }
    let (place, warm_up) = match host.place(&call.caller.cancel).await {
        Ok(place) => place,
        Err(error) => return Report::failed(error),
    };
    // Other calls may have spent tokens while this one waited for its place.
    if let Err(refused) = host.settings.gate.begin(bytes) {
        return Report::failed(refused);
    }
    let opened = Link::open(&host.settings, &host.guard, query, PromptAt::Once, place);
    match opened.with_cancellation_token(&call.caller.cancel).await {
        Some(Ok(link)) => {
            let (session, running) = Session::new(call, observe, warm_up, link);
            session.drive(running).await
        }
        Some(Err(error)) => Report::failed(host.redacted(error)),
        None => Report::failed(LlmError::cancelled()),
    }
}
