//! Turns, forks, subscriptions.

use std::sync::Arc;

use async_trait::async_trait;
use insta::assert_snapshot;
use ktx_session_log::{Channel, Record, SessionStore};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect};
use serde_json::Value;

use super::{
    Says, agent, calls, conversation, created, events, id, model, resumed, says, sessions, tool,
    tools, turn,
};
use crate::{Channels, Event, ForkPoint, Subscription, ask, go_on};

/// KODE-40.
#[tokio::test]
async fn a_turn_is_told_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let model = model([calls(&["look"], "15.")]);
    let result = ask(
        &session,
        &model,
        turn(tools(Arc::new(Says("")))),
        "How much?",
    )
    .await;
    assert_eq!(result.unwrap().response, "15.");
    assert_snapshot!(events(&sessions, &[Channel::Progress]), @r#"
    1.1 {"type":"tool:start","call":{"id":"call-1","name":"look","state":"PENDING","input_preview":"{\"to\":\"a\"}"}}
    1.1 {"type":"tool:end","call":{"id":"call-1","name":"look","state":"COMPLETED","input_preview":"{\"to\":\"a\"}","result_preview":"15 rows"}}
    1.2 {"type":"text_chunk_start"}
    1.2 {"type":"text_chunk","delta":"15."}
    1.2 {"type":"text_chunk_end","text":"15."}
    1.2 {"type":"done","reason":"completed"}
    "#);
    assert_snapshot!(events(&sessions, &[Channel::Monitor]), @r#"
    1 {"type":"state_changed","state":"WORKING"}
    1 {"type":"breakpoint_changed","previous":"READY","current":"PRE_MODEL"}
    1.1 {"type":"breakpoint_changed","previous":"PRE_MODEL","current":"STREAMING_MODEL"}
    1.1 {"type":"breakpoint_changed","previous":"STREAMING_MODEL","current":"TOOL_PENDING"}
    1.1 {"type":"breakpoint_changed","previous":"TOOL_PENDING","current":"PRE_TOOL"}
    1.1 {"type":"breakpoint_changed","previous":"PRE_TOOL","current":"TOOL_EXECUTING"}
    1.1 {"type":"tool_executed","call":{"id":"call-1","name":"look","state":"COMPLETED","input_preview":"{\"to\":\"a\"}","result_preview":"15 rows"}}
    1.1 {"type":"breakpoint_changed","previous":"TOOL_EXECUTING","current":"POST_TOOL"}
    1.1 {"type":"step_complete","step":1}
    1.1 {"type":"breakpoint_changed","previous":"POST_TOOL","current":"PRE_MODEL"}
    1.2 {"type":"breakpoint_changed","previous":"PRE_MODEL","current":"STREAMING_MODEL"}
    1.2 {"type":"step_complete","step":2}
    1.2 {"type":"breakpoint_changed","previous":"STREAMING_MODEL","current":"READY"}
    1.2 {"type":"state_changed","state":"READY"}
    "#);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"How much?"}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"15 rows","is_error":false}
    assistant {"type":"text","text":"15."}
    "#);
}

/// KODE-54.
#[tokio::test]
async fn turns_are_asked_in_one_conversation_and_copied_at_safe_points() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let model = model([calls(&["look"], "15."), says("Euro.")]);
    let of = || turn(tools(Arc::new(Says(""))));
    let session = created(&sessions);
    ask(&session, &model, of(), "How much?").await.unwrap();
    let point = session.name_point("amount").unwrap();
    assert_eq!(session.history().fork_points().last(), Some(&point));
    drop(session);
    let session = resumed(&sessions);
    ask(&session, &model, of(), "Of what?").await.unwrap();
    let failed = ask(&session, &model, of(), "More?").await;
    assert_eq!(failed.unwrap_err().to_string(), "the model failed");
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"How much?"}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"15 rows","is_error":false}
    assistant {"type":"text","text":"15."}
    user {"type":"text","text":"Of what?"}
    assistant {"type":"text","text":"Euro."}
    user {"type":"text","text":"More?"}
    "#);
    drop(session);
    let points = sessions
        .read(&id("one"))
        .unwrap()
        .history
        .fork_points()
        .to_vec();
    assert_snapshot!(format!("{points:?}"), @"[2, 16, 24, 31, 38, 43]");
    let copied = |point: &ForkPoint, name: &str| {
        let copy = sessions.fork(&id("one"), point, &id(name));
        copy.map(|copy| conversation(&copy))
    };
    let told = |point| copied(&point, "none").unwrap_err().to_string();
    assert_snapshot!(told(ForkPoint::At(7)), @"a copy cannot begin after record 7; it can after 2 and 16");
    assert_snapshot!(told(ForkPoint::At(999)), @"a copy cannot begin after record 999; it can after 43");
    assert_snapshot!(told(ForkPoint::Label("x".to_owned())), @"the session `one` has no point `x`");
    assert_snapshot!(told(ForkPoint::Turn(9)), @"the session `one` has 3 turns, not 9");
    let labelled = copied(&ForkPoint::Label("amount".to_owned()), "two").unwrap();
    assert_eq!(labelled, copied(&ForkPoint::Turn(1), "three").unwrap());
    assert_snapshot!(labelled, @r#"
    user {"type":"text","text":"How much?"}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"15 rows","is_error":false}
    assistant {"type":"text","text":"15."}
    "#);
}

#[tokio::test]
async fn what_cannot_be_asked_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let model = model([says("a"), says("b")]);
    let mut of = turn(ToolSet::new(Vec::new()).unwrap());
    of.agent.max_messages = 1;
    let before = session.last();
    let long = "é".repeat(10_001);
    for (message, words) in [
        ("  ", "the message is empty"),
        (
            long.as_str(),
            "the message has 10001 characters, at most 10000 are taken",
        ),
    ] {
        let refused = ask(&session, &model, of.clone(), message).await;
        assert_eq!(refused.unwrap_err().to_string(), words);
    }
    let nothing = go_on(&session, &model, of.clone()).await;
    assert_eq!(
        nothing.unwrap_err().to_string(),
        "the last turn has its answer"
    );
    assert_eq!(session.last(), before);
    ask(&session, &model, of.clone(), "a").await.unwrap();
    // HOLO-45.
    let full = ask(&session, &model, of, "b").await;
    assert_eq!(
        full.unwrap_err().to_string(),
        "this session has its 1 messages"
    );
}

struct Endless;

#[async_trait]
impl ToolHandler for Endless {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        std::future::pending().await
    }
}

/// KODE-57.
#[tokio::test]
async fn a_cancelled_call_is_not_a_completed_one() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let wait = tool("look", WriteEffect::ReadOnly, Arc::new(Endless));
    let of = turn(ToolSet::new(vec![wait]).unwrap());
    let cancel = of.cancel.clone();
    let model = model([calls(&["look"], "never"), says("Back.")]);
    let (stopped, ()) = tokio::join!(ask(&session, &model, of.clone(), "Wait."), async {
        let mut heard = session.subscribe(Channels::default(), 0).unwrap();
        while heard.next_record().await.unwrap().unwrap().kind() != "tool:start" {}
        cancel.cancel();
    });
    assert_eq!(stopped.unwrap_err().to_string(), "the model failed");
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Wait."}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"the call was cancelled","is_error":true}
    "#);
    let mut again = of;
    again.cancel = tokio_util::sync::CancellationToken::new();
    ask(&session, &model, again, "Well?").await.unwrap();
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Wait."}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"the call was cancelled","is_error":true}
    user {"type":"text","text":"Well?"}
    assistant {"type":"text","text":"Back."}
    "#);
}

/// KODE-43, KODE-44.
#[tokio::test]
async fn a_subscriber_continues_at_its_bookmark() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let model = model([says("a"), says("b")]);
    let of = || turn(ToolSet::new(Vec::new()).unwrap());
    ask(&session, &model, of(), "one").await.unwrap();
    let mut heard = Vec::new();
    let mut first = session.subscribe(Channels::default(), 0).unwrap();
    for _ in 0..2 {
        heard.push(first.next_record().await.unwrap().unwrap());
    }
    let mut second = session
        .subscribe(Channels::default(), heard.last().unwrap().seq)
        .unwrap();
    let (answered, ()) = tokio::join!(
        async {
            ask(&session, &model, of(), "two").await.unwrap();
        },
        async {
            while heard.len() < 8 {
                heard.push(second.next_record().await.unwrap().unwrap());
            }
        }
    );
    let () = answered;
    let kinds: Vec<&str> = heard.iter().map(Record::kind).collect();
    assert_eq!(
        kinds,
        [
            "text_chunk_start",
            "text_chunk",
            "text_chunk_end",
            "done",
            "text_chunk_start",
            "text_chunk",
            "text_chunk_end",
            "done"
        ]
    );
    let last = session.last();
    let behind = session.subscribe(Channels::default(), last + 1);
    assert_eq!(
        behind.unwrap_err().to_string(),
        format!(
            "the session ends with record {last}; there is nothing after record {}",
            last + 1
        )
    );
    drop(session);
    assert!(second.next_record().await.unwrap().is_none());
}

/// KODE-44.
#[test]
fn a_subscriber_that_lags_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let tell = |from: u32, until: u32| {
        for number in from..until {
            let text = number.to_string();
            session.record(&Event::Status { text }).unwrap();
        }
    };
    tell(0, 5);
    let monitor = || Channels::new([Channel::Monitor]);
    let numbers = |range: std::ops::Range<u32>| range.collect::<Vec<u32>>();
    let mut from_first = session.subscribe(monitor(), 0).unwrap();
    let mut from_now = session.subscribe(monitor(), session.last()).unwrap();
    let read = |heard: &mut Subscription, most: usize| {
        let mut numbers: Vec<u32> = Vec::new();
        while numbers.len() < most
            && let Some(record) = heard.next_written().unwrap()
        {
            numbers.push(record.event["text"].as_str().unwrap().parse().unwrap());
        }
        numbers
    };
    assert_eq!(read(&mut from_first, 7), numbers(0..5));
    tell(5, 8);
    assert_eq!(read(&mut from_first, 2), [5, 6]);
    // More than a subscriber can lag.
    tell(8, 3_000);
    assert_eq!(read(&mut from_first, 9_999), numbers(7..3_000));
    assert_eq!(read(&mut from_now, 9_999), numbers(5..3_000));
    tell(3_000, 3_002);
    for heard in [&mut from_first, &mut from_now] {
        assert_eq!(read(heard, 9_999), [3_000, 3_001]);
    }
}

#[test]
fn an_agent_has_a_digest_and_its_differences_have_names() {
    let mut other = agent();
    assert_eq!(agent().digest().unwrap(), other.digest().unwrap());
    other.tools.pop();
    other.max_turns = 1;
    assert_ne!(agent().digest().unwrap(), other.digest().unwrap());
    assert_eq!(agent().differences(&other), ["tools", "limits"]);
}
