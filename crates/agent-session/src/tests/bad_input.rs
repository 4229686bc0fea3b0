//! Oversized input.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_llm_runtime::Reply;
use ktx_session_log::{Channel, LogError, SessionStore};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect};
use serde_json::{Value, json};

use super::{calls, created, id, model, says, sessions, tool, turn};
use crate::{Channels, Session, SessionError, Sessions, Strategy, Turn, ask};

/// Answers with this many bytes; 0 never answers.
struct Says(usize);

#[async_trait]
impl ToolHandler for Says {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        match self.0 {
            0 => std::future::pending().await,
            bytes => Ok(ToolOutput::text("ä".repeat(bytes / 2))),
        }
    }
}

fn looking(bytes: usize) -> Turn {
    let look = tool("look", WriteEffect::ReadOnly, Arc::new(Says(bytes)));
    turn(ToolSet::new(vec![look]).unwrap())
}

fn only_call(session: &Session) -> (bool, String) {
    let messages = serde_json::to_value(session.messages()).unwrap();
    let result = &messages[2]["content"][0];
    let text = result["content"].as_str().unwrap().to_owned();
    (result["is_error"] == true, text)
}

fn folder_and_session() -> (tempfile::TempDir, Sessions, Arc<Session>) {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    (folder, sessions, session)
}

#[tokio::test]
async fn an_endless_result_is_cut() {
    let (_folder, sessions, session) = folder_and_session();
    let model = model([calls(&["look"], "Long.")]);
    ask(&session, &model, looking(50_000_000), "Look.")
        .await
        .unwrap();
    let (is_error, text) = only_call(&session);
    assert!(!is_error);
    let end = "\n\n[47902848 of 50000000 bytes are left out: ask for less]";
    assert!(text.ends_with(end), "{:?}", text.get(text.len() - 80..));
    let log = std::fs::metadata(sessions.store().path(session.id())).unwrap();
    assert!(log.len() < 10_000_000, "{}", log.len());
}

/// KODE-60.
#[tokio::test]
async fn a_tool_that_hangs_is_stopped() {
    let (_folder, _, session) = folder_and_session();
    let model = model([calls(&["look"], "It hangs.")]);
    let mut asked = looking(0);
    asked.agent.call_limits.insert("look".to_owned(), 1);
    let answer = ask(&session, &model, asked, "Look.").await.unwrap();
    assert_eq!(answer.response, "It hangs.");
    let told = "the call took longer than 1 s and was stopped".to_owned();
    assert_eq!(only_call(&session), (true, told));
}

/// KODE-63.
#[tokio::test]
async fn an_endless_list_of_tasks_is_refused() {
    let (_folder, _, session) = folder_and_session();
    let task =
        |number: u32| json!({ "id": number.to_string(), "title": "Look", "status": "pending" });
    let write = |count: u32| {
        let todos: Vec<Value> = (0..count).map(task).collect();
        ("todo_write".to_owned(), json!({ "todos": todos }))
    };
    let script = Reply::Loop {
        calls: vec![write(2), write(10_000)],
        text: "Done.".to_owned(),
    };
    let mut asked = looking(1);
    asked.agent.todo = Some(10);
    ask(&session, &model([script]), asked, "Plan.")
        .await
        .unwrap();
    assert_eq!(session.history().tasks().len(), 2);
    let messages = serde_json::to_string(&session.messages()).unwrap();
    assert!(messages.contains("the list has 10000 tasks, at most 100 are kept"));
}

/// KODE-44, KODE-55.
#[tokio::test]
async fn readers_and_writers_that_are_wrong_are_told() {
    let (_folder, sessions, session) = folder_and_session();
    ask(&session, &model([says("Yes.")]), looking(1), "Look.")
        .await
        .unwrap();
    let last = session.last();
    let behind = session.subscribe(Channels::new([Channel::Progress]), last + 1);
    let Err(SessionError::Bookmark { since, last: told }) = behind else {
        panic!("the bookmark is after the end");
    };
    assert_eq!((since, told), (last + 1, last));
    let second = sessions.resume(id("one"), Strategy::Crash).unwrap_err();
    assert!(
        matches!(second, SessionError::Log(LogError::Busy { .. })),
        "{second}"
    );
    let again = sessions.create(&id("one"), &super::agent()).unwrap_err();
    assert!(
        matches!(
            again,
            SessionError::Log(LogError::Exists { .. } | LogError::Busy { .. })
        ),
        "{again}"
    );
    assert_eq!(session.last(), last);
}
