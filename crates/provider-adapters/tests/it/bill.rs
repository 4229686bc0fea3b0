//! Compares the provider's bill with the ledger, which may exceed it only by amounts marked as
//! estimated.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ktx_llm_runtime::{
    EventSink, LlmError, LlmErrorKind, LlmRuntime as _, RuntimeEvent, TextRequest,
};
use ktx_provider_adapters::{HttpRuntime, HttpSettings};
use ktx_test_support::loopback::{Answer, End, Loopback};
use ktx_usage_ledger::{
    Budget, Ledger, Limits, Meter, PriceTable, ReportGroup, ReportRow, ReportWindow,
    ReservationOwner,
};
use ktx_vocabulary::Provider;
use serde_json::{Value, json};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::fake::{ask, settings};

const OWNER: ReservationOwner = ReservationOwner {
    process: 1,
    started: Some(1),
};
const NOW: &str = "2026-11-22T12:00:00Z";

struct BilledProgram {
    ledger: Mutex<Ledger>,
    prices: PriceTable,
    meter: Arc<Meter>,
    begun: AtomicU64,
}

impl BilledProgram {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            ledger: Mutex::new(Ledger::in_memory().expect("a ledger")),
            prices: PriceTable::built_in().expect("prices"),
            meter: Arc::default(),
            begun: AtomicU64::new(0),
        })
    }

    fn total(&self) -> ReportRow {
        let ledger = self.ledger.lock().expect("no poison");
        ledger.settle(|_| false).expect("a ledger");
        let report = ledger.report(ReportGroup::All, &ReportWindow::default());
        report.expect("a report").total
    }

    fn open_messages(&self) -> usize {
        let ledger = self.ledger.lock().expect("no poison");
        ledger.settle(|_| false).expect("a ledger")
    }
}

impl EventSink for BilledProgram {
    fn event(&self, event: RuntimeEvent) {
        let ledger = self.ledger.lock().expect("no poison");
        let price = |fact| ktx_usage_ledger::price_of(fact, NOW, &self.prices);
        match event {
            RuntimeEvent::Usage(fact) => {
                self.meter.add(&fact, price(&fact));
                ledger.record_at(&fact, NOW, price(&fact)).expect("taken");
            }
            RuntimeEvent::UsageBegun(fact) => {
                let begun = ledger.begin(&fact, NOW, price(&fact), OWNER);
                begun.expect("taken");
                self.begun.store(fact.usage.total(), Ordering::SeqCst);
            }
            RuntimeEvent::UsageDropped(fact) => ledger.forget(&fact).expect("taken"),
            _ => {}
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BilledProtocol {
    Anthropic,
    Chat,
    /// Without usage counters.
    Silent,
    Responses,
    Gemini,
}

const ALL: [BilledProtocol; 5] = [
    BilledProtocol::Anthropic,
    BilledProtocol::Chat,
    BilledProtocol::Silent,
    BilledProtocol::Responses,
    BilledProtocol::Gemini,
];

const TOKENS: [&str; 8] = [
    " orders",
    " are",
    " counted",
    " 42",
    "17",
    " by",
    " customer",
    "_id",
];

fn runtime(
    mut settings: HttpSettings,
    program: &Arc<BilledProgram>,
    limits: Limits,
) -> HttpRuntime {
    if limits.any() {
        let meter = Arc::clone(&program.meter);
        settings.gate = Arc::new(Budget::new(limits, meter, |_, _| None));
    }
    HttpRuntime::new(settings, Arc::clone(program) as _).expect("usable settings")
}

impl BilledProtocol {
    fn settings(self, address: &str) -> HttpSettings {
        let (provider, model) = match self {
            Self::Anthropic => (Provider::Anthropic, "sonnet"),
            Self::Chat | Self::Silent => (Provider::OpenAiCompatible, "local"),
            Self::Responses => (Provider::OpenAi, "gpt-5.5"),
            Self::Gemini => (Provider::Gemini, "gemini-3-pro"),
        };
        settings(provider, model, address)
    }

    fn events(self, input: u64, tokens: usize) -> Vec<(Value, u64)> {
        let words = TOKENS.iter().cycle().take(tokens);
        let output = tokens;
        match self {
            Self::Anthropic => {
                let start = json!({"type": "message_start", "message": {"id": "m", "model": "claude-sonnet-5-5",
                    "usage": {"input_tokens": input, "output_tokens": 1}}});
                let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
                let delta = |word: &&str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}});
                let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}});
                let mut all = vec![(start, 0), (block, 0)];
                all.extend(words.map(|word| (delta(word), 1)));
                all.extend([(end, 0), (json!({"type": "message_stop"}), 0)]);
                all
            }
            Self::Chat | Self::Silent => {
                let chunk = |delta: Value, finish: Value| json!({"id": "m", "model": "local", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
                let mut all: Vec<(Value, u64)> = words
                    .map(|word| (chunk(json!({"content": word}), Value::Null), 1))
                    .collect();
                all.push((chunk(json!({}), json!("stop")), 0));
                if self == Self::Chat {
                    let usage = json!({"id": "m", "model": "local", "choices": [],
                        "usage": {"prompt_tokens": input, "completion_tokens": output}});
                    all.push((usage, 0));
                }
                all
            }
            Self::Responses => {
                let text: String = TOKENS.iter().cycle().take(tokens).copied().collect();
                let item = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
                let delta =
                    |word: &&str| json!({"type": "response.output_text.delta", "delta": word});
                let created = json!({"type": "response.created", "response": {"id": "m", "model": "gpt-5.5"}});
                let mut all = vec![(created, 0)];
                all.extend(words.map(|word| (delta(word), 1)));
                all.push((
                    json!({"type": "response.output_item.done", "item": item}),
                    0,
                ));
                all.push((
                    json!({"type": "response.completed", "response": {"id": "m", "model": "gpt-5.5",
                    "status": "completed", "output": [item],
                    "usage": {"input_tokens": input, "output_tokens": output}}}),
                    0,
                ));
                all
            }
            Self::Gemini => {
                let chunk = |parts: Value, seen: usize| {
                    json!({"responseId": "m", "modelVersion": "gemini-3-pro",
                        "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": seen},
                        "candidates": [{"content": {"role": "model", "parts": parts}}]})
                };
                let mut all: Vec<(Value, u64)> = words
                    .enumerate()
                    .map(|(at, word)| (chunk(json!([{"text": word}]), at), 1))
                    .collect();
                let mut last = chunk(json!([]), output);
                last["candidates"][0]["finishReason"] = json!("STOP");
                all.push((last, 0));
                all
            }
        }
    }
}

#[derive(Debug, Default)]
struct BillTotals {
    tokens: u64,
    answers: u64,
    largest: u64,
}

/// `ends` gets the number and the length of an answer. The provider charges the input and every
/// token whose first byte it has sent.
fn provider(
    speaks: BilledProtocol,
    tokens: usize,
    bill: &Arc<Mutex<BillTotals>>,
    ends: impl Fn(usize, usize) -> End + Send + Sync + 'static,
) -> Loopback {
    let bill = Arc::clone(bill);
    Loopback::start(move |request, number| {
        let input = u64::try_from(request.body.len()).expect("a length") / 3;
        let events = speaks.events(input, tokens);
        let lines: Vec<(String, u64)> = events
            .into_iter()
            .map(|(event, tokens)| (format!("data: {event}\n\n"), tokens))
            .chain(
                (speaks == BilledProtocol::Chat || speaks == BilledProtocol::Silent)
                    .then(|| ("data: [DONE]\n\n".to_owned(), 0)),
            )
            .collect();
        let length = lines.iter().map(|(line, _)| line.len()).sum();
        let end = ends(number, length);
        let sent = match end {
            End::Whole => length,
            End::CutAfter(bytes) | End::StallAfter(bytes) => bytes,
        };
        let mut at = 0;
        let mut charged = input;
        for (line, tokens) in &lines {
            if at < sent {
                charged += tokens;
            }
            at += line.len();
        }
        let mut bill = bill.lock().expect("no poison");
        bill.tokens += charged;
        bill.answers += 1;
        bill.largest = bill.largest.max(charged);
        let body: String = lines.into_iter().map(|(line, _)| line).collect();
        Answer {
            end,
            ..Answer::stream(body)
        }
    })
    .expect("a provider")
}

fn question() -> TextRequest {
    ask(&"How many orders has each customer placed, by month? ".repeat(20))
}

fn check(what: &str, total: &ReportRow, bill: &BillTotals) {
    let ledger = total.usage.total();
    assert!(bill.tokens <= ledger, "{what}: {ledger} of {bill:?}");
    assert!(
        ledger - total.estimated_tokens <= bill.tokens,
        "{what}: {total:?} of {bill:?}"
    );
}

/// Includes a cut before the first byte.
#[tokio::test]
async fn the_ledger_is_not_below_the_bill_wherever_an_answer_is_cut() {
    for speaks in ALL {
        let (program, bill) = (BilledProgram::new(), Arc::<Mutex<BillTotals>>::default());
        let server = provider(speaks, 60, &bill, |number, length| match number % 2 {
            0 => End::CutAfter(number * length / 80),
            _ => End::Whole,
        });
        let runtime = runtime(
            speaks.settings(&server.address()),
            &program,
            Limits::default(),
        );
        for asked in 0..40 {
            let answer = runtime.generate_text(question()).await;
            answer.unwrap_or_else(|error| panic!("{speaks:?} {asked}: {error:?}"));
            let total = program.total();
            check(
                &format!("{speaks:?} {asked}"),
                &total,
                &bill.lock().unwrap(),
            );
        }
        let total = program.total();
        // A cut after the last word loses nothing.
        assert!(total.incomplete >= 36, "{speaks:?}: {total:?}");
        let uncounted = if speaks == BilledProtocol::Silent {
            40
        } else {
            0
        };
        assert!(total.uncounted >= uncounted && total.uncounted <= uncounted + 4);
        assert_eq!(total.messages, bill.lock().unwrap().answers, "{speaks:?}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopCause {
    /// As by Ctrl-C.
    Cancel,
    /// As by a second Ctrl-C.
    GiveUp,
    /// Only earlier reports remain.
    Kill,
    Silence,
}

/// Waits until the reports cover the charges: the client cannot know what it has not read yet.
async fn caught_up(program: &BilledProgram, bill: &Mutex<BillTotals>) {
    let holds = || {
        let charged = bill.lock().expect("no poison").tokens;
        charged > 0 && program.begun.load(Ordering::SeqCst) >= charged
    };
    let mut held = holds();
    for _ in 0..2000 {
        if held {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        held = holds();
    }
    assert!(held, "never: {:?}", bill.lock().expect("no poison"));
}

async fn stopped(
    runtime: HttpRuntime,
    (program, bill): (&Arc<BilledProgram>, &Mutex<BillTotals>),
    how: StopCause,
) -> ReportRow {
    let request = question();
    let (cancel, at_once) = (request.cancel.clone(), CancellationToken::new());
    let call = {
        let at_once = at_once.clone();
        tokio::spawn(async move {
            let call = runtime.generate_text(request);
            call.with_cancellation_token(&at_once).await
        })
    };
    if how != StopCause::Silence {
        caught_up(program, bill).await;
    }
    match how {
        StopCause::Cancel => cancel.cancel(),
        StopCause::GiveUp => at_once.cancel(),
        StopCause::Kill => {
            // Before the call can report more.
            let total = program.total();
            call.abort();
            return total;
        }
        StopCause::Silence => {}
    }
    let outcome = call.await.expect("no panic");
    if how == StopCause::Silence {
        let error = outcome.expect("not given up").expect_err("a failure");
        assert_eq!(error.kind, LlmErrorKind::Timeout);
    }
    assert_eq!(
        program.open_messages(),
        0,
        "{how:?}: no message is left open"
    );
    program.total()
}

#[tokio::test]
async fn the_ledger_is_not_below_the_bill_however_a_call_is_stopped() {
    for speaks in ALL {
        for how in [
            StopCause::Cancel,
            StopCause::GiveUp,
            StopCause::Kill,
            StopCause::Silence,
        ] {
            for tenth in [0, 1, 4, 9] {
                let (program, bill) = (BilledProgram::new(), Arc::<Mutex<BillTotals>>::default());
                let server = provider(speaks, 900, &bill, move |_, length| {
                    End::StallAfter(tenth * length / 10)
                });
                let mut settings = speaks.settings(&server.address());
                if how == StopCause::Silence {
                    settings.timeouts.first_byte = Duration::from_millis(200);
                    settings.timeouts.between_bytes = Duration::from_millis(200);
                }
                let runtime = runtime(settings, &program, Limits::default());
                let total = stopped(runtime, (&program, &bill), how).await;
                let what = format!("{speaks:?} {how:?} {tenth}");
                check(&what, &total, &bill.lock().unwrap());
                assert_eq!(total.incomplete, bill.lock().unwrap().answers, "{what}");
                assert!(total.messages > 0, "{what}");
            }
        }
    }
}

/// At most one answer exceeds the budget.
#[tokio::test]
async fn a_budget_counts_answers_that_were_cut_off() {
    const MOST: u64 = 10_000;
    for speaks in ALL {
        let (program, bill) = (BilledProgram::new(), Arc::<Mutex<BillTotals>>::default());
        let server = provider(speaks, 60, &bill, |number, length| match number % 3 {
            0 => End::CutAfter(length / 2),
            1 => End::CutAfter(0),
            _ => End::Whole,
        });
        let limits = Limits {
            tokens: Some(MOST),
            ..Limits::default()
        };
        let runtime = runtime(speaks.settings(&server.address()), &program, limits);
        let error: LlmError = loop {
            if let Err(error) = runtime.generate_text(question()).await {
                break error;
            }
        };
        assert_eq!(error.kind, LlmErrorKind::Budget, "{speaks:?}: {error:?}");
        let (total, bill) = (program.total(), bill.lock().unwrap());
        check(&format!("{speaks:?}"), &total, &bill);
        assert!(bill.tokens <= MOST + bill.largest, "{speaks:?}: {bill:?}");
        // It does not end long before either.
        assert!(total.usage.total() > MOST / 2, "{speaks:?}: {total:?}");
    }
}

#[tokio::test]
async fn a_refused_call_is_on_no_bill() {
    let program = BilledProgram::new();
    let server = Loopback::start(|_, _| {
        let error = json!({"error": {"type": "invalid_request_error", "message": "no"}});
        Answer::json(400, &error)
    })
    .unwrap();
    let speaks = BilledProtocol::Anthropic;
    let runtime = runtime(
        speaks.settings(&server.address()),
        &program,
        Limits::default(),
    );
    runtime.generate_text(question()).await.unwrap_err();
    assert_eq!(program.open_messages(), 0);
    assert_eq!(program.total().facts(), 0);
}
