//! Calls that need approval.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use insta::assert_snapshot;
use ktx_session_log::{Channel, SessionStore};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput};
use serde_json::Value;

use super::{
    calls, conversation, created, events, id, model, resumed, says, sessions, tools, turn,
};
use crate::{
    Approver, AskError, Call, Channels, Decision, DecisionRecord, Delivered, OnAsk, ask, go_on,
};

#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl ToolHandler for Counting {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutput::text("saved"))
    }
}

fn decision(call: &str, decision: Decision, note: Option<&str>) -> DecisionRecord {
    DecisionRecord {
        call_id: call.to_owned(),
        decision,
        decided_by: "ktx agent decide".to_owned(),
        note: note.map(str::to_owned),
        session: None,
    }
}

/// KODE-41, KODE-45.
#[tokio::test]
async fn a_call_that_nobody_allows_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let save = Arc::new(Counting::default());
    let script = model([calls(&["save"], "I may not.")]);
    ask(&session, &script, turn(tools(save.clone())), "Save it.")
        .await
        .unwrap();
    assert_eq!(save.0.load(Ordering::SeqCst), 0);
    assert_snapshot!(events(&sessions, &[Channel::Control, Channel::Progress]), @r#"
    1.1 {"type":"tool:start","call":{"id":"call-1","name":"save","state":"PENDING","input_preview":"{\"to\":\"a\"}"}}
    1.1 {"type":"permission_required","call":{"id":"call-1","name":"save","state":"APPROVAL_REQUIRED","input_preview":"{\"to\":\"a\"}"}}
    1.1 {"type":"permission_decided","call_id":"call-1","decision":"deny","decided_by":"ktx","note":"nobody can be asked"}
    1.1 {"type":"tool:error","call":{"id":"call-1","name":"save","state":"DENIED","input_preview":"{\"to\":\"a\"}","is_error":true,"result_preview":"denied: nobody can be asked"},"error":"denied: nobody can be asked"}
    1.1 {"type":"tool:end","call":{"id":"call-1","name":"save","state":"DENIED","input_preview":"{\"to\":\"a\"}","is_error":true,"result_preview":"denied: nobody can be asked"}}
    1.2 {"type":"text_chunk_start"}
    1.2 {"type":"text_chunk","delta":"I may not."}
    1.2 {"type":"text_chunk_end","text":"I may not."}
    1.2 {"type":"done","reason":"completed"}
    "#);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save it."}
    assistant {"type":"tool_use","id":"use-1","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"denied: nobody can be asked","is_error":true}
    assistant {"type":"text","text":"I may not."}
    "#);
}

/// KODE-62.
#[tokio::test]
async fn a_parked_call_runs_once_after_it_was_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let save = Arc::new(Counting::default());
    let mut of = turn(tools(save.clone()));
    of.on_ask = OnAsk::Park;
    let script = model([calls(&["look", "save"], "never"), says("Saved it.")]);
    let parked = ask(&session, &script, of.clone(), "Save it.")
        .await
        .unwrap_err();
    assert_snapshot!(parked, @"`call-2` (save) waits for a decision");
    assert!(matches!(parked, AskError::Waiting { calls } if calls.len() == 1));
    drop(session);

    let session = resumed(&sessions);
    assert!(session.sealed().is_empty());
    let waiting = session.history().waiting_calls();
    assert_eq!(
        waiting
            .iter()
            .map(|call| call.id.as_str())
            .collect::<Vec<_>>(),
        ["call-2"]
    );
    let refused = ask(&session, &script, of.clone(), "And?")
        .await
        .unwrap_err();
    assert_snapshot!(refused, @"`call-2` (save) waits for a decision");
    let again = go_on(&session, &script, of.clone()).await.unwrap_err();
    assert!(matches!(again, AskError::Waiting { .. }));
    drop(session);

    let allow = || decision("call-2", Decision::Allow, None);
    let told = |record| {
        sessions
            .decide(&id("one"), record, "a")
            .unwrap_err()
            .to_string()
    };
    assert_snapshot!(told(decision("call-9", Decision::Allow, None)), @"no call `call-9` of the session `one` waits for a decision; these do: call-2");
    assert_eq!(
        sessions.decide(&id("one"), allow(), "a").unwrap(),
        Delivered::Done
    );
    assert_snapshot!(told(decision("call-2", Decision::Deny, None)), @"`call-2` was allowed before, by ktx agent decide");

    let session = resumed(&sessions);
    assert_eq!(save.0.load(Ordering::SeqCst), 0);
    go_on(&session, &script, of).await.unwrap();
    assert_eq!(save.0.load(Ordering::SeqCst), 1);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save it."}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"15 rows","is_error":false}
    assistant {"type":"tool_use","id":"use-2","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-2","content":"saved","is_error":false}
    assistant {"type":"text","text":"Saved it."}
    "#);
    assert_snapshot!(events(&sessions, &[Channel::Control, Channel::Progress]), @r#"
    1.1 {"type":"tool:start","call":{"id":"call-1","name":"look","state":"PENDING","input_preview":"{\"to\":\"a\"}"}}
    1.1 {"type":"tool:end","call":{"id":"call-1","name":"look","state":"COMPLETED","input_preview":"{\"to\":\"a\"}","result_preview":"15 rows"}}
    1.2 {"type":"tool:start","call":{"id":"call-2","name":"save","state":"PENDING","input_preview":"{\"to\":\"a\"}"}}
    1.2 {"type":"permission_required","call":{"id":"call-2","name":"save","state":"APPROVAL_REQUIRED","input_preview":"{\"to\":\"a\"}"}}
    1.2 {"type":"done","reason":"interrupted","cause":"parked"}
    1.2 {"type":"done","reason":"interrupted","cause":"parked"}
    1.2 {"type":"permission_decided","call_id":"call-2","decision":"allow","decided_by":"ktx agent decide"}
    1.2 {"type":"tool:end","call":{"id":"call-2","name":"save","state":"COMPLETED","input_preview":"{\"to\":\"a\"}","result_preview":"saved"}}
    1.3 {"type":"text_chunk_start"}
    1.3 {"type":"text_chunk","delta":"Saved it."}
    1.3 {"type":"text_chunk_end","text":"Saved it."}
    1.3 {"type":"done","reason":"completed"}
    "#);
}

struct Later;

#[async_trait]
impl Approver for Later {
    async fn decide(&self, _: &Call, _: Option<&str>) -> Option<DecisionRecord> {
        std::future::pending().await
    }
}

/// KODE-41.
#[tokio::test]
async fn a_decision_arrives_through_the_inbox() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let save = Arc::new(Counting::default());
    let mut of = turn(tools(save.clone()));
    of.on_ask = OnAsk::Ask(Arc::new(Later));
    let script = model([calls(&["save", "save"], "One of two.")]);
    let decide = async {
        let mut heard = session
            .subscribe(Channels::new([Channel::Control]), 0)
            .unwrap();
        for (call, verdict, note) in [
            ("call-1", Decision::Deny, Some("not on Fridays")),
            ("call-2", Decision::Allow, None),
        ] {
            while heard.next_record().await.unwrap().unwrap().kind() != "permission_required" {}
            let record = decision(call, verdict, note);
            let delivered = sessions.decide(&id("one"), record, call).unwrap();
            assert_eq!(delivered, Delivered::Posted);
        }
    };
    let (answer, ()) = tokio::join!(ask(&session, &script, of, "Save both."), decide);
    assert_eq!(answer.unwrap().response, "One of two.");
    assert_eq!(save.0.load(Ordering::SeqCst), 1);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save both."}
    assistant {"type":"tool_use","id":"use-1","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"denied: not on Fridays","is_error":true}
    assistant {"type":"tool_use","id":"use-2","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-2","content":"saved","is_error":false}
    assistant {"type":"text","text":"One of two."}
    "#);
    assert_eq!(sessions.store().inbox(&id("one")).letters().unwrap(), []);
}

#[tokio::test]
async fn an_interrupt_arrives_through_the_inbox() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let mut of = turn(tools(Arc::new(Counting::default())));
    of.on_ask = OnAsk::Ask(Arc::new(Later));
    let script = model([calls(&["save"], "never")]);
    let interrupt = async {
        let mut heard = session
            .subscribe(Channels::new([Channel::Control]), 0)
            .unwrap();
        heard.next_record().await.unwrap().unwrap();
        assert_eq!(
            sessions.interrupt(&id("one"), "a").unwrap(),
            Delivered::Posted
        );
    };
    let (answer, ()) = tokio::join!(ask(&session, &script, of, "Save it."), interrupt);
    assert!(matches!(answer, Err(AskError::Model(_))));
    let history = session.history();
    assert_eq!(history.waiting_calls(), []);
    assert_eq!(history.open_calls().count(), 0);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save it."}
    assistant {"type":"tool_use","id":"use-1","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"the call was cancelled","is_error":true}
    "#);
}

#[tokio::test]
async fn a_turn_can_end_for_want_of_a_decision() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let mut of = turn(tools(Arc::new(Counting::default())));
    of.on_ask = OnAsk::Fail;
    let answer = ask(
        &session,
        &model([calls(&["save"], "never")]),
        of,
        "Save it.",
    )
    .await;
    assert_snapshot!(answer.unwrap_err(), @"a call needs a decision, and nobody is asked");
    assert_eq!(session.history().open_calls().count(), 0);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save it."}
    assistant {"type":"tool_use","id":"use-1","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"the call was cancelled","is_error":true}
    "#);
}
