//! Secrets that a provider or a tool echoes are never shown.

use std::sync::Arc;

use ktx_llm_runtime::{LlmError, LlmErrorKind, LlmRuntime as _, RunEvent, RunRequest};
use ktx_provider_adapters::{
    AuthorizedUser, GoogleCredentials, HttpRuntime, HttpSettings, Protocol, VertexSettings,
};
use ktx_secrets::Secret;
use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_vocabulary::Provider;
use serde_json::json;

use crate::fake::{EventRecorder, ask, runtime, settings};

/// Not shaped like a key, so only its value can identify it.
const KEY: &str = "planted.value.0123456789";

fn echoes(protocol: Protocol) -> Vec<Answer> {
    let words = format!("the key {KEY} is not good");
    let error = json!({"type": "error", "error": {"type": "authentication_error", "message": words, "code": KEY}});
    let in_stream = match protocol {
        Protocol::OpenAiResponses => {
            format!(
                "data: {}\n\n",
                json!({"type": "error", "message": words, "code": KEY})
            )
        }
        _ => format!("event: error\ndata: {error}\n\n"),
    };
    vec![
        Answer::json(401, &error),
        Answer::json(400, &error),
        Answer::json(429, &error).header("retry-after-ms", "1"),
        Answer::new(500, "text/html", format!("<p>{words}</p>")),
        Answer::stream(in_stream),
        Answer::new(200, &format!("text/{KEY}"), words.clone()),
        Answer::json(200, &json!({"unexpected": words})),
        Answer::new(200, "application/json", words),
        Answer::new(307, "text/plain", "")
            .header("location", &format!("http://127.0.0.2/?key={KEY}")),
    ]
}

fn shown(error: &LlmError) -> String {
    format!("{error} {error:?} {:?} {:?}", error.hint, error.detail)
}

fn all_lines(events: &EventRecorder) -> String {
    events.lines().concat()
}

async fn check(provider: Provider, protocol: Option<Protocol>, spoken: Protocol) {
    for (number, answer) in echoes(spoken).into_iter().enumerate() {
        let server = Loopback::start(move |_, _| answer.clone()).expect("a server");
        let base = server.address();
        let mut settings = settings(provider, "m", &format!("{base}/?key={KEY}"));
        settings.api_key = Some(Secret::new(KEY));
        settings.protocol = protocol;
        let (runtime, events) = runtime(settings);
        let error = runtime
            .generate_text(ask("x"))
            .await
            .expect_err("a failure");
        assert!(
            !shown(&error).contains(KEY),
            "{provider} answer {number}: {}",
            shown(&error)
        );
        assert!(
            !all_lines(&events).contains(KEY),
            "{provider} answer {number}"
        );
        assert!(!format!("{runtime:?}").contains(KEY), "{provider}");
        assert!(
            sent_key(&server.requests()[0]),
            "{provider}: the key was sent"
        );
    }
}

fn sent_key(request: &Request) -> bool {
    request.headers.values().any(|value| value.contains(KEY))
}

/// COG-19.
#[tokio::test]
async fn errors_of_anthropic_never_show_the_key() {
    check(Provider::Anthropic, None, Protocol::Anthropic).await;
}

/// COG-19.
#[tokio::test]
async fn errors_of_chat_providers_never_show_the_key() {
    for provider in [
        Provider::Gateway,
        Provider::DeepSeek,
        Provider::Qwen,
        Provider::Glm,
        Provider::MiniMax,
        Provider::Kimi,
        Provider::Groq,
        Provider::Cerebras,
        Provider::OpenAiCompatible,
    ] {
        check(provider, None, Protocol::OpenAiChat).await;
    }
}

/// COG-19.
#[tokio::test]
async fn errors_of_openai_never_show_the_key() {
    check(Provider::OpenAi, None, Protocol::OpenAiResponses).await;
    check(
        Provider::OpenAi,
        Some(Protocol::OpenAiChat),
        Protocol::OpenAiChat,
    )
    .await;
}

/// COG-19.
#[tokio::test]
async fn errors_of_gemini_never_show_the_key() {
    check(Provider::Gemini, None, Protocol::Gemini).await;
}

fn vertex(server: &Loopback) -> HttpSettings {
    let mut settings = settings(Provider::Vertex, "sonnet", &server.address());
    settings.api_key = None;
    settings.vertex = Some(VertexSettings {
        project: Some("p1".to_owned()),
        location: "us-east5".to_owned(),
        credentials: GoogleCredentials::AuthorizedUser(AuthorizedUser {
            client_id: "id".to_owned(),
            client_secret: Secret::new("planted.client.secret"),
            refresh_token: Secret::new("planted.refresh.token"),
            token_uri: format!("{}/token", server.address()),
            quota_project_id: None,
        }),
    });
    settings
}

/// COG-19.
#[tokio::test]
async fn vertex_repeats_no_token_and_no_secret() {
    let refusing = Loopback::start(|request, _| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        Answer::json(
            401,
            &json!({"error": "invalid_grant", "error_description": body}),
        )
    })
    .expect("a server");
    let echoing = Loopback::start(|request, _| {
        if request.target.ends_with("/token") {
            return Answer::json(200, &json!({"access_token": "planted.access.token", "expires_in": 3600}));
        }
        let token = request.headers["authorization"].replace("Bearer ", "");
        Answer::json(403, &json!({"error": {"status": "PERMISSION_DENIED", "message": format!("not with {token}")}}))
    })
    .expect("a server");
    for (server, kind) in [
        (&refusing, LlmErrorKind::Auth),
        (&echoing, LlmErrorKind::Auth),
    ] {
        let (runtime, events) = runtime(vertex(server));
        let error = runtime
            .generate_text(ask("x"))
            .await
            .expect_err("a failure");
        assert_eq!(error.kind, kind);
        assert!(
            error.detail.is_some(),
            "the words are kept, without secrets"
        );
        assert!(!shown(&error).contains("planted"), "{}", shown(&error));
        assert!(!all_lines(&events).contains("planted"));
    }
}

/// COG-19, COG-21: the provider's text is only in the detail.
#[tokio::test]
async fn a_run_never_shows_text_of_the_provider() {
    let words = "your card 4242 was declined by Acme Bank";
    let server = Loopback::start(move |_, _| {
        Answer::json(
            402,
            &json!({"error": {"type": "billing_error", "message": words}}),
        )
    })
    .expect("a server");
    let (runtime, _): (HttpRuntime, Arc<EventRecorder>) =
        runtime(settings(Provider::Anthropic, "sonnet", &server.address()));
    let asked = crate::agent::request(Vec::new(), 2);
    let mut handle = runtime.start_run(RunRequest {
        role: asked.role,
        system: asked.system,
        messages: vec![ktx_llm_runtime::Message::text(
            ktx_llm_runtime::MessageRole::User,
            "Go.",
        )],
        tools: asked.tools,
        step_budget: 2,
        deltas: ktx_llm_runtime::Deltas::AsTheyCome,
        hook: None,
        settings: ktx_llm_runtime::CallSettings::default(),
        cancel: asked.cancel,
        label: asked.label,
        trace_id: Some("t1".to_owned()),
        ingress_request_id: None,
    });
    let mut outward = Vec::new();
    while let Some(event) = handle.next_event().await {
        outward.push(match event {
            RunEvent::Error(error) => {
                let code = error.kind.run_code().as_str();
                format!("{code} {error} {:?}", error.hint)
            }
            other => format!("{other:?}"),
        });
    }
    let outward = outward.concat();
    let last = handle.finish().await.result.expect_err("a failure");
    assert!(
        !outward.contains("4242") && !last.to_string().contains("4242"),
        "{outward}"
    );
    assert!(
        outward.contains("insufficient_credits the provider's account has no credit (HTTP 402)"),
        "{outward}"
    );
    assert_eq!(
        last.detail.as_deref(),
        Some(format!("billing_error: {words}").as_str())
    );
}
