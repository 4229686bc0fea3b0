//! A fake BigQuery with endless jobs that checks requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ktx_test_support::loopback::{Answer, Loopback, Request};
use serde_json::{Value, json};

const PATH: &str = "/bigquery/v2/projects/shop-1/";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    AtWork,
    Cancelled,
}

pub(super) struct BigQuery {
    server: Loopback,
    jobs: Arc<Mutex<BTreeMap<String, Job>>>,
}

impl BigQuery {
    pub(super) fn start() -> Self {
        let jobs = Arc::new(Mutex::new(BTreeMap::new()));
        let known = Arc::clone(&jobs);
        let server = Loopback::start(move |request, _| {
            let mut jobs = known.lock().expect("nobody has panicked");
            match answer(request, &mut jobs) {
                Ok(body) => Answer::json(200, &body),
                Err(wrong) => {
                    let error = json!({ "code": 400, "message": wrong, "errors": [] });
                    Answer::json(400, &json!({ "error": error }))
                }
            }
        });
        Self {
            server: server.expect("a port"),
            jobs,
        }
    }

    pub(super) fn address(&self) -> String {
        self.server.address()
    }

    pub(super) fn jobs(&self) -> Vec<Job> {
        let jobs = self.jobs.lock().expect("nobody has panicked");
        jobs.values().copied().collect()
    }
}

fn answer(request: &Request, jobs: &mut BTreeMap<String, Job>) -> Result<Value, String> {
    let (method, path) = request.target.split_once(' ').ok_or("no target")?;
    let path = path.split('?').next().unwrap_or_default();
    let path = path.strip_prefix(PATH).ok_or("another project")?;
    let body = request.json();
    let at = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    match (method, path) {
        ("POST", "jobs") if body.pointer("/configuration/dryRun") == Some(&json!(true)) => {
            let query = json!({ "statementType": "SELECT", "totalBytesProcessed": "1" });
            Ok(json!({ "status": { "state": "DONE" }, "statistics": { "query": query } }))
        }
        ("POST", "jobs") => {
            let id = at("/jobReference/jobId").ok_or("no id")?;
            at("/configuration/jobTimeoutMs").ok_or("no time cap")?;
            if jobs.insert(id.to_owned(), Job::AtWork).is_some() {
                return Err(format!("{id} was started twice"));
            }
            Ok(json!({ "jobReference": { "jobId": id }, "status": { "state": "RUNNING" } }))
        }
        ("GET", path) => {
            let id = path.strip_prefix("queries/").ok_or("no rows")?;
            jobs.get(id).ok_or("no such job")?;
            Ok(json!({ "jobComplete": false }))
        }
        ("POST", path) => {
            let id = path.strip_prefix("jobs/").ok_or("no job")?;
            let id = id.strip_suffix("/cancel").ok_or("no order")?;
            *jobs.get_mut(id).ok_or("no such job")? = Job::Cancelled;
            Ok(json!({ "job": {} }))
        }
        (method, path) => Err(format!("{method} {path}")),
    }
}
