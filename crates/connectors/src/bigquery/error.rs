//! Maps BigQuery errors.

use ktx_warehouse::{ErrorKind, WarehouseError};
use serde_json::Value;

use crate::rest::{self, RestClient};

pub(super) fn from_answer(
    rest: &RestClient,
    project: &str,
    answer: &rest::JsonResponse,
) -> WarehouseError {
    let Some(message) = rest::text(&answer.body, "/error/message") else {
        return rest
            .error(
                ErrorKind::Other,
                &format!(
                    "{} does not answer like BigQuery (HTTP {})",
                    rest.endpoint().as_str(),
                    answer.status
                ),
            )
            .hint("check `endpoint`, and whether a proxy is in between");
    };
    let reason = rest::text(&answer.body, "/error/errors/0/reason").unwrap_or_default();
    from_reason(rest, project, answer.status, reason, message)
}

pub(super) fn from_job(rest: &RestClient, project: &str, job: &Value) -> Option<WarehouseError> {
    let result = job.pointer("/status/errorResult")?;
    let reason = rest::text(result, "/reason").unwrap_or_default();
    let message = rest::text(result, "/message").unwrap_or("the job failed");
    Some(from_reason(rest, project, 200, reason, message))
}

fn from_reason(
    rest: &RestClient,
    project: &str,
    status: u16,
    reason: &str,
    message: &str,
) -> WarehouseError {
    let sentence = message.trim().trim_end_matches('.');
    let make = |kind: ErrorKind| rest.error(kind, sentence);
    match reason {
        "bytesBilledLimitExceeded" => return make(ErrorKind::Limit).hint(RAISE_CAP),
        "rateLimitExceeded"
        | "quotaExceeded"
        | "userRateLimitExceeded"
        | "jobRateLimitExceeded" => {
            return make(ErrorKind::Limit).hint(
                "wait a minute and run the command again; if the error stays, look at the quotas of the \
                 project",
            );
        }
        "resourcesExceeded" | "responseTooLarge" | "billingTierLimitExceeded" => {
            return make(ErrorKind::Limit).hint("narrow the statement with filters");
        }
        "stopped" | "timeout" | "jobTimeout" => return make(ErrorKind::Timeout),
        "billingNotEnabled" => {
            return make(ErrorKind::Permission)
                .hint(format!("enable billing for the project `{project}`"));
        }
        "accessDenied" => return permission(make(ErrorKind::Permission), project),
        "invalidQuery" | "invalid" => {
            let is_cap = sentence.contains("limit for bytes billed");
            return if is_cap {
                make(ErrorKind::Limit).hint(RAISE_CAP)
            } else {
                make(ErrorKind::Sql)
            };
        }
        _ => {}
    }
    match status {
        401 => make(ErrorKind::Authentication)
            .hint("check `credentials_json`, or sign in again with `gcloud auth application-default login`"),
        403 => permission(make(ErrorKind::Permission), project),
        404 => not_found(make, sentence),
        429 => make(ErrorKind::Limit).hint("wait a minute and run the command again"),
        500.. => make(ErrorKind::Other).hint("run the command again in a minute"),
        _ if reason == "notFound" => not_found(make, sentence),
        _ => make(ErrorKind::Sql),
    }
}

pub(super) const RAISE_CAP: &str = "narrow the statement with filters on the partitioning column \
     or with fewer columns, or raise `max_bytes_billed` of the connection";

fn permission(error: WarehouseError, project: &str) -> WarehouseError {
    error.hint(format!(
        "grant the login `roles/bigquery.jobUser` on the project `{project}` and \
         `roles/bigquery.dataViewer` on the datasets; `ktx connection test` shows the commands"
    ))
}

fn not_found(make: impl Fn(ErrorKind) -> WarehouseError, sentence: &str) -> WarehouseError {
    let lower = sentence.to_lowercase();
    if lower.contains("not found: table") {
        return make(ErrorKind::Sql);
    }
    make(ErrorKind::NotFound).hint(if lower.contains("dataset") {
        "check `dataset_ids` and `location`"
    } else {
        "check `project_id` and `location`"
    })
}
