//! Claude on Vertex AI: tokens, signed requests, renewal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ktx_llm_runtime::{EventSink, LlmErrorKind, LlmRuntime as _, RuntimeEvent};
use ktx_provider_adapters::{
    GoogleCredentials, HttpRuntime, HttpSettings, UnixClock, VertexSettings,
};
use ktx_vocabulary::Provider;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use wiremock::matchers::{body_string_contains, method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::fake::{ask, refused, runtime, said, server, settings};

const KEY: &str = include_str!("../../../../fixtures/providers/throwaway-service-account-key.pem");

const NOW: u64 = 1_790_000_000;

pub(crate) fn vertex(address: &str, credentials: GoogleCredentials) -> HttpSettings {
    let mut settings = settings(Provider::Vertex, "claude-sonnet-4-5@20250929", address);
    settings.vertex = Some(VertexSettings {
        project: None,
        location: "us-east5".to_owned(),
        credentials,
    });
    settings.clock = UnixClock::new(|| NOW);
    settings
}

/// Checks the signature and the claims.
pub(crate) struct TokenService;

fn verified(assertion: &str) -> Option<Value> {
    let (signing_times, signature) = assertion.rsplit_once('.')?;
    let (_, claims) = signing_times.split_once('.')?;
    let der: String = KEY
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(der).ok()?).ok()?;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    public.verify(signing_times.as_bytes(), &signature).ok()?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}

impl Respond for TokenService {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let form = String::from_utf8_lossy(&request.body).into_owned();
        let assertion = form
            .split('&')
            .find_map(|pair| pair.strip_prefix("assertion="))
            .unwrap_or_default();
        let claims = verified(assertion).unwrap_or_default();
        if claims["iss"] == "robot@p1.iam" && claims["iat"].as_u64() >= Some(NOW) {
            let token = json!({"access_token": "ya29.token", "expires_in": 3600});
            ResponseTemplate::new(200).set_body_json(token)
        } else {
            ResponseTemplate::new(401).set_body_string("bad assertion")
        }
    }
}

pub(crate) async fn token_service(respond: impl Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/token"))
        .respond_with(respond)
        .mount(&server)
        .await;
    server
}

pub(crate) fn service_account(token_uri: &str) -> GoogleCredentials {
    let file = json!({
        "type": "service_account",
        "client_email": "robot@p1.iam",
        "private_key": KEY,
        "private_key_id": "k1",
        "token_uri": format!("{token_uri}/token"),
        "project_id": "p1",
    });
    GoogleCredentials::from_json(&file.to_string()).expect("a credentials file")
}

#[tokio::test]
async fn a_service_account_signs_for_one_token_and_uses_it_for_all_calls() {
    let tokens = token_service(TokenService).await;
    let api = server(vec![said("m1", "ok"), said("m2", "ok")]).await;
    let (runtime, events) = runtime(vertex(&api.uri(), service_account(&tokens.uri())));
    for _ in 0..2 {
        assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "ok");
    }
    assert_eq!(tokens.received_requests().await.unwrap().len(), 1);
    let requests = api.received_requests().await.unwrap();
    assert_eq!(
        requests[0].url.path(),
        "/v1/projects/p1/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"
    );
    let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(
        (body.get("model"), &body["anthropic_version"]),
        (None, &json!("vertex-2023-10-16"))
    );
    let headers = &requests[0].headers;
    assert_eq!(headers["authorization"], "Bearer ya29.token");
    assert!(!headers.contains_key("x-api-key"));
    assert!(!format!("{headers:?}").contains("sk-test-key"));
    assert_eq!(
        events.lines()[0],
        "usage r1/0/m1 vertex claude-test 10/0/0/100/7"
    );
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let tokens = MockServer::start().await;
    Mock::given(body_string_contains("refresh_token=r1"))
        .respond_with(
            ResponseTemplate::new(200)
                .set_body_json(json!({"access_token": "t", "expires_in": 3600})),
        )
        .mount(&tokens)
        .await;
    let file = json!({
        "type": "authorized_user",
        "client_id": "c",
        "client_secret": "s",
        "refresh_token": "r1",
        "token_uri": tokens.uri(),
        "quota_project_id": "p1",
    });
    let credentials = GoogleCredentials::from_json(&file.to_string()).unwrap();
    let expired = || refused(401, "authentication_error");
    let api = server(vec![expired(), said("m1", "ok"), expired(), expired()]).await;
    let (runtime, _) = runtime(vertex(&api.uri(), credentials));
    assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "ok");
    assert_eq!(tokens.received_requests().await.unwrap().len(), 2);
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Auth);
    assert_eq!(tokens.received_requests().await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_refused_token_request_is_an_auth_failure() {
    let tokens = token_service(ResponseTemplate::new(400).set_body_string("invalid_grant")).await;
    let api = server(Vec::new()).await;
    let (runtime, _) = runtime(vertex(&api.uri(), service_account(&tokens.uri())));
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Auth);
    assert_eq!(error.to_string(), "Google gave no access token (HTTP 400)");
    assert_eq!(api.received_requests().await.unwrap().len(), 0);
}

#[derive(Clone, Default)]
struct SigningTimes(Arc<Mutex<Vec<u64>>>);

impl Respond for SigningTimes {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let form = String::from_utf8_lossy(&request.body).into_owned();
        let assertion = form
            .split('&')
            .find_map(|pair| pair.strip_prefix("assertion="));
        let claims = assertion.and_then(verified).unwrap_or_default();
        let at = claims["iat"].as_u64().unwrap_or_default();
        self.0.lock().expect("no poison").push(at);
        let token = json!({"access_token": format!("ya29.{at}"), "expires_in": 3600});
        ResponseTemplate::new(200).set_body_json(token)
    }
}

/// The token expires while the machine sleeps.
#[tokio::test]
async fn requests_are_signed_with_the_time_of_day() {
    let signing_times = SigningTimes::default();
    let tokens = token_service(signing_times.clone()).await;
    let api = server(vec![said("m1", "ok"), said("m2", "ok"), said("m3", "ok")]).await;
    let clock = Arc::new(AtomicU64::new(NOW));
    let mut settings = vertex(&api.uri(), service_account(&tokens.uri()));
    let shown = Arc::clone(&clock);
    settings.clock = UnixClock::new(move || shown.load(Ordering::Relaxed));
    let (runtime, _) = runtime(settings);
    for seconds in [0, 3_000, 9_000] {
        clock.store(NOW + seconds, Ordering::Relaxed);
        runtime.generate_text(ask("x")).await.unwrap();
    }
    assert_eq!(*signing_times.0.lock().unwrap(), [NOW, NOW + 9_000]);
}

#[tokio::test]
async fn a_limited_token_service_is_retried() {
    let tokens = MockServer::start().await;
    for status in [429, 408, 500] {
        Mock::given(path("/token"))
            .respond_with(ResponseTemplate::new(status).insert_header("retry-after-ms", "1"))
            .up_to_n_times(1)
            .mount(&tokens)
            .await;
    }
    Mock::given(path("/token"))
        .respond_with(TokenService)
        .mount(&tokens)
        .await;
    let api = server(vec![said("m1", "ok")]).await;
    let (runtime, events) = runtime(vertex(&api.uri(), service_account(&tokens.uri())));
    assert_eq!(runtime.generate_text(ask("x")).await.unwrap().text, "ok");
    let retries: Vec<String> = events
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("retry"))
        .collect();
    assert_eq!(
        retries,
        [
            "retry 2 llm_rate_limit",
            "retry 3 llm_timeout",
            "retry 4 llm_server"
        ]
    );
}

#[tokio::test]
async fn a_token_service_that_sends_too_much_is_refused() {
    let page = ResponseTemplate::new(200).set_body_string("x".repeat(70_000));
    let tokens = token_service(page).await;
    let api = server(Vec::new()).await;
    let (runtime, _) = runtime(vertex(&api.uri(), service_account(&tokens.uri())));
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (
            LlmErrorKind::Protocol,
            "Google's answer to the request for an access token is longer than 64 KiB"
        )
    );
}

#[derive(Default)]
struct LocationLog(Mutex<Vec<Option<String>>>);

impl EventSink for LocationLog {
    fn event(&self, event: RuntimeEvent) {
        if let RuntimeEvent::Usage(fact) = event {
            self.0.lock().expect("no poison").push(fact.location);
        }
    }
}

/// COG-10: prices depend on the location.
#[tokio::test]
async fn a_fact_says_where_its_message_was_served() {
    let tokens = token_service(TokenService).await;
    let api = server(vec![said("m1", "ok")]).await;
    let places = Arc::new(LocationLog::default());
    let settings = vertex(&api.uri(), service_account(&tokens.uri()));
    let runtime = HttpRuntime::new(settings, Arc::clone(&places) as _).unwrap();
    runtime.generate_text(ask("x")).await.unwrap();
    assert_eq!(*places.0.lock().unwrap(), [Some("us-east5".to_owned())]);
}
