//! Runs one model call, and again if that helps.

use ktx_llm_runtime::{LlmError, LlmErrorKind, Patience, RuntimeEvent, StopReason};
use tokio::time::Instant;
use tokio_util::future::FutureExt as _;

use crate::call::RuntimeCall;
use crate::conversation::{ConversationNote, PromptTiming};
use crate::host::{Host, WarmUp};
use crate::invocation::Query;
use crate::limits::unix_now;
use crate::link::ChildLink;
use crate::outcome::{failure_kind, plausible_reset, stop_reason_of};
use crate::process::{VersionReply, another_program, ask_version};
use crate::report::{CallReport, Caller};
use crate::session::ChildSession;
use crate::spares::{CallGuard, CallStage};
use crate::versions::too_old;

/// Waits for account limits. Repeats a call once after a crash that cost only tokens: the system
/// may have killed the child for its memory.
pub(crate) async fn run(
    host: &Host,
    query: Query,
    caller: &Caller,
    observe: &mut (dyn FnMut(&ConversationNote) + Send),
) -> CallReport {
    let first = limited(host, query.clone(), caller, observe).await;
    let done = first.accepted.is_some();
    if done || !first.has_crashed() || !query.is_repeatable() || caller.cancel.is_cancelled() {
        return first;
    }
    if let Err(refused) = host.settings.gate.look() {
        return CallReport {
            ending: Err(refused),
            ..first
        };
    }
    tracing::debug!("a Claude Code process crashed; another one repeats the call");
    host.emit(RuntimeEvent::Retry {
        attempt: 2,
        code: LlmErrorKind::Crashed.code(),
    });
    let mut second = limited(host, query, caller, observe).await;
    second.metrics.usage += first.metrics.usage;
    second
}

async fn limited(
    host: &Host,
    query: Query,
    caller: &Caller,
    observe: &mut (dyn FnMut(&ConversationNote) + Send),
) -> CallReport {
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
            Err(error) => return CallReport::failed(host.redacted(error)),
        };
        let report = attempt_call(host, query.clone(), caller, started, observe).await;
        if report.held_back {
            continue;
        }
        match refusal(&report) {
            LimitVerdict::No => return report,
            LimitVerdict::Served => {
                host.limits.served(query.model());
                return report;
            }
            LimitVerdict::Limit => {}
        }
        failures += 1;
        let limit = report.signs.rejected.as_ref();
        if let Some(limit) = limit {
            host.emit(RuntimeEvent::RateLimitRefused {
                window: limit.window.clone(),
                resets_at: plausible_reset(limit.resets_at, unix_now()),
            });
        }
        let pause = host.limits.refused(query.model(), limit, failures);
        // The next call already sees the refusal.
        drop(pass);
        let Some(pause) =
            pause.filter(|_| report.is_untouched() && query.patience() != Patience::None)
        else {
            return report;
        };
        host.emit(RuntimeEvent::Retry {
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
            return CallReport::failed(LlmError::cancelled());
        }
    }
}

enum LimitVerdict {
    No,
    Served,
    Limit,
}

fn refusal(report: &CallReport) -> LimitVerdict {
    match &report.ending {
        Err(_) => LimitVerdict::No,
        Ok(result) if stop_reason_of(result) != StopReason::Error => LimitVerdict::Served,
        Ok(result) if failure_kind(result, &report.signs) == LlmErrorKind::RateLimit => {
            LimitVerdict::Limit
        }
        Ok(_) => LimitVerdict::No,
    }
}

async fn attempt_call(
    host: &Host,
    query: Query,
    caller: &Caller,
    started: Instant,
    observe: &mut (dyn FnMut(&ConversationNote) + Send),
) -> CallReport {
    let unfinished = CallGuard::new(&host.spares);
    let demand = host.spares.called(&query);
    let call = RuntimeCall {
        host,
        caller,
        demand: demand.as_ref(),
        started,
    };
    let mut report = make_call(call, query, observe).await;
    if report.never_began {
        report.ending = Err(explain_early_exit(host, &report).await);
    }
    unfinished.disarm();
    match (&report.ending, &demand) {
        (Ok(result), Some(demand)) => match stop_reason_of(result) {
            StopReason::Natural => host.spares.prepare(demand, CallStage::Answered),
            StopReason::Budget => host.spares.prepare(demand, CallStage::Ended),
            StopReason::Error => {}
        },
        (Err(error), _) if error.kind == LlmErrorKind::Cancelled => host.spares.end_all().await,
        _ => {}
    }
    report
}

async fn explain_early_exit(host: &Host, report: &CallReport) -> LlmError {
    let Err(failed) = report.ending.clone() else {
        return LlmError::new(LlmErrorKind::Internal, "the error is lost");
    };
    let error = match ask_version(&host.settings).await {
        VersionReply::Version(version) if report.lacks_option() => too_old(Some(&version)),
        VersionReply::Nothing if report.lacks_option() => too_old(None),
        VersionReply::Another(program) => another_program(&host.settings, &program),
        VersionReply::Version(_) | VersionReply::Nothing => return failed,
    };
    match failed.detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

async fn make_call(
    call: RuntimeCall<'_>,
    query: Query,
    observe: &mut (dyn FnMut(&ConversationNote) + Send),
) -> CallReport {
    let host = call.host;
    let bytes = query.bytes();
    if let Err(refused) = host.settings.gate.begin(bytes) {
        return CallReport::failed(refused);
    }
    if let Some(demand) = call.demand
        && !call.caller.cancel.is_cancelled()
        && let Some(link) = host.spares.take(demand).await
    {
        let warm_up = WarmUp::not_needed();
        let (mut session, running) = ChildSession::new(call, observe, warm_up, link);
        session.release(query.clone(), &running);
        let report = session.drive(running).await;
        if !report.never_began {
            return report;
        }
        tracing::debug!("a spare Claude Code process was unusable; a new one is started");
    }
    let (place, warm_up) = match host.place(&call.caller.cancel).await {
        Ok(place) => place,
        Err(error) => return CallReport::failed(error),
    };
    // Other calls may have spent tokens meanwhile.
    if let Err(refused) = host.settings.gate.begin(bytes) {
        return CallReport::failed(refused);
    }
    let opened = ChildLink::open(
        &host.settings,
        &host.guard,
        query,
        PromptTiming::Once,
        place,
    );
    match opened.with_cancellation_token(&call.caller.cancel).await {
        Some(Ok(link)) => {
            let (session, running) = ChildSession::new(call, observe, warm_up, link);
            session.drive(running).await
        }
        Some(Err(error)) => CallReport::failed(host.redacted(error)),
        None => CallReport::failed(LlmError::cancelled()),
    }
}
