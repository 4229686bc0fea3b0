//! Conversations that become too long for their model.

use std::sync::Arc;

use insta::assert_snapshot;
use ktx_llm_runtime::{LlmError, LlmErrorKind, Reply};
use ktx_session_log::{Channel, SessionStore};

use super::{Says, calls, conversation, created, events, id, model, says, sessions, tools, turn};
use crate::{AskError, ForkPoint, Turn, ask};

fn small(window: u64) -> Turn {
    let mut of = turn(tools(Arc::new(Says("saved"))));
    of.agent.context.window = Some(window);
    of
}

fn long(question: &str) -> String {
    format!("{question} {}", "x".repeat(600))
}

fn brief(text: &str) -> String {
    text.replace(&"x".repeat(600), "…")
}

/// KODE-71.
#[tokio::test]
async fn older_turns_are_summarized_once_a_turn() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let model = model([
        calls(&["look"], "15."),
        says("Question: how much. Facts: 15 (use-1)."),
        says("In euros."),
    ]);
    ask(&session, &model, small(550), &long("How much?"))
        .await
        .unwrap();
    ask(&session, &model, small(550), &long("Of what?"))
        .await
        .unwrap();
    assert_snapshot!(brief(&conversation(&session)), @r#"
    user {"type":"text","text":"<system-reminder category=\"general\">Summary of the conversation so far:\nQuestion: how much. Facts: 15 (use-1).</system-reminder>"}
    user {"type":"text","text":"Of what? …"}
    assistant {"type":"text","text":"In euros."}
    "#);
    assert_snapshot!(brief(&model.prompts()[1]), @r#"
    user: How much? …
    call use-1: look {"to":"a"}
    result of call use-1: 15 rows
    agent: 15.
    "#);
    let monitor = events(&sessions, &[Channel::Monitor]);
    let told: Vec<&str> = monitor
        .lines()
        .filter(|line| line.contains("context_compression"))
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    2.1 {"type":"context_compression","phase":"start"}
    2.1 {"type":"context_compression","phase":"end","ratio":0.55}
    "#);
    let report = sessions.read(&id("one")).unwrap();
    assert_eq!(report.history.messages(), session.messages());
    let copy = sessions
        .fork(&id("one"), &ForkPoint::Last, &id("two"))
        .unwrap();
    assert_eq!(copy.messages().len(), 6);
}

/// KODE-71.
#[tokio::test]
async fn a_summary_that_fails_is_replaced_by_omissions() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let down = || Reply::Error(LlmError::new(LlmErrorKind::Server, "the server is down"));
    let model = model([
        calls(&["look"], "15."),
        down(),
        Reply::Text(String::new()),
        says("In euros."),
    ]);
    ask(&session, &model, small(250), &long("How much?"))
        .await
        .unwrap();
    ask(&session, &model, small(250), &long("Of what?"))
        .await
        .unwrap();
    assert_snapshot!(brief(&conversation(&session)), @r#"
    user {"type":"text","text":"Of what? …"}
    assistant {"type":"text","text":"In euros."}
    "#);
}

/// KODE-71.
#[tokio::test]
async fn compression_that_does_not_help_ends_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let down = || Reply::Error(LlmError::new(LlmErrorKind::Server, "the server is down"));
    let model = model([says("15."), down(), down(), says("b"), down(), down()]);
    let mut last = Ok(String::new());
    // Nine times as long as everything before it.
    for question in ["a".to_owned(), "y".repeat(900), "y".repeat(9500)] {
        let answer = ask(&session, &model, small(100), &question).await;
        last = answer.map(|result| result.response);
    }
    let Err(AskError::Model(error)) = last else {
        panic!("the turn goes on");
    };
    assert_snapshot!(error.message, @"the conversation does not fit the model's context window, and shortening it has not helped twice");
}
