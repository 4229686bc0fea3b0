//! The probe: one turn proves that the session can be used (KTX-83, KTX-84).

use std::pin::Pin;
use std::time::Duration;

use ktx_llm_runtime::{CallLabel, LlmError, LlmErrorKind, ProbeReport, ProbeRequest};
use ktx_vocabulary::ModelRole;
use tokio_util::sync::CancellationToken;

use crate::attempts::run;
use crate::conversation::ConversationNote;
use crate::exchange::{model_of, natural, query_for};
use crate::host::Host;
use crate::invocation::{Query, QueryPurpose};
use crate::outcome::{status_kind, text_of};
use crate::process::find_program;
use crate::report::{CallReport, Caller, RUN_BY_HAND};
use crate::surface::hook_warning;
use crate::versions::{version_fact, version_warning};

const TICK: Duration = Duration::from_secs(1);

async fn in_time(
    host: &Host,
    query: Query,
    caller: &Caller,
    asked_to_end: &CancellationToken,
    warnings: &mut Vec<String>,
) -> CallReport {
    let mut retried = None;
    let limit = host.settings.timeouts.probe;
    let (mut report, is_late) = {
        let mut observe = |note: &ConversationNote| match note {
            ConversationNote::Warning(warning) => warnings.push(warning.clone()),
            ConversationNote::Hook(event) => warnings.push(hook_warning(event)),
            ConversationNote::Retry { status, .. } => {
                retried = Some(status.map_or(LlmErrorKind::Transport, status_kind));
            }
            _ => {}
        };
        let mut work = std::pin::pin!(run(host, query, caller, &mut observe));
        if let Some(report) = run_within(host, limit, work.as_mut()).await {
            (report, false)
        } else {
            caller.cancel.cancel();
            (work.await, true)
        }
    };
    if is_late
        && !asked_to_end.is_cancelled()
        && let Err(error) = &report.ending
        && error.kind == LlmErrorKind::Cancelled
    {
        let message = format!(
            "Claude Code did not answer the test of the session within {} s",
            limit.as_secs_f64()
        );
        let error = LlmError::new(retried.unwrap_or(LlmErrorKind::Timeout), message);
        report.ending = Err(error.hint(RUN_BY_HAND));
    }
    report
}

/// Does not count waits for account limits.
async fn run_within<W>(host: &Host, limit: Duration, mut work: Pin<&mut W>) -> Option<W::Output>
where
    W: Future,
{
    let tick = limit.min(TICK);
    let mut silent = Duration::ZERO;
    while silent < limit {
        if let Ok(output) = tokio::time::timeout(tick, work.as_mut()).await {
            return Some(output);
        }
        silent = if host.limits.has_waiters() {
            Duration::ZERO
        } else {
            silent + tick
        };
    }
    None
}

pub(crate) async fn probe(host: &Host, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
    let program = find_program(&host.settings)?;
    let role = ModelRole::Default;
    let query = query_for(
        host,
        role,
        QueryPurpose::Probe(request.patience),
        "Answer with one word.".to_owned(),
        "Say ok.".to_owned(),
        "probe",
    )?;
    let caller = Caller {
        role,
        label: CallLabel::of_probe(&request.run_id),
        cancel: request.cancel.child_token(),
    };
    let mut warnings = Vec::new();
    let report = in_time(host, query, &caller, &request.cancel, &mut warnings).await;
    natural(host, role, &report).and_then(text_of)?;
    let version = host.version().unwrap_or_default();
    warnings.extend(version_warning(&version));
    let asked = model_of(host, role)?;
    let model = match &report.metrics.model {
        Some(model) if *model != asked => format!("{asked} ({model})"),
        _ => asked,
    };
    let facts = [
        ("executable", program.display().to_string()),
        ("version", version_fact(&version)),
        ("model", model),
        ("paid by", host.payer()),
    ];
    Ok(ProbeReport {
        facts: facts
            .map(|(label, value)| (label.to_owned(), value))
            .to_vec(),
        warnings,
    })
}
