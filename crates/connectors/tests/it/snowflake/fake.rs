//! An in-memory Snowflake that checks tokens, headers and caps.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::UNIX_NOW;

pub(crate) const KEY: &str =
    include_str!("../../../../../fixtures/connectors/keys/throwaway-rsa.pem");
/// Computed by `openssl`.
pub(crate) const FINGERPRINT: &str = "SHA256:Hj7ZV5qpZVgqBC5nefCylrlVn6hqMxyu0f/J8Rn4mkU=";

pub(crate) struct FakeStatement {
    part: &'static str,
    row_type: Value,
    partitions: Vec<Value>,
    failure: Option<(u16, &'static str, &'static str)>,
    endless: Option<Box<dyn Fn() + Send + Sync>>,
}

impl FakeStatement {
    /// Matches statements that contain `part`. Columns are `NAME type` or `NAME fixed 10 2`.
    pub(crate) fn new(part: &'static str, columns: &[&str]) -> Self {
        let row_type: Vec<Value> = columns
            .iter()
            .map(|column| {
                let words: Vec<&str> = column.split(' ').collect();
                let number = |at: usize| words.get(at).map(|word| word.parse::<u64>().unwrap());
                json!({"name": words.first(), "type": words.get(1), "precision": number(2),
                       "scale": number(3), "nullable": true})
            })
            .collect();
        Self {
            part,
            row_type: row_type.into(),
            partitions: Vec::new(),
            failure: None,
            endless: None,
        }
    }

    pub(crate) fn rows(mut self, rows: Value) -> Self {
        self.partitions.push(rows);
        self
    }

    pub(crate) fn fails(mut self, status: u16, code: &'static str, said: &'static str) -> Self {
        self.failure = Some((status, code, said));
        self
    }

    pub(crate) fn endless(mut self, asked: impl Fn() + Send + Sync + 'static) -> Self {
        self.endless = Some(Box::new(asked));
        self
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginPolicy {
    KeyPair,
    /// Holder of `token-word`, as this kind of token.
    Token(&'static str),
    /// Every request gets this status and an HTML page.
    Page(u16),
    Closed,
}

#[derive(Default)]
struct FakeState {
    log: Vec<String>,
    asked: BTreeMap<usize, usize>,
}

struct SharedFake {
    statements: Vec<FakeStatement>,
    login_policy: LoginPolicy,
    state: Mutex<FakeState>,
}

pub(crate) struct Snowflake {
    server: MockServer,
    shared: Arc<SharedFake>,
}

impl Snowflake {
    pub(crate) async fn start(login_policy: LoginPolicy, statements: Vec<FakeStatement>) -> Self {
        let server = MockServer::start().await;
        let shared = Arc::new(SharedFake {
            statements,
            login_policy,
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

    pub(crate) fn log(&self) -> String {
        self.shared.state.lock().unwrap().log.join("\n")
    }
}

struct FakeResponder(Arc<SharedFake>);

impl Respond for FakeResponder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        if let LoginPolicy::Page(status) = self.0.login_policy {
            return ResponseTemplate::new(status).set_body_string("<html></html>");
        }
        let mut state = self.0.state.lock().unwrap();
        match self.0.answer(request, &mut state) {
            Ok((status, body)) => ResponseTemplate::new(status)
                .insert_header("retry-after", "0")
                .set_body_json(body),
            Err(wrong) => {
                ResponseTemplate::new(400).set_body_json(said("", &format!("bad request: {wrong}")))
            }
        }
    }
}

type FakeAnswer = Result<(u16, Value), String>;

fn said(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message, "sqlState": "42601"})
}

impl SharedFake {
    fn answer(&self, request: &Request, state: &mut FakeState) -> FakeAnswer {
        if self.login_policy == LoginPolicy::Closed {
            return Ok((401, said("390144", "JWT token is invalid. [x]")));
        }
        self.login(request)?;
        let path = request.url.path();
        let rest = path
            .strip_prefix("/api/v2/statements")
            .ok_or_else(|| format!("the path is {path}"))?;
        let parameters: BTreeMap<String, String> = request.url.query_pairs().into_owned().collect();
        match (request.method.as_str(), rest) {
            ("POST", "") => self.start_statement(request, &parameters, state),
            ("POST", cancel) if cancel.ends_with("/cancel") => {
                state.log.push("cancel".to_owned());
                Ok((200, said("000604", "cancelled")))
            }
            ("GET", handle) => {
                let number: usize = handle
                    .trim_start_matches("/handle-")
                    .parse()
                    .map_err(|_| format!("the handle is {handle}"))?;
                self.ask(number, &parameters, state)
            }
            other => Err(format!("{other:?}")),
        }
    }

    fn login(&self, request: &Request) -> Result<(), String> {
        let header = |name: &str| {
            request
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        if !header("user-agent").starts_with("ktx/") || header("accept") != "application/json" {
            return Err("the headers are not what the API needs".to_owned());
        }
        let kind = header("x-snowflake-authorization-token-type");
        let authorization = header("authorization");
        let token = authorization
            .strip_prefix("Bearer ")
            .ok_or("there is no token")?;
        match self.login_policy {
            LoginPolicy::KeyPair if kind == "KEYPAIR_JWT" => verify(token),
            LoginPolicy::Token(expected) if kind == expected && token == "token-word" => Ok(()),
            _ => Err(format!("the kind of token is {kind}")),
        }
    }

    fn start_statement(
        &self,
        request: &Request,
        parameters: &BTreeMap<String, String>,
        state: &mut FakeState,
    ) -> FakeAnswer {
        let body: Value =
            serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let id = parameters.get("requestId").map_or(0, String::len);
        if id != 36 || parameters.get("async").map(String::as_str) != Some("true") {
            return Err(format!("the parameters are {parameters:?}"));
        }
        for (pointer, expected) in [
            ("/database", "SHOP"),
            ("/warehouse", "WH"),
            ("/role", "READER"),
            ("/parameters/MULTI_STATEMENT_COUNT", "1"),
            ("/parameters/QUERY_TAG", "ktx"),
        ] {
            if text(pointer) != Some(expected) {
                return Err(format!("{pointer} is {:?}", body.pointer(pointer)));
            }
        }
        let sql = text("/statement").ok_or("no statement")?;
        let seconds = body
            .pointer("/timeout")
            .and_then(Value::as_u64)
            .ok_or("no time cap")?;
        let rows = text("/parameters/ROWS_PER_RESULTSET").ok_or("no cap of rows")?;
        let number = self
            .statements
            .iter()
            .position(|statement| sql.contains(statement.part))
            .ok_or_else(|| format!("unexpected statement: {sql}"))?;
        state
            .log
            .push(format!("run {sql}, {seconds} s, {rows} rows"));
        state.asked.insert(number, 0);
        Ok((
            202,
            json!({"code": "333334", "message": "in progress",
                   "statementHandle": format!("handle-{number}")}),
        ))
    }

    /// The first request gets "still running".
    fn ask(
        &self,
        number: usize,
        parameters: &BTreeMap<String, String>,
        state: &mut FakeState,
    ) -> FakeAnswer {
        let asked = state.asked.get_mut(&number).ok_or("it does not run")?;
        *asked += 1;
        let statement = self.statements.get(number).ok_or("no such statement")?;
        if *asked == 1 || statement.endless.is_some() {
            state.log.push("wait".to_owned());
            if let Some(asked) = &statement.endless {
                asked();
            }
            return Ok((202, said("333334", "in progress")));
        }
        if let Some((status, code, message)) = statement.failure {
            return Ok((status, said(code, message)));
        }
        let rows = |at: usize| statement.partitions.get(at).cloned().unwrap_or(json!([]));
        if let Some(partition) = parameters.get("partition") {
            state.log.push(format!("partition {partition}"));
            let partition = partition.parse().map_err(|_| "no number")?;
            return Ok((200, json!({"data": rows(partition)})));
        }
        let info: Vec<Value> = statement
            .partitions
            .iter()
            .map(|rows| json!({"rowCount": rows.as_array().map(Vec::len)}))
            .collect();
        Ok((
            200,
            json!({
                "code": "090001",
                "resultSetMetaData": {
                    "format": "jsonv2", "rowType": statement.row_type, "partitionInfo": info,
                },
                "data": rows(0),
            }),
        ))
    }
}

fn verify(token: &str) -> Result<(), String> {
    let (signed, signature) = token.rsplit_once('.').ok_or("no signature")?;
    let (header, claims) = signed.split_once('.').ok_or("no claims")?;
    let read = |part: &str| -> Result<Value, String> {
        let bytes = URL_SAFE_NO_PAD
            .decode(part)
            .map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    };
    let claims = read(claims)?;
    let at = claims
        .pointer("/iat")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let expected = json!({
        "iss": format!("MYORG-ACCT.KTX.{FINGERPRINT}"),
        "sub": "MYORG-ACCT.KTX",
        "iat": at,
        "exp": at + 3540,
    });
    let is_now = (UNIX_NOW..UNIX_NOW + 600).contains(&at);
    if read(header)? != json!({"alg": "RS256", "typ": "JWT"}) || claims != expected || !is_now {
        return Err(format!("the claims are {claims}"));
    }
    let body: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(body).unwrap()).unwrap();
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|error| error.to_string())?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref())
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| "the signature is wrong".to_owned())
}
