//! A query job: the client chooses its id, reads it page by page, and cancels it on drop.

use std::sync::Arc;
use std::time::Duration;

use ktx_warehouse::{Caps, ColumnHeader, WarehouseError};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::api::{ApiCall, BigQueryApi, labels};
use super::cell::ResultField;
use super::error;
use crate::limits::{Meter, RowDemand};
use crate::orders;
use crate::rest;

/// Maximum wait of a request for a running job, in milliseconds.
const PATIENCE: &str = "10000";

const PAUSE: Duration = Duration::from_millis(100);

const CANCEL_TIME: Duration = Duration::from_secs(5);

const CANCEL_STEP: Duration = Duration::from_millis(200);

/// BigQuery also ends a page at about ten megabytes.
const PAGE_ROWS: usize = 50_000;

/// A job that can be running. Dropping it cancels it.
pub(super) struct Job {
    api: Arc<BigQueryApi>,
    id: String,
    location: Option<String>,
    runs: bool,
    _at_work: TaskTrackerToken,
}

impl Job {
    /// Creates an id, so that a job can be cancelled even if the answer is lost, and a retry does
    /// not run it twice.
    pub(super) fn new(api: &Arc<BigQueryApi>) -> Result<Self, WarehouseError> {
        Ok(Self {
            api: Arc::clone(api),
            id: format!("ktx_{}", rest::random_digits()?),
            location: api.options().location.clone(),
            runs: false,
            _at_work: orders::track_operation(),
        })
    }

    pub(super) async fn start(&mut self, sql: &str, limit: Duration) -> Result<(), WarehouseError> {
        let api = Arc::clone(&self.api);
        let project = api.options().project.as_str();
        let mut place = json!({"projectId": project, "jobId": self.id});
        if let (Some(location), Some(place)) = (&self.location, place.as_object_mut()) {
            place.insert("location".to_owned(), location.clone().into());
        }
        let call = ApiCall {
            method: Method::POST,
            path: "jobs".to_owned(),
            project,
            query: Vec::new(),
            body: Some(json!({
                "jobReference": place,
                "configuration": {
                    "jobTimeoutMs": limit.as_millis().max(1).to_string(),
                    "labels": labels(),
                    "query": api.query_settings(sql),
                },
            })),
        };
        self.runs = true;
        let answer = api.send(&call).await?;
        // A previous attempt has started it.
        let is_known = answer.status == 409;
        if !is_known && !(200..300).contains(&answer.status) {
            self.runs = false;
            return Err(error::from_answer(api.rest(), project, &answer));
        }
        if let Some(error) = error::from_job(api.rest(), project, &answer.body) {
            self.runs = false;
            return Err(error);
        }
        if let Some(location) = rest::text(&answer.body, "/jobReference/location") {
            self.location = Some(location.to_owned());
        }
        Ok(())
    }

    pub(super) async fn read(
        &mut self,
        caps: &Caps,
        meter: &mut Meter<'_>,
    ) -> Result<(), WarehouseError> {
        let rows = caps.rows.saturating_add(1).min(PAGE_ROWS).to_string();
        let mut token: Option<String> = None;
        let mut fields: Option<Vec<ResultField>> = None;
        loop {
            let mut page = self.page(&rows, token.as_deref()).await?;
            if page.pointer("/jobComplete") != Some(&Value::Bool(true)) {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            self.runs = false;
            let schema = &*fields.get_or_insert_with(|| {
                let fields = ResultField::list(page.pointer("/schema/fields"));
                let header: Vec<ColumnHeader> = fields.iter().map(ResultField::header).collect();
                meter.header(&header);
                fields
            });
            for row in list(page.pointer_mut("/rows")) {
                if meter.row(ResultField::row(schema, row))? == RowDemand::Enough {
                    return Ok(());
                }
            }
            match rest::text(&page, "/pageToken") {
                Some(next) => token = Some(next.to_owned()),
                None => return Ok(()),
            }
        }
    }

    async fn page(&mut self, rows: &str, token: Option<&str>) -> Result<Value, WarehouseError> {
        let mut query = vec![
            ("maxResults", rows.to_owned()),
            ("timeoutMs", PATIENCE.to_owned()),
            ("formatOptions.useInt64Timestamp", "true".to_owned()),
        ];
        query.extend(self.location.clone().map(|place| ("location", place)));
        query.extend(token.map(|token| ("pageToken", token.to_owned())));
        let project = self.api.options().project.clone();
        let call = ApiCall {
            method: Method::GET,
            path: format!("queries/{}", self.id),
            project: &project,
            query,
            body: None,
        };
        let answer = self.api.send(&call).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        // An error status means that the job has ended.
        self.runs = answer.status >= 500 || answer.status == 429;
        Err(error::from_answer(self.api.rest(), &project, &answer))
    }

    /// Returns a cancel request the first time, if the job can still be running.
    fn order(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        if !std::mem::take(&mut self.runs) {
            return None;
        }
        let (api, id, location) = (Arc::clone(&self.api), self.id.clone(), self.location.take());
        Some(async move { cancel(&api, &id, location).await })
    }

    pub(super) async fn finish(mut self) {
        if let Some(order) = self.order() {
            orders::send_and_wait(order).await;
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(order) = self.order() {
            orders::send(order);
        }
    }
}

/// The start request can still be in flight, so BigQuery might not know the job yet.
async fn cancel(api: &BigQueryApi, id: &str, location: Option<String>) {
    let call = ApiCall {
        method: Method::POST,
        path: format!("jobs/{id}/cancel"),
        project: &api.options().project,
        query: location
            .map(|place| ("location", place))
            .into_iter()
            .collect(),
        body: None,
    };
    let work = async {
        loop {
            match api.send(&call).await {
                Ok(answer) if answer.status == 404 => tokio::time::sleep(CANCEL_STEP).await,
                other => return other,
            }
        }
    };
    match tokio::time::timeout(CANCEL_TIME, work).await {
        Ok(Ok(answer)) if (200..300).contains(&answer.status) => {}
        failed => tracing::debug!(?failed, id, "a job could not be cancelled"),
    }
}

fn list(value: Option<&mut Value>) -> Vec<Value> {
    match value.map(Value::take) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
