//! Structured answers.

use std::sync::Arc;

use insta::assert_snapshot;
use ktx_llm_runtime::{LlmError, LlmErrorKind, Reply};
use ktx_session_log::SessionStore;
use serde_json::json;

use super::{Says, calls, created, model, resumed, sessions, tools, turn};
use crate::{AskError, ask, go_on};

/// HOLO-31.
#[tokio::test]
async fn an_answer_is_put_into_its_form_without_being_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let of = || {
        let mut of = turn(tools(Arc::new(Says("saved"))));
        of.agent.response_format = Some(json!({
            "type": "object",
            "properties": { "total": { "type": "integer" } },
            "required": ["total"],
        }));
        of
    };
    let model = model([
        calls(&["look"], "It is 15."),
        Reply::Object(json!({ "total": "many" })),
        Reply::Error(LlmError::new(LlmErrorKind::Server, "the server is down")),
        Reply::Object(json!({ "total": 15 })),
    ]);
    let Err(AskError::Model(misfit)) = ask(&session, &model, of(), "How much?").await else {
        panic!("the object does not fit");
    };
    assert_snapshot!(misfit.message, @"the answer does not fit `response_format`");
    drop(session);
    let session = resumed(&sessions);
    let down = go_on(&session, &model, of()).await.unwrap_err();
    assert!(matches!(down, AskError::Model(_)), "{down}");
    let result = go_on(&session, &model, of()).await.unwrap();
    assert_eq!(result.response, r#"{"total":15}"#);
    assert_eq!(result.structured_output, Some(json!({ "total": 15 })));
    assert_eq!(result.token_usage.total_tokens, 15);
    assert_snapshot!(model.prompts().join("\n---\n"), @r"
    How much?
    ---
    Question:
    How much?

    Answer:
    It is 15.

    ---
    Question:
    How much?

    Answer:
    It is 15.

    ---
    Question:
    How much?

    Answer:
    It is 15.
    ");
    let done = go_on(&session, &model, of()).await.unwrap_err();
    assert_eq!(done.to_string(), "the last turn has its answer");
}
