//! Authenticated BigQuery requests.

use std::time::Duration;

use ktx_secrets::Redactor;
use ktx_warehouse::{ErrorKind, WarehouseError};
use reqwest::Method;
use serde_json::{Value, json};

use super::credentials::Credentials;
use super::error::{self, RAISE_CAP};
use super::options::BigQueryOptions;
use super::tokens::{AccessTokens, Freshness};
use crate::rest::{self, RestClient};
use crate::settings::ConnectionSettings;

/// BigQuery holds a job request for up to ten seconds.
const REQUEST_TIME: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct BigQueryApi {
    rest: RestClient,
    tokens: AccessTokens,
    options: BigQueryOptions,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DryRun {
    pub(super) statement: String,
    pub(super) bytes: u64,
}

pub(super) struct ApiCall<'call> {
    pub(super) method: Method,
    /// Relative to `projects/<project>/`; `project` can differ from the connection's.
    pub(super) path: String,
    pub(super) project: &'call str,
    pub(super) query: Vec<(&'call str, String)>,
    pub(super) body: Option<Value>,
}

impl BigQueryApi {
    pub(super) fn read(settings: &ConnectionSettings<'_>) -> Result<Self, WarehouseError> {
        let endpoint = rest::endpoint(settings, "https://bigquery.googleapis.com")?;
        let mut redactor = Redactor::new();
        let credentials = Credentials::read(settings, &endpoint, &mut redactor)?;
        let options = BigQueryOptions::read(settings, &credentials)?;
        Ok(Self {
            rest: RestClient::new("BigQuery", endpoint, redactor),
            tokens: AccessTokens::new(credentials, settings.clock()),
            options,
        })
    }

    pub(super) fn options(&self) -> &BigQueryOptions {
        &self.options
    }

    pub(super) fn rest(&self) -> &RestClient {
        &self.rest
    }

    pub(super) fn credentials(&self) -> &Credentials {
        self.tokens.credentials()
    }

    pub(super) async fn get(
        &self,
        project: &str,
        path: String,
        query: Vec<(&str, String)>,
    ) -> Result<Value, WarehouseError> {
        self.call(ApiCall {
            method: Method::GET,
            path,
            project,
            query,
            body: None,
        })
        .await
    }

    pub(super) async fn call(&self, call: ApiCall<'_>) -> Result<Value, WarehouseError> {
        let answer = self.send(&call).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        Err(error::from_answer(
            &self.rest,
            &self.options.project,
            &answer,
        ))
    }

    pub(super) async fn send(
        &self,
        call: &ApiCall<'_>,
    ) -> Result<rest::JsonResponse, WarehouseError> {
        let answer = self.send_with(call, Freshness::Cached).await?;
        if answer.status == 401 {
            return self.send_with(call, Freshness::Renewed).await;
        }
        Ok(answer)
    }

    async fn send_with(
        &self,
        call: &ApiCall<'_>,
        freshness: Freshness,
    ) -> Result<rest::JsonResponse, WarehouseError> {
        let token = self.tokens.token(&self.rest, freshness).await?;
        let url = format!(
            "{}/bigquery/v2/projects/{}/{}",
            self.rest.endpoint().as_str(),
            call.project,
            call.path
        );
        let mut request = self
            .rest
            .client()
            .await?
            .request(call.method.clone(), url)
            .query(&call.query)
            .timeout(REQUEST_TIME);
        if let Some(token) = token {
            request = request.bearer_auth(token.expose());
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        self.rest.send(request).await
    }

    pub(super) fn query_settings(&self, sql: &str) -> Value {
        json!({
            "query": sql,
            "useLegacySql": false,
            "maximumBytesBilled": self.options.max_bytes.to_string(),
            "connectionProperties": [{"key": "time_zone", "value": self.options.timezone}],
        })
    }

    pub(super) async fn plan(&self, sql: &str) -> Result<DryRun, WarehouseError> {
        let project = &self.options.project;
        let mut settings = self.query_settings(sql);
        // The cap would reject the estimate itself.
        if let Some(settings) = settings.as_object_mut() {
            settings.remove("maximumBytesBilled");
        }
        let mut job = json!({
            "configuration": {"dryRun": true, "labels": labels(), "query": settings},
        });
        if let (Some(location), Some(job)) = (&self.options.location, job.as_object_mut()) {
            let place = json!({"projectId": project, "location": location});
            job.insert("jobReference".to_owned(), place);
        }
        let answer = self
            .call(ApiCall {
                method: Method::POST,
                path: "jobs".to_owned(),
                project,
                query: Vec::new(),
                body: Some(job),
            })
            .await?;
        if let Some(error) = error::from_job(&self.rest, project, &answer) {
            return Err(error);
        }
        let statement = rest::text(&answer, "/statistics/query/statementType");
        let bytes = rest::number(&answer, "/statistics/query/totalBytesProcessed")
            .or_else(|| rest::number(&answer, "/statistics/totalBytesProcessed"));
        let (Some(statement), Some(bytes)) = (statement, bytes) else {
            return Err(self.rest.error(
                ErrorKind::Other,
                "BigQuery's dry run reports neither the kind of the statement nor its bytes",
            ));
        };
        Ok(DryRun {
            statement: statement.to_owned(),
            bytes,
        })
    }

    pub(super) fn allow(&self, plan: &DryRun) -> Result<(), WarehouseError> {
        if plan.statement != "SELECT" {
            return Err(WarehouseError::new(
                ErrorKind::Permission,
                format!(
                    "BigQuery classifies the statement as `{}`, not as a query",
                    plan.statement
                ),
            )
            .hint("ktx runs queries only"));
        }
        let cap = self.options.max_bytes;
        if plan.bytes > cap {
            return Err(WarehouseError::new(
                ErrorKind::Limit,
                format!(
                    "the statement would read {}, more than the cap of {}",
                    size(plan.bytes),
                    size(cap)
                ),
            )
            .hint(RAISE_CAP));
        }
        Ok(())
    }
}

pub(super) fn labels() -> Value {
    json!({"application": "ktx"})
}

pub(super) fn size(bytes: u64) -> String {
    let units = [
        (1_u64 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    let large = units.into_iter().find(|(unit, _)| bytes >= *unit);
    match large {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{bytes} bytes ({}.{} {name})", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} bytes"),
    }
}
