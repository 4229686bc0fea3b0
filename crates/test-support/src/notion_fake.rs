//! A fake read-only Notion (API version 2026-03-11) that checks token, version, page sizes and
//! cursors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::loopback::{Answer, Loopback, Request};

pub const TOKEN: &str = "ntn_PlantedTokenOfTheFake0123456789";

const PART: usize = 2;

#[derive(Debug, Clone, Default)]
pub struct Workspace {
    pub pages: BTreeMap<String, Value>,
    pub blocks: BTreeMap<String, Vec<Value>>,
    pub databases: BTreeMap<String, Vec<String>>,
    /// Title and row ids, by id.
    pub data_sources: BTreeMap<String, (String, Vec<String>)>,
    /// Not shared with the integration.
    pub hidden: BTreeSet<String>,
    /// The API fails on them.
    pub broken: BTreeSet<String>,
}

impl Workspace {
    pub fn page(&mut self, id: &str, title: &str, edited: &str, blocks: Vec<Value>) {
        let page = json!({
            "object": "page", "id": dashed(id), "last_edited_time": edited, "in_trash": false,
            "url": format!("https://www.notion.so/{id}"),
            "parent": { "type": "workspace", "workspace": true },
            "properties": { "title": { "id": "title", "type": "title", "title": [text(title)] } },
        });
        self.pages.insert(id.to_owned(), page);
        self.blocks.insert(id.to_owned(), blocks);
    }
}

fn dashed(id: &str) -> String {
    let part = |range: std::ops::Range<usize>| id.get(range).unwrap_or_default();
    [
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32),
    ]
    .join("-")
}

pub fn text(words: &str) -> Value {
    json!({ "type": "text", "plain_text": words, "href": null, "annotations": {} })
}

pub fn block(kind: &str, words: &str) -> Value {
    json!({ "object": "block", "id": "b", "type": kind, "has_children": false, kind: { "rich_text": [text(words)] } })
}

pub fn child_page(id: &str, title: &str) -> Value {
    json!({ "object": "block", "id": dashed(id), "type": "child_page", "has_children": true, "child_page": { "title": title } })
}

#[derive(Debug)]
pub struct NotionFake {
    api: Loopback,
    workspace: Arc<Mutex<Workspace>>,
}

impl NotionFake {
    pub fn start(workspace: Workspace) -> anyhow::Result<Self> {
        let workspace = Arc::new(Mutex::new(workspace));
        let shared = Arc::clone(&workspace);
        let api = Loopback::start(move |request, _| answer(&locked(&shared), request))?;
        Ok(Self { api, workspace })
    }

    pub fn address(&self) -> String {
        self.api.address()
    }

    pub fn asked(&self) -> Vec<String> {
        let requests = self.api.requests().into_iter();
        requests.map(|request| request.target).collect()
    }

    pub fn change(&self, change: impl FnOnce(&mut Workspace)) {
        change(&mut locked(&self.workspace));
    }
}

fn locked(workspace: &Mutex<Workspace>) -> MutexGuard<'_, Workspace> {
    workspace.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(status: u16, code: &str, message: &str) -> Answer {
    let body = json!({ "object": "error", "status": status, "code": code, "message": message });
    Answer::json(status, &body)
}

fn answer(workspace: &Workspace, request: &Request) -> Answer {
    let header = |name: &str| request.headers.get(name).map(String::as_str);
    if header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return failed(401, "unauthorized", "API token is invalid.");
    }
    if header("notion-version") != Some("2026-03-11") {
        return failed(
            400,
            "missing_version",
            "the version is missing or another one",
        );
    }
    let (target, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let asked = |name: &str| -> Option<String> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut in_query = pairs
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned());
        let body = request.json();
        let in_body = body.get(name).map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        in_query.next_back().or(in_body)
    };
    let parts: Vec<&str> = target.split('/').collect();
    let id = parts.get(3).copied().unwrap_or_default();
    if workspace.broken.contains(id) {
        return failed(500, "internal_server_error", "Unexpected error occurred.");
    }
    if workspace.hidden.contains(id) {
        return not_found(id);
    }
    match parts.as_slice() {
        ["GET ", "v1", "users", "me"] => Answer::json(
            200,
            &json!({ "object": "user", "type": "bot", "name": "ktx", "bot": { "workspace_name": "Acme" } }),
        ),
        ["GET ", "v1", "pages", id] => one(workspace.pages.get(*id), id),
        ["GET ", "v1", "blocks", id, "children"] => match workspace.blocks.get(*id) {
            Some(blocks) => list(blocks, &asked),
            None => not_found(id),
        },
        ["GET ", "v1", "databases", id] => {
            let database = workspace.databases.get(*id).map(|sources| {
                let sources: Vec<Value> = sources.iter().map(|id| json!({ "id": dashed(id) })).collect();
                json!({ "object": "database", "id": id, "in_trash": false, "data_sources": sources })
            });
            one(database.as_ref(), id)
        }
        ["GET ", "v1", "data_sources", id] => {
            let source = workspace.data_sources.get(*id).map(|(title, _)| {
                json!({ "object": "data_source", "id": id, "in_trash": false, "title": [text(title)] })
            });
            one(source.as_ref(), id)
        }
        ["POST ", "v1", "data_sources", id, "query"] => match workspace.data_sources.get(*id) {
            Some((_, rows)) => {
                let rows = rows.iter().filter_map(|id| workspace.pages.get(id));
                list(&rows.cloned().collect::<Vec<_>>(), &asked)
            }
            None => not_found(id),
        },
        ["POST ", "v1", "search"] => search(workspace, request, &asked),
        _ => failed(400, "invalid_request_url", "Invalid request URL."),
    }
}

fn search(
    workspace: &Workspace,
    request: &Request,
    asked: &dyn Fn(&str) -> Option<String>,
) -> Answer {
    let body = request.json();
    let filter = &body["filter"];
    let kind = filter["value"].as_str().unwrap_or_default();
    if filter["property"] != "object" {
        return failed(
            400,
            "validation_error",
            "body.filter.property should be `object`",
        );
    }
    let is_shared = |id: &String| !workspace.hidden.contains(id);
    let found: Vec<Value> = match kind {
        "page" => {
            let pages = workspace.pages.iter().filter(|(id, _)| is_shared(id));
            pages.map(|(_, page)| page.clone()).collect()
        }
        "data_source" => {
            let ids = workspace.data_sources.keys().filter(|id| is_shared(id));
            ids.map(|id| json!({ "object": "data_source", "id": dashed(id) }))
                .collect()
        }
        _ => return failed(400, "validation_error", "body.filter.value is not a kind"),
    };
    list(&found, asked)
}

fn not_found(id: &str) -> Answer {
    let message = format!(
        "Could not find page with ID: {id}. Make sure the relevant pages and databases are shared with your integration."
    );
    failed(404, "object_not_found", &message)
}

fn one(found: Option<&Value>, id: &str) -> Answer {
    found.map_or_else(|| not_found(id), |found| Answer::json(200, found))
}

fn list(all: &[Value], asked: &dyn Fn(&str) -> Option<String>) -> Answer {
    let size: usize = asked("page_size")
        .and_then(|size| size.parse().ok())
        .unwrap_or(0);
    if size == 0 || size > 100 {
        return failed(400, "validation_error", "page_size should be 1 to 100");
    }
    let begin: usize = match asked("start_cursor").map(|cursor| cursor.parse()) {
        None => 0,
        Some(Ok(begin)) => begin,
        Some(Err(_)) => return failed(400, "validation_error", "start_cursor is none"),
    };
    let end = all.len().min(begin + size.min(PART));
    let has_more = end < all.len();
    let body = json!({
        "object": "list",
        "results": all.get(begin..end).unwrap_or_default(),
        "has_more": has_more,
        "next_cursor": has_more.then(|| end.to_string()),
    });
    Answer::json(200, &body)
}
