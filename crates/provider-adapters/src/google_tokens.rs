//! Obtains access tokens and caches them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_secrets::{Redactor, Secret};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::clients::HttpClients;
use crate::clock::UnixClock;
use crate::credentials::{GoogleCredentials, ServiceAccount};
use crate::limit_headers::retry_after;
use crate::wire::failure::excerpt;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Seconds before the end.
const MARGIN: u64 = 60;
/// Seconds, whatever the service says.
const LONGEST_LIFE: u64 = 24 * 3600;
/// In bytes.
const LONGEST_ANSWER: usize = 64 * 1024;
const SIGNED_SECONDS: u64 = 3600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    Cached,
    Renewed,
}

#[derive(Debug)]
struct CachedToken {
    token: Secret,
    /// Unix seconds; the start detects a clock that was set back.
    life: std::ops::Range<u64>,
}

#[derive(Debug)]
pub(crate) struct GoogleTokens {
    credentials: GoogleCredentials,
    clock: UnixClock,
    kept: Mutex<Option<CachedToken>>,
    /// Providers often echo what they refuse.
    fetched: std::sync::Mutex<Redactor>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: Option<u64>,
}

impl GoogleTokens {
    pub(crate) fn new(credentials: GoogleCredentials, clock: UnixClock) -> Self {
        Self {
            credentials,
            clock,
            kept: Mutex::new(None),
            fetched: std::sync::Mutex::default(),
        }
    }

    pub(crate) fn redact_secrets(&self, text: &str) -> String {
        // Stays usable after a poisoned lock.
        self.fetched
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .redact(text)
    }

    /// Concurrent calls share one request.
    pub(crate) async fn token(
        &self,
        clients: &HttpClients,
        freshness: Freshness,
    ) -> Result<Secret, LlmError> {
        if let GoogleCredentials::Token(token) = &self.credentials {
            return Ok(token.clone());
        }
        let mut kept = self.kept.lock().await;
        if freshness == Freshness::Cached
            && let Some(kept) = kept.as_ref()
            && kept.life.contains(&self.clock.now())
        {
            return Ok(kept.token.clone());
        }
        let now = self.clock.now();
        let request = self.request(clients, now)?;
        let answer = fetch(request).await?;
        let life = answer.expires_in.unwrap_or(SIGNED_SECONDS);
        let token = Secret::new(answer.access_token);
        self.fetched
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .learn(&token);
        *kept = Some(CachedToken {
            token: token.clone(),
            life: now..now.saturating_add(life.min(LONGEST_LIFE).saturating_sub(MARGIN)),
        });
        Ok(token)
    }

    fn request(
        &self,
        clients: &HttpClients,
        now: u64,
    ) -> Result<reqwest::RequestBuilder, LlmError> {
        Ok(match &self.credentials {
            GoogleCredentials::ServiceAccount(account) => {
                let assertion = signed_request(account, now)?;
                clients.post(&account.token_uri).form(&[
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", assertion.expose()),
                ])
            }
            GoogleCredentials::AuthorizedUser(user) => clients.post(&user.token_uri).form(&[
                ("grant_type", "refresh_token"),
                ("client_id", user.client_id.as_str()),
                ("client_secret", user.client_secret.expose()),
                ("refresh_token", user.refresh_token.expose()),
            ]),
            GoogleCredentials::MetadataServer { url } => clients
                .get(&format!(
                    "{}/computeMetadata/v1/instance/service-accounts/default/token",
                    url.trim_end_matches('/')
                ))
                .header("metadata-flavor", "Google"),
            GoogleCredentials::Token(_) => return Err(unusable_key()),
        })
    }
}

const CHECK_THE_ADDRESS: &str =
    "check the network, the proxy, and `token_uri` in the credentials file if it is set";

async fn fetch(request: reqwest::RequestBuilder) -> Result<TokenAnswer, LlmError> {
    let unreachable = |error: reqwest::Error| {
        LlmError::new(
            LlmErrorKind::Transport,
            "no access token could be fetched from Google",
        )
        .detail(error.without_url().to_string())
    };
    let mut response = request
        .timeout(Duration::from_secs(30))
        .send()
        .await
        .map_err(unreachable)?;
    let status = response.status();
    let retry_after = retry_after(response.headers());
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&piece);
        if body.len() > LONGEST_ANSWER {
            return Err(LlmError::new(
                LlmErrorKind::Protocol,
                "Google's answer to the request for an access token is longer than 64 KiB",
            )
            .hint(CHECK_THE_ADDRESS));
        }
    }
    if !status.is_success() {
        let mut error =
            token_refused(status.as_u16()).detail(excerpt(&String::from_utf8_lossy(&body)));
        error.retry_after = retry_after;
        return Err(error);
    }
    serde_json::from_slice(&body).map_err(|_| {
        // The body can contain a token.
        LlmError::new(
            LlmErrorKind::Protocol,
            "Google's answer holds no access token",
        )
        .hint(CHECK_THE_ADDRESS)
    })
}

/// Not every refusal concerns the login.
fn token_refused(status: u16) -> LlmError {
    let kind = match status {
        408 => LlmErrorKind::Timeout,
        429 => LlmErrorKind::RateLimit,
        500.. => LlmErrorKind::Server,
        _ => LlmErrorKind::Auth,
    };
    let error = LlmError::new(kind, format!("Google gave no access token (HTTP {status})"));
    match kind {
        LlmErrorKind::Auth => error.hint(
            "run `gcloud auth application-default login`, or check the service account's key",
        ),
        _ => error.hint("run the command again later; `--debug` shows what Google said"),
    }
}

fn signed_request(account: &ServiceAccount, now: u64) -> Result<Secret, LlmError> {
    let mut header = json!({"alg": "RS256", "typ": "JWT"});
    if let (Some(id), Some(header)) = (&account.private_key_id, header.as_object_mut()) {
        header.insert("kid".to_owned(), id.clone().into());
    }
    let claims = json!({
        "iss": account.client_email,
        "scope": SCOPE,
        "aud": account.token_uri,
        "iat": now,
        "exp": now.saturating_add(SIGNED_SECONDS),
    });
    let signed = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(header.to_string()),
        URL_SAFE_NO_PAD.encode(claims.to_string())
    );
    let pem: String = account
        .private_key
        .expose()
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let der = STANDARD.decode(pem).map_err(|_| unusable_key())?;
    let key = RsaKeyPair::from_pkcs8(&der).map_err(|_| unusable_key())?;
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        signed.as_bytes(),
        &mut signature,
    )
    .map_err(|_| unusable_key())?;
    Ok(Secret::new(format!(
        "{signed}.{}",
        URL_SAFE_NO_PAD.encode(signature)
    )))
}

fn unusable_key() -> LlmError {
    LlmError::new(
        LlmErrorKind::Auth,
        "the private key of the Google service account cannot be used",
    )
    .hint("create a new JSON key for the service account")
}
