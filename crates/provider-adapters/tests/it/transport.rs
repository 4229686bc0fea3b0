//! Network failures: redirects, foreign pages, interruptions, silence, cancellation.

use ktx_vocabulary::Provider;
use std::time::Duration;

use ktx_llm_runtime::{GovernorSettings, LlmErrorKind, LlmRuntime as _};
use ktx_provider_adapters::{Proxy, RateLimit};
use ktx_test_support::loopback::{Answer, End, Loopback};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use wiremock::ResponseTemplate;

use crate::fake::{anthropic, ask, bodies, runtime, said, server, settings, sse};

#[tokio::test]
async fn a_redirect_to_another_host_is_refused() {
    let other = server(vec![said("m1", "stolen")]).await;
    let redirect = ResponseTemplate::new(307).insert_header("location", other.uri().as_str());
    let first = server(vec![redirect]).await;
    let (runtime, _) = anthropic(&first.uri(), "sonnet");
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the provider's address redirects to another one (HTTP 307)"
    );
    assert_eq!(bodies(&other).await.len(), 0);
}

#[tokio::test]
async fn a_page_instead_of_an_answer_names_the_address() {
    let page = "<html>Sign in</html>";
    let ok = ResponseTemplate::new(200).set_body_raw(page, "text/html; charset=utf-8");
    let first = server(vec![ok]).await;
    let (runtime, _) = anthropic(&first.uri(), "sonnet");
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Protocol);
    assert_eq!(
        error.to_string(),
        "the address answers with `text/html` instead of a model's answer"
    );
    assert_eq!(bodies(&first).await.len(), 1);

    let missing = ResponseTemplate::new(404).set_body_raw(page, "text/html");
    let second = server(vec![missing]).await;
    let (runtime, _) = anthropic(&second.uri(), "sonnet");
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::ModelNotFound);
    assert_eq!(error.detail.as_deref(), Some(page));
}

#[tokio::test]
async fn a_cut_stream_is_repeated_and_both_messages_are_counted() {
    let cut = include_str!("../../../../fixtures/providers/streams/anthropic_cut.sse");
    let server = server(vec![sse(cut), said("m1", "whole")]).await;
    let (runtime, events) = anthropic(&server.uri(), "haiku");
    let outcome = runtime.generate_text(ask("x")).await.unwrap();
    assert_eq!(outcome.text, "whole");
    assert_eq!(
        events.lines(),
        [
            // The received output and what was possibly in transit.
            "usage r1/0/msg_03 anthropic_api claude-haiku-5-5 5/0/0/0/516",
            "retry 2 llm_transport",
            "usage r1/0/m1 anthropic_api claude-test 10/0/0/100/7",
        ]
    );
    assert_eq!(outcome.metrics.usage.input, 15);
}

/// Even if the provider echoes it.
#[tokio::test]
async fn the_key_never_reaches_an_error() {
    let echo = ResponseTemplate::new(401).set_body_string("bad key sk-test-key-123 given");
    let server = server(vec![echo]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.detail.as_deref(), Some("bad key *** given"));
}

/// A provider that answered before is tried again, because it can be restarting.
#[tokio::test]
async fn an_unreachable_server_is_tried_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for (address, proxy, message) in [
        (
            closed.as_str(),
            Proxy::Direct,
            "the provider could not be reached",
        ),
        (
            "https://api.example",
            Proxy::Url(closed.clone()),
            "the proxy could not be reached",
        ),
    ] {
        let mut settings = settings(Provider::Anthropic, "sonnet", address);
        settings.proxy = proxy;
        let (runtime, events) = runtime(settings);
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str(), events.lines()),
            (LlmErrorKind::Transport, message, Vec::new())
        );
    }

    let provider = Loopback::start(|_, _| {
        let words = [serde_json::json!({"type": "text", "text": "ok"})];
        Answer::stream(crate::fake::stream_text("m1", "end_turn", &words))
    })
    .unwrap();
    let (runtime, events) = anthropic(&provider.address(), "sonnet");
    assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "ok");
    drop(provider);
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(
        (error.kind, events.retries().len()),
        (LlmErrorKind::Transport, 5)
    );
}

#[tokio::test]
async fn a_silent_provider_is_tried_twice() {
    for sent in [0, 40] {
        let provider = Loopback::start(move |_, _| Answer {
            end: End::StallAfter(sent),
            ..Answer::stream(crate::fake::stream_text("m1", "end_turn", &[]))
        })
        .unwrap();
        let mut settings = settings(Provider::Anthropic, "sonnet", &provider.address());
        settings.timeouts.first_byte = Duration::from_millis(200);
        settings.timeouts.between_bytes = Duration::from_millis(200);
        let (runtime, events) = runtime(settings);
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        assert_eq!(
            (error.kind, events.retries(), provider.requests().len()),
            (
                LlmErrorKind::Timeout,
                vec!["retry 2 llm_timeout".to_owned()],
                2
            )
        );
    }
}

async fn half_answer(stream: &mut TcpStream, answer: &str) {
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("\"stream\":true}") {
        let length = stream.read(&mut piece).await.expect("a request");
        assert!(length > 0, "the request ended early");
        seen.extend_from_slice(piece.get(..length).expect("what was read"));
    }
    stream
        .write_all(answer.as_bytes())
        .await
        .expect("an answer");
}

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn cancelling_closes_the_socket_at_once() {
    for answer in ["", HEAD] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (answered, waits) = oneshot::channel();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            half_answer(&mut stream, answer).await;
            answered.send(()).unwrap();
            // Ends only when the client has closed its side.
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.is_ok() || rest.is_empty()
        });
        let (runtime, events) = anthropic(&address, "sonnet");
        let request = ask("x");
        let cancel = request.cancel.clone();
        let call = tokio::spawn(async move { runtime.generate_text(request).await });
        waits.await.unwrap();
        cancel.cancel();
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Cancelled);
        assert!(server.await.unwrap());
        let told = events.lines();
        assert!(
            told.len() == 1 && told[0].starts_with("usage r1/0/call-"),
            "the call is not repeated, and its request is billed: {told:?}"
        );
    }
}

#[tokio::test]
async fn silence_is_a_timeout_and_is_repeated() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut silent, _) = listener.accept().await.unwrap();
        half_answer(&mut silent, HEAD).await;
        let stream = crate::fake::stream_text(
            "m2",
            "end_turn",
            &[serde_json::json!({"type": "text", "text": "ok"})],
        );
        loop {
            let (mut next, _) = listener.accept().await.unwrap();
            half_answer(&mut next, &format!("{HEAD}{stream}")).await;
        }
    });
    let mut settings = settings(Provider::Anthropic, "sonnet", &address);
    settings.timeouts.idle = Duration::from_millis(300);
    let (runtime, events) = runtime(settings);
    assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "ok");
    server.abort();
    assert_eq!(events.retries()[0], "retry 2 llm_timeout");
}

fn repeat_forever(listener: TcpListener, said: &'static str) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a caller");
            half_answer(&mut stream, HEAD).await;
            while stream.write_all(said.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    })
}

#[tokio::test]
async fn a_stream_ends_without_content_and_without_an_end() {
    let silence = ": still here\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n";
    let word =
        "event: content_block_stop\ndata: {\"type\": \"content_block_stop\", \"index\": 0}\n\n";
    for (said, idle, total, told, retries) in [
        (
            silence,
            Duration::from_millis(200),
            Duration::from_mins(10),
            "the provider sent nothing for 0 s",
            1,
        ),
        (
            word,
            Duration::from_mins(10),
            Duration::from_millis(200),
            "the answer took more than 0 s",
            0,
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = repeat_forever(listener, said);
        let mut settings = settings(Provider::Anthropic, "sonnet", &address);
        settings.timeouts.idle = idle;
        settings.timeouts.total = total;
        settings.rate_limit = RateLimit::Own(GovernorSettings {
            max_attempts: 3,
            base_delay: Duration::from_millis(1),
            ..GovernorSettings::default()
        });
        let (runtime, events) = runtime(settings);
        let error = runtime.generate_text(ask("x")).await.unwrap_err();
        server.abort();
        assert_eq!(
            (error.kind, error.message.as_str(), events.retries().len()),
            (LlmErrorKind::Timeout, told, retries)
        );
    }
}
