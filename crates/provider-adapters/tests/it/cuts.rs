//! Streams interrupted anywhere: no effect twice, no message lost or counted twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ktx_llm_runtime::{
    EventSink, LlmRuntime as _, LoopRequest, RuntimeEvent, StopReason, TokenUsage,
};
use ktx_provider_adapters::HttpRuntime;
use ktx_test_support::loopback::{Answer, End, Loopback, Request};
use ktx_tool_descriptors::{ToolDescriptor, ToolOutput, WriteEffect, handler_fn};
use ktx_usage_ledger::{
    Ledger, PriceTable, ReportGroup, ReportRow, ReportWindow, ReservationOwner,
};
use ktx_vocabulary::{Provider, RunId};
use serde_json::{Value, json};

use crate::fake::{settings, stream_text, tool_use};

pub(crate) struct LedgerSink(Mutex<(Ledger, PriceTable)>);

impl LedgerSink {
    pub(crate) fn new() -> Self {
        let prices = PriceTable::built_in().expect("the built-in prices");
        Self(Mutex::new((Ledger::in_memory().expect("a ledger"), prices)))
    }

    pub(crate) fn sums(&self) -> BTreeMap<String, ReportRow> {
        let books = self.0.lock().expect("no poison");
        books.0.settle(|_| false).expect("a ledger");
        let report = books.0.report(ReportGroup::Run, &ReportWindow::default());
        let rows = report.expect("a report").rows.into_iter();
        rows.map(|row| (row.key.clone(), row)).collect()
    }
}

impl EventSink for LedgerSink {
    fn event(&self, event: RuntimeEvent) {
        let books = self.0.lock().expect("no poison");
        let owner = ReservationOwner {
            process: 1,
            started: Some(1),
        };
        match event {
            RuntimeEvent::Usage(fact) => {
                let recorded = books.0.record(&fact, "2026-11-22T12:00:00Z", &books.1);
                recorded.expect("the ledger takes it");
            }
            RuntimeEvent::UsageBegun(fact) => {
                let begun = books.0.begin(&fact, "2026-11-22T12:00:00Z", None, owner);
                begun.expect("the ledger takes it");
            }
            RuntimeEvent::UsageDropped(fact) => books.0.forget(&fact).expect("the ledger takes it"),
            _ => {}
        }
    }
}

type RunBills = Arc<Mutex<BTreeMap<String, (u64, TokenUsage)>>>;

fn charged(protocol: Protocol, sent: &str) -> Option<TokenUsage> {
    let mut usage: Option<TokenUsage> = None;
    let whole = sent.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    for line in whole.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let number = |pointer: &str| event.pointer(pointer).and_then(Value::as_u64);
        let (input, cached, output) = protocol.counters();
        let read = [input, cached, output]
            .map(|pointers| pointers.iter().find_map(|pointer| number(pointer)));
        if read == [None; 3] {
            continue;
        }
        let sum = usage.get_or_insert_default();
        let [input, cached, output] = read;
        if let Some(cached) = cached {
            sum.cache_read = cached;
        }
        if let Some(input) = input {
            sum.input = match protocol {
                // Other protocols include cached input in the input.
                Protocol::Anthropic => input,
                _ => input - cached.unwrap_or(0),
            };
        }
        if let Some(output) = output {
            sum.output = output;
        }
    }
    usage
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

type Pointers = &'static [&'static str];

impl Protocol {
    fn counters(self) -> (Pointers, Pointers, Pointers) {
        match self {
            Self::Anthropic => (
                &["/message/usage/input_tokens"],
                &["/message/usage/cache_read_input_tokens"],
                &["/usage/output_tokens", "/message/usage/output_tokens"],
            ),
            Self::Chat => (
                &["/usage/prompt_tokens"],
                &["/usage/prompt_tokens_details/cached_tokens"],
                &["/usage/completion_tokens"],
            ),
            Self::Responses => (
                &["/response/usage/input_tokens"],
                &["/response/usage/input_tokens_details/cached_tokens"],
                &["/response/usage/output_tokens"],
            ),
            Self::Gemini => (
                &["/usageMetadata/promptTokenCount"],
                &["/usageMetadata/cachedContentTokenCount"],
                &["/usageMetadata/candidatesTokenCount"],
            ),
        }
    }

    fn provider(self) -> (Provider, &'static str) {
        match self {
            Self::Anthropic => (Provider::Anthropic, "haiku"),
            Self::Chat => (Provider::OpenAiCompatible, "local"),
            Self::Responses => (Provider::OpenAi, "gpt-5.5"),
            Self::Gemini => (Provider::Gemini, "gemini-3-pro"),
        }
    }

    fn has_result(self, request: &Request) -> bool {
        let body = String::from_utf8_lossy(&request.body);
        match self {
            Self::Anthropic => body.contains("\"tool_result\""),
            Self::Chat => body.contains("\"role\":\"tool\""),
            Self::Responses => body.contains("\"function_call_output\""),
            Self::Gemini => body.contains("\"functionResponse\""),
        }
    }

    fn stream(self, id: &str, calls: bool) -> String {
        let words = if calls {
            "I will book it now. ".repeat(6)
        } else {
            "done".to_owned()
        };
        let arguments = json!({"query": "insert into bookings values (1, 'a “quoted” word')"});
        match self {
            Self::Anthropic if calls => stream_text(
                id,
                "tool_use",
                &[
                    json!({"type": "text", "text": words}),
                    tool_use(&format!("{id}-t"), "book", &arguments),
                ],
            ),
            Self::Anthropic => {
                stream_text(id, "end_turn", &[json!({"type": "text", "text": words})])
            }
            Self::Chat => chat(id, &words, calls.then_some(&arguments)),
            Self::Responses => responses(id, &words, calls.then_some(&arguments)),
            Self::Gemini => gemini(id, &words, calls.then_some(&arguments)),
        }
    }
}

fn events(events: &[Value]) -> String {
    let lines: Vec<String> = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    lines.concat()
}

fn chat(id: &str, words: &str, call: Option<&Value>) -> String {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": id, "model": "local", "choices": [
            {"index": 0, "delta": delta, "finish_reason": finish},
        ]})
    };
    let mut all = vec![chunk(
        json!({"role": "assistant", "content": words}),
        Value::Null,
    )];
    if let Some(call) = call {
        let text = call.to_string();
        let middle = text.char_indices().nth(20).map_or(0, |(at, _)| at);
        let (left, right) = text.split_at(middle);
        all.push(chunk(
            json!({"tool_calls": [{"index": 0, "id": format!("{id}-t"), "type": "function",
                "function": {"name": "book", "arguments": left}}]}),
            Value::Null,
        ));
        all.push(chunk(
            json!({"tool_calls": [{"index": 0, "function": {"arguments": right}}]}),
            Value::Null,
        ));
    }
    let finish = if call.is_some() { "tool_calls" } else { "stop" };
    all.push(chunk(json!({}), json!(finish)));
    all.push(json!({"id": id, "model": "local", "choices": [], "usage": {
        "prompt_tokens": 110, "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 100},
    }}));
    format!("{}data: [DONE]\n\n", events(&all))
}

fn responses(id: &str, words: &str, call: Option<&Value>) -> String {
    let message = json!({"type": "message", "id": "i0", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": words, "annotations": []}]});
    let mut output = vec![message];
    if let Some(call) = call {
        output.push(
            json!({"type": "function_call", "id": "i1", "call_id": format!("{id}-t"),
            "name": "book", "arguments": call.to_string(), "status": "completed"}),
        );
    }
    let mut all = vec![
        json!({"type": "response.created", "response": {"id": id, "model": "gpt-5.5"}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": words}),
    ];
    for (index, item) in output.iter().enumerate() {
        all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    all.push(json!({"type": "response.completed", "response": {
        "id": id, "model": "gpt-5.5", "status": "completed", "output": output,
        "usage": {"input_tokens": 110, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 7},
    }}));
    events(&all)
}

fn gemini(id: &str, words: &str, call: Option<&Value>) -> String {
    let usage = |output: u64| json!({"promptTokenCount": 110, "cachedContentTokenCount": 100, "candidatesTokenCount": output});
    let chunk = |parts: Value, output: u64| {
        json!({"responseId": id, "modelVersion": "gemini-3-pro", "usageMetadata": usage(output),
            "candidates": [{"content": {"role": "model", "parts": parts}}]})
    };
    let mut all = vec![chunk(json!([{"text": words}]), 3)];
    if let Some(call) = call {
        all.push(chunk(
            json!([{"functionCall": {"name": "book", "args": call}, "thoughtSignature": "sig"}]),
            6,
        ));
    }
    let mut last = chunk(json!([{"text": ""}]), 7);
    last["candidates"][0]["finishReason"] = json!("STOP");
    all.push(last);
    events(&all)
}

fn provider(protocol: Protocol, bill: RunBills) -> Loopback {
    let cut_already = Mutex::new(BTreeMap::<usize, usize>::new());
    Loopback::start(move |request, number| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let position: usize = body
            .split_once("cut at ")
            .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
            .expect("the prompt names a position");
        let whole = protocol.stream(&format!("m{number}"), !protocol.has_result(request));
        let mut seen = cut_already.lock().expect("no poison");
        let times = seen.entry(position).or_default();
        *times += 1;
        let end = if *times == 1 {
            End::CutAfter(position)
        } else {
            End::Whole
        };
        let sent = match end {
            End::Whole => whole.as_str(),
            // A cut inside a character ends no event.
            End::CutAfter(bytes) | End::StallAfter(bytes) => (0..=bytes)
                .rev()
                .find_map(|to| whole.get(..to))
                .unwrap_or(&whole),
        };
        let mut bill = bill.lock().expect("no poison");
        let run = bill.entry(format!("cut-{position}")).or_default();
        run.0 += 1;
        run.1 += charged(protocol, sent).unwrap_or_default();
        Answer {
            end,
            ..Answer::stream(whole)
        }
    })
    .expect("a provider")
}

fn booking(effects: &Arc<AtomicUsize>) -> ToolDescriptor {
    let effects = Arc::clone(effects);
    ToolDescriptor {
        name: "book".to_owned(),
        title: "book".to_owned(),
        description: "books".to_owned(),
        input_schema: json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler: handler_fn(move |_, _| {
            effects.fetch_add(1, Ordering::SeqCst);
            Ok(ToolOutput::text("booked"))
        }),
    }
}

fn asked(position: usize, effects: &Arc<AtomicUsize>) -> LoopRequest {
    let mut request = crate::agent::request(vec![booking(effects)], 4);
    request.prompt = format!("cut at {position} bytes");
    request.label.run_id = RunId::parse(&format!("cut-{position}")).expect("a run id");
    request
}

/// Spreads `count` cuts over the bytes of the streamed tool call.
async fn check(protocol: Protocol, count: usize) {
    let bill: RunBills = Arc::default();
    let books = Arc::new(LedgerSink::new());
    let server = provider(protocol, Arc::clone(&bill));
    let (provider, model) = protocol.provider();
    let runtime = HttpRuntime::new(settings(provider, model, &server.address()), books.clone())
        .expect("usable settings");
    let length = protocol.stream("m0", true).len();
    assert!(length >= count, "{protocol:?}: {length} bytes");
    let positions: Vec<usize> = (0..count).map(|step| step * length / (count - 1)).collect();
    for position in &positions {
        let effects = Arc::new(AtomicUsize::new(0));
        let outcome = runtime.run_agent_loop(asked(*position, &effects)).await;
        assert_eq!(
            (outcome.stop_reason, outcome.error, outcome.text.as_deref()),
            (StopReason::Natural, None, Some("done")),
            "{protocol:?} cut at {position} of {length}"
        );
        assert_eq!(
            effects.load(Ordering::SeqCst),
            1,
            "{protocol:?} cut at {position}"
        );
    }
    let (ledger, bill) = (books.sums(), bill.lock().expect("no poison"));
    assert_eq!(ledger.len(), bill.len(), "{protocol:?}");
    for (run, (messages, charged)) in bill.iter() {
        let row = &ledger[run];
        let whole = messages - row.incomplete;
        assert_eq!(row.messages, *messages, "{protocol:?} {run}: {row:?}");
        assert!(whole >= 2, "{protocol:?} {run}: {row:?}");
        // Only amounts marked as estimated can exceed the bill.
        let (written, charged) = (row.usage.total(), charged.total());
        assert!(
            charged <= written && written - row.estimated_tokens <= charged,
            "{protocol:?} {run}: {row:?} of {charged}"
        );
    }
}

/// COG-14, COG-15.
#[tokio::test]
async fn a_tool_call_cut_at_four_hundred_places_has_one_effect_and_one_bill() {
    check(Protocol::Anthropic, 400).await;
}

/// These protocols count at the end or continuously.
#[tokio::test]
async fn the_other_protocols_are_cut_without_a_second_effect_too() {
    check(Protocol::Chat, 120).await;
    check(Protocol::Responses, 120).await;
    check(Protocol::Gemini, 120).await;
}
