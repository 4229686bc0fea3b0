//! Runtime events as log lines and sums of spans.

use std::sync::Arc;

use ktx_llm_runtime::{EventSink, RuntimeEvent, USAGE, UsageFact};

/// US dollars.
type PriceFunction = Box<dyn Fn(&UsageFact) -> Option<f64> + Send + Sync>;

/// Forwards events to `tracing` too.
pub struct TracedEvents {
    inner: Arc<dyn EventSink>,
    price: PriceFunction,
}

impl std::fmt::Debug for TracedEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TracedEvents").finish_non_exhaustive()
    }
}

impl TracedEvents {
    /// `price` is called only if traces are collected.
    pub fn new(
        inner: Arc<dyn EventSink>,
        price: impl Fn(&UsageFact) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner,
            price: Box::new(price),
        }
    }

    fn usage(&self, fact: &UsageFact) {
        if !tracing::enabled!(target: USAGE, tracing::Level::INFO) {
            return;
        }
        let usage = &fact.usage;
        tracing::event!(
            target: USAGE,
            tracing::Level::INFO,
            { gen_ai.response.id = fact.message_id,
            gen_ai.response.model = fact.model,
            gen_ai.usage.input_tokens = usage.input_total(),
            gen_ai.usage.output_tokens = usage.output,
            gen_ai.usage.cache_read.input_tokens = usage.cache_read,
            gen_ai.usage.cache_creation.input_tokens = usage.cache_write_5m + usage.cache_write_1h,
            ktx.cost_usd = (self.price)(fact),
            ktx.run_id = %fact.run_id,
            ktx.stage = fact.stage,
            ktx.role = fact.role.as_str() },
            "a message was paid for"
        );
    }
}

impl EventSink for TracedEvents {
    fn event(&self, event: RuntimeEvent) {
        match &event {
            RuntimeEvent::Usage(fact) => self.usage(fact),
            RuntimeEvent::UsageBegun(fact) => {
                tracing::debug!(message = fact.message_id, "a message has begun");
            }
            RuntimeEvent::UsageDropped(fact) => {
                tracing::debug!(message = fact.message_id, "a message is not billed");
            }
            RuntimeEvent::CostReported(cost) => tracing::debug!(
                run_id = %cost.label.run_id,
                dollars = cost.dollars,
                messages = cost.message_ids.len(),
                "the backend reported the cost of a call"
            ),
            RuntimeEvent::RateLimitObserved {
                window,
                utilization,
                resets_at,
            } => tracing::info!(window, utilization, resets_at, "rate_limit_observed"),
            RuntimeEvent::RateLimitRefused { window, resets_at } => {
                tracing::info!(window, resets_at, "rate_limit_refused");
            }
            RuntimeEvent::ConcurrencyAdjusted { from, to, reason } => {
                tracing::info!(from, to, reason, "concurrency_adjusted");
            }
            RuntimeEvent::WaitStarted { reason, duration } => {
                tracing::info!(reason, seconds = duration.as_secs_f64(), "wait_started");
            }
            RuntimeEvent::WaitTick { reason, remaining } => {
                tracing::debug!(reason, seconds = remaining.as_secs_f64(), "wait_tick");
            }
            RuntimeEvent::WaitFinished => tracing::info!("wait_finished"),
            RuntimeEvent::Retry { attempt, code } => {
                tracing::info!(attempt, code = code.as_str(), "retry");
            }
            RuntimeEvent::IsolationVerified { version } => {
                tracing::debug!(version, "isolation_verified");
            }
            RuntimeEvent::Warning(text) => tracing::info!(text, "warning of the backend"),
        }
        self.inner.event(event);
    }
}
