//! Checks the rights of the login.

use ktx_warehouse::{ConnectionCheck, ErrorKind, RoleCheck, WarehouseError};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::{ApiCall, BigQueryApi};
use super::options::Dataset;
use crate::rest;

const WRITING: [&str; 4] = [
    "bigquery.tables.updateData",
    "bigquery.tables.update",
    "bigquery.tables.delete",
    "bigquery.tables.setIamPolicy",
];

/// Uses a free dry run.
pub(super) async fn check(api: &BigQueryApi) -> Result<ConnectionCheck, WarehouseError> {
    let begin = Instant::now();
    api.plan("SELECT 1").await?;
    let latency = begin.elapsed();
    let role = match role(api).await {
        Ok(role) => role,
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        Err(error) => RoleCheck::Unknown {
            reason: error.message,
        },
    };
    Ok(ConnectionCheck {
        server: format!("BigQuery (project {})", api.options().project),
        latency,
        role,
    })
}

/// BigQuery reports rights per table, so one table represents its dataset.
async fn role(api: &BigQueryApi) -> Result<RoleCheck, WarehouseError> {
    let unknown = |reason: &str| RoleCheck::Unknown {
        reason: reason.to_owned(),
    };
    let Some(dataset) = api.options().datasets.first() else {
        return Ok(unknown("the connection names no dataset to check"));
    };
    let path = format!("datasets/{}/tables", dataset.name);
    let query = vec![("maxResults", "1".to_owned())];
    let tables = api.get(&dataset.project, path, query).await?;
    let Some(table) = rest::text(&tables, "/tables/0/tableReference/tableId") else {
        return Ok(unknown("the first dataset has no table to check"));
    };
    let call = ApiCall {
        method: Method::POST,
        path: format!(
            "datasets/{}/tables/{table}:testIamPermissions",
            dataset.name
        ),
        project: &dataset.project,
        query: Vec::new(),
        body: Some(json!({"permissions": WRITING})),
    };
    let answer = api.send(&call).await?;
    if !(200..300).contains(&answer.status) {
        return Ok(unknown(&format!(
            "BigQuery did not report the rights (HTTP {})",
            answer.status
        )));
    }
    let held = answer
        .body
        .pointer("/permissions")
        .and_then(Value::as_array);
    let held: Vec<&str> = held
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    Ok(judge(api, dataset, table, &held))
}

fn judge(api: &BigQueryApi, dataset: &Dataset, table: &str, held: &[&str]) -> RoleCheck {
    if held.is_empty() {
        return RoleCheck::ReadOnly;
    }
    let project = &api.options().project;
    let member = api.credentials().member();
    RoleCheck::CanWrite {
        because: format!(
            "the login has {} on {}.{table}",
            held.join(", "),
            dataset.name
        ),
        fix: vec![
            format!(
                "gcloud projects add-iam-policy-binding {project} --member={member} \
                 --role=roles/bigquery.jobUser"
            ),
            viewer_grant(api, dataset),
        ],
    }
}

pub(super) fn viewer_grant(api: &BigQueryApi, dataset: &Dataset) -> String {
    let member = api.credentials().member();
    format!(
        "GRANT `roles/bigquery.dataViewer` ON SCHEMA `{}.{}` TO \"{member}\"",
        dataset.project, dataset.name
    )
}
