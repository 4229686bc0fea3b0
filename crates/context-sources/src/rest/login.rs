//! Exchanges a key for a token, which stays in memory.

use ktx_secrets::Secret;
use reqwest::RequestBuilder;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{Rest, RestError, RestErrorKind, sensitive};

#[derive(Debug)]
pub(super) struct Login {
    path: &'static str,
    form: Vec<(String, Secret)>,
    token: Mutex<Option<HeaderValue>>,
}

impl Login {
    pub(super) fn new(path: &'static str, form: &[(&str, &Secret)]) -> Self {
        let fields = form.iter();
        let fields = fields.map(|(name, secret)| ((*name).to_owned(), (*secret).clone()));
        Self {
            path,
            form: fields.collect(),
            token: Mutex::new(None),
        }
    }

    /// Requests a new token once if the server rejects the old one.
    pub(super) async fn send(
        &self,
        rest: &Rest,
        request: RequestBuilder,
        path: &str,
    ) -> Result<Value, RestError> {
        let Some(copy) = request.try_clone() else {
            return Err(rest.strange("nothing: the request cannot be sent"));
        };
        let token = self.token(rest, None).await?;
        let first = rest.exchange(copy.header(AUTHORIZATION, &token), path);
        match first.await {
            Err(error) if error.kind == RestErrorKind::Auth => {
                let token = self.token(rest, Some(&token)).await?;
                let again = request.header(AUTHORIZATION, &token);
                rest.exchange(again, path).await
            }
            answer => answer,
        }
    }

    async fn token(
        &self,
        rest: &Rest,
        refused: Option<&HeaderValue>,
    ) -> Result<HeaderValue, RestError> {
        let mut known = self.token.lock().await;
        if let Some(token) = known.as_ref().filter(|token| Some(*token) != refused) {
            return Ok(token.clone());
        }
        let fields = self.form.iter();
        let form: Vec<(&str, &str)> = fields
            .map(|(name, secret)| (name.as_str(), secret.expose().trim()))
            .collect();
        let request = rest
            .client
            .post(format!("{}{}", rest.base.as_str(), self.path))
            .headers(rest.headers.clone())
            .form(&form);
        let answer = rest.exchange(request, self.path).await;
        let answer = answer.map_err(|error| RestError {
            kind: kind_of_login(error.kind),
            ..error
        })?;
        let token = answer.get("access_token").and_then(Value::as_str);
        let token = token.filter(|token| !token.is_empty());
        let header = token.and_then(|token| {
            rest.learn(&Secret::new(token));
            sensitive(&format!("Bearer {token}"))
        });
        let header = header.ok_or_else(|| RestError {
            kind: RestErrorKind::Auth,
            ..rest.strange("no token to a login")
        })?;
        *known = Some(header.clone());
        Ok(header)
    }
}

/// Errors at login concern the key, never the requested item.
const fn kind_of_login(kind: RestErrorKind) -> RestErrorKind {
    match kind {
        RestErrorKind::Busy | RestErrorKind::Unreachable | RestErrorKind::Config => kind,
        RestErrorKind::Auth
        | RestErrorKind::Forbidden
        | RestErrorKind::NotFound
        | RestErrorKind::Refused
        | RestErrorKind::Strange => RestErrorKind::Auth,
    }
}
