//! Traces a backend.

use std::sync::{Arc, OnceLock};

use ktx_config::Project;
use ktx_llm_runtime::{EventSink, LlmRuntime, UsageFact};
use ktx_observability::{RunFacts, TracedEvents, TracedRuntime};
use ktx_usage_ledger::{PriceSource, PriceTable, price_of};
use ktx_vocabulary::{Backend, ModelRole, Provider};

use super::CLAUDE_CODE_MODEL;
use super::http::model_facts;
use crate::invocation::Invocation;

pub(super) fn traced_events(source: PriceSource, events: Arc<dyn EventSink>) -> Arc<dyn EventSink> {
    let prices: OnceLock<Option<PriceTable>> = OnceLock::new();
    let price = move |fact: &UsageFact| {
        let table = prices.get_or_init(|| {
            // The ledger reports an unreadable table.
            source.read().ok()
        });
        let now = jiff::Timestamp::now().to_string();
        let cost = price_of(fact, &now, table.as_ref()?)?;
        Some(cost.amount.dollars())
    };
    Arc::new(TracedEvents::new(events, price))
}

pub(super) fn traced(
    runtime: Arc<dyn LlmRuntime>,
    invocation: &Invocation,
    config: &Project,
) -> Arc<dyn LlmRuntime> {
    let backend = config.llm.backend;
    let models = ModelRole::ALL
        .into_iter()
        .filter_map(|role| Some((role, asked_model(backend, config.model(role))?)))
        .collect();
    Arc::new(TracedRuntime::new(
        runtime,
        RunFacts {
            workflow: invocation.command.to_owned(),
            run_id: invocation.run_id.clone(),
            provider: provider(backend).to_owned(),
            models,
            capture: invocation.telemetry.capture(),
        },
    ))
}

/// The local session uses aliases, providers use ids.
pub(super) fn asked_model(backend: Backend, written: Option<&str>) -> Option<String> {
    match backend {
        Backend::ClaudeCode => Some(written.unwrap_or(CLAUDE_CODE_MODEL).to_owned()),
        Backend::None | Backend::Http(_) => Some(model_facts(backend, written?).id),
    }
}

fn provider(backend: Backend) -> &'static str {
    match backend {
        Backend::ClaudeCode => Provider::Anthropic.trace_name(),
        Backend::Http(provider) => provider.trace_name(),
        Backend::None => backend.as_str(),
    }
}
