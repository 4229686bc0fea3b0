//! An in-memory BigQuery that checks tokens, labels, caps and job ids.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::UNIX_NOW;

const KEY: &str = include_str!("../../../../../fixtures/connectors/keys/throwaway-rsa.pem");
const EMAIL: &str = "ktx@shop-1.iam.gserviceaccount.com";

pub(crate) fn account(url: &str) -> String {
    json!({
        "type": "service_account", "project_id": "shop-1", "private_key_id": "k1",
        "private_key": KEY, "client_email": EMAIL, "token_uri": format!("{url}/token"),
    })
    .to_string()
}

pub(crate) fn table(lines: &[&str]) -> Value {
    lines
        .iter()
        .map(|line| line.split('|').collect::<Vec<_>>())
        .collect::<Vec<_>>()
        .into_iter()
        .map(Value::from)
        .collect()
}

pub(crate) struct FakeStatement {
    part: &'static str,
    kind: &'static str,
    bytes: u64,
    schema: Value,
    pages: Vec<Value>,
    failure: Option<(u16, Value)>,
    late: Option<Value>,
    endless: Option<Box<dyn Fn() + Send + Sync>>,
    busy: usize,
    old_token: bool,
}

impl FakeStatement {
    /// Matches queries that contain `part`. Columns are `name TYPE`.
    pub(crate) fn new(part: &'static str, columns: &[&str]) -> Self {
        let fields: Vec<Value> = columns
            .iter()
            .map(|column| {
                let (name, kind) = column.split_once(' ').unwrap();
                json!({"name": name, "type": kind, "mode": "NULLABLE"})
            })
            .collect();
        Self {
            part,
            kind: "SELECT",
            bytes: 0,
            schema: json!({"fields": fields}),
            pages: Vec::new(),
            failure: None,
            late: None,
            endless: None,
            busy: 0,
            old_token: false,
        }
    }

    pub(crate) fn holds(&self, part: &str) -> bool {
        self.part.contains(part)
    }

    pub(crate) fn page(mut self, rows: Value) -> Self {
        let Value::Array(rows) = rows else {
            panic!("rows are a list")
        };
        let rows: Vec<Value> = rows
            .into_iter()
            .map(|row| {
                let Value::Array(cells) = row else {
                    panic!("a row is a list")
                };
                let cells: Vec<Value> = cells.iter().map(|cell| json!({"v": cell})).collect();
                json!({"f": cells})
            })
            .collect();
        self.pages.push(rows.into());
        self
    }

    pub(crate) fn reads(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    pub(crate) fn is(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn fails(mut self, status: u16, reason: &str, said: &str) -> Self {
        self.failure = Some((status, refusal(status, reason, said)));
        self
    }

    pub(crate) fn fails_later(mut self, reason: &str, said: &str) -> Self {
        self.late = Some(json!({"reason": reason, "message": said}));
        self
    }

    pub(crate) fn endless(mut self, asked: impl Fn() + Send + Sync + 'static) -> Self {
        self.endless = Some(Box::new(asked));
        self
    }

    pub(crate) fn busy(mut self, times: usize) -> Self {
        self.busy = times;
        self
    }

    pub(crate) fn refuses_the_first_token(mut self) -> Self {
        self.old_token = true;
        self
    }
}

fn refusal(status: u16, reason: &str, said: &str) -> Value {
    json!({"error": {
        "code": status, "message": said,
        "errors": [{"reason": reason, "message": said, "domain": "global"}],
    }})
}

#[derive(Default)]
struct FakeState {
    log: Vec<String>,
    tokens: usize,
    busy: usize,
    /// Job id to statement and number of row requests.
    jobs: BTreeMap<String, (usize, usize)>,
    held: Value,
}

struct SharedFake {
    statements: Vec<FakeStatement>,
    url: String,
    state: Mutex<FakeState>,
}

pub(crate) struct BigQuery {
    server: MockServer,
    shared: Arc<SharedFake>,
}

impl BigQuery {
    pub(crate) async fn start(statements: Vec<FakeStatement>) -> Self {
        let server = MockServer::start().await;
        let shared = Arc::new(SharedFake {
            statements,
            url: server.uri(),
            state: Mutex::default(),
        });
        Mock::given(any())
            .respond_with(FakeResponder(Arc::clone(&shared)))
            .mount(&server)
            .await;
        Self { server, shared }
    }

    pub(crate) fn url(&self) -> String {
        self.server.uri()
    }

    pub(crate) fn grants(&self, held: Value) {
        self.shared.state.lock().unwrap().held = held;
    }

    pub(crate) fn log(&self) -> String {
        self.shared.state.lock().unwrap().log.join("\n")
    }
}

struct FakeResponder(Arc<SharedFake>);

impl Respond for FakeResponder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut state = self.0.state.lock().unwrap();
        match self.0.answer(request, &mut state) {
            Ok((429, body)) => ResponseTemplate::new(429)
                .insert_header("retry-after", "0")
                .set_body_json(body),
            Ok((status, body)) => ResponseTemplate::new(status).set_body_json(body),
            Err(wrong) => ResponseTemplate::new(400).set_body_json(refusal(
                400,
                "invalid",
                &format!("bad request: {wrong}"),
            )),
        }
    }
}

type FakeAnswer = Result<(u16, Value), String>;

impl SharedFake {
    fn answer(&self, request: &Request, state: &mut FakeState) -> FakeAnswer {
        let path = request.url.path();
        if path == "/token" {
            return self.token(request, state);
        }
        let token = request
            .headers
            .get("authorization")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        if token != format!("Bearer token-{}", state.tokens) {
            return Ok((401, refusal(401, "authError", "Invalid Credentials")));
        }
        let rest = path
            .strip_prefix("/bigquery/v2/projects/shop-1/")
            .ok_or_else(|| format!("the path is {path}"))?;
        let parameters: BTreeMap<String, String> = request.url.query_pairs().into_owned().collect();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match (request.method.as_str(), rest) {
            ("POST", "jobs") => self.job(&body, state),
            ("GET", "datasets") => Ok((
                200,
                json!({"datasets": [{"datasetReference": {"datasetId": "shop"}}]}),
            )),
            ("GET", "datasets/shop") => Ok((200, json!({"id": "shop-1:shop"}))),
            ("GET", "datasets/gone") => Ok((
                404,
                refusal(404, "notFound", "Not found: Dataset shop-1:gone"),
            )),
            ("GET", "datasets/shop/tables") => Ok((
                200,
                json!({"tables": [{"tableReference": {"tableId": "orders"}}]}),
            )),
            ("POST", "datasets/shop/tables/orders:testIamPermissions") => {
                let asked = body.pointer("/permissions").and_then(Value::as_array);
                let asked = asked.ok_or("no permissions are asked for")?;
                let held = state.held.as_array().ok_or("no rights were set")?;
                if !held.iter().all(|right| asked.contains(right)) {
                    return Err("a right that the login has was not asked for".to_owned());
                }
                Ok((200, json!({"permissions": held})))
            }
            ("GET", query) if query.starts_with("queries/") => {
                self.page(query.trim_start_matches("queries/"), &parameters, state)
            }
            ("POST", cancel) if cancel.ends_with("/cancel") => {
                let id = cancel
                    .trim_start_matches("jobs/")
                    .trim_end_matches("/cancel");
                if !state.jobs.contains_key(id) || !is_in_europe(parameters.get("location")) {
                    return Err(format!("there is no job {id}"));
                }
                state.log.push("cancel".to_owned());
                Ok((200, json!({"job": {}})))
            }
            other => Err(format!("{other:?}")),
        }
    }

    fn token(&self, request: &Request, state: &mut FakeState) -> FakeAnswer {
        let form: BTreeMap<String, String> = url_pairs(&request.body);
        if form.get("grant_type").map(String::as_str)
            != Some("urn:ietf:params:oauth:grant-type:jwt-bearer")
        {
            return Err(format!("the grant is {form:?}"));
        }
        let assertion = form.get("assertion").ok_or("no assertion")?;
        let claims = verified(assertion)?;
        let expected = json!({
            "iss": EMAIL,
            "scope": "https://www.googleapis.com/auth/bigquery",
            "aud": format!("{}/token", self.url),
            "iat": claims.pointer("/iat"),
            "exp": claims.pointer("/iat").and_then(Value::as_u64).map(|at| at + 3600),
        });
        let at = claims.pointer("/iat").and_then(Value::as_u64);
        let is_now = at.is_some_and(|at| (UNIX_NOW..UNIX_NOW + 600).contains(&at));
        if claims != expected || !is_now {
            let said = json!({"error": "invalid_grant",
                "error_description": "Invalid grant: account not found"});
            return Ok((400, said));
        }
        state.tokens += 1;
        state.log.push("token".to_owned());
        let token = format!("token-{}", state.tokens);
        Ok((200, json!({"access_token": token, "expires_in": 3599})))
    }

    fn job(&self, body: &Value, state: &mut FakeState) -> FakeAnswer {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let sql = text("/configuration/query/query").ok_or("no statement")?;
        for (pointer, expected) in [
            ("/configuration/labels", json!({"application": "ktx"})),
            ("/configuration/query/useLegacySql", json!(false)),
            ("/jobReference/projectId", json!("shop-1")),
            ("/jobReference/location", json!("EU")),
        ] {
            if body.pointer(pointer) != Some(&expected) {
                return Err(format!("{pointer} is {:?}", body.pointer(pointer)));
            }
        }
        if sql.contains("`gone`") {
            return Ok((
                404,
                refusal(404, "notFound", "Not found: Dataset shop-1:gone"),
            ));
        }
        let (number, statement) = self
            .statements
            .iter()
            .enumerate()
            .find(|(_, statement)| sql.contains(statement.part))
            .ok_or_else(|| format!("unexpected statement: {sql}"))?;
        if state.busy < statement.busy {
            state.busy += 1;
            state.log.push("busy".to_owned());
            return Ok((429, refusal(429, "rateLimitExceeded", "slow down")));
        }
        if statement.old_token && state.tokens == 1 {
            state.log.push("refused".to_owned());
            return Ok((401, refusal(401, "authError", "expired")));
        }
        if let Some((status, body)) = &statement.failure {
            return Ok((*status, body.clone()));
        }
        if body.pointer("/configuration/dryRun") == Some(&json!(true)) {
            state.log.push(format!("plan {sql}"));
            let query = json!({
                "statementType": statement.kind,
                "totalBytesProcessed": statement.bytes.to_string(),
                "schema": statement.schema,
            });
            return Ok((
                200,
                json!({"status": {"state": "DONE"}, "statistics": {"query": query}}),
            ));
        }
        let id = text("/jobReference/jobId").ok_or("no id")?;
        let time = text("/configuration/jobTimeoutMs").ok_or("no time cap")?;
        let bytes = text("/configuration/query/maximumBytesBilled").ok_or("no cap of bytes")?;
        if !id.starts_with("ktx_") || id.len() != 36 {
            return Err(format!("the id is {id}"));
        }
        state
            .log
            .push(format!("run {sql}, {time} ms, {bytes} bytes"));
        state.jobs.insert(id.to_owned(), (number, 0));
        let status = if let Some(error) = &statement.late {
            json!({"state": "DONE", "errorResult": error})
        } else {
            json!({"state": "RUNNING"})
        };
        let place = json!({"projectId": "shop-1", "jobId": id, "location": "EU"});
        Ok((200, json!({"jobReference": place, "status": status})))
    }

    /// The first row request gets "still running".
    fn page(
        &self,
        id: &str,
        parameters: &BTreeMap<String, String>,
        state: &mut FakeState,
    ) -> FakeAnswer {
        let (number, asked) = state.jobs.get_mut(id).ok_or("there is no such job")?;
        *asked += 1;
        let is_first = *asked == 1;
        let statement = self.statements.get(*number).ok_or("no statement")?;
        let get = |name: &str| parameters.get(name).map(String::as_str);
        if !is_in_europe(parameters.get("location"))
            || get("formatOptions.useInt64Timestamp") != Some("true")
            || get("maxResults").is_none()
        {
            return Err(format!("the parameters are {parameters:?}"));
        }
        if is_first || statement.endless.is_some() {
            if let Some(asked) = &statement.endless {
                asked();
            }
            state.log.push("wait".to_owned());
            return Ok((200, json!({"jobComplete": false})));
        }
        let page: usize = get("pageToken")
            .map_or(Ok(0), str::parse)
            .map_err(|_| "bad token")?;
        state.log.push(format!("page {page}"));
        let mut answer = json!({
            "jobComplete": true,
            "schema": statement.schema,
            "rows": statement.pages.get(page).cloned().unwrap_or_else(|| json!([])),
        });
        if page + 1 < statement.pages.len()
            && let Some(answer) = answer.as_object_mut()
        {
            answer.insert("pageToken".to_owned(), (page + 1).to_string().into());
        }
        Ok((200, answer))
    }
}

fn is_in_europe(location: Option<&String>) -> bool {
    location.map(String::as_str) == Some("EU")
}

fn url_pairs(body: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(body);
    let url = wiremock::http::Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

fn verified(token: &str) -> Result<Value, String> {
    let (signed, signature) = token.rsplit_once('.').ok_or("no signature")?;
    let (header, claims) = signed.split_once('.').ok_or("no claims")?;
    let read = |part: &str| -> Result<Value, String> {
        let bytes = URL_SAFE_NO_PAD
            .decode(part)
            .map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    };
    if read(header)? != json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}) {
        return Err(format!("the header is {}", read(header)?));
    }
    let body: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(body).unwrap()).unwrap();
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|error| error.to_string())?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref())
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| "the signature is wrong".to_owned())?;
    read(claims)
}
