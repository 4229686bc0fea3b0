//! One call of a model, with a child that waits for it or with a fresh one.

use ktx_llm_runtime::{LlmError, LlmErrorKind, StopReason};
use tokio::time::Instant;
use tokio_util::future::FutureExt as _;

use crate::conversation::{Note, PromptAt};
use crate::host::{Host, WarmUp};
use crate::invocation::Query;
use crate::link::Link;
use crate::outcome::stop_reason_of;
use crate::report::{Caller, Report};
use crate::session::Session;
use crate::spares::{Demand, Moment, Unfinished};

/// What stays the same over the children of one call.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// What all calls share.
    pub(crate) host: &'a Host,
    /// For whom it is.
    pub(crate) caller: &'a Caller,
    /// Its kind, when it is one that has spares.
    pub(crate) demand: Option<&'a Demand>,
    /// Its begin.
    pub(crate) started: Instant,
}

/// Runs one query to its end. Never panics, never leaves a process but the spares of the host.
pub(crate) async fn run(
    host: &Host,
    query: Query,
    caller: &Caller,
    observe: &mut (dyn FnMut(&Note) + Send),
) -> Report {
    let started = Instant::now();
    let unfinished = Unfinished::new(&host.spares);
    let demand = host.spares.called(&query);
    let call = Call {
        host,
        caller,
        demand: demand.as_ref(),
        started,
    };
    let report = made(call, query, observe).await;
    unfinished.ended();
    match (&report.ending, &demand) {
        (Ok(result), Some(demand)) if stop_reason_of(result) != StopReason::Error => {
            host.spares.prepare(demand, Moment::Ended);
        }
        (Err(error), _) if error.kind == LlmErrorKind::Cancelled => host.spares.end_all().await,
        _ => {}
    }
    report
}

/// Makes the call with a child that waits for it, else with a fresh one.
async fn made(call: Call<'_>, query: Query, observe: &mut (dyn FnMut(&Note) + Send)) -> Report {
    let host = call.host;
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
    let opened = Link::open(&host.settings, query, PromptAt::Once, place);
    match opened.with_cancellation_token(&call.caller.cancel).await {
        Some(Ok(link)) => {
            let (session, running) = Session::new(call, observe, warm_up, link);
            session.drive(running).await
        }
        Some(Err(error)) => Report::failed(host.redacted(error)),
        None => Report::failed(LlmError::cancelled()),
    }
}
