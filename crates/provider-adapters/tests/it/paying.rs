//! Every answer is one payment, and the gate can refuse any turn before it is billed.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ktx_llm_runtime::{
    LlmError, LlmErrorKind, LlmRuntime as _, OpenGate, PlannedTurn, TurnGate, TurnPermit,
};
use ktx_vocabulary::{ModelRole, Provider};
use serde_json::json;

use crate::fake::{anthropic, ask, ask_object, bodies, runtime, said, server, settings};

/// COG-12.
#[tokio::test]
async fn messages_with_the_same_id_are_billed_separately() {
    let answers = ["m", "m", "m-1", "", "m"].map(|id| said(id, "ok"));
    let server = server(answers.to_vec()).await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    for _ in 0..5 {
        runtime.generate_text(ask("x")).await.unwrap();
    }
    let mut other = ask("x");
    other.label.run_id = ktx_vocabulary::RunId::parse("r2").unwrap();
    assert!(runtime.generate_text(other).await.is_err(), "no more");
    let names: Vec<String> = events
        .lines()
        .iter()
        .filter_map(|line| line.split(' ').nth(1).map(str::to_owned))
        .collect();
    assert_eq!(
        names,
        [
            "r1/0/m",
            "r1/0/m-1",
            "r1/0/m-1-2",
            "r1/0/anthropic-3",
            "r1/0/m-4"
        ]
    );
}

#[derive(Debug)]
struct TurnLimit {
    left: Mutex<usize>,
    planned: Mutex<Vec<PlannedTurn>>,
}

#[async_trait]
impl TurnGate for TurnLimit {
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        self.planned.lock().expect("no poison").push(turn);
        let mut left = self.left.lock().expect("no poison");
        let Some(fewer) = left.checked_sub(1) else {
            return Err(LlmError::new(LlmErrorKind::Budget, "no more"));
        };
        *left = fewer;
        Ok(Box::new(OpenGate))
    }
}

/// The gate sees what is sent.
#[tokio::test]
async fn a_correction_that_the_gate_refuses_is_not_sent() {
    let server = server(vec![said("m1", "{}"), said("m2", "{\"count\": 1}")]).await;
    let gate = Arc::new(TurnLimit {
        left: Mutex::new(1),
        planned: Mutex::default(),
    });
    let mut settings = settings(Provider::Anthropic, "sonnet", &server.uri());
    settings.gate = Arc::clone(&gate) as _;
    let (runtime, events) = runtime(settings);
    let schema = json!({
        "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
    });
    let error = runtime.generate_object(ask_object(schema)).await;
    assert_eq!(error.unwrap_err().kind, LlmErrorKind::Budget);
    assert_eq!(events.lines().len(), 1);
    let sent = bodies(&server).await;
    let planned = gate.planned.lock().unwrap();
    assert_eq!((sent.len(), planned.len()), (1, 2));
    assert_eq!(
        planned[0],
        PlannedTurn {
            role: ModelRole::Default,
            bytes: sent[0].to_string().len(),
            max_output: None,
            output_bound: Some(32_000),
        }
    );
    assert!(planned[1].bytes > planned[0].bytes);
}
