//! A fake Metabase that checks the key and runs no query.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::loopback::{Answer, Loopback, Request};

pub const KEY: &str = "mb_PlantedKeyOfTheFake0123456789abcdef=";

#[derive(Debug, Clone, Default)]
pub struct Analytics {
    pub databases: Vec<(u64, &'static str, &'static str)>,
    pub collections: Value,
    pub cards: Vec<Value>,
    /// API format, by database id.
    pub metadata: BTreeMap<u64, Value>,
    pub snippets: Vec<(&'static str, &'static str)>,
    pub broken: BTreeSet<u64>,
    pub is_busy: bool,
    /// Refuses every key.
    pub is_closed: bool,
    pub deleted: BTreeSet<u64>,
}

pub fn written(id: u64, name: &str, place: (u64, Option<u64>), sql: &str) -> Value {
    let (database, collection) = place;
    json!({
        "id": id, "name": name, "description": null, "type": "question", "database_id": database,
        "collection_id": collection, "archived": false, "view_count": id * 7, "last_used_at": "2026-11-01T00:00:00Z",
        "dataset_query": { "type": "native", "database": database, "native": { "query": sql, "template-tags": {} } },
        "result_metadata": [],
    })
}

#[derive(Debug)]
pub struct MetabaseFake {
    api: Loopback,
    analytics: Arc<Mutex<Analytics>>,
}

impl MetabaseFake {
    pub fn start(analytics: Analytics) -> anyhow::Result<Self> {
        let analytics = Arc::new(Mutex::new(analytics));
        let shared = Arc::clone(&analytics);
        let api = Loopback::start(move |request, _| answer(&locked(&shared), request))?;
        Ok(Self { api, analytics })
    }

    pub fn address(&self) -> String {
        self.api.address()
    }

    pub fn asked(&self) -> Vec<String> {
        let requests = self.api.requests().into_iter();
        requests.map(|request| request.target).collect()
    }

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
        target if target.starts_with("GET /api/database/") => {
            let id = target.trim_start_matches("GET /api/database/");
            let id = id.strip_suffix("/metadata?include_hidden=true");
            let id = id.and_then(|id| id.parse::<u64>().ok());
            match id.and_then(|id| server.metadata.get(&id)) {
                Some(metadata) => Answer::json(200, metadata),
                None => Answer::json(404, &json!("Not found.")),
            }
        }
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

fn compiled(query: &Value) -> Answer {
    match query["query"]["source-table"].as_u64() {
        Some(table) => {
            let sql = format!("SELECT count(*) FROM table_{table}");
            Answer::json(200, &json!({ "query": sql, "params": null }))
        }
        None => Answer::json(500, &json!({ "message": "Unknown table" })),
    }
}
