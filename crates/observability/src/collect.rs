//! Collects `tracing` spans with ids, times and sums.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ktx_llm_runtime::{SPANS, USAGE};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::export::Exporter;
use crate::span::{self, AttributeValue, FinishedSpan, SpanKind};

pub(crate) fn concerns(metadata: &Metadata<'_>) -> bool {
    metadata.target() == SPANS || metadata.target() == USAGE
}

struct OpenSpan {
    trace: [u8; 16],
    id: [u8; 8],
    parent: Option<[u8; 8]>,
    start: u64,
    clock: Instant,
    fields: SpanFields,
    sums: SpanSums,
}

#[derive(Default)]
struct SpanSums {
    input: i64,
    output: i64,
    cache_read: i64,
    cache_creation: i64,
    messages: i64,
    cost: Option<f64>,
    calls: i64,
    tool_calls: i64,
}

#[derive(Default)]
struct SpanFields(BTreeMap<&'static str, AttributeValue>);

impl SpanFields {
    fn put(&mut self, field: &Field, value: AttributeValue) {
        self.0.insert(field.name(), value);
    }

    fn take_text(&mut self, name: &'static str) -> Option<String> {
        match self.0.remove(name) {
            Some(AttributeValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn whole(&self, name: &'static str) -> i64 {
        match self.0.get(name) {
            Some(AttributeValue::Whole(number)) => *number,
            _ => 0,
        }
    }

    fn is(&self, name: &'static str, text: &str) -> bool {
        matches!(self.0.get(name), Some(AttributeValue::Text(found)) if found == text)
    }
}

impl Visit for SpanFields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.put(field, AttributeValue::Text(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, AttributeValue::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, AttributeValue::Whole(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(
            field,
            AttributeValue::Whole(i64::try_from(value).unwrap_or(i64::MAX)),
        );
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, AttributeValue::Number(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, AttributeValue::Flag(value));
    }
}

pub(crate) struct SpanCollector {
    exporter: Arc<Exporter>,
}

impl SpanCollector {
    pub(crate) const fn new(exporter: Arc<Exporter>) -> Self {
        Self { exporter }
    }
}

impl<S> Layer<S> for SpanCollector
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut fields = SpanFields::default();
        attributes.record(&mut fields);
        let above = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions
                .get::<OpenSpan>()
                .map(|open| (open.trace, open.id))
        });
        let count = if fields.is(span::OPERATION, "execute_tool") {
            Some(CountedSpan::Tool)
        } else {
            // A turn within a call is not a call of its own.
            let outermost = span
                .parent()
                .is_some_and(|parent| is_operation(&parent, "invoke_workflow"));
            outermost.then_some(CountedSpan::Call)
        };
        if let Some(count) = count {
            for ancestor in span.scope().skip(1) {
                if let Some(open) = ancestor.extensions_mut().get_mut::<OpenSpan>() {
                    match count {
                        CountedSpan::Call => open.sums.calls += 1,
                        CountedSpan::Tool => open.sums.tool_calls += 1,
                    }
                }
            }
        }
        let open = OpenSpan {
            trace: above.map_or_else(|| trace_id(&fields), |(trace, _)| trace),
            id: span_id(),
            parent: above.map(|(_, parent)| parent),
            start: nanoseconds(),
            clock: Instant::now(),
            fields,
            sums: SpanSums::default(),
        };
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<OpenSpan>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() != USAGE {
            return;
        }
        let Some(span) = context.event_span(event) else {
            return;
        };
        let mut fact = SpanFields::default();
        event.record(&mut fact);
        for (height, span) in span.scope().enumerate() {
            if let Some(open) = span.extensions_mut().get_mut::<OpenSpan>() {
                open.sums.add(&fact);
                if height == 0 {
                    for name in [span::RESPONSE_ID, span::RESPONSE_MODEL] {
                        if let Some(value) = fact.0.get(name) {
                            open.fields.0.insert(name, value.clone());
                        }
                    }
                }
            }
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let open = span.extensions_mut().remove::<OpenSpan>();
        if let Some(open) = open {
            self.exporter
                .take(open.finished(span.metadata().name().to_owned()));
        }
    }
}

#[derive(Clone, Copy)]
enum CountedSpan {
    Call,
    Tool,
}

fn is_operation<'span, R: LookupSpan<'span>>(span: &SpanRef<'span, R>, name: &str) -> bool {
    span.extensions()
        .get::<OpenSpan>()
        .is_some_and(|open| open.fields.is(span::OPERATION, name))
}

impl SpanSums {
    fn add(&mut self, fact: &SpanFields) {
        self.messages += 1;
        self.input += fact.whole(span::INPUT_TOKENS);
        self.output += fact.whole(span::OUTPUT_TOKENS);
        self.cache_read += fact.whole(span::CACHE_READ);
        self.cache_creation += fact.whole(span::CACHE_CREATION);
        if let Some(AttributeValue::Number(cost)) = fact.0.get(span::COST) {
            *self.cost.get_or_insert(0.0) += cost;
        }
    }
}

impl OpenSpan {
    fn finished(mut self, plain_name: String) -> FinishedSpan {
        let kind = match self.fields.take_text(span::KIND).as_deref() {
            Some("client") => SpanKind::Client,
            _ => SpanKind::Internal,
        };
        let sums = &self.sums;
        let attributes = &mut self.fields.0;
        if sums.messages > 0 {
            for (name, value) in [
                (span::INPUT_TOKENS, sums.input),
                (span::OUTPUT_TOKENS, sums.output),
                (span::CACHE_READ, sums.cache_read),
                (span::CACHE_CREATION, sums.cache_creation),
                (span::MESSAGES, sums.messages),
            ] {
                attributes.insert(name, AttributeValue::Whole(value));
            }
        }
        for (name, value) in [
            (span::CALLS, sums.calls),
            (span::TOOL_CALLS, sums.tool_calls),
        ] {
            if value > 0 {
                attributes.insert(name, AttributeValue::Whole(value));
            }
        }
        if let Some(cost) = sums.cost {
            attributes.insert(span::COST, AttributeValue::Number(cost));
        }
        let elapsed = u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
        FinishedSpan {
            trace: self.trace,
            id: self.id,
            parent: self.parent,
            name: self.fields.take_text(span::NAME).unwrap_or(plain_name),
            kind,
            start: self.start,
            end: self.start.saturating_add(elapsed),
            failure: self.fields.take_text(span::FAILURE),
            attributes: self.fields.0,
        }
    }
}

/// Uses the run id if it is a UUID, so that one leads to the other.
fn trace_id(fields: &SpanFields) -> [u8; 16] {
    let of_run = match fields.0.get(span::RUN_ID) {
        Some(AttributeValue::Text(text)) => uuid::Uuid::parse_str(text).ok(), // any other id names no trace
        _ => None,
    };
    of_run.unwrap_or_else(uuid::Uuid::now_v7).into_bytes()
}

/// The random half of a UUID, never all zero.
fn span_id() -> [u8; 8] {
    let [_, _, _, _, _, _, _, _, id @ ..] = uuid::Uuid::new_v4().into_bytes();
    id
}

fn nanoseconds() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or_default()
}
