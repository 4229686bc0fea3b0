//! BigQuery against a fake server that checks requests.

mod fake;
mod live;
mod structure;

use std::sync::Arc;

use ktx_config::Driver;
use ktx_warehouse::{
    Caps, Connector, ErrorKind, Estimate, RoleCheck, SchemaCheck, SchemaReport, SchemaState,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{open, query, query_with};
use fake::{BigQuery, FakeStatement, account};

fn connector(server: &BigQuery, extra: &Value) -> Arc<dyn Connector> {
    let mut fields = json!({
        "credentials_json": account(&server.url()), "endpoint": server.url(),
        "dataset_ids": ["shop"], "location": "EU",
    });
    fields
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    open(Driver::BigQuery, fields)
}

fn numbers(part: &'static str) -> FakeStatement {
    FakeStatement::new(part, &["n INTEGER", "t STRING"])
        .page(json!([["1", "a"], ["2", null]]))
        .page(json!([["3", "c"]]))
}

#[tokio::test]
async fn plans_runs_and_reads_page_by_page() {
    let server = BigQuery::start(vec![numbers("FROM x").reads(1 << 30)]).await;
    let connector = connector(&server, &json!({}));
    let result = query(&*connector, "SELECT n, t FROM x").await;
    assert_eq!(
        render::columns(&result),
        "n INT64: Int(1) | Int(2) | Int(3)\nt STRING: Text(\"a\") | Null | Text(\"c\")"
    );
    assert!(!result.truncated);
    assert_eq!(
        server.log(),
        "token\nplan SELECT n, t FROM x\nrun SELECT n, t FROM x, 60000 ms, 10737418240 bytes\n\
         wait\npage 0\npage 1"
    );
    let shown = format!("{connector:?}");
    assert!(
        !shown.contains("MII") && !shown.contains("token-1"),
        "{shown}"
    );
}

#[tokio::test]
async fn keeps_to_the_caps() {
    let server = BigQuery::start(vec![numbers("FROM x")]).await;
    let caps = Caps {
        rows: 1,
        ..Caps::default()
    };
    let connector = connector(&server, &json!({"job_timeout_ms": 5000}));
    let result = query_with(&*connector, "SELECT n, t FROM x", &caps)
        .await
        .unwrap();
    assert_eq!((result.rows.len(), result.truncated), (1, true));
    assert_eq!(
        server.log(),
        "token\nplan SELECT n, t FROM x\nrun SELECT n, t FROM x, 5000 ms, 10737418240 bytes\nwait\n\
         page 0"
    );
}

#[tokio::test]
async fn refuses_before_anything_is_billed() {
    let server = BigQuery::start(vec![
        numbers("FROM huge").reads(3 << 30),
        numbers("FROM script").is("SCRIPT"),
    ])
    .await;
    let connector = connector(&server, &json!({"max_bytes_billed": 2_147_483_648_u64}));
    let error = query_with(&*connector, "SELECT n FROM huge", &Caps::default())
        .await
        .unwrap_err();
    assert_eq!(
        render::error(&error),
        "query_limit\nthe statement would read 3221225472 bytes (3.0 GiB), more than the cap of \
         2147483648 bytes (2.0 GiB)\nnarrow the statement with filters on the partitioning column or \
         with fewer columns, or raise `max_bytes_billed` of the connection"
    );
    let error = query_with(&*connector, "SELECT n FROM script", &Caps::default())
        .await
        .unwrap_err();
    assert_eq!(
        render::error(&error),
        "connection_permission\nBigQuery classifies the statement as `SCRIPT`, not as a query\nktx runs \
         queries only"
    );
    let checked = ktx_read_only_sql::check("SELECT n FROM huge", connector.dialect()).unwrap();
    let estimate = connector
        .estimate(&checked, &CancellationToken::new())
        .await
        .unwrap();
    let expected = Estimate {
        bytes: 3 << 30,
        limit: Some(2 << 30),
    };
    assert_eq!(estimate, Some(expected));
    assert_eq!(
        server.log(),
        "token\nplan SELECT n FROM huge\nplan SELECT n FROM script\nplan SELECT n FROM huge"
    );
}

#[tokio::test]
async fn cancels_the_job_on_the_server() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let endless = numbers("FROM x").endless(move || stop.cancel());
    let server = BigQuery::start(vec![endless]).await;
    let connector = connector(&server, &json!({}));
    let checked = ktx_read_only_sql::check("SELECT n FROM x", connector.dialect()).unwrap();
    let error = ktx_warehouse::collect(&*connector, &checked, &Caps::default(), &cancel)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    let log = server.log();
    assert!(log.ends_with("\nwait\ncancel"), "{log}");
}

#[tokio::test]
async fn tries_again_when_the_server_is_busy() {
    let server = BigQuery::start(vec![numbers("FROM x").busy(2)]).await;
    let result = query(&*connector(&server, &json!({})), "SELECT n FROM x").await;
    assert_eq!(result.rows.len(), 3);
    assert!(server.log().starts_with("token\nbusy\nbusy\nplan "));
}

#[tokio::test]
async fn renews_a_token_that_is_refused() {
    let server = BigQuery::start(vec![numbers("FROM x").refuses_the_first_token()]).await;
    let result = query(&*connector(&server, &json!({})), "SELECT n FROM x").await;
    assert_eq!(result.rows.len(), 3);
    assert!(server.log().starts_with("token\nrefused\ntoken\nplan "));
}

#[tokio::test]
async fn errors_have_a_message_and_a_hint() {
    for (status, reason, said, expected) in [
        (
            400,
            "invalidQuery",
            "Unrecognized name: nn at [1:8]",
            "query_failed\nUnrecognized name: nn at [1:8]\n-",
        ),
        (
            400,
            "bytesBilledLimitExceeded",
            "Query exceeded limit for bytes billed: 10. 20 or higher required.",
            "query_limit\nQuery exceeded limit for bytes billed: 10. 20 or higher required\nnarrow the \
             statement with filters on the partitioning column or with fewer columns, or raise \
             `max_bytes_billed` of the connection",
        ),
        (
            403,
            "accessDenied",
            "Access Denied: Project shop-1: User does not have bigquery.jobs.create permission",
            "connection_permission\nAccess Denied: Project shop-1: User does not have \
             bigquery.jobs.create permission\ngrant the login `roles/bigquery.jobUser` on the project \
             `shop-1` and `roles/bigquery.dataViewer` on the datasets; `ktx connection test` shows \
             the commands",
        ),
        (
            403,
            "quotaExceeded",
            "Quota exceeded: too many concurrent queries",
            "query_limit\nQuota exceeded: too many concurrent queries\nwait a minute and run the \
             command again; if the error stays, look at the quotas of the project",
        ),
        (
            404,
            "notFound",
            "Not found: Dataset shop-1:nope was not found in location EU",
            "connection_not_found\nNot found: Dataset shop-1:nope was not found in location EU\ncheck \
             `dataset_ids` and `location`",
        ),
        (
            404,
            "notFound",
            "Not found: Table shop-1:shop.nope was not found in location EU",
            "query_failed\nNot found: Table shop-1:shop.nope was not found in location EU\n-",
        ),
        (
            401,
            "authError",
            "Invalid Credentials",
            "connection_authentication\nInvalid Credentials\ncheck `credentials_json`, or sign in \
             again with `gcloud auth application-default login`",
        ),
        (
            500,
            "backendError",
            "Error encountered during execution. Retrying may solve the problem.",
            "connection_failed\nError encountered during execution. Retrying may solve the \
             problem\nrun the command again in a minute",
        ),
    ] {
        let server = BigQuery::start(vec![numbers("FROM x").fails(status, reason, said)]).await;
        let error = query_with(
            &*connector(&server, &json!({})),
            "SELECT n FROM x",
            &Caps::default(),
        )
        .await
        .unwrap_err();
        assert_eq!(render::error(&error), expected);
    }
}

/// The failure is in the job's state or in the answer with rows; neither case needs a cancel
/// request.
#[tokio::test]
async fn reports_jobs_that_fail_later() {
    let late =
        numbers("FROM x").fails_later("stopped", "Job execution was cancelled: Job timed out");
    let server = BigQuery::start(vec![late]).await;
    let error = query_with(
        &*connector(&server, &json!({})),
        "SELECT n FROM x",
        &Caps::default(),
    )
    .await
    .unwrap_err();
    assert_eq!(
        render::error(&error),
        "query_timeout\nthe statement ran longer than its limit of 60 s\nnarrow the statement with \
         filters, or raise the time limit"
    );
    assert!(!server.log().contains("cancel"));
}

#[tokio::test]
async fn reports_failed_logins() {
    let server = BigQuery::start(Vec::new()).await;
    let wrong = account(&server.url()).replace("ktx@shop-1", "nobody@shop-1");
    let error = connector(&server, &json!({"credentials_json": wrong}))
        .check(&CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(
        render::error(&error),
        "connection_authentication\nGoogle gave no access token (HTTP 400): Invalid grant: account \
         not found\ncheck that the service account and its key still exist, and this machine's clock"
    );
    let dead = connector(
        &server,
        &json!({"credentials": "none", "credentials_json": null, "project_id": "p",
                "endpoint": "http://127.0.0.1:1"}),
    );
    let error = dead.check(&CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
}

#[tokio::test]
async fn reports_the_server_and_the_rights_of_the_login() {
    for (held, expected) in [
        (json!([]), RoleCheck::ReadOnly),
        (
            json!(["bigquery.tables.updateData"]),
            RoleCheck::CanWrite {
                because: "the login has bigquery.tables.updateData on shop.orders".to_owned(),
                fix: vec![
                    "gcloud projects add-iam-policy-binding shop-1 \
                     --member=serviceAccount:ktx@shop-1.iam.gserviceaccount.com \
                     --role=roles/bigquery.jobUser"
                        .to_owned(),
                    "GRANT `roles/bigquery.dataViewer` ON SCHEMA `shop-1.shop` TO \
                     \"serviceAccount:ktx@shop-1.iam.gserviceaccount.com\""
                        .to_owned(),
                ],
            },
        ),
    ] {
        let server = BigQuery::start(vec![FakeStatement::new("SELECT 1", &["f0_ INTEGER"])]).await;
        server.grants(held);
        let connector = connector(&server, &json!({}));
        let check = connector.check(&CancellationToken::new()).await.unwrap();
        assert_eq!(
            (check.server.as_str(), check.role),
            ("BigQuery (project shop-1)", expected)
        );
    }
}

#[tokio::test]
async fn missing_datasets_are_reported_with_the_existing_ones() {
    let server = BigQuery::start(vec![FakeStatement::new("SELECT 1", &["f0_ INTEGER"])]).await;
    let names = ["shop".to_owned(), "gone".to_owned()];
    let report = connector(&server, &json!({"dataset_ids": names}))
        .check_schemas(&names, &CancellationToken::new())
        .await
        .unwrap();
    let [shop, gone] = names;
    let asked = vec![
        SchemaCheck {
            name: shop.clone(),
            state: SchemaState::Found,
        },
        SchemaCheck {
            name: gone,
            state: SchemaState::NotFound,
        },
    ];
    assert_eq!(
        report,
        SchemaReport {
            asked,
            shown: vec![shop]
        }
    );
}
