//! Authenticated requests to the SQL API.

use std::time::Duration;

use ktx_secrets::Redactor;
use ktx_warehouse::{Caps, WarehouseError};
use reqwest::Method;
use serde_json::{Value, json};

use super::account;
use super::login::SnowflakeLogin;
use crate::rest::{self, RestClient};
use crate::settings::ConnectionSettings;

/// Enough for a large partition.
const REQUEST_TIME: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub(super) struct SnowflakeApi {
    rest: RestClient,
    login: SnowflakeLogin,
    pub(super) database: String,
    pub(super) warehouse: Option<String>,
    pub(super) role: Option<String>,
    timezone: String,
}

impl SnowflakeApi {
    pub(super) fn read(settings: &ConnectionSettings<'_>) -> Result<Self, WarehouseError> {
        let need = |key: &str, what: &str| {
            settings.text(&[key])?.ok_or_else(|| {
                settings
                    .wrong(&format!("names no {key}"))
                    .hint(format!("add `{key}`: {what}"))
            })
        };
        let name = need(
            "account",
            "the account identifier, such as `myorg-myaccount`",
        )?;
        let database = need("database", "the database to read")?;
        let endpoint = rest::endpoint(settings, &account::address(&name))?;
        let mut redactor = Redactor::new();
        let login = SnowflakeLogin::read(settings, &name, &mut redactor)?;
        let named = |key: &str| {
            let text = settings.text(&[key])?;
            Ok::<_, WarehouseError>(text.map(|text| account::identifier(&text)))
        };
        Ok(Self {
            rest: RestClient::new("Snowflake", endpoint, redactor),
            login,
            database: account::identifier(&database),
            warehouse: named("warehouse")?,
            role: named("role")?,
            timezone: settings.timezone()?,
        })
    }

    pub(super) fn rest(&self) -> &RestClient {
        &self.rest
    }

    pub(super) fn login(&self) -> &SnowflakeLogin {
        &self.login
    }

    pub(super) fn timezone(&self) -> &str {
        &self.timezone
    }

    pub(super) fn statement(&self, sql: &str, caps: &Caps) -> Value {
        let seconds = caps.timeout.as_millis().div_ceil(1000).max(1);
        let rows = caps.rows.saturating_add(1);
        let mut body = json!({
            "statement": sql,
            // Same as STATEMENT_TIMEOUT_IN_SECONDS, per statement.
            "timeout": u64::try_from(seconds).unwrap_or(u64::MAX),
            "database": self.database,
            "parameters": {
                "MULTI_STATEMENT_COUNT": "1",
                "ROWS_PER_RESULTSET": rows.to_string(),
                "QUERY_TAG": "ktx",
                "TIMEZONE": self.timezone,
            },
        });
        if let Some(body) = body.as_object_mut() {
            for (key, value) in [("warehouse", &self.warehouse), ("role", &self.role)] {
                if let Some(value) = value {
                    body.insert(key.to_owned(), value.clone().into());
                }
            }
        }
        body
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<rest::JsonResponse, WarehouseError> {
        let (token, kind) = self.login.token()?;
        let url = format!("{}/api/v2/statements{path}", self.rest.endpoint().as_str());
        let mut request = self
            .rest
            .client()
            .await?
            .request(method, url)
            .query(query)
            .timeout(REQUEST_TIME)
            .bearer_auth(token.expose())
            .header("x-snowflake-authorization-token-type", kind)
            .header("accept", "application/json")
            .header("user-agent", concat!("ktx/", env!("CARGO_PKG_VERSION")));
        if let Some(body) = body {
            request = request.json(body);
        }
        self.rest.send(request).await
    }
}

pub(super) fn request_id() -> Result<String, WarehouseError> {
    let digits = rest::random_digits()?;
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    ))
}
