//! Logs and traces, from the environment: installed once, sent through the one HTTP client.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use ktx_config::{Environment, Project};
use ktx_llm_runtime::{EventSink, LlmRuntime, UsageFact};
use ktx_observability::{
    Capture, Delivery, Exporter, LogFormat, LogSettings, Receipt, RunFacts, SharedRedactor,
    Shipment, TraceSettings, TracedEvents, TracedRuntime,
};
use ktx_provider_adapters::{JsonPoster, Proxy};
use ktx_usage_ledger::{PriceSource, PriceTable, price_of};
use ktx_vocabulary::{Backend, ModelRole, Provider};

use super::CLAUDE_CODE_MODEL;
use super::http::model_facts;
use crate::invocation::Invocation;

/// The logs and spans of this process. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Telemetry {
    exporter: Option<Arc<Exporter>>,
    capture: Capture,
    redactor: SharedRedactor,
}

impl Telemetry {
    /// Installs logs, and traces if a collector is named. Sends nothing and starts nothing.
    pub(crate) fn install(environment: &Environment) -> Self {
        let redactor = SharedRedactor::default();
        let traces = TraceSettings::read(&|name| environment.text(name));
        let exporter = traces.export.map(|settings| {
            Arc::new(Exporter::new(settings, redactor.clone(), || {
                let poster = JsonPoster::new(&Proxy::System).map_err(|error| error.to_string())?;
                Ok(Box::new(Post(poster)) as Box<dyn Delivery>)
            }))
        });
        let mut warnings = traces.warnings;
        let written = environment.text("KTX_LOG_FORMAT");
        let format = written.and_then(LogFormat::parse);
        if let (Some(written), None) = (written, format) {
            warnings.push(format!(
                "`KTX_LOG_FORMAT` is `{written}`, not `text` or `json`; text is written"
            ));
        }
        let logs = LogSettings {
            filter: environment.log_filter().map(str::to_owned),
            format: format.unwrap_or_default(),
            shown: Some(crate::printer::foreign::log_line),
        };
        warnings.extend(ktx_observability::install(
            &logs,
            exporter.clone(),
            redactor.clone(),
        ));
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        Self {
            exporter,
            capture: traces.capture,
            redactor,
        }
    }

    /// Redacts a secret in all later logs and traces.
    pub(super) fn hide(&self, secret: &ktx_secrets::Secret) {
        self.redactor.learn(secret);
    }

    /// Sends the remaining spans; waits a bounded time.
    pub(crate) fn finish(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.finish();
        }
    }
}

struct Post(JsonPoster);

#[async_trait]
impl Delivery for Post {
    async fn post(&self, shipment: Shipment<'_>) -> Result<Receipt, String> {
        let Shipment {
            url,
            headers,
            body,
            timeout,
        } = shipment;
        let posted = self.0.post(url, headers, body, timeout).await;
        let reply = posted.map_err(|error| format!("the collector: {error}"))?;
        Ok(Receipt {
            status: reply.status,
            retry_after: reply.retry_after,
            body: reply.body,
        })
    }
}

/// Wraps events for logs and traces. Prices are read when the first message needs one.
pub(super) fn traced_events(source: PriceSource, events: Arc<dyn EventSink>) -> Arc<dyn EventSink> {
    let prices: OnceLock<Option<PriceTable>> = OnceLock::new();
    let price = move |fact: &UsageFact| {
        let table = prices.get_or_init(|| {
            // The ledger reports an unreadable table; spans then have no cost.
            source.read().ok()
        });
        let now = jiff::Timestamp::now().to_string();
        let cost = price_of(fact, &now, table.as_ref()?)?;
        Some(cost.amount.dollars())
    };
    Arc::new(TracedEvents::new(events, price))
}

/// Wraps a runtime so that its operations are spans of this run.
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
            capture: invocation.telemetry.capture,
        },
    ))
}

/// Returns the model as sent to the backend: the local session knows aliases, providers know ids.
pub(super) fn asked_model(backend: Backend, written: Option<&str>) -> Option<String> {
    match backend {
        Backend::ClaudeCode => Some(written.unwrap_or(CLAUDE_CODE_MODEL).to_owned()),
        Backend::None | Backend::Http(_) => Some(model_facts(backend, written?).id),
    }
}

/// Returns the provider's name in the conventions for traces, else the backend's own.
fn provider(backend: Backend) -> &'static str {
    match backend {
        Backend::ClaudeCode => Provider::Anthropic.trace_name(),
        Backend::Http(provider) => provider.trace_name(),
        Backend::None => backend.as_str(),
    }
}
