//! Sessions after their process died.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use insta::assert_snapshot;
use ktx_session_log::SessionStore;
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use super::{
    agent, calls, conversation, created, id, model, resumed, says, sessions, tool, tools, turn,
};
use crate::approvals::Approvals;
use crate::calls::Calls;
use crate::{MOST_AT_ONCE, OnAsk, Permissions, Rule, Strategy, ask, go_on};

/// Copies the log during the call.
struct Leaving {
    log: PathBuf,
    copies: PathBuf,
    begun: AtomicUsize,
    all: Barrier,
}

impl Leaving {
    fn new(folder: &Path, together: usize) -> Arc<Self> {
        Arc::new(Self {
            log: folder.join("sessions/one/log.jsonl"),
            copies: folder.join("left/one"),
            begun: AtomicUsize::new(0),
            all: Barrier::new(together),
        })
    }
}

#[async_trait]
impl ToolHandler for Leaving {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        self.all.wait().await;
        // Lets calls of the same moment queue up.
        tokio::task::yield_now().await;
        if self.begun.fetch_add(1, Ordering::SeqCst) == 0 {
            fs::create_dir_all(&self.copies).unwrap();
            fs::copy(&self.log, self.copies.join("log.jsonl")).unwrap();
        }
        Ok(ToolOutput::text("done"))
    }
}

/// KODE-52, KODE-53.
#[tokio::test]
async fn a_call_that_was_running_when_the_process_died_is_never_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = sessions(SessionStore::new(folder.path().join("sessions")));
    let left = sessions(SessionStore::new(folder.path().join("left")));
    let handler = Leaving::new(folder.path(), 1);
    let mut of = turn(tools(handler.clone()));
    of.agent
        .permissions
        .allow
        .push(Rule::Tool("save".to_owned()));
    let session = created(&whole);
    let script = model([calls(&["look", "save"], "Saved.")]);
    ask(&session, &script, of.clone(), "Save it.")
        .await
        .unwrap();
    assert_eq!(handler.begun.load(Ordering::SeqCst), 1);
    let session = resumed(&left);
    let sealed: Vec<&str> = session
        .sealed()
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(sealed, ["call-2"]);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Save it."}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"15 rows","is_error":false}
    assistant {"type":"tool_use","id":"use-2","name":"save","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-2","content":"the call was interrupted; whether it had an effect is not known; look before you repeat it","is_error":true}
    "#);
    let script = model([says("I cannot tell.")]);
    go_on(&session, &script, of).await.unwrap();
    assert_eq!(handler.begun.load(Ordering::SeqCst), 1);
    assert_snapshot!(script.prompts().join("\n"), @"the call was interrupted; whether it had an effect is not known; look before you repeat it");
    drop(session);
    assert!(resumed(&left).sealed().is_empty());
}

/// KODE-52.
#[tokio::test]
async fn a_session_can_be_opened_as_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let whole = sessions(SessionStore::new(folder.path().join("sessions")));
    let left = sessions(SessionStore::new(folder.path().join("left")));
    let mut of = turn(tools(Leaving::new(folder.path(), 1)));
    of.agent
        .permissions
        .allow
        .push(Rule::Tool("save".to_owned()));
    let session = created(&whole);
    ask(&session, &model([calls(&["save"], "")]), of, "Save it.")
        .await
        .unwrap();
    let session = left.resume(id("one"), Strategy::Manual).unwrap();
    assert!(session.sealed().is_empty());
    assert_eq!(session.history().open_calls().count(), 1);
}

/// KODE-60.
#[tokio::test]
async fn three_calls_run_at_once_and_their_ends_are_told_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let whole = sessions(SessionStore::new(folder.path().join("sessions")));
    let left = sessions(SessionStore::new(folder.path().join("left")));
    let handler = Leaving::new(folder.path(), MOST_AT_ONCE);
    let session = Arc::new(whole.create(&id("one"), &agent()).unwrap());
    session.begin_turn("Look.").unwrap();
    let stop = CancellationToken::new();
    let approvals = Arc::new(Approvals::new(Permissions::default(), OnAsk::Deny, stop));
    let look = tool("look", WriteEffect::ReadOnly, handler);
    let wrapped = Calls::new(&session, Arc::new(agent()), approvals, None, None)
        .wrap(&ToolSet::new(vec![look]).unwrap());
    let call = |name| wrapped.call("look", json!({}), CallContext::detached(name));
    let all = tokio::join!(
        call("a"),
        call("b"),
        call("c"),
        call("d"),
        call("e"),
        call("f")
    );
    assert_eq!(all.5.unwrap().markdown, "done");
    let told = super::events(&whole, &[ktx_session_log::Channel::Progress]);
    let ends: Vec<String> = told
        .lines()
        .filter(|line| line.contains("tool:end"))
        .map(|line| line.split('"').nth(9).unwrap().to_owned())
        .collect();
    assert_eq!(
        ends,
        ["call-1", "call-2", "call-3", "call-4", "call-5", "call-6"]
    );
    // The others had not begun while the first three ran.
    let sealed = resumed(&left);
    let told = sealed
        .sealed()
        .iter()
        .map(|call| format!("{} {}", call.id, call.result.as_deref().unwrap()));
    assert_snapshot!(told.collect::<Vec<String>>().join("\n"), @r"
    call-1 the call was interrupted; it only reads, call it again if needed
    call-2 the call was interrupted; it only reads, call it again if needed
    call-3 the call was interrupted; it only reads, call it again if needed
    call-4 the call was not begun; call it again if it is still needed
    call-5 the call was not begun; call it again if it is still needed
    call-6 the call was not begun; call it again if it is still needed
    ");
}
