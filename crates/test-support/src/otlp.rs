//! A loopback trace collector that refuses invalid OTLP/JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use crate::loopback::{Answer, Loopback, Request};

#[derive(Debug, Clone, PartialEq)]
pub struct SeenSpan {
    /// 32 hexadecimal digits.
    pub trace: String,
    /// 16 hexadecimal digits.
    pub id: String,
    pub parent: Option<String>,
    pub name: String,
    /// 1 internal, 3 client.
    pub kind: i64,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    pub attributes: BTreeMap<String, Value>,
    pub failure: Option<String>,
}

#[derive(Debug)]
pub struct Collector {
    server: Loopback,
    state: Arc<Mutex<CollectorState>>,
}

#[derive(Debug, Default)]
struct CollectorState {
    spans: Vec<SeenSpan>,
    resource: BTreeMap<String, Value>,
    problems: Vec<String>,
}

impl Collector {
    pub fn start() -> anyhow::Result<Self> {
        let state = Arc::new(Mutex::new(CollectorState::default()));
        let shared = Arc::clone(&state);
        let server = Loopback::start(move |request, _| {
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            match take(request) {
                Ok((resource, spans)) => {
                    state.resource = resource;
                    state.spans.extend(spans);
                    Answer::json(200, &json!({ "partialSuccess": {} }))
                }
                Err(problem) => {
                    state.problems.push(format!("{problem:#}"));
                    Answer::json(400, &json!({ "message": format!("{problem:#}") }))
                }
            }
        })?;
        Ok(Self { server, state })
    }

    pub fn address(&self) -> String {
        self.server.address()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    pub fn resource(&self) -> BTreeMap<String, Value> {
        self.state().resource.clone()
    }

    pub fn spans(&self) -> anyhow::Result<Vec<SeenSpan>> {
        let state = self.state();
        if let Some(problem) = state.problems.first() {
            bail!("{problem}");
        }
        let mut spans = state.spans.clone();
        check_links(&spans)?;
        spans.sort_by_key(|span| (span.start, span.end));
        Ok(spans)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, CollectorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(request: &Request) -> anyhow::Result<(BTreeMap<String, Value>, Vec<SeenSpan>)> {
    ensure!(
        request.target == "POST /v1/traces",
        "`{}` is not a path for traces",
        request.target
    );
    let content_type = request.headers.get("content-type");
    ensure!(
        content_type.is_some_and(|text| text == "application/json"),
        "the content type is {content_type:?}"
    );
    read(&serde_json::from_slice(&request.body).context("the body is no JSON")?)
}

pub fn read(body: &Value) -> anyhow::Result<(BTreeMap<String, Value>, Vec<SeenSpan>)> {
    let mut resource = BTreeMap::new();
    let mut spans = Vec::new();
    for resource_spans in items(body, "resourceSpans")? {
        let holder = resource_spans.get("resource").context("no `resource`")?;
        resource = attributes(holder)?;
        ensure!(
            resource.contains_key("service.name"),
            "the resource has no `service.name`"
        );
        for scope_spans in items(resource_spans, "scopeSpans")? {
            text(scope_spans, "/scope/name")?;
            for span in items(scope_spans, "spans")? {
                spans.push(read_span(span)?);
            }
        }
    }
    Ok((resource, spans))
}

fn read_span(span: &Value) -> anyhow::Result<SeenSpan> {
    let time = |name: &str| -> anyhow::Result<u64> {
        text(span, &format!("/{name}"))?
            .parse()
            .with_context(|| format!("`{name}` is not a number in a text"))
    };
    let (start, end) = (time("startTimeUnixNano")?, time("endTimeUnixNano")?);
    // 2020-01-01: other units give far smaller numbers.
    ensure!(
        start > 1_577_836_800_000_000_000,
        "`{start}` is not a time in nanoseconds"
    );
    ensure!(end >= start, "the span ends before it starts");
    let kind = span.get("kind").and_then(Value::as_i64);
    let kind = kind
        .filter(|kind| (1..=5).contains(kind))
        .context("no `kind`")?;
    let status = span.get("status").context("no `status`")?;
    let failure = match status.get("code").and_then(Value::as_i64) {
        None | Some(0 | 1) => None,
        Some(2) => Some(text(status, "/message")?.to_owned()),
        Some(other) => bail!("`{other}` is not a status"),
    };
    Ok(SeenSpan {
        trace: hexadecimal(text(span, "/traceId")?, 32)?,
        id: hexadecimal(text(span, "/spanId")?, 16)?,
        parent: match span.get("parentSpanId") {
            None => None,
            Some(_) => Some(hexadecimal(text(span, "/parentSpanId")?, 16)?),
        },
        name: text(span, "/name")?.to_owned(),
        kind,
        start,
        end,
        attributes: attributes(span)?,
        failure,
    })
}

/// Spans are unique; parents exist in the trace and enclose them.
fn check_links(spans: &[SeenSpan]) -> anyhow::Result<()> {
    let mut ids = BTreeSet::new();
    for span in spans {
        ensure!(ids.insert(&span.id), "span `{}` came twice", span.id);
        let Some(parent) = &span.parent else {
            continue;
        };
        let parent = spans
            .iter()
            .find(|other| other.id == *parent)
            .with_context(|| format!("the parent of `{}` never came", span.name))?;
        ensure!(
            parent.trace == span.trace,
            "`{}` changed its trace",
            span.name
        );
        ensure!(
            parent.start <= span.start,
            "`{}` began before its parent",
            span.name
        );
    }
    Ok(())
}

fn hexadecimal(text: &str, length: usize) -> anyhow::Result<String> {
    let good = text.len() == length
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && text.bytes().any(|byte| byte != b'0');
    ensure!(good, "`{text}` is not an id of {length} hexadecimal digits");
    Ok(text.to_owned())
}

fn attributes(holder: &Value) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    for attribute in items(holder, "attributes")? {
        let key = text(attribute, "/key")?.to_owned();
        let value = attribute
            .get("value")
            .and_then(Value::as_object)
            .filter(|value| value.len() == 1)
            .and_then(|value| value.iter().next())
            .with_context(|| format!("`{key}` has not exactly one value"))?;
        let value = match (value.0.as_str(), value.1) {
            ("stringValue", Value::String(text)) => json!(text),
            ("intValue", Value::String(text)) => json!(text.parse::<i64>()?),
            ("doubleValue", Value::Number(number)) => json!(number),
            ("boolValue", Value::Bool(flag)) => json!(flag),
            (kind, _) => bail!("`{key}` is no `{kind}`"),
        };
        ensure!(
            found.insert(key.clone(), value).is_none(),
            "`{key}` is there twice"
        );
    }
    Ok(found)
}

fn items<'a>(holder: &'a Value, name: &str) -> anyhow::Result<&'a Vec<Value>> {
    holder
        .get(name)
        .and_then(Value::as_array)
        .with_context(|| format!("no list `{name}`"))
}

fn text<'a>(holder: &'a Value, pointer: &str) -> anyhow::Result<&'a str> {
    holder
        .pointer(pointer)
        .and_then(Value::as_str)
        .with_context(|| format!("no text `{pointer}`"))
}
