//! Approvals that expire.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use insta::assert_snapshot;
use jiff::Timestamp;
use ktx_session_log::{Channel, SessionStore};

use super::{Says, calls, conversation, created, events, model, resumed, sessions_at, tools, turn};
use crate::{AskError, Decision, DecisionRecord, OnAsk, OnExpiry, Turn, ask, go_on};

fn parking(on_expiry: OnExpiry) -> Turn {
    let mut of = turn(tools(Arc::new(Says("saved"))));
    of.agent.permissions.expires = Some(900);
    of.agent.permissions.on_expiry = on_expiry;
    of.on_ask = OnAsk::Park;
    of
}

#[tokio::test]
async fn an_expired_call_is_never_begun() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(0));
    let told = Arc::clone(&now);
    let clock = move || Timestamp::from_second(told.load(Ordering::SeqCst)).unwrap();
    let sessions = sessions_at(SessionStore::new(folder.path()), Arc::new(clock));
    let session = created(&sessions);
    let script = model([
        calls(&["save"], "never said"),
        calls(&[], "It was not saved."),
    ]);
    let parked = ask(&session, &script, parking(OnExpiry::Deny), "Save it.").await;
    assert!(matches!(parked, Err(AskError::Waiting { .. })));
    now.store(899, Ordering::SeqCst);
    session.expire().unwrap();
    assert_eq!(session.history().waiting_calls().len(), 1);
    now.store(900, Ordering::SeqCst);
    let late = session.decide(DecisionRecord {
        call_id: "call-1".to_owned(),
        decision: Decision::Allow,
        decided_by: "ktx agent decide".to_owned(),
        note: None,
        session: None,
    });
    assert_snapshot!(late.unwrap_err().to_string(), @"`call-1` was denied before, by the expiry of its approval");
    drop(session);
    let session = resumed(&sessions);
    let result = go_on(&session, &script, parking(OnExpiry::Deny)).await;
    assert_eq!(result.unwrap().response, "It was not saved.");
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save it."}
    assistant {"type":"tool_use","id":"use-1","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"denied: the approval expired","is_error":true}
    assistant {"type":"text","text":"It was not saved."}
    "#);
    assert_snapshot!(events(&sessions, &[Channel::Control]), @r#"
    1.1 {"type":"permission_required","call":{"id":"call-1","name":"save","state":"APPROVAL_REQUIRED","input_preview":"{\"to\":\"a\"}"},"expires":"1970-01-01T00:15:00Z"}
    1.1 {"type":"permission_decided","call_id":"call-1","decision":"deny","decided_by":"the expiry of its approval","note":"the approval expired"}
    "#);
}

#[tokio::test]
async fn an_expiry_ends_the_turn_if_the_agent_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(0));
    let told = Arc::clone(&now);
    let clock = move || Timestamp::from_second(told.load(Ordering::SeqCst)).unwrap();
    let sessions = sessions_at(SessionStore::new(folder.path()), Arc::new(clock));
    let session = created(&sessions);
    let script = model([
        calls(&["save"], "never said"),
        calls(&[], "It was not saved."),
        calls(&[], "It was never saved."),
    ]);
    let of = || parking(OnExpiry::Fail);
    let parked = ask(&session, &script, of(), "Save it.").await;
    assert!(matches!(parked, Err(AskError::Waiting { .. })));
    now.store(1000, Ordering::SeqCst);
    let expired = go_on(&session, &script, of()).await.unwrap_err();
    assert_snapshot!(expired.to_string(), @"the approval of a call expired");
    let result = go_on(&session, &script, of()).await.unwrap();
    assert_eq!(result.response, "It was not saved.");
    let result = ask(&session, &script, of(), "Well?").await.unwrap();
    assert_eq!(result.response, "It was never saved.");
}
