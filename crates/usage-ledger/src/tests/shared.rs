//! Tests of budgets over one meter: an agent and the agents that it asks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_llm_runtime::{
    CallLabel, LlmErrorKind, LlmRuntime, LoopRequest, NoEvents, PlannedTurn, Reply,
    ScriptedRuntime, TextRequest, TokenUsage, TurnGate as _,
};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::budget::ReservationSpan;
use crate::{AgentShare, Budget, BudgetedRuntime, Ceiling, Limits, Meter, Money, UsageAmount};

fn turn(longest: u64) -> PlannedTurn {
    PlannedTurn {
        role: ModelRole::Default,
        bytes: 0,
        max_output: Some(longest),
        output_bound: Some(longest),
    }
}

fn over(meter: &Arc<Meter>) -> Budget {
    let limits = Limits {
        tokens: Some(10_000),
        ..Limits::default()
    };
    Budget::new(limits, Arc::clone(meter), |_, _| None)
}

#[tokio::test]
async fn budgets_over_one_meter_share_their_reservations() {
    let meter = Arc::default();
    let (first, second) = (over(&meter), over(&meter));
    let reserved = first.admit(turn(6_000)).await.unwrap();
    assert!(second.admit(turn(3_000)).await.is_ok());
    let waiting = tokio::spawn({
        let second = second.clone();
        async move { second.admit(turn(6_000)).await.is_ok() }
    });
    // Give the scheduler many chances: it still waits.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished());
    drop(reserved);
    assert!(waiting.await.unwrap());
}

#[tokio::test]
async fn a_turn_does_not_wait_for_the_loop_that_has_asked_for_it() {
    let meter = Arc::default();
    let (first, second) = (over(&meter), over(&meter));
    let asking = first
        .admit_for(turn(6_000), ReservationSpan::Loop)
        .await
        .unwrap();
    let refused = tokio::time::timeout(Duration::from_mins(1), second.admit(turn(6_000)));
    let error = refused.await.unwrap().err().unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            LlmErrorKind::Budget,
            "the next model call would exceed the budget: other calls have reserved the rest"
        )
    );
    // A loop of the same budget ends by itself.
    let own = tokio::spawn({
        let first = first.clone();
        async move { first.admit(turn(6_000)).await.is_ok() }
    });
    drop(asking);
    assert!(own.await.unwrap());
}

#[tokio::test]
async fn an_estimate_is_shared() {
    let meter = Arc::default();
    let (first, second) = (over(&meter), over(&meter));
    let open = PlannedTurn {
        max_output: None,
        ..turn(0)
    };
    let usage = TokenUsage {
        output: 6_000,
        ..TokenUsage::default()
    };
    first.admit(open).await.unwrap().settle(usage);
    let reserved = second.admit(open).await.unwrap();
    let third = over(&meter);
    let waiting = tokio::time::timeout(Duration::ZERO, third.admit(open)).await;
    assert!(waiting.is_err());
    drop(reserved);
    assert!(second.admit(open).await.is_ok());
}

#[tokio::test]
async fn an_agent_has_its_own_share_of_a_run() {
    let meter: Arc<Meter> = Arc::default();
    let run = over(&meter);
    let tokens = |limit| Ceiling {
        tokens: Some(limit),
        cost: None,
    };
    let spend = |meters: &[&Arc<Meter>], tokens| {
        let mut fact = super::fact("msg_1", "claude-new");
        fact.usage = TokenUsage {
            output: tokens,
            ..TokenUsage::default()
        };
        for meter in meters {
            meter.add(&fact, None);
        }
    };
    let text = |refused: Result<_, ktx_llm_runtime::LlmError>| {
        let error = refused.map(|_| ()).unwrap_err();
        [error.message, error.hint.unwrap_or_default()]
    };
    let reviewer = AgentShare::new("reviewer", tokens(3_000));
    let reader = AgentShare::new("reader", tokens(5_000));
    let of_reviewer = run.for_agent(vec![reviewer.clone()]);
    let of_reader = run.for_agent(vec![reviewer.clone(), reader.clone()]);
    // The usage of others is not the reviewer's.
    spend(&[&meter], 4_000);
    assert!(of_reviewer.admit(turn(2_900)).await.is_ok());
    // The usage of the agents that it asks is.
    spend(&[&meter, reviewer.meter(), reader.meter()], 2_000);
    assert_eq!(
        reader.meter().amount(),
        UsageAmount {
            tokens: 2_000,
            cost: Money::default()
        }
    );
    let refused = [
        "the next model call would exceed the budget of the agent `reviewer`: 2000 of 3000 tokens are used".to_owned(),
        "raise `limits.max_tokens` in the file of the agent `reviewer`".to_owned(),
    ];
    assert_eq!(text(of_reviewer.admit(turn(1_100)).await), refused);
    assert_eq!(text(of_reader.admit(turn(1_100)).await), refused);
    // A running loop stops once others have used up the share.
    let running = of_reader
        .admit_for(turn(900), ReservationSpan::Loop)
        .await
        .unwrap();
    assert_eq!(of_reader.look(), Ok(()));
    // Agents that the loop may have asked do not wait for it.
    let held = of_reviewer.admit(turn(900)).await;
    assert_eq!(
        text(held)[0],
        "the next model call would exceed the budget: other calls have reserved the rest"
    );
    spend(&[&meter, reviewer.meter()], 1_000);
    assert_eq!(
        of_reader.look().unwrap_err().message,
        "the next model call would exceed the budget of the agent `reviewer`: 3000 of 3000 tokens are used"
    );
    drop(running);
    assert!(run.admit(turn(2_900)).await.is_ok());
}

#[tokio::test]
async fn a_tool_asks_the_model_of_its_run() {
    let script = [
        Reply::Loop {
            calls: vec![("ask".to_owned(), json!({}))],
            text: "done".to_owned(),
        },
        Reply::Text("an answer".to_owned()),
    ];
    let inner = Arc::new(ScriptedRuntime::new(script, Arc::new(NoEvents)));
    let runtime = BudgetedRuntime::new(inner, over(&Arc::default()));
    let asking = AskingTool(runtime.beside_runs().unwrap());
    let ask = ToolDescriptor {
        name: "ask".to_owned(),
        title: "Ask".to_owned(),
        description: "Asks.".to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: Arc::new(asking),
    };
    let request = LoopRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "go".to_owned(),
        tools: ToolSet::new(vec![ask]).unwrap(),
        step_budget: 9,
        transcript: None,
        on_step: None,
        cancel: CancellationToken::new(),
        label: label(),
    };
    let outcome = tokio::time::timeout(Duration::from_mins(1), runtime.run_agent_loop(request));
    assert_eq!(outcome.await.unwrap().text.as_deref(), Some("done"));
}

struct AskingTool(Arc<dyn LlmRuntime>);

#[async_trait]
impl ToolHandler for AskingTool {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let request = TextRequest {
            role: ModelRole::Default,
            system: String::new(),
            prompt: "And?".to_owned(),
            cancel: CancellationToken::new(),
            label: label(),
        };
        let answered = self.0.generate_text(request).await;
        let answered = answered.map_err(|error| ToolError::new(error.message))?;
        Ok(ToolOutput::text(answered.text))
    }
}

fn label() -> CallLabel {
    CallLabel {
        run_id: RunId::parse("run-1").unwrap(),
        stage: "test".to_owned(),
        unit: None,
        connection: None,
    }
}
