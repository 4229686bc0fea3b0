//! Sessions that are written, left by a killed process, and continued.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use insta::assert_snapshot;
use jiff::Timestamp;
use ktx_llm_runtime::{Deltas, NoEvents, Reply, ScriptedRuntime};
use ktx_project_store::Holder;
use ktx_session_log::{SessionId, SessionStore};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use ktx_vocabulary::RunId;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::{Clock, MOST_AT_ONCE, Parent, Question, Session, TurnEnd, ask, recorded};

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn holder() -> Holder {
    Holder {
        pid: 7,
        command: "ktx agent".to_owned(),
        since: None,
    }
}

fn clock() -> Clock {
    Arc::new(|| Timestamp::UNIX_EPOCH)
}

fn created(store: &SessionStore) -> Arc<Session> {
    Arc::new(Session::create(store, id("one"), &holder(), clock(), "research").unwrap())
}

fn resumed(store: &SessionStore) -> Arc<Session> {
    Arc::new(Session::resume(store, id("one"), &holder(), clock()).unwrap())
}

fn tool(name: &str, effect: WriteEffect, handler: Arc<dyn ToolHandler>) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: "Does something.".to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect,
        handler,
    }
}

async fn call(tools: &ToolSet, name: &str) -> Result<ToolOutput, ToolError> {
    tools
        .call(name, json!({ "to": "a" }), CallContext::detached("x"))
        .await
}

/// The conversation, a block each line.
fn conversation(session: &Session) -> String {
    let messages = serde_json::to_value(session.messages()).unwrap();
    let mut lines = Vec::new();
    for message in messages.as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            lines.push(format!("{} {block}", message["role"].as_str().unwrap()));
        }
    }
    lines.join("\n")
}

/// The events in a log with their channels.
fn log(store: &SessionStore) -> String {
    let records = store.read(&id("one")).unwrap().read_all().unwrap();
    let lines = records.iter().map(|record| {
        let channel = json!(record.channel);
        let event = Value::Object(record.event.clone());
        format!("{} {} {event}", record.seq, channel.as_str().unwrap())
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Copies the log while the call runs, and counts.
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
        // Let the calls that were asked for in the same moment queue up.
        tokio::task::yield_now().await;
        if self.begun.fetch_add(1, Ordering::SeqCst) == 0 {
            fs::create_dir_all(&self.copies).unwrap();
            fs::copy(&self.log, self.copies.join("log.jsonl")).unwrap();
        }
        Ok(ToolOutput::text("done"))
    }
}

/// A call is in the log before it begins; after a kill it is sealed and not begun again.
#[tokio::test]
async fn a_call_that_was_running_when_the_process_died_is_never_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path().join("sessions"));
    let left = SessionStore::new(folder.path().join("left"));
    let handler = Leaving::new(folder.path(), 1);
    let send = tool("send", WriteEffect::Writes, handler.clone());
    let session = created(&store);
    session.begin_turn("Send it.").unwrap();
    let tools = recorded(&session, &ToolSet::new(vec![send]).unwrap());
    call(&tools, "send").await.unwrap();
    session.end_turn("Sent.", TurnEnd::Completed).unwrap();
    assert_snapshot!(log(&store), @r#"
    1 state {"type":"session_opened","format":1,"session":"one","agent":"research"}
    2 state {"type":"message","message":{"role":"user","content":[{"type":"text","text":"Send it."}],"transport":"provider"}}
    3 state {"type":"call","id":"call-1","name":"send","state":"PENDING","effect":"writes","input":{"to":"a"}}
    4 state {"type":"call","id":"call-1","name":"send","state":"EXECUTING","effect":"writes","input":{"to":"a"}}
    5 state {"type":"call","id":"call-1","name":"send","state":"COMPLETED","effect":"writes","input":{"to":"a"},"result":"done"}
    6 state {"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Sent."}],"transport":"provider"}}
    7 progress {"type":"done","reason":"completed"}
    "#);

    let later = resumed(&left);
    assert_eq!(handler.begun.load(Ordering::SeqCst), 1);
    assert_snapshot!(conversation(&later), @r#"
    user {"type":"text","text":"Send it."}
    assistant {"type":"tool_use","id":"call-1","name":"send","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"call-1","content":"the call was interrupted; whether it had an effect is not known; look before you repeat it","is_error":true}
    "#);
    drop(later);
    let again = resumed(&left);
    assert!(again.sealed().is_empty());
}

/// Three calls at once; the others have not begun when the process dies.
#[tokio::test]
async fn at_most_three_calls_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path().join("sessions"));
    let left = SessionStore::new(folder.path().join("left"));
    let handler = Leaving::new(folder.path(), MOST_AT_ONCE);
    let look = tool("look", WriteEffect::ReadOnly, handler.clone());
    let session = created(&store);
    session.begin_turn("Look.").unwrap();
    let tools = recorded(&session, &ToolSet::new(vec![look]).unwrap());
    let one = || call(&tools, "look");
    let results = tokio::join!(one(), one(), one(), one(), one(), one());
    let done = || Ok(ToolOutput::text("done"));
    assert_eq!(results, (done(), done(), done(), done(), done(), done()));

    let later = resumed(&left);
    let told = later.sealed().iter().filter_map(|call| {
        let result = call.result.as_deref()?;
        Some(format!("{} {result}", call.id))
    });
    assert_snapshot!(told.collect::<Vec<String>>().join("\n"), @r"
    call-1 the call was interrupted; it only reads, call it again if needed
    call-2 the call was interrupted; it only reads, call it again if needed
    call-3 the call was interrupted; it only reads, call it again if needed
    call-4 the call was not begun; call it again if it is still needed
    call-5 the call was not begun; call it again if it is still needed
    call-6 the call was not begun; call it again if it is still needed
    ");
}

struct Endless;

#[async_trait]
impl ToolHandler for Endless {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        std::future::pending().await
    }
}

/// A cancelled call has failed, and the conversation stands.
#[tokio::test]
async fn a_cancelled_call_is_not_a_completed_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path().join("sessions"));
    let session = created(&store);
    session.begin_turn("Wait.").unwrap();
    let wait = tool("wait", WriteEffect::ReadOnly, Arc::new(Endless));
    let tools = recorded(&session, &ToolSet::new(vec![wait]).unwrap());
    let context = CallContext::detached("x");
    let cancel = context.cancel.clone();
    let called = tools.call("wait", json!({}), context);
    let (result, ()) = tokio::join!(called, async { cancel.cancel() });
    assert!(result.is_err());
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Wait."}
    assistant {"type":"tool_use","id":"call-1","name":"wait","input":{}}
    user {"type":"tool_result","tool_use_id":"call-1","content":"the call was cancelled","is_error":true}
    "#);
}

fn question(message: &str) -> Question {
    Question {
        system: "Answer.".to_owned(),
        history: Vec::new(),
        message: message.to_owned(),
        tools: ToolSet::new(Vec::new()).unwrap(),
        max_turns: 3,
        deltas: Deltas::ByTurn,
        stage: "research".to_owned(),
        run_id: RunId::parse("run").unwrap(),
        cancel: tokio_util::sync::CancellationToken::new(),
    }
}

/// A copy can start only after a question or an answer.
#[tokio::test]
async fn turns_are_asked_in_one_conversation_and_copied_at_safe_points() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    let text = |text: &str| Reply::Text(text.to_owned());
    let runtime = ScriptedRuntime::new([text("15."), text("Euro.")], Arc::new(NoEvents));
    let session = created(&store);
    ask(&session, &runtime, question("How much?"), |_| ())
        .await
        .unwrap();
    drop(session);
    let session = resumed(&store);
    ask(&session, &runtime, question("Of what?"), |_| ())
        .await
        .unwrap();
    let failed = ask(&session, &runtime, question("More?"), |_| ()).await;
    assert_eq!(failed.unwrap_err().to_string(), "the model failed");
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"How much?"}
    assistant {"type":"text","text":"15."}
    user {"type":"text","text":"Of what?"}
    assistant {"type":"text","text":"Euro."}
    user {"type":"text","text":"More?"}
    "#);

    let copy = |at, name: &str| {
        let parent = Parent {
            session: id("one"),
            seq: at,
        };
        Session::fork(&store, parent, id(name), &holder(), clock())
    };
    let told = |at| copy(at, "none").unwrap_err().to_string();
    assert_snapshot!(told(4), @"a copy cannot begin behind record 4; it can behind 3 and 6");
    assert_snapshot!(told(99), @"a copy cannot begin behind record 99; it can behind 9");
    assert_snapshot!(conversation(&copy(3, "two").unwrap()), @r#"
    user {"type":"text","text":"How much?"}
    assistant {"type":"text","text":"15."}
    "#);
}
