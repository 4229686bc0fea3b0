//! A call that a person decides about: `cargo run -p ktx --example approval -- --fake`.

#[path = "shared/setting.rs"]
mod setting;

use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_session::{Approver, Call, Decision, DecisionRecord, OnAsk, Rule, ask};
use ktx_session_log::Channel;
use ktx_tool_descriptors::{ToolSet, WriteEffect};
use serde_json::{Map, json};
use setting::{
    Done, agent, calls, id, model, print, print_events, real_clock, sessions, tool, turn,
};

/// Allows small payments, and says why others are denied.
struct Accountant;

#[async_trait]
impl Approver for Accountant {
    async fn decide(&self, call: &Call, _: Option<&str>) -> Option<DecisionRecord> {
        let is_small = call.input["euros"]
            .as_u64()
            .is_some_and(|euros| euros <= 100);
        Some(DecisionRecord {
            call_id: call.id.clone(),
            decision: if is_small {
                Decision::Allow
            } else {
                Decision::Deny
            },
            decided_by: "the accountant".to_owned(),
            note: (!is_small).then(|| "at most 100 euros at once".to_owned()),
            session: None,
        })
    }
}

#[tokio::main]
async fn main() -> Done {
    let folder = tempfile::tempdir()?;
    let pay = |euros: u64, to: &str| ("pay", json!({ "euros": euros, "to": to }));
    let script = [calls(
        &[pay(20, "Ann"), pay(500, "Bob"), pay(1, "Eve")],
        "Ann has her 20 euros; Bob needs another approval; Eve gets nothing.",
    )];
    let model = model(script)?;
    let mut clerk = agent("clerk", "Pay what is asked with the tool `pay`.");
    // A rule decides before anybody is asked.
    let to_eve = Map::from_iter([("to".to_owned(), json!("Eve"))]);
    clerk.permissions.deny.push(Rule::Arguments {
        tool: "pay".to_owned(),
        args: to_eve,
    });
    let sessions = sessions(folder.path(), real_clock());
    let session = Arc::new(sessions.create(&id("payments")?, &clerk)?);
    let tools = ToolSet::new(vec![tool("pay", WriteEffect::Writes, "paid")])?;
    let mut turn = turn(&clerk, tools)?;
    turn.on_ask = OnAsk::Ask(Arc::new(Accountant));
    let result = ask(
        &session,
        model.as_ref(),
        turn,
        "Pay Ann 20, Bob 500 and Eve 1.",
    )
    .await?;
    print(&result.response)?;
    print_events(&session, &[Channel::Control], 0)
}
