//! Claude on Vertex AI: tokens, signed requests, renewal.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _};
use ktx_provider_adapters::{GoogleCredentials, HttpSettings, Preset, VertexSettings};
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use wiremock::matchers::{body_string_contains, method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::fake::{ask, refused, runtime, said, server, settings};

const KEY: &str = include_str!("../../../../fixtures/providers/throwaway-service-account-key.pem");

fn vertex(address: &str, credentials: GoogleCredentials) -> HttpSettings {
    let mut settings = settings(Preset::Vertex, "claude-sonnet-4-5@20250929", address);
    settings.vertex = Some(VertexSettings {
        project: None,
        location: "us-east5".to_owned(),
        credentials,
        unix_now: 1_790_000_000,
    });
    settings
}

/// Google's token service: checks the signature and the claims.
struct TokenService;

fn verified(assertion: &str) -> Option<Value> {
    let (signed, signature) = assertion.rsplit_once('.')?;
    let (_, claims) = signed.split_once('.')?;
    let der: String = KEY
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(der).ok()?).ok()?;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    public.verify(signed.as_bytes(), &signature).ok()?;
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
        if claims["iss"] == "robot@p1.iam" && claims["iat"].as_u64() >= Some(1_790_000_000) {
            let token = json!({"access_token": "ya29.token", "expires_in": 3600});
            ResponseTemplate::new(200).set_body_json(token)
        } else {
            ResponseTemplate::new(401).set_body_string("bad assertion")
        }
    }
}

async fn token_service(respond: impl Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/token"))
        .respond_with(respond)
        .mount(&server)
        .await;
    server
}

fn service_account(token_uri: &str) -> GoogleCredentials {
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

/// The URL holds location and model, the body neither; no key of Anthropic is sent anywhere; one
/// token serves all calls.
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

/// A signed-in person's refresh token; a token that is refused is renewed once.
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
async fn a_token_that_is_not_given_is_an_auth_failure() {
    let tokens = token_service(ResponseTemplate::new(400).set_body_string("invalid_grant")).await;
    let api = server(Vec::new()).await;
    let (runtime, _) = runtime(vertex(&api.uri(), service_account(&tokens.uri())));
    let error = runtime.generate_text(ask("x")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Auth);
    assert_eq!(error.to_string(), "Google gave no access token (HTTP 400)");
    assert_eq!(api.received_requests().await.unwrap().len(), 0);
}
