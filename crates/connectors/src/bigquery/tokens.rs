//! Fetches and caches access tokens.

use std::time::Duration;

use ktx_secrets::Secret;
use ktx_warehouse::{ErrorKind, WarehouseError};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::credentials::Credentials;
use crate::rest::{self, RestClient};
use crate::settings::Clock;

const SCOPE: &str = "https://www.googleapis.com/auth/bigquery";

const MARGIN: Duration = Duration::from_mins(1);

/// Lifetime of a signed request, in seconds.
const SIGNED_SECONDS: u64 = 3600;

/// Maximum cache time, regardless of a token's claim.
const LONGEST_LIFE: Duration = Duration::from_hours(24);

const REQUEST_TIME: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    Cached,
    Renewed,
}

#[derive(Debug)]
pub(super) struct AccessTokens {
    credentials: Credentials,
    clock: Clock,
    kept: Mutex<Option<(Secret, Instant)>>,
}

impl AccessTokens {
    pub(super) fn new(credentials: Credentials, clock: Clock) -> Self {
        Self {
            credentials,
            clock,
            kept: Mutex::new(None),
        }
    }

    pub(super) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Returns `None` if the server needs no token. Concurrent calls share one request.
    pub(super) async fn token(
        &self,
        rest: &RestClient,
        freshness: Freshness,
    ) -> Result<Option<Secret>, WarehouseError> {
        if matches!(self.credentials, Credentials::Anonymous) {
            return Ok(None);
        }
        let mut kept = self.kept.lock().await;
        if freshness == Freshness::Cached
            && let Some((token, until)) = kept.as_ref()
            && Instant::now() < *until
        {
            return Ok(Some(token.clone()));
        }
        let request = self.request(rest.client().await?)?.timeout(REQUEST_TIME);
        let answer = rest.send(request).await?;
        let Some(token) = rest::text(&answer.body, "/access_token").map(Secret::new) else {
            return Err(self.refused(rest, &answer));
        };
        let seconds = rest::number(&answer.body, "/expires_in").unwrap_or(SIGNED_SECONDS);
        let life = Duration::from_secs(seconds)
            .min(LONGEST_LIFE)
            .saturating_sub(MARGIN);
        *kept = Some((token.clone(), Instant::now() + life));
        Ok(Some(token))
    }

    fn request(&self, client: &reqwest::Client) -> Result<reqwest::RequestBuilder, WarehouseError> {
        Ok(match &self.credentials {
            Credentials::ServiceAccount { token_uri, .. } => {
                let assertion = self.assertion()?;
                client.post(token_uri).form(&[
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", assertion.expose()),
                ])
            }
            Credentials::AuthorizedUser {
                client_id,
                client_secret,
                refresh_token,
                token_uri,
                ..
            } => client.post(token_uri).form(&[
                ("grant_type", "refresh_token"),
                ("client_id", client_id.as_str()),
                ("client_secret", client_secret.expose()),
                ("refresh_token", refresh_token.expose()),
            ]),
            Credentials::Machine { host } => client
                .get(format!(
                    "http://{host}/computeMetadata/v1/instance/service-accounts/default/token"
                ))
                .query(&[("scopes", SCOPE)])
                .header("metadata-flavor", "Google"),
            Credentials::Anonymous => return Err(no_login()),
        })
    }

    fn assertion(&self) -> Result<Secret, WarehouseError> {
        let Credentials::ServiceAccount {
            email,
            key,
            key_id,
            token_uri,
            ..
        } = &self.credentials
        else {
            return Err(no_login());
        };
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let (Some(id), Some(header)) = (key_id, header.as_object_mut()) {
            header.insert("kid".to_owned(), id.clone().into());
        }
        let now = self.clock.unix_now();
        let claims = json!({
            "iss": email,
            "scope": SCOPE,
            "aud": token_uri,
            "iat": now,
            "exp": now + SIGNED_SECONDS,
        });
        key.sign(&header, &claims).map_err(|error| {
            WarehouseError::new(
                ErrorKind::Authentication,
                format!("the key of `{email}` cannot be used: {error}"),
            )
        })
    }

    fn refused(&self, rest: &RestClient, answer: &rest::JsonResponse) -> WarehouseError {
        let reason = rest::text(&answer.body, "/error_description")
            .or_else(|| rest::text(&answer.body, "/error"))
            .unwrap_or("no reason given");
        let kind = if answer.status >= 500 {
            ErrorKind::Unreachable
        } else {
            ErrorKind::Authentication
        };
        let hint = match &self.credentials {
            Credentials::ServiceAccount { .. } => {
                "check that the service account and its key still exist, and this machine's clock"
            }
            Credentials::AuthorizedUser { .. } => "run `gcloud auth application-default login`",
            Credentials::Machine { .. } | Credentials::Anonymous => {
                "give this machine a service account with the scope of BigQuery"
            }
        };
        let text = format!(
            "Google gave no access token (HTTP {}): {reason}",
            answer.status
        );
        rest.error(kind, text.trim_end_matches('.')).hint(hint)
    }
}

fn no_login() -> WarehouseError {
    WarehouseError::new(ErrorKind::Authentication, "the connection has no login")
}
