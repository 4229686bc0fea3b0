//! Tests of budgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use ktx_llm_runtime::{
    BackendInfo, CallLabel, EventSink, LlmError, LlmErrorKind, LlmRuntime, LoopOutcome,
    LoopRequest, NoEvents, ObjectOutcome, ObjectRequest, PlannedTurn, ProbeReport, ProbeRequest,
    Reply, RunEvent, RunFinal, RunHandle, RunRequest, RuntimeEvent, ScriptedRuntime, StopReason,
    TextOutcome, TextRequest, TokenUsage, TurnGate as _, run_channel,
};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fact;
use crate::{Budget, BudgetedRuntime, Cost, Limits, Meter, Money};

fn label() -> CallLabel {
    CallLabel {
        run_id: RunId::parse("run-1").unwrap(),
        stage: "test".to_owned(),
        unit: None,
        connection: None,
    }
}

fn text_request(prompt: &str) -> TextRequest {
    TextRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: prompt.to_owned(),
        cancel: CancellationToken::new(),
        label: label(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a price may be unknown")]
fn cent(_role: ModelRole, usage: &TokenUsage) -> Option<Money> {
    Some(Money::from_picodollars(
        i128::from(usage.total()) * 10_000_000,
    ))
}

fn tokens(limit: u64) -> Limits {
    Limits {
        tokens: Some(limit),
        ..Limits::default()
    }
}

fn dollars(limit: f64) -> Limits {
    Limits {
        cost: Some(Money::from_dollars(limit)),
        ..Limits::default()
    }
}

fn used(input: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input,
        output,
        ..TokenUsage::default()
    }
}

fn spend(meter: &Meter, usage: TokenUsage, cost: Option<f64>) {
    let mut message = fact("msg_1", "claude-new");
    message.usage = usage;
    let cost = cost.map(|dollars| Cost {
        amount: Money::from_dollars(dollars),
        estimated: false,
    });
    meter.add(&message, cost);
}

fn turn(bytes: usize) -> PlannedTurn {
    PlannedTurn {
        role: ModelRole::Default,
        bytes,
        max_output: None,
        output_bound: None,
    }
}

/// Neither admitted nor refused now.
async fn waits(budget: &Budget, turn: PlannedTurn) -> bool {
    let admitted = tokio::time::timeout(std::time::Duration::ZERO, budget.admit(turn));
    admitted.await.is_err()
}

fn words<T>(outcome: Result<T, LlmError>) -> Result<(), String> {
    outcome.map(|_| ()).map_err(|error| {
        assert_eq!(error.kind, LlmErrorKind::Budget);
        error.message
    })
}

#[tokio::test]
async fn a_budget_refuses_the_call_that_would_exceed_it() {
    let script = [Reply::Text("a".to_owned()), Reply::Text("b".to_owned())];
    let inner = Arc::new(ScriptedRuntime::new(script, Arc::new(NoEvents)));
    let meter = Arc::new(Meter::default());
    let budget = Budget::new(dollars(0.02), Arc::clone(&meter), cent);
    let runtime = BudgetedRuntime::new(Arc::clone(&inner) as _, budget);
    assert!(runtime.generate_text(text_request("first")).await.is_ok());
    spend(&meter, used(900, 100), Some(0.015));
    assert_eq!(
        words(runtime.generate_text(text_request(&"x".repeat(3000))).await),
        Err("the next model call would exceed the budget: $0.0150 of $0.0200 are used".to_owned())
    );
    assert!(runtime.generate_text(text_request("short")).await.is_ok());
    assert_eq!(inner.prompts(), ["first", "short"]);
    let runtime = BudgetedRuntime::new(inner, Budget::new(tokens(1_050), meter, cent));
    assert_eq!(
        words(runtime.generate_text(text_request("short")).await),
        Err("the next model call would exceed the budget: 1000 of 1050 tokens are used".to_owned())
    );
}

#[tokio::test]
async fn an_admitted_turn_does_not_begin_after_the_end_of_the_budget() {
    for limits in [dollars(0.10), tokens(10_000)] {
        let meter = Arc::new(Meter::default());
        let budget = Budget::new(limits, Arc::clone(&meter), cent);
        let permit = budget.admit(turn(20)).await.unwrap();
        spend(&meter, used(100, 5_000), Some(0.051));
        assert_eq!(words(budget.begin(20)), Ok(()));
        permit.settle(used(100, 5_000));
        let refused = words(budget.begin(20)).unwrap_err();
        assert!(refused.ends_with("are used"), "{refused}");
    }
    let over = Limits {
        time: Some(std::time::Duration::ZERO),
        ..Limits::default()
    };
    assert_eq!(
        words(Budget::new(over, Arc::default(), cent).begin(0)),
        Err("the next model call would exceed the budget: 0 minutes are over".to_owned())
    );
}

#[tokio::test]
async fn turns_at_the_same_time_stay_below_the_limit() {
    for limits in [tokens(6_000), dollars(0.06)] {
        let meter = Arc::new(Meter::default());
        let budget = Budget::new(limits, Arc::clone(&meter), cent);
        let mut turns = tokio::task::JoinSet::new();
        for _ in 0..30 {
            let (budget, meter) = (budget.clone(), Arc::clone(&meter));
            turns.spawn(async move {
                let permit = words(budget.admit(turn(300)).await.map(|permit| {
                    spend(&meter, used(600, 100), Some(0.007));
                    permit.settle(used(600, 100));
                }));
                tokio::task::yield_now().await;
                permit
            });
        }
        let outcomes = turns.join_all().await;
        let made = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(
            (made, meter.spent().amount.tokens),
            (8, 5_600),
            "{limits:?}"
        );
    }
}

#[tokio::test]
async fn a_limit_of_the_answer_is_reserved_whole() {
    let meter = Arc::new(Meter::default());
    let budget = Budget::new(tokens(1_000), Arc::clone(&meter), cent);
    let first = budget.admit(turn(20)).await.unwrap();
    spend(&meter, used(10, 10), None);
    first.settle(used(10, 10));
    let bounded = PlannedTurn {
        max_output: Some(300),
        ..turn(20)
    };
    for _ in 0..3 {
        let permit = budget.admit(bounded).await.unwrap();
        spend(&meter, used(10, 300), None);
        permit.settle(used(10, 300));
    }
    assert_eq!(
        words(budget.admit(bounded).await),
        Err("the next model call would exceed the budget: 950 of 1000 tokens are used".to_owned())
    );
    assert!(budget.admit(turn(20)).await.is_ok());
    let together = Budget::new(tokens(700), Arc::default(), cent);
    let held = [
        together.admit(bounded).await.unwrap(),
        together.admit(bounded).await.unwrap(),
    ];
    assert!(waits(&together, bounded).await);
    drop(held);
}

/// Two bytes per token exceed the needs of ids and digits.
#[tokio::test]
async fn input_is_estimated_on_the_high_side() {
    let turn = |bytes| PlannedTurn {
        max_output: Some(1),
        ..turn(bytes)
    };
    let budget = Budget::new(tokens(501), Arc::default(), cent);
    assert!(budget.admit(turn(1_000)).await.is_ok());
    assert!(budget.admit(turn(1_001)).await.is_err());
}

#[tokio::test]
async fn a_probe_counts_against_the_budget() {
    let inner = Arc::new(ScriptedRuntime::new([], Arc::new(NoEvents)));
    let meter = Arc::new(Meter::default());
    let run = RunId::parse("run-1").unwrap();
    let budget = Budget::new(tokens(1_000), Arc::clone(&meter), cent);
    let runtime = BudgetedRuntime::new(inner, budget);
    assert!(runtime.probe(ProbeRequest::of(&run)).await.is_ok());
    spend(&meter, used(900, 50), None);
    assert_eq!(
        words(runtime.probe(ProbeRequest::of(&run)).await),
        Err("the next model call would exceed the budget: 950 of 1000 tokens are used".to_owned())
    );
}

#[tokio::test]
async fn a_turn_that_fails_gives_its_share_back() {
    let budget = Budget::new(tokens(1_000), Arc::default(), cent);
    let first = budget.admit(turn(300)).await.unwrap();
    assert!(waits(&budget, turn(300)).await);
    let (second, ()) = tokio::join!(budget.admit(turn(300)), async { drop(first) });
    assert!(second.is_ok());
}

/// COG-16.
#[tokio::test]
async fn a_message_without_a_price_ends_a_run_with_a_limit_of_money() {
    let meter = Arc::new(Meter::default());
    let budget = Budget::new(dollars(100.0), Arc::clone(&meter), cent);
    assert!(budget.admit(turn(3)).await.is_ok());
    spend(&meter, used(1, 1), None);
    assert_eq!(
        words(budget.admit(turn(3)).await),
        Err(
            "the budget of $100.0000 cannot be held: the model `claude-new` has no list price"
                .to_owned()
        )
    );
    let unknown = Budget::new(dollars(100.0), Arc::default(), |_, _| None);
    assert_eq!(
        words(unknown.admit(turn(3)).await),
        Err("the budget of $100.0000 cannot be held: the model of the role `default` has no list price".to_owned())
    );
    let by_tokens = Budget::new(tokens(10_000), meter, |_, _| None);
    assert!(by_tokens.admit(turn(3)).await.is_ok());
}

#[tokio::test]
async fn a_run_whose_usage_is_lost_cannot_enforce_a_budget() {
    let meter = Arc::new(Meter::default());
    meter.give_up("the usage ledger cannot be opened");
    let budget = Budget::new(tokens(10_000), meter, cent);
    assert_eq!(
        words(budget.admit(turn(3)).await),
        Err("the budget cannot be held, because usage is not recorded: the usage ledger cannot be opened".to_owned())
    );
}

struct MeterSink(Arc<Meter>);

impl EventSink for MeterSink {
    fn event(&self, event: RuntimeEvent) {
        if let RuntimeEvent::Usage(_) = event {
            spend(&self.0, used(900, 100), None);
        }
    }
}

#[tokio::test]
async fn a_loop_stops_between_two_turns() {
    let call = ("no_such_tool".to_owned(), serde_json::json!({}));
    let script = [Reply::Loop {
        calls: vec![call; 3],
        text: "done".to_owned(),
    }];
    let meter = Arc::new(Meter::default());
    let inner = ScriptedRuntime::new(script, Arc::new(MeterSink(Arc::clone(&meter))));
    let runtime = BudgetedRuntime::new(
        Arc::new(inner),
        Budget::new(tokens(1_200), meter, |_, _| None),
    );
    let request = LoopRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "go".to_owned(),
        tools: ToolSet::new(Vec::new()).unwrap(),
        step_budget: 9,
        transcript: None,
        on_step: None,
        cancel: CancellationToken::new(),
        label: label(),
    };
    let outcome = runtime.run_agent_loop(request).await;
    assert_eq!(
        (
            outcome.stop_reason,
            outcome.tools.len(),
            outcome.error.map(|error| error.message)
        ),
        (
            StopReason::Error,
            1,
            Some(
                "the next model call would exceed the budget: 1000 of 1200 tokens are used"
                    .to_owned()
            )
        )
    );
}

/// Reports a finished turn only when the next one has begun, as `claude-code` does.
struct LateReports {
    events: MeterSink,
    began: Arc<AtomicU32>,
}

impl LateReports {
    async fn turns(&self, tools: &ToolSet, cancel: &CancellationToken) -> Result<String, LlmError> {
        for turn in 0..3 {
            if cancel.is_cancelled() {
                return Err(LlmError::cancelled());
            }
            self.began.fetch_add(1, Ordering::Relaxed);
            let fact = fact("msg_1", "claude-new");
            self.events.event(RuntimeEvent::Usage(fact));
            let context = CallContext::detached(format!("call-{turn}"));
            assert!(tools.call("look", json!({}), context).await.is_ok());
        }
        Ok("done".to_owned())
    }
}

#[async_trait]
impl LlmRuntime for LateReports {
    async fn generate_text(&self, _request: TextRequest) -> Result<TextOutcome, LlmError> {
        Err(LlmError::cancelled())
    }

    async fn generate_object(&self, _request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        Err(LlmError::cancelled())
    }

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        match self.turns(&request.tools, &request.cancel).await {
            Ok(text) => LoopOutcome {
                text: Some(text),
                stop_reason: StopReason::Natural,
                ..LoopOutcome::failed(LlmError::cancelled())
            },
            Err(error) => LoopOutcome::failed(error),
        }
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        let (writer, handle) = run_channel(request.label.run_id.clone(), None);
        let this = Self {
            events: MeterSink(Arc::clone(&self.events.0)),
            began: Arc::clone(&self.began),
        };
        tokio::spawn(async move {
            writer.event(RunEvent::TextDelta("hm".to_owned())).await;
            let result = this.turns(&request.tools, &request.cancel).await;
            let last = RunFinal {
                run_id: request.label.run_id,
                request_id: None,
                result,
                usage: used(900, 100),
            };
            writer.finish(last).await;
        });
        handle
    }

    async fn probe(&self, _request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        Err(LlmError::cancelled())
    }

    fn describe(&self) -> BackendInfo {
        BackendInfo::default()
    }
}

fn late(limit: u64) -> (BudgetedRuntime, Arc<AtomicU32>) {
    let meter = Arc::<Meter>::default();
    let began = Arc::<AtomicU32>::default();
    let inner = LateReports {
        events: MeterSink(Arc::clone(&meter)),
        began: Arc::clone(&began),
    };
    let budget = Budget::new(tokens(limit), meter, |_, _| None);
    (BudgetedRuntime::new(Arc::new(inner), budget), began)
}

fn look() -> ToolSet {
    let tool = ToolDescriptor {
        name: "look".to_owned(),
        title: "Look".to_owned(),
        description: "Looks.".to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|_, _| Ok(ToolOutput::text("seen"))),
    };
    ToolSet::new(vec![tool]).unwrap()
}

fn run(runtime: &BudgetedRuntime, cancel: &CancellationToken) -> RunHandle {
    runtime.start_run(RunRequest {
        role: ModelRole::Default,
        system: String::new(),
        messages: Vec::new(),
        tools: look(),
        step_budget: 9,
        deltas: ktx_llm_runtime::Deltas::AsTheyCome,
        hook: None,
        settings: ktx_llm_runtime::CallSettings::default(),
        cancel: cancel.clone(),
        label: label(),
        ingress_request_id: None,
        trace_id: None,
    })
}

#[tokio::test]
async fn runs_under_one_budget_wait_for_each_other() {
    let (runtime, began) = late(1_000_000);
    let cancel = CancellationToken::new();
    let runs = [run(&runtime, &cancel), run(&runtime, &cancel)];
    for run in runs {
        assert_eq!(run.finish().await.result.unwrap(), "done");
    }
    assert_eq!(began.load(Ordering::Relaxed), 6);
}

#[tokio::test]
async fn a_run_that_waits_is_stopped() {
    let (runtime, began) = late(1_000_000);
    let permit = runtime.budget().admit(turn(20)).await.unwrap();
    let cancel = CancellationToken::new();
    let waiting = run(&runtime, &cancel);
    cancel.cancel();
    let error = waiting.finish().await.result.unwrap_err();
    assert_eq!(
        (error.kind, began.load(Ordering::Relaxed)),
        (LlmErrorKind::Cancelled, 0)
    );
    drop(permit);
}

/// In a loop and in a run.
#[tokio::test]
async fn turns_stop_as_soon_as_their_cost_is_known() {
    let why = "the next model call would exceed the budget: 1000 of 1200 tokens are used";
    let (runtime, began) = late(1_200);
    let outcome = runtime
        .run_agent_loop(LoopRequest {
            role: ModelRole::Default,
            system: String::new(),
            prompt: "go".to_owned(),
            tools: look(),
            step_budget: 9,
            transcript: None,
            on_step: None,
            cancel: CancellationToken::new(),
            label: label(),
        })
        .await;
    assert_eq!(
        (
            outcome.stop_reason,
            words(outcome.error.map_or(Ok(()), Err))
        ),
        (StopReason::Error, Err(why.to_owned()))
    );
    assert_eq!(began.load(Ordering::Relaxed), 1);

    let cancel = CancellationToken::new();
    let (runtime, began) = late(1_200);
    let mut handle = run(&runtime, &cancel);
    let mut events = Vec::new();
    while let Some(event) = handle.next_event().await {
        events.push(match event {
            RunEvent::Error(error) => format!("error: {}", error.message),
            event => format!("{event:?}"),
        });
    }
    assert_eq!(
        events,
        [
            "TextDelta(\"hm\")".to_owned(),
            format!("error: {why}"),
            "Done".to_owned()
        ]
    );
    let last = handle.finish().await;
    assert_eq!(words(last.result), Err(why.to_owned()));
    assert_eq!(
        (last.usage, began.load(Ordering::Relaxed)),
        (used(900, 100), 1)
    );

    let (runtime, _) = late(1_000_000);
    assert_eq!(
        run(&runtime, &cancel).finish().await.result.unwrap(),
        "done"
    );
}
