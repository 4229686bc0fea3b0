//! A fake Looker that checks logins, tokens and list bounds, and runs no query.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::loopback::{Answer, Loopback, Request};

pub const CLIENT_ID: &str = "PlantedClientId0123";

pub const SECRET: &str = "PlantedSecretOfTheFake+&=0123456789";

pub const TOKEN: &str = "PlantedTokenOfTheFake";

const API: &str = "/api/4.0";

const PAGE: usize = 100;

#[derive(Debug, Clone, Default)]
pub struct Instance {
    pub connections: Vec<(&'static str, &'static str)>,
    pub models: Vec<(&'static str, Vec<&'static str>, Vec<&'static str>)>,
    pub explores: BTreeMap<String, Value>,
    pub folders: Vec<Value>,
    pub dashboards: Vec<Value>,
    pub looks: Vec<Value>,
    pub troubles: BTreeMap<String, u16>,
    /// Requests per token; `None`: unlimited.
    pub token_lasts: Option<usize>,
    /// Successful logins; `None`: unlimited.
    pub logins_last: Option<usize>,
    /// Items that searches omit.
    pub unlisted: BTreeSet<String>,
}

/// Explore of one table; fields are name, type, SQL, description.
pub fn explore(
    connection: &str,
    view: &str,
    table: &str,
    fields: &[(&str, &str, &str, &str)],
) -> Value {
    let field = |(name, kind, sql, description): &(&str, &str, &str, &str)| {
        json!({
            "name": format!("{view}.{name}"), "type": kind, "sql": sql, "description": description,
            "view": view, "original_view": view, "hidden": false, "times_used": 7, "label_short": null,
        })
    };
    let is_measure =
        |kind: &str| ["count", "sum", "average", "max", "min", "count_distinct"].contains(&kind);
    let (measures, dimensions): (Vec<_>, Vec<_>) =
        fields.iter().partition(|(_, kind, ..)| is_measure(kind));
    json!({
        "name": view, "connection_name": connection, "sql_table_name": table, "joins": [],
        "fields": {
            "dimensions": dimensions.into_iter().map(field).collect::<Vec<_>>(),
            "measures": measures.into_iter().map(field).collect::<Vec<_>>(),
            "filters": [], "parameters": [],
        },
    })
}

/// One tile per query: model, explore, fields.
pub fn dashboard(id: &str, title: &str, queries: &[(&str, &str, &[&str])]) -> Value {
    let tile = |(number, (model, explore, fields)): (usize, &(&str, &str, &[&str]))| {
        json!({
            "id": number.to_string(), "type": "vis", "title": format!("Tile {number}"),
            "result_maker": { "query": {
                "id": "771", "model": model, "view": explore, "fields": fields, "limit": "500",
                "share_url": "https://bi.example/x", "client_id": "abc",
            } },
        })
    };
    let tiles: Vec<Value> = queries.iter().enumerate().map(tile).collect();
    json!({
        "id": id, "title": title, "description": null, "deleted": false, "folder": { "id": "1", "name": "Shared" },
        "view_count": 12, "last_viewed_at": "2026-11-01T00:00:00Z", "user_name": "Ada", "dashboard_filters": [],
        "dashboard_elements": tiles,
    })
}

#[derive(Debug)]
pub struct LookerFake {
    api: Loopback,
    instance: Arc<Mutex<LookerState>>,
}

#[derive(Debug, Default)]
struct LookerState {
    instance: Instance,
    /// Only the last token is valid.
    logins: usize,
    used: usize,
}

impl LookerFake {
    pub fn start(instance: Instance) -> anyhow::Result<Self> {
        let state = LookerState {
            instance,
            ..LookerState::default()
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let api = Loopback::start(move |request, _| answer(&mut locked(&shared), request))?;
        Ok(Self {
            api,
            instance: state,
        })
    }

    pub fn address(&self) -> String {
        self.api.address()
    }

    pub fn asked(&self) -> Vec<String> {
        let requests = self.api.requests().into_iter();
        requests
            .map(|request| request.target.replace(API, ""))
            .collect()
    }

    pub fn change(&self, change: impl FnOnce(&mut Instance)) {
        change(&mut locked(&self.instance).instance);
    }
}

fn locked(state: &Mutex<LookerState>) -> MutexGuard<'_, LookerState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(status: u16, message: &str) -> Answer {
    let link = "https://cloud.google.com/looker/docs/";
    Answer::json(
        status,
        &json!({ "message": message, "documentation_url": link }),
    )
}

fn answer(state: &mut LookerState, request: &Request) -> Answer {
    let Some((method, address)) = request.target.split_once(' ') else {
        return refused(400, "Bad request");
    };
    let Some(address) = address.strip_prefix(API) else {
        return refused(404, "Not found");
    };
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    if let Some(status) = state.instance.troubles.get(path) {
        return refused(*status, "Something is wrong").header("retry-after", "0");
    }
    match (method, path) {
        ("POST", "/login") => login(state, request),
        ("GET", _) => {
            let token = format!("Bearer {TOKEN}{}", state.logins);
            let is_over = state
                .instance
                .token_lasts
                .is_some_and(|most| state.used >= most);
            if state.logins == 0 || is_over || request.headers.get("authorization") != Some(&token)
            {
                return refused(401, "Requires authentication.");
            }
            state.used += 1;
            found(&state.instance, path, query)
        }
        _ => refused(405, "This server only answers"),
    }
}

fn login(state: &mut LookerState, request: &Request) -> Answer {
    let kind = request.headers.get("content-type").map(String::as_str);
    let secret = SECRET
        .replace('+', "%2B")
        .replace('&', "%26")
        .replace('=', "%3D");
    let form = format!("client_id={CLIENT_ID}&client_secret={secret}");
    if kind != Some("application/x-www-form-urlencoded") {
        return refused(415, "Not a form");
    }
    let last = state.instance.logins_last;
    if last.is_some_and(|most| state.logins >= most) {
        return refused(404, "Not found");
    }
    if request.body != form.as_bytes() {
        return refused(401, "Requires authentication.");
    }
    state.logins += 1;
    state.used = 0;
    let token = format!("{TOKEN}{}", state.logins);
    Answer::json(
        200,
        &json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }),
    )
}

fn found(instance: &Instance, path: &str, query: &str) -> Answer {
    let things = |list: &[Value]| Answer::json(200, &json!(list));
    match path {
        "/user" => Answer::json(200, &json!({ "id": "3", "display_name": "Ada Lovelace" })),
        "/connections" => {
            let all = instance.connections.iter();
            let all = all.map(|(name, dialect)| json!({ "name": name, "dialect_name": dialect }));
            things(&all.collect::<Vec<_>>())
        }
        "/lookml_models" => {
            let all = instance.models.iter();
            let all = all.map(|(name, connections, explores)| {
                let explores: Vec<Value> = explores
                    .iter()
                    .map(|name| json!({ "name": name, "hidden": false }))
                    .collect();
                json!({
                    "name": name, "allowed_db_connection_names": connections,
                    "unlimited_db_connections": connections.is_empty(), "explores": explores,
                })
            });
            things(&all.collect::<Vec<_>>())
        }
        "/folders" => things(&instance.folders),
        "/dashboards/search" => listed(&instance.dashboards, instance, query),
        "/looks/search" => listed(&instance.looks, instance, query),
        path => match one(instance, path) {
            Some(found) => Answer::json(200, found),
            None => refused(404, "Not found"),
        },
    }
}

fn one<'a>(instance: &'a Instance, path: &str) -> Option<&'a Value> {
    if let Some(found) = instance.explores.get(path) {
        return Some(found);
    }
    let (kind, id) = path.trim_start_matches('/').split_once('/')?;
    let list = match kind {
        "dashboards" => &instance.dashboards,
        "looks" => &instance.looks,
        _ => return None,
    };
    let id = id.replace("%3A", ":").replace("%2E", ".");
    list.iter().find(|thing| thing["id"] == json!(id))
}

/// Refuses a search without bounds.
fn listed(all: &[Value], instance: &Instance, query: &str) -> Answer {
    let fields: BTreeMap<&str, &str> = query
        .split('&')
        .filter_map(|field| field.split_once('='))
        .collect();
    let number = |name: &str| fields.get(name)?.parse::<usize>().ok();
    let (Some(limit), Some(offset)) = (number("limit"), number("offset")) else {
        return refused(422, "limit and offset are needed");
    };
    if limit > PAGE || fields.get("sorts") != Some(&"id") {
        return refused(422, "a list that is too long, or in no order");
    }
    let is_wanted = |thing: &&Value| {
        let is_live = thing["deleted"] != true || fields.get("deleted") != Some(&"false");
        let id = thing["id"].as_str().unwrap_or_default();
        is_live && !instance.unlisted.contains(id)
    };
    let found = all.iter().filter(is_wanted).skip(offset).take(limit);
    let found = found.map(|thing| json!({ "id": thing["id"], "deleted": thing["deleted"] }));
    Answer::json(200, &json!(found.collect::<Vec<_>>()))
}
