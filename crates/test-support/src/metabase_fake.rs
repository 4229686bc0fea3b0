//! A fake Metabase server on loopback that checks requests: the key, and that no query is ever run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::loopback::{Answer, Loopback, Request};

/// The key that the server accepts.
pub const KEY: &str = "mb_PlantedKeyOfTheFake0123456789abcdef=";

/// The contents of the server.
#[derive(Debug, Clone, Default)]
pub struct Analytics {
    /// The databases: id, name, engine.
    pub databases: Vec<(u64, &'static str, &'static str)>,
    /// The tree of collections, in the API's format.
    pub collections: Value,
    /// The cards, in the API's format.
    pub cards: Vec<Value>,
    /// The snippets: name and content.
    pub snippets: Vec<(&'static str, &'static str)>,
    /// Cards that fail on the server or are not listed.
    pub broken: BTreeSet<u64>,
    /// Whether query compilation fails at the moment.
    pub is_busy: bool,
    /// Whether no key is accepted any more.
    pub is_closed: bool,
    /// Cards that do not exist.
    pub deleted: BTreeSet<u64>,
}

/// A card with native SQL.
pub fn written(id: u64, name: &str, place: (u64, Option<u64>), sql: &str) -> Value {
    let (database, collection) = place;
    json!({
        "id": id, "name": name, "description": null, "type": "question", "database_id": database,
        "collection_id": collection, "archived": false, "view_count": id * 7, "last_used_at": "2026-11-01T00:00:00Z",
        "dataset_query": { "type": "native", "database": database, "native": { "query": sql, "template-tags": {} } },
        "result_metadata": [],
    })
}

/// A running server.
#[derive(Debug)]
pub struct MetabaseFake {
    api: Loopback,
    analytics: Arc<Mutex<Analytics>>,
}

impl MetabaseFake {
    /// Starts a server.
    ///
    /// # Errors
    /// If no port is free.
    pub fn start(analytics: Analytics) -> anyhow::Result<Self> {
        let analytics = Arc::new(Mutex::new(analytics));
        let shared = Arc::clone(&analytics);
        let api = Loopback::start(move |request, _| answer(&locked(&shared), request))?;
        Ok(Self { api, analytics })
    }

    /// Returns its URL.
    pub fn address(&self) -> String {
        self.api.address()
    }

    /// Returns the requests in order.
    pub fn asked(&self) -> Vec<String> {
        let requests = self.api.requests().into_iter();
        requests.map(|request| request.target).collect()
    }

    /// Changes the contents of the server.
    pub fn change(&self, change: impl FnOnce(&mut Analytics)) {
        change(&mut locked(&self.analytics));
    }
}

fn locked(analytics: &Mutex<Analytics>) -> MutexGuard<'_, Analytics> {
    analytics.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(server: &Analytics, request: &Request) -> Answer {
    let key = request.headers.get("x-api-key").map(String::as_str);
    if key != Some(KEY) || server.is_closed {
        return Answer::new(401, "text/plain", "Unauthenticated");
    }
    let id_of = |card: &Value| card["id"].as_u64().unwrap_or_default();
    match request.target.as_str() {
        "GET /api/database" => {
            let all = server.databases.iter();
            let all: Vec<Value> = all
                .map(|(id, name, engine)| json!({ "id": id, "name": name, "engine": engine }))
                .collect();
            Answer::json(200, &json!({ "data": all, "total": all.len() }))
        }
        "GET /api/collection/tree" => Answer::json(200, &server.collections),
        "GET /api/card?f=all" => {
            let all = server
                .cards
                .iter()
                .filter(|card| card["archived"] == false && !server.broken.contains(&id_of(card)));
            Answer::json(200, &json!(all.collect::<Vec<_>>()))
        }
        "GET /api/native-query-snippet" => {
            let all = server.snippets.iter();
            let all: Vec<Value> = all
                .map(|(name, content)| json!({ "name": name, "content": content }))
                .collect();
            Answer::json(200, &json!(all))
        }
        "POST /api/dataset/native" if server.is_busy => Answer::json(400, &json!("Not now.")),
        "POST /api/dataset/native" => compiled(&request.json()),
        target => {
            let id = target.strip_prefix("GET /api/card/");
            let Some(id) = id.and_then(|id| id.parse::<u64>().ok()) else {
                return Answer::json(404, &json!("API endpoint does not exist."));
            };
            if server.deleted.contains(&id) {
                return Answer::json(404, &json!("Not found."));
            }
            let found = server.cards.iter().find(|card| id_of(card) == id);
            match found.filter(|_| !server.broken.contains(&id)) {
                Some(card) => Answer::json(200, card),
                None => Answer::json(500, &json!({ "message": "Something went wrong" })),
            }
        }
    }
}

/// Returns the SQL of a query about one table.
fn compiled(query: &Value) -> Answer {
    match query["query"]["source-table"].as_u64() {
        Some(table) => {
            let sql = format!("SELECT count(*) FROM table_{table}");
            Answer::json(200, &json!({ "query": sql, "params": null }))
        }
        None => Answer::json(500, &json!({ "message": "Unknown table" })),
    }
}
