//! Wrong settings and wrong servers: every message names the faulty setting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ktx_llm_runtime::{LlmError, LlmErrorKind, LlmRuntime as _, NoEvents};
use ktx_provider_adapters::{HttpRuntime, HttpSettings, Proxy};
use ktx_secrets::Secret;
use ktx_test_support::loopback::{Answer, End, Loopback};
use ktx_test_support::provider_fake::ProviderFake;
use ktx_vocabulary::Provider;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::fake::{ask, settings, stream_text};

fn refused(settings: HttpSettings) -> LlmError {
    HttpRuntime::new(settings, std::sync::Arc::new(NoEvents)).expect_err("unusable settings")
}

#[test]
fn a_missing_key_names_the_variable_and_the_place() {
    let mut named = Vec::new();
    for provider in Provider::ALL {
        let mut settings = HttpSettings::new(provider, None, "m");
        if provider == Provider::OpenAiCompatible {
            settings.base_url = Some("http://127.0.0.1:1".to_owned());
            HttpRuntime::new(settings, std::sync::Arc::new(NoEvents)).expect("it needs no key");
            continue;
        }
        let error = refused(settings);
        assert_eq!(error.kind, LlmErrorKind::Auth, "{provider}");
        let hint = error.hint.unwrap_or_default();
        let variable = provider.key_variable().expect("a usual variable");
        assert!(
            hint.contains(&format!("`{variable}`")),
            "{provider}: {hint}"
        );
        assert!(
            hint.contains(&format!("llm.provider.{provider}.")),
            "{provider}: {hint}"
        );
        named.push(format!("{provider} {variable}"));
    }
    assert_eq!(named.len(), 12, "{named:?}");
    let blank = HttpSettings::new(Provider::Anthropic, Some(Secret::new("  ")), "m");
    assert_eq!(refused(blank).kind, LlmErrorKind::Auth);
}

#[test]
fn wrong_settings_name_their_place() {
    let check = |settings: HttpSettings, message: &str, hint: &str| {
        let error = refused(settings);
        assert_eq!(
            (error.message.as_str(), error.hint.as_deref()),
            (message, Some(hint))
        );
    };
    let with = |base: &str| settings(Provider::Anthropic, "sonnet", base);
    check(
        with("api.example"),
        "`api.example` is not an API URL",
        "`base_url` begins with `https://`, or with `http://` for this machine",
    );
    check(
        with("ftp://ada:geheim@api.example/v1?key=geheim"),
        "`ftp://ada:***@api.example/v1` is not an API URL",
        "`base_url` begins with `https://`, or with `http://` for this machine",
    );
    check(
        with("http://ada:geheim@api.example/v1?key=geheim"),
        "`http://api.example` has a user name or a password, which no request would send",
        "write what follows `://` up to `@` as `api_key`, and `base_url` without it",
    );
    check(
        with("http://api.example/v1?key=geheim"),
        "`http://api.example/v1` would send the key in plain text",
        "give `base_url` with `https://`; `http://` is for this machine, or for a server that needs no key",
    );
    check(
        HttpSettings::new(Provider::OpenAiCompatible, None, "m"),
        "the `openai-compatible` backend has no address",
        "set `llm.provider.openai-compatible.base_url` in `ktx.yaml`",
    );
    let mut nameless = with("http://127.0.0.1:1");
    nameless.models.clear();
    check(
        nameless,
        "the `anthropic` backend has no model for the role `default`",
        "set `llm.models.default` in `ktx.yaml`",
    );
    let mut proxied = with("http://127.0.0.1:1");
    proxied.proxy = Proxy::Url("http://ada:geheim@".to_owned());
    let error = refused(proxied);
    assert!(error.message.ends_with("is not a proxy URL"), "{error}");
    assert!(!error.message.contains("geheim"), "{error}");
}

async fn failure(settings: HttpSettings) -> (LlmErrorKind, String, Option<String>) {
    let runtime = HttpRuntime::new(settings, std::sync::Arc::new(NoEvents)).expect("usable");
    let error = runtime
        .generate_text(ask("x"))
        .await
        .expect_err("a failure");
    (error.kind, error.message, error.detail)
}

#[tokio::test]
async fn servers_without_an_api_are_distinguished_from_failing_apis() {
    type Case = (&'static str, Answer, LlmErrorKind, &'static str, usize);
    let whole = stream_text("m1", "end_turn", &[json!({"type": "text", "text": "hi"})]);
    let cases: Vec<Case> = vec![
        (
            "a page",
            Answer::new(200, "text/html", "<html>Sign in</html>"),
            LlmErrorKind::Protocol,
            "the address answers with `text/html` instead of a model's answer",
            1,
        ),
        (
            "a page that calls itself JSON",
            Answer::new(200, "application/json", "<html>Sign in</html>"),
            LlmErrorKind::Protocol,
            "the provider answered with invalid JSON",
            1,
        ),
        (
            "JSON of something else",
            Answer::json(200, &json!({"status": "up"})),
            LlmErrorKind::Protocol,
            "the provider answered with JSON that does not follow its protocol",
            1,
        ),
        (
            "no content type",
            Answer {
                status: 200,
                ..Answer::default()
            },
            LlmErrorKind::Protocol,
            "the address answers with no content type instead of a model's answer",
            1,
        ),
        (
            "a page of an error",
            Answer::new(502, "text/html", "<html>Bad gateway</html>"),
            LlmErrorKind::Server,
            "the provider failed (HTTP 502)",
            6,
        ),
        (
            "a stream without its end",
            Answer::stream(whole.split_at(whole.len() / 2).0),
            LlmErrorKind::Transport,
            "the provider's answer ended early",
            6,
        ),
        (
            "a stream that is cut",
            Answer {
                end: End::CutAfter(100),
                ..Answer::stream(whole)
            },
            LlmErrorKind::Transport,
            "the connection to the provider broke",
            6,
        ),
        (
            "a redirect to another host",
            Answer::new(308, "text/plain", "").header("location", "http://127.0.0.2:9/v1/messages"),
            LlmErrorKind::InvalidRequest,
            "the provider's address redirects to another one (HTTP 308)",
            1,
        ),
    ];
    for (name, answer, kind, message, tries) in cases {
        let server = Loopback::start(move |_, _| answer.clone()).expect("a server");
        let (found, said, _) =
            failure(settings(Provider::Anthropic, "haiku", &server.address())).await;
        assert_eq!((found, said.as_str()), (kind, message), "{name}");
        assert_eq!(server.requests().len(), tries, "{name}");
    }
}

#[tokio::test]
async fn failures_of_a_proxy_are_failures_of_the_way() {
    let nobody = Loopback::start(|_, _| Answer::default()).expect("a server");
    let gone = nobody.address();
    drop(nobody);
    let mut through = settings(Provider::Anthropic, "haiku", "http://127.0.0.1:9");
    through.proxy = Proxy::Url(gone);
    let (kind, message, _) = failure(through).await;
    assert_eq!(
        (kind, message.as_str()),
        (LlmErrorKind::Transport, "the provider could not be reached")
    );
    let refusing =
        Loopback::start(|_, _| Answer::new(407, "text/plain", "who are you")).expect("a proxy");
    let mut through = settings(Provider::Anthropic, "haiku", "http://127.0.0.1:9");
    through.proxy = Proxy::Url(refusing.address());
    let (kind, message, detail) = failure(through).await;
    assert_eq!(
        (kind, message.as_str(), detail.as_deref()),
        (
            LlmErrorKind::InvalidRequest,
            "the provider refused the request (HTTP 407)",
            Some("who are you")
        )
    );
    assert!(
        refusing.requests()[0]
            .target
            .starts_with("POST http://127.0.0.1:9/")
    );
    let mut tunnel = settings(Provider::Anthropic, "haiku", "https://api.example");
    tunnel.proxy = Proxy::Url(refusing.address());
    let (kind, message, _) = failure(tunnel).await;
    assert_eq!(
        (kind, message.as_str()),
        (
            LlmErrorKind::Transport,
            "the proxy does not connect to the provider"
        )
    );
    let nobody = Loopback::start(|_, _| Answer::default()).expect("a server");
    let gone = nobody.address();
    drop(nobody);
    let mut dead = settings(Provider::Anthropic, "haiku", "https://api.example");
    dead.proxy = Proxy::Url(gone);
    let (kind, message, _) = failure(dead).await;
    assert_eq!(
        (kind, message.as_str()),
        (LlmErrorKind::Transport, "the proxy could not be reached")
    );
}

#[tokio::test]
async fn tls_that_fails_says_why() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("https://{}", listener.local_addr().expect("an address"));
    let tries = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&tries);
    let plain = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            seen.fetch_add(1, Ordering::SeqCst);
            let answer = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            answer.expect("an answer");
        }
    });
    let (kind, message, detail) = failure(settings(Provider::Anthropic, "haiku", &address)).await;
    assert_eq!(
        (kind, message.as_str(), tries.load(Ordering::SeqCst)),
        (
            LlmErrorKind::Transport,
            "the provider's port does not speak TLS",
            1
        )
    );
    let detail = detail.unwrap_or_default();
    assert!(
        detail.contains("InvalidContentType") || detail.contains("corrupt"),
        "{detail}"
    );
    plain.abort();

    let folder = tempfile::tempdir().expect("a folder");
    let fake = ProviderFake::start(folder.path(), Vec::new())
        .await
        .expect("a server");
    let proxy = fake.environment().remove("HTTPS_PROXY").expect("a proxy");
    let mut stranger = settings(Provider::Anthropic, "haiku", "https://api.anthropic.com");
    stranger.proxy = Proxy::Url(proxy);
    let (kind, message, detail) = failure(stranger).await;
    let detail = detail.unwrap_or_default();
    assert_eq!(
        (kind, message.as_str()),
        (
            LlmErrorKind::Transport,
            "the provider's certificate is not trusted"
        )
    );
    assert!(detail.contains("invalid peer certificate"), "{detail}");
}
