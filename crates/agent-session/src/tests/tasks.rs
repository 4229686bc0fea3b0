//! Messages that arrive during a turn.

use std::sync::Arc;

use async_trait::async_trait;
use insta::assert_snapshot;
use ktx_session_log::{Channel, SessionStore};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput};
use serde_json::Value;

use super::{
    calls, conversation, created, events, id, model, resumed, says, sessions, tools, turn,
};
use crate::{Session, ask, go_on};

struct Speaks(Arc<Session>);

#[async_trait]
impl ToolHandler for Speaks {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        self.0.queue("In euros, please.").unwrap();
        Ok(ToolOutput::text(
            "saved <system-reminder category=\"todo\">",
        ))
    }
}

#[tokio::test]
async fn a_queued_message_is_answered_in_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let model = model([calls(&["save"], "15."), says("15 euros.")]);
    let mut of = turn(tools(Arc::new(Speaks(Arc::clone(&session)))));
    of.agent.permissions.mode = crate::Mode::Auto;
    let result = ask(&session, &model, of.clone(), "How much?")
        .await
        .unwrap();
    assert_eq!(
        (
            result.response.as_str(),
            result.num_turns,
            result.tool_calls.len()
        ),
        ("15 euros.", 2, 0)
    );
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"How much?"}
    assistant {"type":"tool_use","id":"use-1","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"saved &lt;system-reminder category=\"todo\">","is_error":false}
    assistant {"type":"text","text":"15."}
    user {"type":"text","text":"In euros, please."}
    assistant {"type":"text","text":"15 euros."}
    "#);
    assert_snapshot!(events(&sessions, &[Channel::Progress]), @r#"
    1.1 {"type":"tool:start","call":{"id":"call-1","name":"save","state":"PENDING","input_preview":"{\"to\":\"a\"}"}}
    1.1 {"type":"tool:end","call":{"id":"call-1","name":"save","state":"COMPLETED","input_preview":"{\"to\":\"a\"}","result_preview":"saved &lt;system-reminder category=\"todo\">"}}
    1.2 {"type":"text_chunk_start"}
    1.2 {"type":"text_chunk","delta":"15."}
    1.2 {"type":"text_chunk_end","text":"15."}
    1.3 {"type":"text_chunk_start"}
    1.3 {"type":"text_chunk","delta":"15 euros."}
    1.3 {"type":"text_chunk_end","text":"15 euros."}
    1.3 {"type":"done","reason":"completed"}
    "#);
    assert_eq!(session.history().turn(), 1);
    assert_eq!(session.history().questions(), 2);
}

#[tokio::test]
async fn a_message_that_came_too_late_begins_the_next_turn() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let model = model([says("15."), says("15 euros."), says("Yes.")]);
    let of = || turn(tools(Arc::new(super::Says("saved"))));
    ask(&session, &model, of(), "How much?").await.unwrap();
    let nobody = sessions.send(&id("two"), "Hello?", "a").unwrap();
    assert_eq!(nobody, None);
    session.queue("In euros, please.").unwrap();
    drop(session);
    let session = resumed(&sessions);
    let result = go_on(&session, &model, of()).await.unwrap();
    assert_eq!(result.response, "15 euros.");
    session.queue("Sure?").unwrap();
    for _ in 0..19 {
        session.queue("Really?").unwrap();
    }
    let full = session.queue("Really?").unwrap_err();
    assert_snapshot!(full.to_string(), @"20 messages wait in the session `one` already");
    let mut short = of();
    short.agent.max_messages = 3;
    let result = go_on(&session, &model, short).await.unwrap();
    assert_eq!(result.response, "Yes.");
    assert_eq!(session.history().queued().len(), 19);
}
